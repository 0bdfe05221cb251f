// The blocks of a region in an order that lanes can take together: every edge
// but those back to the head of a loop leads forward, and the blocks of a loop
// stand side by side, its head first.
#ifndef HDI_KERNEL_COMPILER_FLOW_ORDER_H
#define HDI_KERNEL_COMPILER_FLOW_ORDER_H

#include "kernel/compiler/flow/flow.h"

//     position    0    1    2    3    4    5
//     block       a    h    b    c    d    x       h heads the loop h b c
//     loop_end    0    4    0    0    0    0
//
// Invariant: a loop is one run of positions from its head on, and loops are
// inside each other or apart.
struct hdi_block_order {
    size_t *blocks;   // of the region and the cuts that end it, in order
    size_t count;     // of blocks
    size_t *position; // per block of the kernel, SIZE_MAX: not among them
    size_t *loop_end; // per position: behind the last block of the loop that
                      // this one heads, 0: it heads none
};

enum hdi_ordered {
    HDI_ORDERED,
    HDI_ORDER_NONE,     // a loop with two ways in
    HDI_ORDER_NO_MEMORY // nothing to destroy
};

// `blocks` begins with the start of the region; the cuts among them end it.
enum hdi_ordered hdi_order_find(const struct hdi_flow *flow,
                                const size_t *blocks, size_t count,
                                struct hdi_block_order *order);
void hdi_order_destroy(struct hdi_block_order *order);

// Is position `at` in the loop that position `head` heads?
static inline bool hdi_order_in_loop(const struct hdi_block_order *order,
                                     size_t head, size_t at)
{
    return head <= at && at < order->loop_end[head];
}

#endif
