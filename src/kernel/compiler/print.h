// printf() in compiled kernels: each call packs its arguments and hands them to
// the unit that runs the work-item.
#ifndef HDI_KERNEL_COMPILER_PRINT_H
#define HDI_KERNEL_COMPILER_PRINT_H

#include "kernel/compiler/llvm.h"

// Replace the calls in all functions, each of which has the frame as its first
// parameter, or in thread form the work-item.
void hdi_print_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, bool items);

#endif
