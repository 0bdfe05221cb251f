// Two regions as one. Where each work-item of the second touches only what its
// own, or one a fixed distance away, touched in the first, no barrier is needed
// between them if chunks go through both in the right order; and what is kept
// of each work-item across it stays in registers.
#ifndef HDI_KERNEL_COMPILER_LANES_JOIN_H
#define HDI_KERNEL_COMPILER_LANES_JOIN_H

#include "kernel/compiler/flow/region.h"
#include "kernel/compiler/vectorise/widen.h"

enum {
    HDI_JOIN_PAIRS = 4 // distances that are looked at while running
};

struct hdi_join {
    // Of the kernel: addresses, or 32-bit indices of one array, of two accesses
    // of which the first happens in the first region.
    struct hdi_join_pair {
        LLVMValueRef first, second;
    } pairs[HDI_JOIN_PAIRS];
    unsigned count;
    const struct hdi_region *both;
};

// Can the first and the second region, `both` together, be done so, and do they
// meet in memory at all? Others are hardly worth the code. `linear` is of
// `both`.
bool hdi_join_find(const struct hdi_region *first,
                   const struct hdi_region *second,
                   const struct hdi_region *both,
                   const struct hdi_linear *linear, struct hdi_join *join);

// At the builder's point, `wide` at the row's first chunk: whether there is a
// right order, and whether it is that from the last chunk to the first.
LLVMValueRef hdi_join_order(const struct hdi_join *join, struct hdi_wide *wide,
                            LLVMValueRef *backwards);

#endif
