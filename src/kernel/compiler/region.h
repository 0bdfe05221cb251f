// One region of a kernel as loops over the work-items of a group.
#ifndef HDI_KERNEL_COMPILER_REGION_H
#define HDI_KERNEL_COMPILER_REGION_H

#include "kernel/compiler/emit.h"
#include "kernel/compiler/order.h"
#include "kernel/compiler/workgroup.h"

struct hdi_regions {
    struct hdi_emit *emit;
    LLVMBasicBlockRef done;     // the group has finished
    LLVMBasicBlockRef *entries; // per block of the kernel that starts a region
                                // or is a cut: where the group comes in
    size_t *queue;              // blocks whose entries have no code yet
    size_t queue_size;
    struct hdi_forms forms; // of the regions written
    unsigned open_ends;     // regions whose end the group may not agree on
    // When work-items may return while others go on to a barrier: per work-item
    // 1 once it has returned. Offset in `saved`.
    bool some_return_early;
    uint64_t returned_offset;
    LLVMValueRef returned_lanes; // the same, of lanes: alloca
};

struct hdi_region {
    struct hdi_regions *all;
    size_t start;              // block
    size_t *blocks, count;     // in the region, its start first
    LLVMBasicBlockRef *copies; // per block of the kernel, NULL: not in it
    size_t *exits, exit_count; // cuts that end it
    bool returns;              // some block returns
    bool *stores;              // per slot: the region stores it
    bool *uses;                // per slot: the region loads or stores it
    LLVMBasicBlockRef latch;
    LLVMValueRef next; // alloca: which exit, when there are several
    // Per dimension: the local id of the only work-item that does anything, a
    // value of the kernel; NULL: there may be several.
    LLVMValueRef lone[3];
};

// The order of its blocks and of the cuts that end it.
enum hdi_ordered hdi_region_order(const struct hdi_region *region,
                                  struct hdi_order *order);

// True when work-items of one group may return in a region in which others come
// to a cut.
bool hdi_regions_return_early(const struct hdi_flow *flow, bool *yes);

// Write the code of all regions and group branches from the kernel's entry on,
// starting at the end of `begin`.
bool hdi_regions_write(struct hdi_regions *regions, LLVMBasicBlockRef begin);

#endif
