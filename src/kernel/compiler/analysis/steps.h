// The step of a value: how much more it is for the next work-item along an
// axis, in bytes where it is an address.
//
//     0                 uniform: the same for both
//     n                 constant: n more for the next, wherever that is
//     HDI_STEP_VARIES   not always the same, or not to be told
//     HDI_STEP_UNKNOWN  not told so far: it follows from what is being looked
//     at
//
// All of it is a guess, which may be wrong where a number wraps: it decides
// which code is faster, never what is right. Who needs to be right asks
// linear.h.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_STEPS_H
#define HDI_KERNEL_COMPILER_ANALYSIS_STEPS_H

#include "kernel/compiler/flow/flow.h"

#define HDI_STEP_VARIES  INT64_MAX
#define HDI_STEP_UNKNOWN INT64_MIN

// Steps of sums and products, where those of the parts are known or not.
int64_t hdi_step_sum(int64_t a, int64_t b);
int64_t hdi_step_product(int64_t step, int64_t factor);

// Of what an instruction makes of its operands, `parts` being theirs.
int64_t hdi_step_combine(const struct hdi_llvm *llvm, LLVMValueRef instruction,
                         const int64_t *parts, unsigned count);

// Along x, of a value in a kernel in memory form.
int64_t hdi_step_of(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                    LLVMValueRef value);

// Are neighbours in x that access this so far apart that no vector does it?
bool hdi_is_gathered(const struct hdi_llvm *llvm, const struct hdi_flow *flow,
                     LLVMValueRef pointer, LLVMTypeRef type);

#endif
