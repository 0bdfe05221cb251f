// What the checker is told of a launch.
#ifndef HDI_LAUNCH_FAULT_CHECKED_H
#define HDI_LAUNCH_FAULT_CHECKED_H

#include "backend/checks.h"
#include "launch/args/bound.h"

// Where the arguments point to, or lie in `packed`; for free(). NULL: no
// memory.
struct hdi_check_launch *hdi_checked_describe(const struct hd_kernel *kernel,
                                              const struct hdi_bound *bound,
                                              const unsigned char *packed);

// What a launch that runs screened may write, as it is before. NULL: no memory,
// or what may be written is another argument's too; then it is not screened.
// So that a screened run that found something can be undone, and the launch run
// again in the form that says what.
struct hdi_copies;
struct hdi_copies *hdi_copies_take(const struct hdi_check_launch *launch);
void hdi_copies_give_back(const struct hdi_copies *copies); // for free()

#endif
