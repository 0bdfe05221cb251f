// Trees in local memory, two steps at once.
//
//     for (n = size / 2; n > 0; n /= 2) {      part  o o o o o o o o
//         if (l < n)                                  |/  |/   n = 4
//             part[l] += part[l + n];                 o o o o
//         barrier(...);                               |/       n = 2
//     }                                               ...
//
// Each step loads what the one before has stored. Where n is even the first
// half of the work-items may do two steps, each for itself and for its
// neighbour n / 2 further on, and what goes from the one step to the other
// stays in registers. Memory is the same after them.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_TREE_H
#define HDI_KERNEL_COMPILER_TRANSFORM_TREE_H

#include "kernel/compiler/ir/llvm.h"

// Rewrite such loops of a kernel, which may have phi nodes. False when memory
// ran out.
bool hdi_tree_pair(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                   LLVMValueRef kernel);

#endif
