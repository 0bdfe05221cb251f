// What a kernel's function and its metadata say about it: arguments, source
// line, required and hinted work-group sizes.
#ifndef HDI_KERNEL_COMPILER_DRIVER_SIGNATURE_H
#define HDI_KERNEL_COMPILER_DRIVER_SIGNATURE_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// Fill in all of `kernel` but what depends on the form of its code. `function`
// is the one clang made, before preparation. On failure what was filled in
// stays, for hdi_build_clear().
hd_status hdi_signature_read(const struct hdi_llvm *llvm, LLVMValueRef function,
                             struct hdi_build_kernel *kernel,
                             struct hd_error *error);

// How much the program's variables in global memory take [bytes].
uint64_t hdi_signature_variables(const struct hdi_llvm *llvm,
                                 LLVMModuleRef program);

#endif
