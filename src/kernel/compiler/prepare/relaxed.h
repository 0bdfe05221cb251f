// Calls of mathematical functions that may be approximate, as options of OpenCL
// say (-cl-fast-relaxed-math, -cl-unsafe-math-optimizations), take shorter ones
// (kernel/builtins/math_relaxed.cl), whose errors are what OpenCL allows then.
#ifndef HDI_KERNEL_COMPILER_PREPARE_RELAXED_H
#define HDI_KERNEL_COMPILER_PREPARE_RELAXED_H

#include <llvm-c/Core.h>

// Of a module that the library is to be linked to.
void hdi_relaxed_calls(LLVMModuleRef module);

#endif
