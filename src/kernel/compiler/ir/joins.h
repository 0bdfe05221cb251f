// Variables that stand for a phi node become one again: those that each
// predecessor of a block writes and that block alone reads.
//
// LLVM's promotion of variables visits, for each one, all blocks that those
// which write it dominate: a square in kernels of many cases.
#ifndef HDI_KERNEL_COMPILER_IR_JOINS_H
#define HDI_KERNEL_COMPILER_IR_JOINS_H

#include "kernel/compiler/ir/llvm.h"

// In all functions of the module.
// What is not seen to be one stays a variable, for LLVM.
void hdi_joins_promote(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
