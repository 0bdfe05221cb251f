// The graph layer's entry for the runtime; the rest of its interface is public,
// in heddle/graph.h.
#ifndef HDI_GRAPH_MODEL_GRAPH_H
#define HDI_GRAPH_MODEL_GRAPH_H

#include "heddle/graph.h"
#include "kernel/program.h"
#include "launch/launch.h"

struct hdi_feedback;
struct hdi_shelf;

// What graphs need of a runtime.
struct hdi_graph_context {
    struct hdi_launcher *launcher;
    struct hdi_program_context programs;
    struct hdi_feedback *feedback; // NULL: nothing is learned
    struct hdi_shelf *shelf;       // NULL: no graph is kept
};

// As hd_graph_create() and hd_graph_generate(). The context is copied, what it
// points to must live longer than the graph.
hd_status hdi_graph_create(const struct hdi_graph_context *context,
                           struct hd_graph **graph, struct hd_error *error);
hd_status hdi_graph_generate(const struct hdi_graph_context *context,
                             const struct hd_graph_program *program,
                             struct hd_graph **graph, struct hd_error *error);

// Whether this build can run graph programs.
bool hdi_graph_has_language(void);

// For `heddle info`: "Lua 5.4.4", or why there is no graph language.
const char *hdi_graph_language(void);
bool hdi_graph_has_language(void);

#endif
