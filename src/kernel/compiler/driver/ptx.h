// Programs for GPUs.
#ifndef HDI_KERNEL_COMPILER_DRIVER_PTX_H
#define HDI_KERNEL_COMPILER_DRIVER_PTX_H

#include "base/text.h"
#include "kernel/build.h"
#include "kernel/compiler.h"

// Whether the source is to be compiled for a GPU.
// First is_wanted, then choose, then (after the front end) make.
bool hdi_ptx_is_wanted(const struct hdi_source *source);

// Set target, cpu and features of the build. HD_EINVAL: an architecture that is
// not known.
hd_status hdi_ptx_choose(const struct hdi_source *source,
                         struct hdi_build *build, struct hd_error *error);

// The front end's bitcode to PTX, and what is known of its kernels.
// On failure `build` may hold some of its kernels, for hdi_build_clear().
hd_status hdi_ptx_make(const struct hdi_source *source,
                       const struct hdi_text *bitcode, struct hdi_build *build,
                       struct hdi_text *image, struct hd_error *error);

#endif
