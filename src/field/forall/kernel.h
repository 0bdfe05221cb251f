// forall with a kernel, for whoever has a launcher and no runtime.
#ifndef HDI_FIELD_FORALL_KERNEL_H
#define HDI_FIELD_FORALL_KERNEL_H

#include "heddle/agile.h"

struct hdi_lane;
struct hdi_launcher;

// As hd_forall_kernel(), in a lane (NULL: the first), over `range` (NULL: over
// all elements of the output). A range of fewer axes than the output has leaves
// out the first of these: a work-item owns all elements along them.
hd_status hdi_forall_kernel(struct hdi_launcher *launcher,
                            struct hdi_lane *lane,
                            const struct hd_forall *forall,
                            const struct hd_kernel *kernel,
                            const struct hd_range *range,
                            const struct hd_field_arg *args, unsigned arg_count,
                            struct hd_error *error);

// Whether a kernel can run over fields by this map in that range: it covers the
// last axes, up to work-groups that are cut off at the end, and no task cuts
// the other axes. `name` is the output's.
hd_status hdi_forall_check_range(const struct hd_map *map,
                                 const struct hd_range *range, const char *name,
                                 struct hd_error *error);

#endif
