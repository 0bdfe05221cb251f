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

static const struct hdi_step hdi_step_none = {0, true, true};
static const struct hdi_step hdi_step_varies = {.by = HDI_STEP_VARIES};
static const struct hdi_step hdi_step_unknown = {.by = HDI_STEP_UNKNOWN};

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

// Of what may be the one or the other. Goes one way: UNKNOWN, a step with
// promises, without, VARIES.
struct hdi_step hdi_step_meet(struct hdi_step a, struct hdi_step b);

// Has it changed?
bool hdi_step_set(struct hdi_step *step, struct hdi_step now);

// Of what an instruction makes of its operands, `parts` being theirs: known,
// not all 0, and none of them varies. Along an axis along which an operand has
// no step it is the same: so is a product's factor, though nobody knows it yet.
// Knows no phi nodes, calls and memory.
struct hdi_step hdi_step_combine(const struct hdi_step_rules *rules,
                                 LLVMValueRef instruction,
                                 const struct hdi_step *parts, unsigned count);

#endif
