// Conditions at the begin of a region that keep work-items out of all it does.
#ifndef HDI_KERNEL_COMPILER_LANES_GUARD_H
#define HDI_KERNEL_COMPILER_LANES_GUARD_H

#include "kernel/compiler/flow/region.h"

// Whether what the region keeps of single work-items is needed behind it.
bool hdi_guard_keeps_items(const struct hdi_region *region);

// Whether what the region keeps of the whole group is needed behind it.
bool hdi_guard_keeps_group(const struct hdi_region *region);

// All work-items would find the same: the region touches no memory, and all
// that it keeps is the group's. One of them does it for all.
bool hdi_guard_is_shared(const struct hdi_region *region);

// The region does something for one work-item of a row (or column) only: its
// local id in dimension `d`, a value of the kernel that the group agrees on and
// that may be computed anywhere; NULL when there is none. The condition stays
// in the region: the id may be one that the group does not have.
LLVMValueRef hdi_guard_lone_item(const struct hdi_region *region, unsigned d);

#endif
