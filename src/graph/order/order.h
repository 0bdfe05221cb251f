// What passes cost, which of them is urgent, and how long a run should take.
#ifndef HDI_GRAPH_ORDER_ORDER_H
#define HDI_GRAPH_ORDER_ORDER_H

#include "graph/model/model.h"

// The parts of the room are called in this order, by preparing (run/prepare.c)
// and by runs:
//
//     reduce.c   which edges do others imply?                 list_successors()
//     fit.h      does each launch fit its resources?          pack_dispatch()
//     order.h    costs, then within it                        make_weights()
//       split.h    parts of large passes: the flow
//       rank       the longest way to the end, by cost
//       batch.h    tiny tasks joined: another flow
//       forecast   how long the run should take
//     learn      what passes took; reweigh before the next    harvest()

// Estimate the cost of every pass from its runs before, else from its kernels,
// and rank the passes by it. Needs successors, and kernels that are built.
// False without memory.
bool hdi_graph_weigh(struct hd_graph *graph);

// The same for passes that join an open run: what they cost and, when they are
// linked, by edges from number `edges` on, how urgent they are. There is room.
void hdi_graph_weigh_more(struct hd_graph *graph);
void hdi_graph_rank_more(struct hd_graph *graph, uint32_t edges);

// The pass has so many operations now, as an argument has changed: what it is
// thought to cost follows.
void hdi_graph_rescale(struct hd_graph *graph, struct hdi_pass *pass,
                       uint64_t steps);

// What the pass has moved [bytes]: what the hardware has counted; else its
// footprint if that is known, else all of its resources.
uint64_t hdi_graph_moved(const struct hd_graph *graph,
                         const struct hdi_pass *pass, bool *counted);

// A run has ended well: remember what its passes took.
void hdi_graph_learn(struct hd_graph *graph);

// The same of a run that was open: the bounds of its passes, the first `count`
// of the graph. Passes that could not join it have no weights.
void hdi_graph_judge(struct hd_graph *graph, uint32_t count);

// Before a further run: rank the passes by what they took, if that is not what
// was thought. False without memory.
bool hdi_graph_reweigh(struct hd_graph *graph);

#endif
