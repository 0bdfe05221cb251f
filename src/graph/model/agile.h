// Passes over fields. Their resources have no memory here, but a field that
// lies on the nodes of a cluster; all processes begin them in program order.
#ifndef HDI_GRAPH_MODEL_AGILE_H
#define HDI_GRAPH_MODEL_AGILE_H

#include "graph/model/model.h"

// What a pass that is planned, whose accesses are marked, does with fields.
hd_status hdi_agile_check(struct hd_graph *graph,
                          const struct hd_pass_params *params, bool *agile,
                          struct hd_error *error);

// Whether a command has to do with fields.
bool hdi_agile_is_over(const struct hd_graph *graph,
                       const struct hdi_command *command);

// Say how it stands with the run before a pass over fields begins; HDI_NONE: at
// its end. HD_OK when it stands well on all processes; else all know that it
// does not, and none waits for another in this run any more (graph->parted).
hd_status hdi_agile_agree(struct hd_graph *graph, uint32_t pass,
                          hd_status status, struct hd_error *error);

// The field that a resource is, of zeros unless passes of this run have written
// it. Collective, as everything below.
hd_status hdi_agile_take(struct hd_graph *graph, uint32_t resource,
                         struct hd_error *error);

// Run a dispatch, whose arguments are packed, or a copy, clear or fill.
hd_status hdi_agile_launch(struct hd_graph *graph, struct hdi_pass *pass,
                           const struct hdi_command *command,
                           struct hd_error *error);
hd_status hdi_agile_transfer(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             const struct hdi_command *command,
                             struct hd_error *error);

// Whether a command of a pass is one that hdi_agile_start() starts: a copy
// between fields, or a kernel over fields that another pass may overlap.
bool hdi_agile_starts(const struct hd_graph *graph, const struct hdi_pass *pass,
                      const struct hdi_command *command);

// Start it, the command that `task` has come to; task->event ends with it.
hd_status hdi_agile_start(struct hdi_task *task,
                          const struct hdi_command *command,
                          struct hd_error *error);

// Whether all that a pass does is start such copies and kernels: then the next
// pass over fields may begin before they have ended.
bool hdi_agile_only_starts(const struct hd_graph *graph,
                           const struct hdi_pass *pass);

// A pass has ended, well or not, and all that use some fields have: these go.
void hdi_agile_end(struct hd_graph *graph, const struct hdi_pass *pass);

// All fields go, where all processes call it; then their maps too.
void hdi_agile_release(struct hd_graph *graph);
void hdi_agile_forget(struct hd_graph *graph);

#endif
