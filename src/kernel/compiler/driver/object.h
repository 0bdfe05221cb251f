// Object code, and what the optimiser says about it.
#ifndef HDI_KERNEL_COMPILER_DRIVER_OBJECT_H
#define HDI_KERNEL_COMPILER_DRIVER_OBJECT_H

#include "kernel/compiler/driver/pipeline.h"

// Run the passes of CODE, append the vector widths of the regions to the work's
// explanation and put the object into `object`, which was empty.
// The code of the work's module is changed; the module stays the caller's.
// HD_EBUILD, HD_ENOMEM, HD_ECANCELED.
hd_status hdi_object_make(struct hdi_work *work, struct hdi_text *object,
                          struct hd_error *error);

#endif
