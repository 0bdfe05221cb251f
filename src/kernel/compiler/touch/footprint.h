// Main header of touch: which elements of its arguments a launch reads and
// writes.
//
// What a kernel's addresses, and the conditions under which it uses them, are
// computed from, written down for launches (kernel/footprint/footprint.h).
#ifndef HDI_KERNEL_COMPILER_TOUCH_FOOTPRINT_H
#define HDI_KERNEL_COMPILER_TOUCH_FOOTPRINT_H

#include "kernel/build.h"
#include "kernel/compiler/ir/llvm.h"

// Look at a prepared kernel, and fill in `about->footprint`. What is too much
// is left out: `known` is 0 then. HD_ENOMEM.
hd_status hdi_footprint_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hdi_build_kernel *about,
                             struct hd_error *error);

#endif
