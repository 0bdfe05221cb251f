// Quotients that need not be exact: as exact as OpenCL wants them.
#ifndef HDI_KERNEL_COMPILER_EMIT_QUOTIENT_H
#define HDI_KERNEL_COMPILER_EMIT_QUOTIENT_H

#include "kernel/compiler/ir/llvm.h"

// Of a module as the code generator is to get it.
void hdi_quotients_bound(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
