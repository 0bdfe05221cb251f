// What it takes to hand passes over to another worker: it decides how many tiny
// ones go together. Measured once on a machine, and kept with what passes took.
#ifndef HDI_GRAPH_ORDER_HANDOVER_H
#define HDI_GRAPH_ORDER_HANDOVER_H

#include "graph/model/model.h"

// From the end of a batch on one worker to the first data of the next on
// another [ns]. Measured when it is asked for first; where that fails, what is
// usual.
uint64_t hdi_handover(const struct hd_graph *graph);

// Measure it, in a few milliseconds. 0: it cannot be told, as on a machine of
// one core, or while too much else runs.
uint64_t hdi_handover_measure(const struct hdi_topology *topology);

// By which it is kept among what passes took.
struct hdi_feedback_key hdi_handover_key(const struct hd_graph *graph);

#endif
