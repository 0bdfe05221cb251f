// forall with a kernel, for whoever has a launcher and no runtime.
#ifndef HDI_FIELD_FORALL_KERNEL_H
#define HDI_FIELD_FORALL_KERNEL_H

#include "heddle/agile.h"

struct hdi_launcher;

// As hd_forall_kernel().
hd_status hdi_forall_kernel(struct hdi_launcher *launcher,
                            const struct hd_forall *forall,
                            const struct hd_kernel *kernel,
                            const struct hd_field_arg *args, unsigned arg_count,
                            struct hd_error *error);

#endif
