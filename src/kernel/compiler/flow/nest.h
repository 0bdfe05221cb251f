// The loops of a kernel. One at a time is at hand: its blocks are known then.
#ifndef HDI_KERNEL_COMPILER_FLOW_NEST_H
#define HDI_KERNEL_COMPILER_FLOW_NEST_H

#include "kernel/compiler/flow/dominators.h"
#include "kernel/compiler/flow/flow.h"

// The flow must stay, with its blocks. `inmost` of a block in no loop is 0,
// which heads none as a rule: ask hdi_nest_take().
struct hdi_nest {
    const struct hdi_flow *flow;
    struct hdi_dominators dominators;
    uint64_t *body; // blocks of the loop at hand
    size_t *inmost; // per block: the head of the least loop around it
    size_t *stack;
};

// False when memory ran out; destroy it all the same.
bool hdi_nest_find(struct hdi_nest *nest, const struct hdi_flow *flow);
void hdi_nest_destroy(struct hdi_nest *nest);

// A loop is told by an edge back to a block that dominates where it comes from.
// Loops with two ways in are none here.
bool hdi_nest_is_head(const struct hdi_nest *nest, size_t block);

// Have the loop with this head at hand; false when it is none.
bool hdi_nest_take(struct hdi_nest *nest, size_t head);

static inline bool hdi_nest_has(const struct hdi_nest *nest, size_t block)
{
    return hdi_bit(nest->body, block);
}

#endif
