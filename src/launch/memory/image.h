// Images of one launcher, as launches see them.
#ifndef HDI_LAUNCH_MEMORY_IMAGE_H
#define HDI_LAUNCH_MEMORY_IMAGE_H

#include "heddle/image.h"
#include "kernel/image.h"
#include "launch/memory/buffer.h"

struct hd_image {
    struct hd_image *self;  // as a buffer's
    struct hdi_image shown; // what kernels get a pointer to
    struct hd_image_params params;
    uint64_t size;       // from the first texel to the end of the last [bytes]
    atomic_uint holders; // as a buffer's; it holds its buffer
    struct hdi_launcher *launcher;
};

// As hd_image_create().
hd_status hdi_image_create(struct hdi_launcher *launcher,
                           const struct hd_image_params *params,
                           struct hd_image **image, struct hd_error *error);

// Once more; hd_image_destroy() once less.
void hdi_image_hold(struct hd_image *image);

// Whether a kernel's argument of this type ("read_only image2d_t") takes the
// image; the error names kernel and argument.
hd_status hdi_image_check(const struct hdi_launcher *launcher,
                          const struct hd_image *image, const char *kernel,
                          const struct hd_kernel_arg *wanted,
                          struct hd_error *error);

// Whether these bits are a sampler.
hd_status hdi_sampler_check(uint32_t sampler, const char *kernel,
                            const struct hd_kernel_arg *wanted,
                            struct hd_error *error);

#endif
