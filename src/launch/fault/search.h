// Which work-item has faulted. Loops know the range of work-groups that they
// run and no more; so these run again, checked, one work-item after another,
// until one touches the same place.
#ifndef HDI_LAUNCH_FAULT_SEARCH_H
#define HDI_LAUNCH_FAULT_SEARCH_H

#include "backend/checks.h"
#include "launch/args/bound.h"
#include "launch/box.h"
#include "launch/launch.h"

// Name the work-item in `fault`, if it is not, of a launch of `frame` that
// failed. Where it is not found, the fault stays as it is, and the result says
// why, or what to do; else NULL. Buffers are left alone: of those that
// it may write, copies are, of what is touched.
const char *hdi_search_run(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hdi_frame *frame,
                           const struct hdi_bound *bound,
                           const struct hdi_terms *terms,
                           struct hdi_fault *fault);

// For the launch that searches: what it runs, in one piece; and that it ended
// in a fault itself.
struct hdi_box hdi_search_box(const struct hdi_search *search);
void hdi_search_end(struct hdi_search *search, const struct hdi_fault *fault);

#endif
