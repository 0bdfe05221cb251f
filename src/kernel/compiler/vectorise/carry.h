// The values of a chunk's lanes across cuts.
#ifndef HDI_KERNEL_COMPILER_VECTORISE_CARRY_H
#define HDI_KERNEL_COMPILER_VECTORISE_CARRY_H

#include "kernel/compiler/wide/wide.h"

// At the start of a region that begins at block `start`, what a slot
// holds from before, or anything; at a way out of it, keep what it holds.
void hdi_wide_take(struct hdi_wide *wide, size_t start, size_t slot);
void hdi_wide_keep(struct hdi_wide *wide, size_t slot);

#endif
