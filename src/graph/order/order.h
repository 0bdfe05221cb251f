// What passes cost, which of them is urgent, and how long a run should take.
#ifndef HDI_GRAPH_ORDER_ORDER_H
#define HDI_GRAPH_ORDER_ORDER_H

#include "graph/model/model.h"

// Estimate the cost of every pass from its runs before, else from its kernels,
// and rank the passes by it. Needs successors, and kernels that are built.
// False without memory.
bool hdi_graph_weigh(struct hd_graph *graph);

// A run has ended well: remember what its passes took.
void hdi_graph_learn(struct hd_graph *graph);

// Before a further run: rank the passes by what they took, if that is not what
// was thought. False without memory.
bool hdi_graph_reweigh(struct hd_graph *graph);

#endif
