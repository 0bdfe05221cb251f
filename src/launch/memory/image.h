// Images of one launcher, as launches see them.
#ifndef HDI_LAUNCH_MEMORY_IMAGE_H
#define HDI_LAUNCH_MEMORY_IMAGE_H

#include "heddle/image.h"
#include "kernel/image.h"
#include "launch/memory/buffer.h"

struct hdi_image_description;

// A way to look at a buffer: it has no memory of texels itself. After its
// making nothing changes but `holders` and `descriptions`.
struct hd_image {
    struct hd_image *self; // as a buffer's
    // What it is, for kernels on a CPU that it was made for; and what kernels
    // of its launcher get a pointer to, in the memory of their device.
    struct hdi_image shown;
    const struct hdi_image *home;
    struct hd_image_params params;
    uint64_t size;       // from the first texel to the end of the last [bytes]
    atomic_uint holders; // as a buffer's; it holds its buffer
    struct hdi_launcher *launcher;
    pthread_mutex_t lock;
    struct hdi_image_description *descriptions; // on devices; with the lock
};

// As hd_image_create().
hd_status hdi_image_create(struct hdi_launcher *launcher,
                           const struct hd_image_params *params,
                           struct hd_image **image, struct hd_error *error);

// Once more; hd_image_destroy() once less.
void hdi_image_hold(struct hd_image *image);

// What kernels on the launcher's device get a pointer to; `texels` is where the
// first one is there, always the same. Made when it is asked for first, and
// goes with the image.
//
// Errors:  HD_ENOMEM, or what the device says of a copy
// Threads: any
hd_status hdi_image_describe(struct hd_image *image,
                             struct hdi_launcher *launcher, void *texels,
                             const struct hdi_image **description,
                             struct hd_error *error);

// The image goes; only its holder is left.
void hdi_image_undescribe(struct hd_image *image);

// Which bytes of its buffer are touched, by those of its texels, which are
// counted from the first one. What is not exact becomes rows of texels, and
// none of what lies between them.
struct hd_touched hdi_image_touched(const struct hd_image *image,
                                    const struct hd_touched *texels);

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
