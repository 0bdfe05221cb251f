// A run of a graph: begun once, counted in the graph's group until it is left.
#ifndef HDI_GRAPH_RUN_RUN_H
#define HDI_GRAPH_RUN_RUN_H

#include "graph/model/model.h"

// Make the graph ready, which is not running; nothing runs yet.
hd_status hdi_graph_begin_run(struct hd_graph *graph,
                              const struct hd_graph_run_params *params,
                              struct hd_error *error);

// Let those passes run that wait for none. The run may be over when this
// returns. `here`: this thread may run passes.
void hdi_graph_start_first(struct hd_graph *graph, bool here);

// The run does not begin here, for that reason: the other processes, which may
// wait for this one in front of a pass over fields, are told.
void hdi_graph_miss(struct hd_graph *graph, bool open,
                    const struct hd_error *why);

// The run is over, or never went on.
void hdi_graph_leave_run(struct hd_graph *graph);

// All passes have ended: more may come, else the run is over.
void hdi_graph_end_run(struct hd_graph *graph);

// Tasks: task.c ---------------------------------------------------------------

// Passes of this run that are not dropped; and tell the user of one that has
// ended.
uint32_t hdi_graph_total(const struct hd_graph *graph);
void hdi_graph_tell_progress(struct hd_graph *graph,
                             const struct hdi_pass *pass);

// Whether no further pass is to start, and why.
bool hdi_graph_is_stopped(struct hd_graph *graph);
hd_status hdi_graph_why_stopped(struct hd_graph *graph, struct hd_error *error);

// Hand those to workers that wait for nothing. The run may be over when this
// returns.
void hdi_graph_start_tasks(struct hd_graph *graph);

// Hand a task to a worker, now that it waits for no other, if its class lets it
// in.
void hdi_graph_give(struct hd_graph *graph, uint32_t task);

// One of what keeps the run from its end less. True: that was the last, and the
// graph may be gone.
bool hdi_graph_count_down(struct hd_graph *graph);

// What a task is before it runs.
void hdi_graph_reset_task(struct hd_graph *graph, uint32_t index, uint32_t pass,
                          uint32_t waits);

// Open runs: extend.c ---------------------------------------------------------

// Make room for what may be added, before the graph is made ready; and, when it
// is, let the arrays stay. Closed: they may move again.
hd_status hdi_open_make_room(struct hd_graph *graph, unsigned room,
                             struct hd_error *error);
hd_status hdi_open_begin(struct hd_graph *graph, struct hd_error *error);
void hdi_open_end(struct hd_graph *graph);

// Passes that have joined may start from now on; the first `joined` are not
// looked at.
void hdi_open_start(struct hd_graph *graph, uint32_t joined);

// Add what was built to a run that is open, and wait until a pass has ended.
// Errors as hd_graph_extend(). One at a time with all that adds to the graph.
hd_status hdi_open_wait(struct hd_graph *graph, uint32_t pass,
                        struct hd_error *error);

// The run will not begin: it ends when it is closed.
void hdi_open_give_up(struct hd_graph *graph);

// A task has ended: count down those that joined after it.
void hdi_open_end_task(struct hd_graph *graph, struct hdi_task *task);

#endif
