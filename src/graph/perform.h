// What a pass does on its worker.
#ifndef HDI_GRAPH_PERFORM_H
#define HDI_GRAPH_PERFORM_H

#include "graph/model.h"

// Run the pass; adds what its launches cost to pass->busy.
hd_status hdi_pass_perform(struct hd_graph *graph, struct hdi_pass *pass,
                           struct hd_error *error);

// It has ended well: give back what it was the last to use.
void hdi_pass_release(struct hd_graph *graph, const struct hdi_pass *pass);

// Give back a slot's memory now.
void hdi_graph_slot_release(struct hd_graph *graph,
                            struct hdi_graph_slot *slot);

#endif
