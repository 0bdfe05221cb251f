// One region of a kernel: the blocks that can be reached from its start without
// passing a cut.
#ifndef HDI_KERNEL_COMPILER_FLOW_REGION_H
#define HDI_KERNEL_COMPILER_FLOW_REGION_H

#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/order.h"

// Invariant: a cut is in no region; it ends those that lead to it, and what
// comes behind it starts another one.
struct hdi_region {
    const struct hdi_flow *flow;
    size_t start;              // block
    size_t *blocks, count;     // in the region, its start first
    size_t *exits, exit_count; // cuts that end it
    bool returns;              // some block returns
    bool some_return_early;    // in some region of the kernel work-items return
                               // while others come to a cut
    bool *stores;              // per slot: the region stores it
    bool *uses;                // per slot: the region loads or stores it
};

// The region that starts at `start`. False when memory ran out; there is
// nothing to clear then.
bool hdi_region_find(const struct hdi_flow *flow, size_t start,
                     bool some_return_early, struct hdi_region *region);
void hdi_region_clear(struct hdi_region *region);

// The order of its blocks and of the cuts that end it.
enum hdi_ordered hdi_region_order(const struct hdi_region *region,
                                  struct hdi_block_order *order);

// True when work-items of one group may return in a region in which others come
// to a cut.
// Then it must be noted per work-item that it has returned. False: no memory.
bool hdi_regions_return_early(const struct hdi_flow *flow, bool *yes);

#endif
