// Heddle: OpenCL C kernels on every processor of a machine.
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/agile.h"
#include "heddle/event.h"
#include "heddle/field.h"
#include "heddle/graph.h"
#include "heddle/image.h"
#include "heddle/kernel.h"
#include "heddle/runtime.h"
#include "heddle/status.h"
#include "heddle/task.h"
#include "heddle/unit.h"
#include "heddle/version.h"

#endif
