// A graph begins compact: as long as it has nothing but passes that call one
// function each, they are kept in graph/calls. Whatever else is asked of it
// makes it a graph of any passes first, with the same handles, and it stays
// one.
#ifndef HDI_GRAPH_MODEL_COMPACT_H
#define HDI_GRAPH_MODEL_COMPACT_H

#include "graph/calls/calls.h"
#include "graph/model/model.h"

// Make it a graph of any passes, if it is compact. HD_ENOMEM: it is as it was.
hd_status hdi_graph_expand(struct hd_graph *graph, struct hd_error *error);

// What follows adds to a compact graph. False: the graph is none, or what is
// added would not leave it one, or is an error, or there is no memory: expand
// it, and add it to that.

// A resource that is checked; its strings are the graph's.
bool hdi_compact_resource(struct hd_graph *graph,
                          const struct hdi_resource *resource);
// One more like the newest.
bool hdi_compact_same(struct hd_graph *graph, const char *name,
                      const struct hd_shape *shape, const char *where);
bool hdi_compact_pass(struct hd_graph *graph,
                      const struct hd_pass_params *params, hd_pass *pass);
bool hdi_compact_order(struct hd_graph *graph, hd_pass before, hd_pass after,
                       const char *where);

// Prepare a compact graph, or expand it where it is not to run as one.
hd_status hdi_compact_prepare(struct hd_graph *graph, struct hd_error *error);

// Start a run of a compact graph, which is prepared; `here`: this thread may
// run passes.
void hdi_compact_start(struct hd_graph *graph, bool here);

// What a run does then (run.c): a pass has failed; all have ended, and so many
// failed or did not run.
void hdi_graph_fail_run(struct hd_graph *graph, const char *name,
                        const char *where, hd_status status,
                        const struct hd_error *error);
void hdi_graph_end_calls(struct hd_graph *graph, uint32_t not_run);

#endif
