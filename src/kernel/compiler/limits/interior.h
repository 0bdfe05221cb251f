// Kernels that look whether their work-item is near a border: flat ones
// (chunk.h) that clamp coordinates, or compare them. Where no border is in
// reach every clamp gives what it is given and every comparison says the same,
// so there neighbours read side by side. Such a kernel becomes two: one for the
// box of ids where that is so, in which nothing is asked any more, and one for
// the ids around it.
#ifndef HDI_KERNEL_COMPILER_LIMITS_INTERIOR_H
#define HDI_KERNEL_COMPILER_LIMITS_INTERIOR_H

#include "kernel/compiler/ir/llvm.h"

// Functions that are called with a dimension (i32) and a bound of the box
// (i64), as those of bounds.h: in the kernel for the box, and in that for what
// is around.
extern const char hdi_interior_lower[], hdi_interior_upper[];
extern const char hdi_interior_below[], hdi_interior_above[];

// Make `kernel`, whose bounds have been found (bounds.h), the one for what is
// around, and a module with the one for the box, which the caller disposes of;
// `*known` is the number of clamps and comparisons that it is without. `*box`
// is NULL where the kernel stays as it is: it asks for nothing in x or is too
// long.
hd_status hdi_interior_split(struct hdi_llvm *llvm, LLVMModuleRef module,
                             LLVMValueRef kernel, LLVMModuleRef *box,
                             unsigned *known, struct hd_error *error);

#endif
