// What lanes can do with an instruction, whatever its operands are.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_OPERATION_H
#define HDI_KERNEL_COMPILER_ANALYSIS_OPERATION_H

#include "kernel/compiler/flow/flow.h"

// Plain accesses may be done at once for all lanes.
bool hdi_is_plain_access(LLVMValueRef instruction);

// Whether something beyond the work-item's own values comes of it.
bool hdi_has_effects(const struct hdi_flow *flow, LLVMValueRef instruction);

// Intrinsics that have a form for vectors: the number of types that choose it,
// 0: it has none.
unsigned hdi_vector_intrinsic(LLVMValueRef call);

// Is it a quotient or remainder of 32-bit numbers, of which the divisor is not
// known while compiling?
bool hdi_can_divide(LLVMValueRef instruction);

// The intrinsic that brings the operands of all lanes together, NULL: none.
const char *hdi_reduction(LLVMAtomicRMWBinOp operation);

// Is it an atomic operation that one for all lanes can stand for where its
// address is one?
bool hdi_can_fold(LLVMValueRef instruction);

#endif
