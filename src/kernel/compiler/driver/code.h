// What is done to a work-group function, or threads, before there is code.
#ifndef HDI_KERNEL_COMPILER_DRIVER_CODE_H
#define HDI_KERNEL_COMPILER_DRIVER_CODE_H

#include "base/text.h"
#include "kernel/compiler/ir/llvm.h"

// LLVM's own optimisation, of very long code not with all means; that is said
// in `explanation`.
hd_status hdi_code_optimise(struct hdi_llvm *llvm, LLVMModuleRef module,
                            struct hdi_text *explanation,
                            struct hd_error *error);

// Say that a function's first instructions have no line.
void hdi_code_begin_without_line(struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
