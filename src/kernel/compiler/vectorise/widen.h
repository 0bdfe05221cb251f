// Main header of vectorise: one instruction for all lanes of a chunk.
//
// Instructions for a chunk: some work-items that are neighbours in x, the lanes
// of vectors. A value that is uniform or linear (linear.h) is kept as the one
// of lane 0 in emit->values, one that varies as a vector of all lanes; where
// its type cannot be the element of a vector, as an array of them.
//
// What lanes that are off hold may be anything, poison too: it must not reach
// memory, a divisor or a branch.
#ifndef HDI_KERNEL_COMPILER_VECTORISE_WIDEN_H
#define HDI_KERNEL_COMPILER_VECTORISE_WIDEN_H

#include "kernel/compiler/wide/wide.h"

// Write an instruction that is no terminator.
void hdi_widen(struct hdi_wide *wide, LLVMValueRef instruction);

// Compute a value again, and what it needs.
void hdi_widen_remade(struct hdi_wide *wide, LLVMValueRef value);

#endif
