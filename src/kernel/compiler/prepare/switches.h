// Switches that choose between values: their cases become selects where all are
// cheap, and what cannot happen takes the way of a case. Lanes need no masks
// then, and a function that is part of another a hundred times, no blocks.
#ifndef HDI_KERNEL_COMPILER_PREPARE_SWITCHES_H
#define HDI_KERNEL_COMPILER_PREPARE_SWITCHES_H

#include "kernel/compiler/ir/llvm.h"

// In all functions of the module, which have phi nodes.
void hdi_switches_flatten(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
