// Structures that are copied, piece by piece: a load and a store of each can
// become those of vectors, which a copy of bytes cannot.
#ifndef HDI_KERNEL_COMPILER_PREPARE_PIECES_H
#define HDI_KERNEL_COMPILER_PREPARE_PIECES_H

#include "kernel/compiler/ir/llvm.h"

void hdi_copy_in_pieces(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef kernel);

#endif
