// Main header of analysis: what is known of a kernel and of its values; nothing
// is changed here, and nobody knows who emits code.
//
// What the lanes of a chunk, work-items that are neighbours in x, know of each
// other: values that are the same in all or grow by a constant from lane to
// lane, and blocks in which some lanes may be while others wait elsewhere.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_LINEAR_H
#define HDI_KERNEL_COMPILER_ANALYSIS_LINEAR_H

#include "kernel/compiler/analysis/affine.h"
#include "kernel/compiler/flow/order.h"

// Positions are those of `order`, which must stay, as the flow must.
struct hdi_linear {
    const struct hdi_flow *flow;
    const struct hdi_block_order *order;
    struct hdi_value_steps steps; // of lanes that neither wait elsewhere nor
                                  // are off: theirs are of no interest
    uint64_t *waiting; // per position, flow->live_words: slots that lanes which
                       // wait elsewhere still need
    struct hdi_map fixed;  // what work-items find again whenever they compute
                           // it, or not
    struct hdi_map remade; // values of which steps are known as the region
                           // begins
    bool *scattered;       // per position: lanes may wait elsewhere
    bool *parts;   // per position: lanes may part at its end, or have before
    bool together; // all lanes take the first branch alike
    bool gone;     // lanes may have returned before
    bool marks;    // it is noted which lanes have returned
    bool returns;  // lanes may return while others go on
};

// The region begins at the first block of `order`. False when memory ran out.
// `together`: the caller sees to it that lanes take the first branch alike.
bool hdi_linear_find(const struct hdi_flow *flow,
                     const struct hdi_block_order *order, bool gone, bool marks,
                     bool together, struct hdi_linear *linear);
void hdi_linear_destroy(struct hdi_linear *linear);

// From lane to lane, 0: uniform, or VARIES: there is no such step.
struct hdi_step hdi_linear_step(const struct hdi_linear *linear,
                                LLVMValueRef value);
struct hdi_step hdi_linear_slot(const struct hdi_linear *linear, size_t slot);

static inline bool hdi_linear_slot_varies(const struct hdi_linear *linear,
                                          size_t slot)
{
    return hdi_linear_slot(linear, slot).by == HDI_STEP_VARIES;
}

static inline bool hdi_linear_varies(const struct hdi_linear *linear,
                                     LLVMValueRef value)
{
    return hdi_linear_step(linear, value).by == HDI_STEP_VARIES;
}

static inline bool hdi_linear_is_uniform(const struct hdi_linear *linear,
                                         LLVMValueRef value)
{
    return hdi_linear_step(linear, value).by == 0;
}

#endif
