// Kernels that go through some memory along x and through other along y, as a
// transposition does: rows of work-items touch a line each there, of which the
// rows above and below touch the rest.
#ifndef HDI_KERNEL_COMPILER_WORTH_TILE_H
#define HDI_KERNEL_COMPILER_WORTH_TILE_H

#include "kernel/compiler/analysis/affine.h"

// Whether rows had better be short, so that the lines are still near then.
bool hdi_tile_pays(const struct hdi_value_steps *affine);

// Work-items of a row that is short then; else of one so long that rows above
// and below are still in a near cache when they are needed again.
unsigned hdi_tile_row(const struct hdi_target *target, bool is_short);

#endif
