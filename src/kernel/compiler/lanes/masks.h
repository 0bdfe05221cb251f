// Masks of lanes between blocks, for processors that keep them in vectors.
//
// A mask is a bit for each lane. Where a processor has no registers for such
// bits they are elements as wide as the numbers they choose between, as
// comparisons make them. LLVM knows that within a block only: from block to
// block it takes eight of them for words of 16 bits, which it packs and spreads
// in each turn of a loop. So what goes from block to block is made as wide as
// numbers before it generates code.
#ifndef HDI_KERNEL_COMPILER_LANES_MASKS_H
#define HDI_KERNEL_COMPILER_LANES_MASKS_H

#include "kernel/compiler/ir/llvm.h"

// In all functions of optimised code: what simplifies it would undo this.
// HD_ENOMEM.
hd_status hdi_masks_widen(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error);

#endif
