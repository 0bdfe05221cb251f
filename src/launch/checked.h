// What the checker is told of a launch (spec K11).
#ifndef HDI_LAUNCH_CHECKED_H
#define HDI_LAUNCH_CHECKED_H

#include "backend/checks.h"
#include "heddle/kernel.h"

// Where the arguments point to; for free(). NULL: no memory.
struct hdi_check_launch *hdi_launch_describe(const struct hd_kernel *kernel,
                                             const struct hd_arg *args,
                                             unsigned arg_count,
                                             const uint64_t *local_offsets);

#endif
