// What a program may not contain although clang takes it.
#ifndef HDI_KERNEL_COMPILER_PREPARE_LEGAL_H
#define HDI_KERNEL_COMPILER_PREPARE_LEGAL_H

#include "kernel/compiler/ir/llvm.h"

// HD_EBUILD names the function or variable that is missing, the recursive call
// or the assembly, with file and line. The builtins must have been linked.
hd_status hdi_legal_check(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error);

// The same in two parts: what the program's text may not have, before anything
// is linked, and what it may not call.
hd_status hdi_legal_text(const struct hdi_llvm *llvm, LLVMModuleRef module,
                         struct hd_error *error);
hd_status hdi_legal_calls(const struct hdi_llvm *llvm, LLVMModuleRef module,
                          struct hd_error *error);

#endif
