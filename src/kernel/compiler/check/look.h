// The code that looks at what screened kernels touch.
#ifndef HDI_KERNEL_COMPILER_CHECK_LOOK_H
#define HDI_KERNEL_COMPILER_CHECK_LOOK_H

#include "kernel/compiler/emit/emit.h"

// A mark (screen.h), for one work-item or for a chunk. False: it is none.
bool hdi_look(struct hdi_emit *emit, LLVMValueRef call);
bool hdi_look_wide(struct hdi_wide *wide, LLVMValueRef call);

#endif
