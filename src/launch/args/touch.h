// What a launch touches of its buffers, by the kernel's footprint: what must be
// brought to its device, and which parts of it can be told apart.
//
// For runtimes of several devices; with one device nobody calls these.
#ifndef HDI_LAUNCH_ARGS_TOUCH_H
#define HDI_LAUNCH_ARGS_TOUCH_H

#include "launch/args/bound.h"
#include "launch/args/plan.h"

// Make what the launch, or a part of it (optional), may touch valid on the
// launcher's device, and let the arguments point there.
//
// Errors: HD_ENOMEM, or what the devices say of a copy
hd_status hdi_touch_bring(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hdi_plan *plan,
                          const struct hdi_box *part, struct hdi_bound *bound,
                          struct hd_error *error);

// How much that would copy [bytes].
uint64_t hdi_touch_missing(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_plan *plan,
                           const struct hdi_box *part,
                           const struct hdi_bound *bound);

// Whether neither of two parts of a launch writes what the other reads or
// writes, so that they can run on two devices. Then the same is true of all
// parts of these.
bool hdi_touch_is_apart(const struct hd_kernel *kernel,
                        const struct hdi_plan *plan, const struct hdi_box *one,
                        const struct hdi_box *other,
                        const struct hdi_bound *bound);

#endif
