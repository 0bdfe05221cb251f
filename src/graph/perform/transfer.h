// Copies, fills and the like between resources, by the worker that runs the
// pass.
#ifndef HDI_GRAPH_PERFORM_TRANSFER_H
#define HDI_GRAPH_PERFORM_TRANSFER_H

#include "graph/model/model.h"

// Copy `size` bytes, or clear them if there is no `from`.
hd_status hdi_transfer_bytes(struct hd_graph *graph, struct hd_buffer *to,
                             uint64_t offset, const void *from, uint64_t size,
                             struct hd_error *error);

// Any command of a pass but a dispatch; that is mostly a transfer. Slots have
// memory.
hd_status hdi_transfer(struct hd_graph *graph, const struct hdi_pass *pass,
                       const struct hdi_command *command,
                       struct hd_error *error);

#endif
