// A launch on some of the workers: on those that were named, or on so many.
#ifndef HDI_LAUNCH_RUN_CHOSEN_H
#define HDI_LAUNCH_RUN_CHOSEN_H

#include "launch/run/flight.h"

// Whether the launch may have these workers. HD_EINVAL, HD_ENOTSUP.
hd_status hdi_chosen_check(const struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_terms *terms,
                           struct hd_error *error);

// Run all of it and wait; any thread. Each of the workers takes leaves until
// there are no more.
void hdi_chosen_run(struct hdi_flight *launch);

#endif
