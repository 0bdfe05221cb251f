// Addresses that are those of neighbours or not, as bits of ids and of what the
// group agrees on decide: `from[i & mask]`, `from[i ^ step]`, `from[i / n * m +
// i % n]`. Where a gather is dear, lanes look at them while running.
#ifndef HDI_KERNEL_COMPILER_WIDE_NEAR_H
#define HDI_KERNEL_COMPILER_WIDE_NEAR_H

#include "kernel/compiler/wide/wide.h"

// Whether it is worth looking at the addresses that a load or store of elements
// of `size` bytes has.
bool hdi_near_pays(const struct hdi_wide *wide, LLVMValueRef access,
                   uint64_t size);

// Of such addresses, whether lanes' may be no further apart than their ids are:
// none was multiplied.
bool hdi_near_is_dense(const struct hdi_wide *wide, LLVMValueRef pointer);

// How far lanes' elements are from lane 0's, whether lanes are on or not.
struct hdi_apart {
    LLVMValueRef at;    // lane 0's
    LLVMValueRef lanes; // a vector of i64 [bytes], or of i32 [elements]
    int64_t unit;       // of the elements, in those
    // Of i32, which may wrap; NULL: they are i64. How many indices are below
    // lane 0's, and an i1: HDI_NEAR_MAX are above.
    LLVMValueRef below, fits;
};

enum {
    HDI_NEAR_MAX = 64 // elements
};

// Whether it is so in all lanes that are on, and `also`, which may be NULL.
LLVMValueRef hdi_near_holds(struct hdi_wide *wide, LLVMValueRef lanes,
                            LLVMValueRef also);

// Of elements of `size` bytes.
struct hdi_apart hdi_near_apart(struct hdi_wide *wide, LLVMValueRef pointer,
                                uint64_t size);

// Whether the addresses of lanes that are on are those of neighbours' elements
// of `size` bytes, an i1; lane 0's, which may be off, is put into `at`.
LLVMValueRef hdi_near_ask(struct hdi_wide *wide, LLVMValueRef pointer,
                          uint64_t size, LLVMValueRef *at);

#endif
