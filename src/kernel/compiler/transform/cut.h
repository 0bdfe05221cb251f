// Main header of transform: kernels are rewritten before they are cut into
// regions.
//
// A kernel is cut where the work-items of a group meet.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_CUT_H
#define HDI_KERNEL_COMPILER_TRANSFORM_CUT_H

#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/worth/suits.h"

// Where a kernel is cut, and what is found out on the way there.
// Filled in step by step by the passes below. The caller clears `branches`.
struct hdi_cuts {
    bool flat;           // work-items meet in rows only, so what depends on
                         // y and z is the same for all
    bool whole;          // vectors stay whole: no lanes
    uint32_t barriers;   // of the source
    unsigned soft_loops; // loops with soft barriers round them
    bool wide;           // chunks of lanes pay
    unsigned gathers;    // if not: the line of a loop that mostly gathers
    struct hdi_traits traits;
    struct hdi_map branches; // blocks of branches that the group takes together
};

// The passes below are of the pipeline (driver/pipeline.c), in their order.

// HD_EBUILD: work-items of all work-groups wait for each other.
hd_status hdi_cut_check_grid(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hd_error *error);

// Put every barrier in a block of its own. How many there are. Parts values
// from their uses, as do the next two: into memory with them (reg2mem).
uint32_t hdi_cut_barriers(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                          LLVMValueRef kernel);

// Soft barriers, where they pay and lanes do not make them superfluous: those
// leave strided loops alone.
hd_status hdi_cut_soften(struct hdi_llvm *llvm, LLVMModuleRef module,
                         LLVMBuilderRef builder, LLVMValueRef kernel,
                         struct hdi_cuts *cuts, struct hd_error *error);

// The same with branches that the whole group takes.
hd_status hdi_cut_branches(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                           LLVMValueRef kernel, struct hdi_cuts *cuts,
                           struct hd_error *error);

// What has become of the kernel; the caller destroys `flow` on success only.
// HD_EBUILD: a sub-group may part.
hd_status hdi_cut_describe(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                           const struct hdi_cuts *cuts, struct hdi_flow *flow,
                           struct hd_error *error);

#endif
