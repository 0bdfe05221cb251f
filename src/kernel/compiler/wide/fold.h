// Updates of one place by all lanes, such as a counter's: where nobody asks for
// what was there, one update with what the lanes bring together does for all.
#ifndef HDI_KERNEL_COMPILER_WIDE_FOLD_H
#define HDI_KERNEL_COMPILER_WIDE_FOLD_H

#include "kernel/compiler/wide/wide.h"

// Write it for the lanes that are on. False: it is not one, or of many places.
bool hdi_fold(struct hdi_wide *wide, LLVMValueRef x);

#endif
