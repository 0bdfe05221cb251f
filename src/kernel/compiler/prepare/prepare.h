// Main header of prepare: bitcode becomes one simple function per kernel.
//
// From clang's bitcode to one module per kernel, in which the kernel is the
// only function, everything is inlined and no vector operation is left that the
// loop vectoriser could not take.
#ifndef HDI_KERNEL_COMPILER_PREPARE_PREPARE_H
#define HDI_KERNEL_COMPILER_PREPARE_PREPARE_H

#include "kernel/compiler/ir/llvm.h"

// Parse the bitcode and link the builtins it uses. HD_EBUILD names functions
// that are missing or recursive, with file and line.
hd_status hdi_prepare_program(struct hdi_llvm *llvm, const void *bitcode,
                              size_t size, LLVMModuleRef *module,
                              struct hd_error *error);

bool hdi_is_kernel(LLVMValueRef function);

// A variable of the program in global memory: there is one for all kernels.
bool hdi_is_program_variable(LLVMValueRef global);

// Copy the program and leave of its kernels only `count` from number `first`
// on, and what they need: copies of the copy are small then.
hd_status hdi_prepare_part(struct hdi_llvm *llvm, LLVMModuleRef program,
                           size_t first, size_t count, LLVMModuleRef *part,
                           struct hd_error *error);

// Copy the program and leave only the kernel named `name`, inlined.
hd_status hdi_prepare_kernel(struct hdi_llvm *llvm, LLVMModuleRef program,
                             const char *name, LLVMModuleRef *module,
                             LLVMValueRef *kernel, struct hd_error *error);

// The same for a kernel that is to be checked: every access to memory tells the
// checker, in marks (instrument.h).
hd_status hdi_prepare_checked(struct hdi_llvm *llvm, LLVMModuleRef program,
                              const char *name, LLVMModuleRef *module,
                              LLVMValueRef *kernel, struct hd_error *error);

#endif
