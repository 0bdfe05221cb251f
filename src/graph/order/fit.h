// Whether what a launch touches lies in its resources: found before anything
// runs, where the compiler knows all that a kernel touches.
#ifndef HDI_GRAPH_ORDER_FIT_H
#define HDI_GRAPH_ORDER_FIT_H

#include "graph/model/model.h"

// Refuse a dispatch that is certain to leave a resource or scratch. Needs its
// kernel and its packed arguments. `guess` gets what it is thought to do.
// HD_EGRAPH, with pass, line, argument and resource.
hd_status hdi_graph_check_fit(struct hd_graph *graph,
                              const struct hdi_pass *pass,
                              const struct hdi_command *command,
                              struct hdi_guess *guess, struct hd_error *error);

// Operations of a dispatch, as the compiler estimates; 0: not known.
uint64_t hdi_guess_steps(const struct hd_graph *graph,
                         const struct hdi_command *command);

#endif
