// Main header of analysis: what is known of a kernel and of its values; nothing
// is changed here, and nobody knows who emits code.
//
// What the lanes of a chunk, work-items that are neighbours in x, know of each
// other: values that are the same in all or grow by a constant from lane to
// lane, and blocks in which some lanes may be while others wait elsewhere.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_LINEAR_H
#define HDI_KERNEL_COMPILER_ANALYSIS_LINEAR_H

#include "kernel/compiler/flow/flow.h"
#include "kernel/compiler/flow/order.h"

enum hdi_lane_kind {
    HDI_LANES_UNKNOWN, // no value yet: any will do
    HDI_LANES_LINEAR,  // that of lane 0 and `step` per lane; 0: uniform
    HDI_LANES_VARY
};

// How a value differs from lane to lane. That of lanes that wait elsewhere or
// are off is of no interest.
struct hdi_class {
    enum hdi_lane_kind kind;
    int32_t step;
    bool is_signed;   // linear without wrapping as a signed number
    bool is_unsigned; // or as one without a sign
};

// Positions are those of `order`, which must stay, as the flow must.
struct hdi_linear {
    const struct hdi_flow *flow;
    const struct hdi_block_order *order;
    struct hdi_class *slots; // per slot
    struct hdi_map classes;  // instruction: its class, packed
    uint64_t *waiting;       // per position, flow->live_words: slots that lanes
                             // which wait elsewhere still need
    bool *scattered;         // per position: lanes may wait elsewhere
    bool *parts;   // per position: lanes may part at its end, or have before
    bool together; // all lanes take the first branch alike
    bool marks;    // it is noted which lanes have returned
    bool returns;  // lanes may return while others go on
};

// The region begins at the first block of `order`. False when memory ran out.
// `together`: the caller sees to it that lanes take the first branch alike.
bool hdi_linear_find(const struct hdi_flow *flow,
                     const struct hdi_block_order *order, bool marks,
                     bool together, struct hdi_linear *linear);
void hdi_linear_destroy(struct hdi_linear *linear);

struct hdi_class hdi_linear_class(const struct hdi_linear *linear,
                                  LLVMValueRef value);

static inline bool hdi_linear_varies(const struct hdi_linear *linear,
                                     LLVMValueRef value)
{
    return hdi_linear_class(linear, value).kind == HDI_LANES_VARY;
}

#endif
