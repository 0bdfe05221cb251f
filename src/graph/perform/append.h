// Dispatches of a pass that its kernels append: the host reads what they ask
// for and runs it, one after another, where a device does not do it by itself
// (backend/list.h).
#ifndef HDI_GRAPH_PERFORM_APPEND_H
#define HDI_GRAPH_PERFORM_APPEND_H

#include "graph/model/model.h"

// The pass has memory: its buffers take requests from now on.
hd_status hdi_append_begin(struct hd_graph *graph, const struct hdi_pass *pass,
                           struct hd_error *error);

// A dispatch of the pass has ended: take what it asked for.
hd_status hdi_append_take(struct hd_graph *graph, struct hdi_pass *pass,
                          uint32_t command, struct hd_error *error);

// The next that was asked for: its command, and which work-groups of it. False:
// there is none.
bool hdi_append_next(struct hdi_pass *pass, uint32_t *command,
                     struct hdi_box *box);

// The pass has ended, well or not.
void hdi_append_end(struct hdi_pass *pass);

// A device refused what a dispatch asked for: `why` as enum hdi_list_failure.
hd_status hdi_append_refused(const struct hd_graph *graph,
                             const struct hdi_pass *pass, uint32_t command,
                             unsigned why, struct hd_error *error);

// The index of its argument that requests go to; HDI_NONE: it appends nothing.
uint32_t hdi_append_argument(const struct hd_graph *graph,
                             const struct hdi_command *command);

#endif
