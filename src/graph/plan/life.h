// A stretch of time in which something needs memory.
#ifndef HDI_GRAPH_PLAN_LIFE_H
#define HDI_GRAPH_PLAN_LIFE_H

#include <stdint.h>

// Something that lives from `lower` to just before `upper`.
//
// Two lives meet if each begins before the other ends; one that begins when
// another ends may have its bytes.
struct hdi_life {
    uint64_t lower, upper; // in any unit of time; lower < upper
    uint64_t size;         // [bytes]
};

#endif
