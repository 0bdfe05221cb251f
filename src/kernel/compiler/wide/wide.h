// Main header of wide: what is known of a chunk of lanes, and words that make
// vectors of them.
#ifndef HDI_KERNEL_COMPILER_WIDE_WIDE_H
#define HDI_KERNEL_COMPILER_WIDE_WIDE_H

#include "kernel/compiler/analysis/linear.h"
#include "kernel/compiler/emit/emit.h"

enum {
    HDI_WIDE_OPERANDS = 16 // the most of an instruction
};

// Lanes of an instruction that are taken from memory, not out of registers.
// Those of 32-bit integers come in pairs, which halves the loads.
struct hdi_stored {
    struct hdi_map memory; // vector: alloca
    struct hdi_map odd;    // alloca: what lane `even + 1` holds
    uint64_t even;
};

struct hdi_wide {
    struct hdi_emit *emit;
    const struct hdi_linear *linear;
    unsigned lanes;
    LLVMValueRef mask; // the lanes at hand that are on; at least one is where
                       // memory is used
    bool certain;      // all of them
    LLVMValueRef chunk_begin;  // the branch to the chunk's code, or NULL
    size_t at;                 // position of the block at hand
    struct hdi_map vectors;    // kernel's value that varies: its copies
    struct hdi_stored *stored; // NULL: single lanes are taken from registers
    LLVMValueRef first_half;   // store that waits for that of the next element
    LLVMValueRef first_of_record; // store that waits for others of its records
};

// Is it an instruction of the block at hand?
bool hdi_wide_is_here(const struct hdi_wide *wide, LLVMValueRef value);

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
                             struct hdi_step step);

// The copies of a value for all lanes.
LLVMValueRef hdi_wide_value(struct hdi_wide *wide, LLVMValueRef value);

// The copy of a value for one lane; `lane` is an i32.
LLVMValueRef hdi_wide_lane(struct hdi_wide *wide, LLVMValueRef value,
                           LLVMValueRef lane);

// `next` in lanes that are on, `before` in others.
LLVMValueRef hdi_wide_blend(struct hdi_wide *wide, LLVMValueRef mask,
                            LLVMValueRef next, LLVMValueRef before);

#endif
