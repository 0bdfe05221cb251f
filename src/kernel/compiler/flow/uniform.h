// Which values and branches the work-items of a group agree on.
#ifndef HDI_KERNEL_COMPILER_FLOW_UNIFORM_H
#define HDI_KERNEL_COMPILER_FLOW_UNIFORM_H

#include "kernel/compiler/flow/flow.h"

// Fill in `divergent` of the flow, its blocks and its slots. False: no memory.
bool hdi_uniform_find(struct hdi_flow *flow);

#endif
