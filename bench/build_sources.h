// Programs that are hard to build: long or deep in one way each.
#ifndef HEDDLE_BENCH_BUILD_SOURCES_H
#define HEDDLE_BENCH_BUILD_SOURCES_H

#include <stdio.h>

struct build_source {
    const char *name;
    void (*write)(FILE *file, int count);
    int count;
};

extern const struct build_source build_sources[];
extern const int build_source_count;

#endif
