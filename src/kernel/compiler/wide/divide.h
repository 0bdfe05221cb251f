// Division of 32-bit integers by a number that all lanes share: processors
// divide one lane after the other, but multiply all at once.
#ifndef HDI_KERNEL_COMPILER_WIDE_DIVIDE_H
#define HDI_KERNEL_COMPILER_WIDE_DIVIDE_H

#include "kernel/compiler/wide/wide.h"

// Write it for all lanes. False: it is not one, or lanes divide by several.
bool hdi_divide(struct hdi_wide *wide, LLVMValueRef x);

#endif
