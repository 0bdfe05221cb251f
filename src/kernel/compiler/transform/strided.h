// Loops in which the work-items of a group walk side by side:
//
//     for (i = get_global_id(0); i < n; i += get_global_size(0)) ...
//
// or the same with local ids. Each work-item goes round as often as it has
// elements, so neighbours part at the end, and each alone walks in long
// strides. Such a loop is rewritten so that all go round equally often, those
// without an element doing nothing: what they access then lies side by side,
// and the group can go round together (soft.h).
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_STRIDED_H
#define HDI_KERNEL_COMPILER_TRANSFORM_STRIDED_H

#include "kernel/compiler/ir/llvm.h"

// Rewrite them; the kernel still has phi nodes.
void hdi_strided_rewrite(struct hdi_llvm *llvm, LLVMModuleRef module,
                         LLVMBuilderRef builder, LLVMValueRef kernel);

// Is this the branch at the head of such a loop?
bool hdi_is_strided(const struct hdi_llvm *llvm, LLVMValueRef branch);

#endif
