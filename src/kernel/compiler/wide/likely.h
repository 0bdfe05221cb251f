// Addresses that grow by one step from lane to lane as long as an index of 32
// bits does not wrap: `a[4 * i + 1]` where `i` may be anything. Whether it does
// is looked at while running, and it does not nearly always.
#ifndef HDI_KERNEL_COMPILER_WIDE_LIKELY_H
#define HDI_KERNEL_COMPILER_WIDE_LIKELY_H

#include "kernel/compiler/wide/wide.h"

struct hdi_likely {
    int64_t step;       // from lane to lane [bytes], VARIES: there is none
    LLVMValueRef index; // extended or masked, it may wrap; NULL: none does
    int64_t index_step; // of it, above 0
    int64_t scale;      // bytes that the address moves with it by 1
    bool remade;        // not at hand, but made of ids and arguments
};

// Of an address that is used at the position at hand.
struct hdi_likely hdi_likely_step(const struct hdi_wide *wide,
                                  LLVMValueRef pointer);

// The address of lane 0; `holds`, an i1, becomes whether those of the others
// follow by the step, NULL: they do. Then no number from `down` below the index
// to `up` above it wraps either, in any lane.
LLVMValueRef hdi_likely_address(struct hdi_wide *wide, LLVMValueRef pointer,
                                const struct hdi_likely *likely, uint64_t down,
                                uint64_t up, LLVMValueRef *holds);

// The addresses of all lanes when the index is `more` more.
LLVMValueRef hdi_likely_lanes(struct hdi_wide *wide, LLVMValueRef pointer,
                              const struct hdi_likely *likely, int64_t more);

#endif
