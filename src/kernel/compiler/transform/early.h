// Loads that are the same in each turn of a loop that may end early.
//
//     while (x < n && from[x] < to[i])      if (x < n) t = to[i];
//         x++;                              while (x < n && from[x] < t)
//                                               x++;
//
// LLVM moves such a load out only where every turn is sure to come to it, and
// for masked lanes it is then asked for again in each turn, by those that
// are still there: the turns wait for it. A loop whose first turn is begun
// comes to what stands in front of all other conditions.
#ifndef HDI_KERNEL_COMPILER_TRANSFORM_EARLY_H
#define HDI_KERNEL_COMPILER_TRANSFORM_EARLY_H

#include "kernel/compiler/ir/llvm.h"

// Move them out of the loops of a kernel, which may have phi nodes. False when
// memory ran out.
bool hdi_early_move(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                    LLVMValueRef kernel);

#endif
