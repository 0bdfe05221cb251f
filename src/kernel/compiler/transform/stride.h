// The loop for (i = get_global_id(0); i < n; i += get_global_size(0)) of a flat
// kernel, when it is all that the kernel does: the work-items of all turns are
// those of a longer range. It is shared out as memory lies where no work-item
// can read in one turn what it wrote in another.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_STRIDE_H
#define HDI_KERNEL_COMPILER_TRANSFORM_STRIDE_H

#include "kernel/compiler/limits/bounds.h"

// Make the loop that begins at `head`, entered from `before`, its body once,
// and say so by a call (bounds.h). Leaves other loops as they are.
void hdi_stride_straighten(struct hdi_bounds *bounds, LLVMBasicBlockRef before,
                           LLVMBasicBlockRef head);

#endif
