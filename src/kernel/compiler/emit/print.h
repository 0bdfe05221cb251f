// printf() in compiled kernels: each call packs its arguments and hands them to
// the unit that runs the work-item.
#ifndef HDI_KERNEL_COMPILER_EMIT_PRINT_H
#define HDI_KERNEL_COMPILER_EMIT_PRINT_H

#include "kernel/compiler/ir/llvm.h"

// Replace the calls in all functions, each of which has the frame as its first
// parameter, or in thread form the work-item.
void hdi_print_lower(struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, bool items);

// The arguments of a call of printf() as struct hdi_print_arg has them, in
// memory of the function's own; `bytes` is their size. The builder stands at
// the call.
LLVMValueRef hdi_print_pack(const struct hdi_llvm *llvm, LLVMBuilderRef builder,
                            LLVMValueRef call, uint64_t *bytes);

#endif
