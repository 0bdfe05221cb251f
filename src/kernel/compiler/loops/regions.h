// The regions of a kernel as loops over the work-items of a group.
#ifndef HDI_KERNEL_COMPILER_LOOPS_REGIONS_H
#define HDI_KERNEL_COMPILER_LOOPS_REGIONS_H

#include "kernel/compiler/emit/emit.h"
#include "kernel/compiler/loops/forms.h"

struct hdi_regions {
    struct hdi_emit *emit;
    LLVMBasicBlockRef done;     // the group has finished
    LLVMBasicBlockRef *entries; // per block of the kernel that starts a region
                                // or is a cut: where the group comes in
    size_t *queue;              // blocks whose entries have no code yet
    size_t queue_size;
    struct hdi_forms forms; // of the regions written
    bool has_rows;          // groups may have several rows
    unsigned open_ends;     // regions whose end the group may not agree on
    // When work-items may return while others go on to a barrier: per work-item
    // 1 once it has returned, at emit->returned_offset.
    bool some_return_early;
    LLVMValueRef returned_lanes; // the same, of lanes: alloca
};

// Write the code of all regions and group branches from the kernel's entry on,
// starting at the end of `begin`.
bool hdi_regions_write(struct hdi_regions *regions, LLVMBasicBlockRef begin);

#endif
