// Where the accesses of a loop begin, for the code generator.
//
// It looks for the cheapest way to step the addresses of a loop (LLVM's loop
// strength reduction), and to that end takes each apart down to the ids of the
// loops around it: its time is that of the accesses times what their base is
// computed of, and more. A loop over work-items with an inner loop unrolled in
// it has tens of accesses to one row, whose number is a quotient or remainder.
#ifndef HDI_KERNEL_COMPILER_EMIT_BASES_H
#define HDI_KERNEL_COMPILER_EMIT_BASES_H

#include "kernel/compiler/ir/llvm.h"

// Hide from loops what long bases of many accesses are computed of. Of a module
// as the code generator is to get it.
void hdi_bases_hide(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
