// What a pass does on its worker.
#ifndef HDI_GRAPH_PERFORM_PERFORM_H
#define HDI_GRAPH_PERFORM_PERFORM_H

#include "graph/model/model.h"

// Begin a pass: take memory that it is the first to use.
hd_status hdi_pass_begin(struct hd_graph *graph, struct hdi_pass *pass,
                         struct hd_error *error);

// As hdi_pass_begin(), for all parts of a pass, by the first of them.
hd_status hdi_split_begin(struct hd_graph *graph, struct hdi_split *split,
                          uint64_t now, struct hd_error *error);

// How the pass of a task is split; NULL: the task is the pass.
static inline struct hdi_split *hdi_task_split(struct hd_graph *graph,
                                               const struct hdi_task *task)
{
    uint32_t split = graph->passes.at[task->pass].split;

    return split == HDI_NONE ? NULL : &graph->splits.at[split];
}

// Fill in memory and images of a dispatch; `*filled` are to be emptied. With
// `images`, one for each argument of the graph, these are there, or are kept
// there for the next time, and not to be emptied: an image of memory that is
// still the same is used again.
hd_status hdi_pass_fill_args(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             const struct hdi_command *command,
                             struct hd_image **images, uint32_t *filled,
                             struct hd_error *error);
void hdi_pass_empty_args(struct hd_graph *graph,
                         const struct hdi_command *command, uint32_t filled);

// Run its commands from task->command on, and add what launches cost to
// pass->busy. `*later`: a launch has been started that no worker waits for,
// task->event, which is held; call again when it has ended.
hd_status hdi_pass_go_on(struct hd_graph *graph, struct hdi_task *task,
                         bool *later, struct hd_error *error);

// Of a pass over fields, whose other memory is there: take those that it is the
// first to use. Collective.
hd_status hdi_pass_take_fields(struct hd_graph *graph,
                               const struct hdi_pass *pass,
                               struct hd_error *error);

// It has ended, well or not: give back its scratch.
void hdi_pass_end(struct hd_graph *graph, struct hdi_pass *pass);

// It has ended well: give back what it was the last to use.
void hdi_pass_release(struct hd_graph *graph, const struct hdi_pass *pass);

// Give back a slot's memory now.
void hdi_graph_slot_release(struct hd_graph *graph,
                            struct hdi_graph_slot *slot);

#endif
