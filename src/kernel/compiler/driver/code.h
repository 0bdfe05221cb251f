// What is done to a work-group function, or threads, before there is code.
#ifndef HDI_KERNEL_COMPILER_DRIVER_CODE_H
#define HDI_KERNEL_COMPILER_DRIVER_CODE_H

#include "base/text.h"
#include "kernel/compiler/ir/llvm.h"

// LLVM's own optimisation, of very long code not with all means; that is said
// in `explanation`.
// How long LLVM takes grows faster than the code does, so there are four steps
// down, each said to the user:
//
//     within MAX_UNSWITCHED           -O3: loops are copied by their conditions
//     within MAX_INSTRUCTIONS         -O2
//     longer                          -O2 without unrolling
//     over the budget (effort.h)      each pass of `brief` once
//
// HD_EBUILD, HD_ENOMEM, HD_ECANCELED; the module stays the caller's.
hd_status hdi_code_optimise(struct hdi_llvm *llvm, LLVMModuleRef module,
                            struct hdi_text *explanation,
                            struct hd_error *error);

// Say that a function's first instructions have no line.
void hdi_code_begin_without_line(struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
