// What a pass does on its worker.
#ifndef HDI_GRAPH_PERFORM_H
#define HDI_GRAPH_PERFORM_H

#include "graph/model.h"

// Begin a pass: take memory that it is the first to use.
hd_status hdi_pass_begin(struct hd_graph *graph, struct hdi_pass *pass,
                         struct hd_error *error);

// Run its commands from task->command on, and add what launches cost to
// pass->busy. `*later`: a launch has been started that no worker waits for,
// task->event, which is held; call again when it has ended.
hd_status hdi_pass_go_on(struct hd_graph *graph, struct hdi_task *task,
                         bool *later, struct hd_error *error);

// It has ended, well or not: give back its scratch.
void hdi_pass_end(struct hd_graph *graph, const struct hdi_pass *pass);

// It has ended well: give back what it was the last to use.
void hdi_pass_release(struct hd_graph *graph, const struct hdi_pass *pass);

// Give back a slot's memory now.
void hdi_graph_slot_release(struct hd_graph *graph,
                            struct hdi_graph_slot *slot);

#endif
