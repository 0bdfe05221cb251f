// Soft barriers: cuts that the source does not have, round innermost loops that
// the whole group takes alike. The loop then goes round the work-items instead
// of each work-item round the loop, and what was a sequence of dependent steps
// of one work-item is independent steps of many.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_SOFT_H
#define HDI_KERNEL_COMPILER_TRANSFORM_SOFT_H

#include "kernel/compiler/analysis/affine.h"

// Put them into the kernel of `nest`, whose flow describes it no longer, and no
// more do `items`.
// `*count` is the number of loops. False when memory ran out.
// `strided`: round those of strided.h alone.
bool hdi_soft_insert(const struct hdi_value_steps *items, LLVMModuleRef module,
                     LLVMBuilderRef builder, struct hdi_nest *nest,
                     bool strided, unsigned *count);

#endif
