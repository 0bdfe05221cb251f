// Ids that a kernel keeps in an int.
#ifndef HDI_KERNEL_COMPILER_TRUNCATE_H
#define HDI_KERNEL_COMPILER_TRUNCATE_H

#include "kernel/compiler/llvm.h"

// What is made 32 bits wide of an id that `call` returns becomes one truncation
// beside it.
void hdi_truncate_ids(LLVMBuilderRef builder, LLVMContextRef context,
                      LLVMValueRef call);

#endif
