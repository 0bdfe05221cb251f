// Calls of mathematical functions that may be approximate, as options of OpenCL
// say (-cl-fast-relaxed-math, -cl-unsafe-math-optimizations), take shorter ones
// (kernel/builtins/math_relaxed.cl), whose errors are what OpenCL allows then.
// Where the processor has a good estimate of reciprocal roots, all calls take
// that (emit/quotient.h): it is off by less than OpenCL allows without options.
#ifndef HDI_KERNEL_COMPILER_PREPARE_RELAXED_H
#define HDI_KERNEL_COMPILER_PREPARE_RELAXED_H

#include "kernel/compiler/ir/llvm.h"

// Of a module that the library is to be linked to.
void hdi_relaxed_calls(const struct hdi_llvm *llvm, LLVMModuleRef module);

#endif
