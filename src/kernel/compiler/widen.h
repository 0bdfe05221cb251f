// Instructions for a chunk: some work-items that are neighbours in x, the lanes
// of vectors. A value that is uniform or linear (linear.h) is kept as the one
// of lane 0 in emit->values, one that varies as a vector of all lanes; where
// its type cannot be the element of a vector, as an array of them.
//
// What lanes that are off hold may be anything, poison too: it must not reach
// memory, a divisor or a branch.
#ifndef HDI_KERNEL_COMPILER_WIDEN_H
#define HDI_KERNEL_COMPILER_WIDEN_H

#include "kernel/compiler/linear.h"

enum {
    HDI_WIDE_OPERANDS = 16 // the most of an instruction
};

struct hdi_wide {
    struct hdi_emit *emit;
    const struct hdi_linear *linear;
    unsigned lanes;
    LLVMValueRef mask; // the lanes at hand that are on; at least one is where
                       // memory is used
    bool certain;      // all of them
    size_t at;         // position of the block at hand
    struct hdi_map vectors;  // kernel's value that varies: its copies
    LLVMValueRef first_half; // store that waits for that of the next element
    LLVMValueRef first_of_record; // store that waits for others of its records
};

// Types and masks.
bool hdi_has_lanes(LLVMTypeRef type);
LLVMTypeRef hdi_wide_type(const struct hdi_wide *wide, LLVMTypeRef type);
LLVMTypeRef hdi_wide_mask_type(const struct hdi_wide *wide);
LLVMValueRef hdi_wide_any(struct hdi_wide *wide, LLVMValueRef mask); // i1
LLVMValueRef hdi_wide_bits(struct hdi_wide *wide, LLVMValueRef mask);

// {0, step, 2 step ...}
LLVMValueRef hdi_wide_iota(const struct hdi_wide *wide, LLVMTypeRef type,
                           int64_t step);
LLVMValueRef hdi_wide_splat(struct hdi_wide *wide, LLVMValueRef scalar);

// Call an intrinsic that `types` choose, giving `result`.
LLVMValueRef hdi_wide_call(struct hdi_wide *wide, unsigned id,
                           LLVMTypeRef *types, unsigned type_count,
                           LLVMValueRef *args, unsigned arg_count);

// All lanes' values from that of lane 0.
LLVMValueRef hdi_wide_spread(struct hdi_wide *wide, LLVMValueRef scalar,
                             struct hdi_class class);

// The copies of a value for all lanes.
LLVMValueRef hdi_wide_value(struct hdi_wide *wide, LLVMValueRef value);

// The copy of a value for one lane; `lane` is an i32.
LLVMValueRef hdi_wide_lane(struct hdi_wide *wide, LLVMValueRef value,
                           LLVMValueRef lane);

// `next` in lanes that are on, `before` in others.
LLVMValueRef hdi_wide_blend(struct hdi_wide *wide, LLVMValueRef mask,
                            LLVMValueRef next, LLVMValueRef before);

// Write an instruction that is no terminator.
void hdi_widen(struct hdi_wide *wide, LLVMValueRef instruction);

// Compute a value again, and what it needs.
void hdi_widen_remade(struct hdi_wide *wide, LLVMValueRef value);

// access.c: loads and stores of memory, plain ones.
void hdi_widen_load(struct hdi_wide *wide, LLVMValueRef load);
void hdi_widen_store(struct hdi_wide *wide, LLVMValueRef store);
// Whether the addresses of elements of that size are those of neighbours nearly
// always.
bool hdi_wide_is_likely(const struct hdi_wide *wide, LLVMValueRef pointer,
                        int64_t size);
LLVMValueRef hdi_wide_read(struct hdi_wide *wide, LLVMTypeRef type,
                           LLVMValueRef pointer, unsigned align);
LLVMValueRef hdi_wide_write(struct hdi_wide *wide, LLVMValueRef vector,
                            LLVMValueRef pointer, unsigned align);

// carry.c: at the start of a region that begins at block `start`, what a slot
// holds from before, or anything; at a way out of it, keep what it holds.
void hdi_wide_take(struct hdi_wide *wide, size_t start, size_t slot);
void hdi_wide_keep(struct hdi_wide *wide, size_t slot);

// bylane.c: one lane after the other, those that are on, and a note of why. The
// latter also where nothing is left behind, then for all.
void hdi_by_lane(struct hdi_wide *wide, LLVMValueRef instruction,
                 const char *why);
void hdi_by_lane_pure(struct hdi_wide *wide, LLVMValueRef instruction);

// Write code once for every lane that is on: `write` is called once or more,
// with the lane.
void hdi_each_lane(struct hdi_wide *wide,
                   void write(struct hdi_wide *wide, LLVMValueRef lane,
                              void *data),
                   void *data);

#endif
