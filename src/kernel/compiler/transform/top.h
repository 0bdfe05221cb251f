// The top of a flat kernel: the conditions that come before anything else is
// done.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_TOP_H
#define HDI_KERNEL_COMPILER_TRANSFORM_TOP_H

#include "kernel/compiler/ir/llvm.h"

// Replace those that keep work-items out by bounds (bounds.h), and the loop of
// stride.h.
void hdi_top_bound(struct hdi_llvm *llvm, LLVMModuleRef module,
                   LLVMBuilderRef builder, LLVMValueRef kernel);

#endif
