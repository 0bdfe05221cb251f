// Soft barriers: cuts that the source does not have, round innermost loops that
// the whole group takes alike. The loop then goes round the work-items instead
// of each work-item round the loop, and what was a sequence of dependent steps
// of one work-item is independent steps of many.
#ifndef HDI_KERNEL_COMPILER_SOFT_H
#define HDI_KERNEL_COMPILER_SOFT_H

#include "kernel/compiler/flow.h"

// Put them into the kernel that `flow` describes, which describes it no longer.
// `*count` is the number of loops. False when memory ran out.
// `strided`: round those of strided.h alone.
bool hdi_soft_insert(struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, const struct hdi_flow *flow,
                     bool strided, unsigned *count);

// Do chunks of lanes (widen.h) pay for this kernel? For one with barriers or
// loops, unless most of the work in loops is to gather, or to try an exchange
// again: then `*gathers` is the line of such a loop, else 0; and for what LLVM
// makes no vectors of. False when memory ran out.
bool hdi_soft_suits_lanes(struct hdi_llvm *llvm, const struct hdi_flow *flow,
                          bool *suits, unsigned *gathers);

#endif
