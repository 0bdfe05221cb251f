// One block of memory for the resources and scratch of a graph, where memory is
// the goal: lives that do not overlap share bytes, and edges see to it.
#ifndef HDI_GRAPH_ARENA_ARENA_H
#define HDI_GRAPH_ARENA_ARENA_H

#include "graph/model/model.h"

// Decide whether there is to be one, by the policy or as memory is short; place
// everything, and add edges. Needs edges and successors, which may go on to
// have more; `*planned`.
//
// Preparing plans; each run makes the block if it is not there, and hands parts
// out as passes take them (perform.c); the block stays for the next run.
//
//     plan ---> make ---> run, run, ...        changed: forget, plan, make
hd_status hdi_arena_plan(struct hd_graph *graph, bool *planned,
                         struct hd_error *error);
void hdi_arena_forget(struct hd_graph *graph);

// Get the block and its parts, if there are none that fit the plan. Nothing
// uses the ones before.
hd_status hdi_arena_make(struct hd_graph *graph, struct hd_error *error);
void hdi_arena_free(struct hd_graph *graph);

#endif
