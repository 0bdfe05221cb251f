// Unsigned quotients that are the same for all work-items of a loop, but that
// only some of them compute. Of these LLVM 19 takes that of the first lane for
// what it computes from them, also where that lane is off and has none.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_QUOTIENT_H
#define HDI_KERNEL_COMPILER_ANALYSIS_QUOTIENT_H

#include "kernel/compiler/flow/region.h"

// Whether the region has one, so that its loop must not become vectors.
bool hdi_quotient_find(const struct hdi_region *region);

#endif
