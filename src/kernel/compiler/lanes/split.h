// A region that begins by asking whether an id is below a limit which the whole
// group agrees on: chunks of lanes on one side of the limit all answer alike.
#ifndef HDI_KERNEL_COMPILER_LANES_SPLIT_H
#define HDI_KERNEL_COMPILER_LANES_SPLIT_H

#include "kernel/compiler/flow/region.h"
#include "kernel/compiler/vectorise/widen.h"

struct hdi_lane_split {
    LLVMValueRef id, limit; // of the kernel; the id grows by 1 per work-item
    bool remade;            // computed again: the condition stands elsewhere
    bool is_signed;         // how they are compared
    bool inclusive;         // the limit itself is below
    unsigned below;         // the successor that ids below take
    bool ebbs;              // the region does nothing for all others
    unsigned line;          // where it asks
    bool is_tiny;           // it is worth writing for fewer lanes too
};

// Does the region begin so? `linear` and `order` are its own.
bool hdi_split_find(const struct hdi_region *region,
                    const struct hdi_linear *linear,
                    const struct hdi_block_order *order,
                    struct hdi_lane_split *split);

// How many of a row's work-items, emit->trip[0] in all, are below. The builder
// stands before the chunks, `wide` at the row's first one.
LLVMValueRef hdi_split_count(const struct hdi_lane_split *split,
                             struct hdi_wide *wide);

#endif
