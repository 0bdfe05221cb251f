// Ids that a kernel keeps in an int.
#ifndef HDI_KERNEL_COMPILER_PREPARE_TRUNCATE_H
#define HDI_KERNEL_COMPILER_PREPARE_TRUNCATE_H

#include "kernel/compiler/ir/llvm.h"

// What is made 32 bits wide of an id that `call` returns becomes one truncation
// beside it.
void hdi_truncate_ids(LLVMBuilderRef builder, LLVMContextRef context,
                      LLVMValueRef call);

// 3 * (int)id + 1 in 64 bits is 3 * (long)(int)id + 1, since an int does not
// wrap: said before LLVM computes the low half in 64 bits and forgets that.
void hdi_widen_ids(LLVMBuilderRef builder, LLVMValueRef kernel);

#endif
