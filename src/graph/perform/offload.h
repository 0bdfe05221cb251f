// A graph that a device schedules by itself: all its passes, as steps of one
// sequence (launch/start/sequence.h), are there before the run begins, with all
// their memory, and the host is told once.
#ifndef HDI_GRAPH_PERFORM_OFFLOAD_H
#define HDI_GRAPH_PERFORM_OFFLOAD_H

#include "graph/model/model.h"

// Start the run on a device, if one can and should; `ended` is called on a
// worker when it has ended, and then hdi_offload_end() is. False: the host runs
// it, and graph->offload.why may say why.
bool hdi_offload_start(struct hd_graph *graph,
                       void (*ended)(struct hd_worker *worker, hd_status status,
                                     void *graph));

// How it ended; then each pass has its times, if the device told them.
hd_status hdi_offload_end(struct hd_graph *graph, struct hd_error *error);

// The run has ended well, after so long [ns].
void hdi_offload_learn(struct hd_graph *graph, uint64_t took);

void hdi_offload_forget(struct hd_graph *graph);

#endif
