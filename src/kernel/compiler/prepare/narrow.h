// Small vectors in memory as one integer.
//
// The loop vectoriser takes scalars only, so vectors are split into their
// components. A uchar4 would become four loads of a byte each, which no
// processor can gather; as one 32-bit load and three shifts it can.
#ifndef HDI_KERNEL_COMPILER_PREPARE_NARROW_H
#define HDI_KERNEL_COMPILER_PREPARE_NARROW_H

#include "kernel/compiler/ir/llvm.h"

void hdi_narrow_vectors(struct hdi_llvm *llvm, LLVMBuilderRef builder,
                        LLVMValueRef kernel);

#endif
