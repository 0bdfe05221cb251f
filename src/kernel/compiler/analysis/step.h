// The step of a value: how much more it is one further along an axis, in bytes
// where it is an address.
//
//     0                 the same
//     n                 constant: n more, wherever that is
//     HDI_STEP_FAR      the same everywhere, but not known while compiling
//     HDI_STEP_VARIES   not always the same, or not to be told
//     HDI_STEP_UNKNOWN  not told so far: it follows from what is being looked
//                       at
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_STEP_H
#define HDI_KERNEL_COMPILER_ANALYSIS_STEP_H

#include "kernel/compiler/flow/flow.h"

#define HDI_STEP_VARIES  INT64_MAX
#define HDI_STEP_FAR     (INT64_MAX - 1)
#define HDI_STEP_UNKNOWN INT64_MIN

struct hdi_step {
    int64_t by;
    // What is proven: it does not wrap on the way, as a signed number or as one
    // without a sign.
    bool is_signed, is_unsigned;
};

struct hdi_step_rules {
    const struct hdi_llvm *llvm;
    const struct hdi_flow *flow; // NULL: values are in no slots
    bool proves; // steps are right; else a guess, which may be wrong where a
                 // number wraps
};

static inline bool hdi_step_is_number(int64_t step)
{
    return step > HDI_STEP_UNKNOWN && step < HDI_STEP_FAR;
}

// Steps of sums and products, where those of the parts are known or not.
int64_t hdi_step_sum(int64_t a, int64_t b);
int64_t hdi_step_product(int64_t step, int64_t factor);

// Of what may be the one or the other.
int64_t hdi_step_meet(int64_t a, int64_t b);

// Of what an instruction makes of its operands, `parts` being theirs. Along an
// axis along which an operand has no step it is the same: so is a product's
// factor, though nobody knows it yet. Knows no phi nodes, calls and memory.
struct hdi_step hdi_step_combine(const struct hdi_step_rules *rules,
                                 LLVMValueRef instruction,
                                 const struct hdi_step *parts, unsigned count);

#endif
