// Version of the interface; the build system reads these lines too.
#ifndef HEDDLE_VERSION_H
#define HEDDLE_VERSION_H

#define HD_VERSION_MAJOR 0
#define HD_VERSION_MINOR 1
#define HD_VERSION_PATCH 0

#endif
