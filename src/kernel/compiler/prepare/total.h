// Integer division as OpenCL C has it: for every operand. By 0, and the least
// number by -1, the result is any value and nothing else happens, where LLVM's
// division is undefined behaviour, of vectors as soon as one element is.
//
// It is done to a program as the front end gives it, before any pass may draw
// conclusions from a division or move it.
#ifndef HDI_KERNEL_COMPILER_PREPARE_TOTAL_H
#define HDI_KERNEL_COMPILER_PREPARE_TOTAL_H

#include "kernel/compiler/ir/llvm.h"

// A program that is to be checked calls HDI_DIVISION_NAME before each division
// that may have such operands: whether it does, and whether its divisor is 0.
void hdi_total_divisions(struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
