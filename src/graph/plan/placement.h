// Where in one block of memory each of many things lies that live for a while:
// what lives at the same time must not overlap, and the block is to be small.
//
// Several greedy orders come first; where one does not reach the bound, branch
// and bound goes on under a time limit (placement_search.c).
#ifndef HDI_GRAPH_PLAN_PLACEMENT_H
#define HDI_GRAPH_PLAN_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/plan/life.h"
#include "heddle/status.h"

struct hdi_placement_params {
    uint64_t capacity; // a height that is good enough [bytes]; 0: the least
    uint64_t time;     // for branch and bound [ns]; 0: greedy orders alone
};

struct hdi_placement {
    uint32_t count;
    uint64_t *offset; // of each [bytes]
    uint64_t height;  // of all together [bytes]
    uint64_t bound;   // the most that lives at one time [bytes]
    uint64_t greedy;  // height of the best greedy order [bytes]
    uint64_t nodes;   // of branch and bound
};

/// Place all lives. A height above `capacity` is a result too: compare.
///
/// Errors:  HD_EINVAL (a life that ends before it begins), HD_ELIMIT (sizes
///          whose sum does not fit 63 bits), HD_ENOMEM
/// Owner:   the caller; hdi_placement_free()
/// Threads: any
hd_status hdi_placement_make(const struct hdi_life *lives, uint32_t count,
                             const struct hdi_placement_params *params,
                             struct hdi_placement *placement,
                             struct hd_error *error);
void hdi_placement_free(struct hdi_placement *placement);

/// Check a placement from the lives alone: nothing that lives at the same time
/// shares a byte, and all lies below the height.
///
/// Errors:  HD_EGRAPH, with what is wrong; HD_ENOMEM
hd_status hdi_placement_check(const struct hdi_life *lives, uint32_t count,
                              const struct hdi_placement *placement,
                              struct hd_error *error);

#endif
