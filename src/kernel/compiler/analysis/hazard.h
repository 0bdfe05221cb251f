// Regions whose work-items may read or overwrite what they wrote themselves.
//
// LLVM's loop vectoriser takes accesses a few elements apart together: loads
// where the first stands, stores where the last does. In a loop whose accesses
// are marked as independent of those of other work-items it looks for no
// dependences at all, not even for those within a work-item, and so may carry
// an access past another to the same element. Such regions are not marked; LLVM
// then finds the dependences itself.
#ifndef HDI_KERNEL_COMPILER_ANALYSIS_HAZARD_H
#define HDI_KERNEL_COMPILER_ANALYSIS_HAZARD_H

#include "kernel/compiler/flow/region.h"

// `*crowded`: LLVM would need too many checks to find them. False when memory
// ran out.
bool hdi_hazard_find(const struct hdi_region *region, bool *found,
                     bool *crowded);

#endif
