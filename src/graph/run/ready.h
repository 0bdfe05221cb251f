// Which of the passes that are ready goes next.
//
// First by priority, then after which most is to be done. Three things change
// that:
//
//     class      of those passes that the program gave a class no more are let
//                in than the limit of the class says; the others wait outside
//                until one of them has ended
//     streaming  while a pass runs that is bound by memory, one that is not
//                goes before others that are, if there is one that is not much
//                less urgent
//     memory     with a working set, while what is alive is more than that, the
//                pass goes first that lets most of it die
//
// Tasks are named by index; they are parts where passes are split.
#ifndef HDI_GRAPH_RUN_READY_H
#define HDI_GRAPH_RUN_READY_H

#include "graph/model/model.h"

// Nothing is ready, nobody runs.
void hdi_ready_reset(struct hd_graph *graph);

// Let a task in that waits for no other. False: its class is full, and
// hdi_ready_end() will return it.
bool hdi_ready_admit(struct hd_graph *graph, uint32_t task);

// Add a task that was let in, take the one that goes next, or both at once.
void hdi_ready_add(struct hd_graph *graph, uint32_t task);
uint32_t hdi_ready_take(struct hd_graph *graph);
uint32_t hdi_ready_exchange(struct hd_graph *graph, uint32_t task);

// A task that was let in has ended. Returns one of its class that is let in
// for it, or HDI_NONE.
uint32_t hdi_ready_end(struct hd_graph *graph, uint32_t task);

#endif
