// Which work-group size a launch gets when the caller names none.
#ifndef HDI_LAUNCH_ARGS_LOCAL_SIZE_H
#define HDI_LAUNCH_ARGS_LOCAL_SIZE_H

#include <stdint.h>

// Choose the sizes for a range of `global` work-items so that no group has more
// than `limit` items and, where there are enough items, every one of `workers`
// gets at least one group. Prefers sizes that divide the range, and long rows
// along `axis` first, since work-items that follow each other along it become
// the lanes of one vector.
void hdi_choose_local_size(const uint64_t global[3], uint32_t limit,
                           unsigned workers, unsigned axis, uint32_t local[3]);

#endif
