// What a kernel did wrong, in words: which instruction of whose work-group, and
// which of its arguments it missed.
#ifndef HDI_LAUNCH_FAULT_FAULT_H
#define HDI_LAUNCH_FAULT_FAULT_H

#include <stddef.h>

#include "launch/args/bound.h"
#include "launch/launch.h"

// The arguments are those of the launch. `hint` is added; optional.
void hdi_fault_describe(const struct hdi_fault *fault,
                        const struct hd_kernel *kernel,
                        const struct hdi_bound *bound, const char *hint,
                        char *text, size_t size);

#endif
