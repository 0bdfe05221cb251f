// Which kind of device a kernel suits, before it was measured anywhere.
//
// A GPU runs many work-items in step, and hides the time of memory behind
// others; it is for kernels whose work-items do the same. A core foretells
// branches and keeps what is used again near; it is for kernels that are one
// thing after another, or another thing for each work-item.
#ifndef HDI_KERNEL_COMPILER_WORTH_SUITS_H
#define HDI_KERNEL_COMPILER_WORTH_SUITS_H

#include "kernel/build.h"
#include "kernel/compiler/analysis/affine.h"

// What speaks for the one or the other.
struct hdi_traits {
    bool divides;       // something depends on which work-item it is
    unsigned accesses;  // of memory that work-items share
    unsigned scattered; // of these, that neighbours do not do side by side
    unsigned repeated, repeated_scattered; // the same, of those in loops
    unsigned atomics;
    unsigned uneven;  // line of a loop that some leave before others; 0: none
    unsigned retries; // line of an exchange that is tried until it succeeds
};

// `items` and `nest` are of one kernel.
void hdi_traits_find(const struct hdi_value_steps *items, struct hdi_nest *nest,
                     struct hdi_traits *traits);

// An enum hd_suits, and why, in words that follow "suits ...: ".
uint32_t hdi_traits_judge(const struct hdi_traits *traits,
                          const uint32_t *required_local, struct hdi_text *why);

#endif
