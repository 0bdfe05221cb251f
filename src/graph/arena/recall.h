// Plans of memory, kept between processes beside the compiled kernels: in which
// order the passes of a graph were thought to run, and where in one block each
// of its resources lies. A graph of the same structure is not planned again.
//
// There is room for so many plans; a new one takes the place of one whose hash
// ends alike. What is read is checked before it is used: a file that is
// damaged, or of another graph, is as good as none.
#ifndef HDI_GRAPH_ARENA_RECALL_H
#define HDI_GRAPH_ARENA_RECALL_H

#include "graph/model/feedback.h"

enum {
    HDI_RECALL_PLANS = 64,
    HDI_RECALL_PASSES = 1 << 16, // of a plan, at most
    HDI_RECALL_ITEMS = 1 << 13   // of a plan, at most: all pairs are checked
};

// What is kept. The arrays are the caller's.
struct hdi_recalled_plan {
    uint32_t passes, items;
    uint64_t height;  // of the block [bytes]
    uint32_t *order;  // passes, one after another
    uint64_t *offset; // of each item [bytes]
};

// Fill in height, order and offsets of the plan of that key, whose counts are
// set. False: there is none. Whether it is right is for the caller to see.
bool hdi_recall_find(struct hdi_cache *cache,
                     const struct hdi_feedback_key *key,
                     struct hdi_recalled_plan *plan);

// Keep it. Failing is no error: it is planned again.
void hdi_recall_keep(struct hdi_cache *cache,
                     const struct hdi_feedback_key *key,
                     const struct hdi_recalled_plan *plan);

#endif
