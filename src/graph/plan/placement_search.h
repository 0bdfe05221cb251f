// What the greedy orders and branch and bound share: who lives with whom, in
// which sections of time.
#ifndef HDI_GRAPH_PLAN_PLACEMENT_SEARCH_H
#define HDI_GRAPH_PLAN_PLACEMENT_SEARCH_H

#include "graph/plan/life.h"

// Times at which something begins, after which something ends: of all times
// only those matter at which no further life could be added.
struct hdi_sections {
    uint32_t count, lives;
    const struct hdi_life *life;
    uint32_t *from, *to;      // sections of each life: from up to `to`
    uint64_t *total;          // of each section [bytes]
    uint32_t *first, *member; // lives of each section, CSR
    uint32_t *near, *other;   // lives that share a section with each, CSR
};

// By what lives are ordered, largest first.
enum hdi_placement_order {
    HDI_ORDER_AREA,
    HDI_ORDER_WIDTH,
    HDI_ORDER_TOTAL, // the fullest section, then the width, then the area
    HDI_ORDER_SIZE,
    HDI_ORDER_COUNT
};

// Look for a placement of height `capacity` or less until `end` [ns] or `nodes`
// are used up. 1: found, in `offset`; 0: there is none; -1: gave up; -2: no
// memory.
int hdi_placement_search(const struct hdi_sections *sections,
                         const uint32_t *rank, uint64_t capacity, uint64_t end,
                         uint64_t most_nodes, uint64_t *offset,
                         uint64_t *nodes);

#endif
