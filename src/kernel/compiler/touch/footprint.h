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
// The kernel has phi nodes and nothing was turned or split yet: so the ids in
// the footprint are those of the launch. It is only read. One thing that cannot
// be said gives up all of it: a footprint that leaves something out would let
// launches overlap that must not.
hd_status hdi_footprint_find(const struct hdi_llvm *llvm, LLVMValueRef kernel,
                             struct hdi_build_kernel *about,
                             struct hd_error *error);

#endif
