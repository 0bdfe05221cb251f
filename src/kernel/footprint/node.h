// What one node of a footprint comes to.
#ifndef HDI_KERNEL_FOOTPRINT_NODE_H
#define HDI_KERNEL_FOOTPRINT_NODE_H

#include "kernel/footprint/evaluation.h"

// Operands have been evaluated. One that stands for a variable may narrow that
// variable's range to the node's type.
struct hdi_form hdi_node_evaluate(struct hdi_evaluation *evaluation,
                                  uint32_t node);

// An id, size or offset along an axis: HDI_FOOTPRINT_GLOBAL_ID to _OFFSET.
struct hdi_form hdi_node_id(const struct hdi_evaluation *evaluation,
                            uint32_t op, unsigned axis);

#endif
