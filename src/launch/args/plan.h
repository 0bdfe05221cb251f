// A launch worked out: sizes and counts, before anything is packed or run.
#ifndef HDI_LAUNCH_ARGS_PLAN_H
#define HDI_LAUNCH_ARGS_PLAN_H

#include "launch/launch.h"

// Has no pointer into the request: it may be kept and used again for the same
// kernel and range.
struct hdi_plan {
    struct hdi_frame frame; // all but args, memory and the box of a chunk
    uint64_t groups;        // UINT64_MAX: too many
    uint64_t group_items;
    uint64_t local_bytes; // of one work-group, or of all that are there at
    uint64_t saved_bytes; // once
};

// Everything hdi_launch_check() says, and the plan.
hd_status hdi_plan_check(const struct hdi_launcher *launcher,
                         const struct hdi_request *request,
                         struct hdi_plan *plan, struct hd_error *error);

// The same before there are images: NULL stands for one.
hd_status hdi_plan_check_early(const struct hdi_launcher *launcher,
                               const struct hdi_request *request,
                               struct hdi_plan *plan, struct hd_error *error);

// Fill in sizes and counts; choose the work-group size when none is given.
void hdi_plan_shape(const struct hdi_launcher *launcher,
                    const struct hd_kernel *kernel,
                    const struct hd_range *range, struct hdi_plan *plan);

#endif
