// What a debugger is told of kernels in thread form, beyond what clang says:
// the work-item at hand, as the variable heddle_item, and where local variables
// are, which are no longer where clang put them.
#ifndef HDI_KERNEL_COMPILER_FIBER_DEBUG_H
#define HDI_KERNEL_COMPILER_FIBER_DEBUG_H

#include "kernel/compiler/ir/llvm.h"

// Both write at the current point of `builder`, in the entry block of a
// function that has a subprogram, before `next`.

void hdi_debug_item(const struct hdi_llvm *llvm, LLVMModuleRef module,
                    LLVMBuilderRef builder, LLVMValueRef item,
                    LLVMValueRef next);

// `variable` is the global that clang described, `address` where it is now.
// Nothing is told without -g, or of a description that is not as expected.
void hdi_debug_local(const struct hdi_llvm *llvm, LLVMModuleRef module,
                     LLVMBuilderRef builder, LLVMValueRef variable,
                     LLVMValueRef address, LLVMValueRef next);

// Mend what clang says for a device with address spaces, in the module of one
// function: variables are simply in memory, and none is global.
void hdi_debug_flatten(const struct hdi_llvm *llvm, LLVMModuleRef module,
                       LLVMValueRef function);

#endif
