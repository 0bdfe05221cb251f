// Constants that hold the address of a variable which has become a value.
#ifndef HDI_KERNEL_COMPILER_IR_CONSTANTS_H
#define HDI_KERNEL_COMPILER_IR_CONSTANTS_H

#include "kernel/compiler/ir/llvm.h"
#include "kernel/compiler/ir/map.h"

// Put the value that `places` has for a variable in its place in all
// instructions of the function, and write out as instructions what was a
// constant because the variable was one. The values are computed at the
// beginning of the function. Without memory, places->failed.
void hdi_constants_expand(LLVMContextRef context, LLVMBuilderRef builder,
                          LLVMValueRef function, struct hdi_map *places);

#endif
