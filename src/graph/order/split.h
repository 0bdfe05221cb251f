// What is scheduled: passes, or parts of the large ones.
#ifndef HDI_GRAPH_ORDER_SPLIT_H
#define HDI_GRAPH_ORDER_SPLIT_H

#include "graph/model/model.h"

// Choose passes to split by what they took before, and make graph->flow of
// passes and parts. Needs successors, weights and packed arguments. False
// without memory.
bool hdi_graph_split(struct hd_graph *graph);

// Free a flow that is not the arrays of the passes; the graph's, whatever it
// is.
void hdi_task_graph_free(struct hdi_task_graph *flow);
void hdi_graph_free_flow(struct hd_graph *graph);

#endif
