// A region for chunks of a row's work-items: branches on which lanes differ
// become masks, loops go round while any lane is in them.
#ifndef HDI_KERNEL_COMPILER_LANES_H
#define HDI_KERNEL_COMPILER_LANES_H

#include "kernel/compiler/region.h"

struct hdi_lanes;

// False when memory ran out. `*lanes` is NULL when the region must be done one
// work-item after the other, and `*reason` says why.
bool hdi_lanes_create(struct hdi_region *region, struct hdi_lanes **lanes,
                      const char **reason);
void hdi_lanes_destroy(struct hdi_lanes *lanes);

// Write the code for one row, of which `row` is the number in the group of the
// first work-item, NULL: 0. Full chunks, then what is left, under a mask.
void hdi_lanes_write(struct hdi_lanes *lanes, LLVMValueRef row);

#endif
