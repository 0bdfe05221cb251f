// Which work-items of a sub-group are at a call.
#ifndef HDI_KERNEL_COMPILER_NVPTX_MEMBERS_H
#define HDI_KERNEL_COMPILER_NVPTX_MEMBERS_H

#include "kernel/compiler/ir/llvm.h"

// Answer the calls of hdu_whole() in a function into which all is inlined: true
// where the whole sub-group comes, or nobody of it. False: no memory.
bool hdi_members_answer(LLVMValueRef function);

#endif
