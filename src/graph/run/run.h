// A run of a graph: begun once, counted in the graph's group until it is left.
#ifndef HDI_GRAPH_RUN_RUN_H
#define HDI_GRAPH_RUN_RUN_H

#include "graph/model/model.h"

// Make the graph ready; nothing runs yet. HD_EINVAL: it is running.
hd_status hdi_graph_begin_run(struct hd_graph *graph,
                              const struct hd_graph_run_params *params,
                              struct hd_error *error);

// Let those passes run that wait for none. The run may be over when this
// returns. `here`: this thread may run passes.
void hdi_graph_start_first(struct hd_graph *graph, bool here);

// The run is over, or never went on.
void hdi_graph_leave_run(struct hd_graph *graph);

#endif
