// What a program may not contain although clang takes it.
#ifndef HDI_KERNEL_COMPILER_LEGAL_H
#define HDI_KERNEL_COMPILER_LEGAL_H

#include "kernel/compiler/llvm.h"

// HD_EBUILD names the function or variable that is missing, the recursive call
// or the assembly, with file and line. The builtins must have been linked.
hd_status hdi_legal_check(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error);

#endif
