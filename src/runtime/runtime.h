// What a runtime is made of; one struct, from the top layer down.
#ifndef HDI_RUNTIME_RUNTIME_H
#define HDI_RUNTIME_RUNTIME_H

#include "base/topology.h"
#include "graph/graph.h"
#include "heddle/runtime.h"
#include "launch/launch.h"

struct hd_runtime {
    struct hdi_topology *topology;
    struct hdi_trace *trace; // NULL: off
    struct hd_pool *pool;
    struct hdi_device *device;
    struct hdi_cache *cache; // NULL: none
    struct hdi_launcher *launcher;
    char *build_options; // of every program; NULL: none
    atomic_bool cancel_builds;
};

#endif
