// What is scheduled where passes are tiny: batches of them.
#ifndef HDI_GRAPH_ORDER_BATCH_H
#define HDI_GRAPH_ORDER_BATCH_H

#include "graph/model/model.h"

// Whether the pass may share a batch, as far as its cost goes.
bool hdi_weight_is_tiny(const struct hd_graph *graph,
                        const struct hdi_weight *weight);

// Join tiny tasks of graph->flow, whose costs are known, to tasks that are
// several passes. Ranks become those of batches. Nothing is joined where that
// gains nothing. False without memory; the flow is as it was.
bool hdi_graph_batch(struct hd_graph *graph);

#endif
