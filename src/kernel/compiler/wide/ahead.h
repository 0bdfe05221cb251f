// Memory that is used next time. Where each work-group reads neighbours'
// memory, works on it for a while and writes, no processor looks as far ahead
// as the memory of the next group, or that of the next turn of a loop in steps
// of the global size: so it is asked for in time. Groups whose work-items write
// nothing of their own, as those of a sum, are through too soon for that.
#ifndef HDI_KERNEL_COMPILER_WIDE_AHEAD_H
#define HDI_KERNEL_COMPILER_WIDE_AHEAD_H

#include "kernel/compiler/wide/wide.h"

// Ask for what a load or store of neighbours' elements of `size` bytes, the
// first of them at `at`, uses next time, when that is known.
void hdi_ask_ahead(struct hdi_wide *wide, LLVMValueRef access, uint64_t size,
                   LLVMValueRef at);

#endif
