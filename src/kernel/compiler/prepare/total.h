// Integer division, and numbers made of real ones, as OpenCL C has them: for
// every operand. By 0, and the least number by -1, and where a real number fits
// no number of the type, the result is any value and nothing else happens. In
// LLVM that is undefined behaviour, of vectors as soon as one element is, or
// poison, which makes what goes by it undefined.
//
// It is done to a program as the front end gives it, before any pass may draw
// conclusions from a division or move it.
#ifndef HDI_KERNEL_COMPILER_PREPARE_TOTAL_H
#define HDI_KERNEL_COMPILER_PREPARE_TOTAL_H

#include "kernel/compiler/ir/llvm.h"

// A program that is to be checked calls HDI_DIVISION_NAME before each division
// that may have such operands: whether it does, and whether its divisor is 0.
void hdi_total_make(struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
