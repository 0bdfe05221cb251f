// What kernels on a device get a pointer to as an image: a description in that
// device's memory, made when the image is first used there.
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/memory/image.h"

// Lies in the memory of a device. Invariant: once it is in the image's list
// neither it nor what it points to changes until the image goes.
struct hdi_image_description {
    struct hdi_launcher *launcher;
    struct block *block; // on its device
    struct hdi_image_description *next;
};

// In the device's memory, so pointers in it are the device's too.
struct block {
    struct hdi_image image;
    float linear[256]; // of sRGB alone
};

static uint64_t size_of(const struct hd_image *image)
{
    return image->shown.linear ? sizeof(struct block)
                               : offsetof(struct block, linear);
}

static hd_status write_block(const struct hd_image *image,
                             struct hdi_device *device, unsigned char *texels,
                             struct block *at)
{
    struct block block = {.image = image->shown};

    block.image.texels = texels;
    if (image->shown.linear) {
        memcpy(block.linear, image->shown.linear, sizeof(block.linear));
        block.image.linear = at->linear;
    }
    return device->backend->copy(device, at, &block, size_of(image));
}

// With the lock.
static hd_status make(struct hd_image *image, struct hdi_launcher *launcher,
                      unsigned char *texels)
{
    struct hdi_device *device = launcher->device;
    struct hdi_image_description *d = malloc(sizeof(*d));
    void *memory = NULL;

    hd_status status =
        d ? device->backend->alloc(device, size_of(image), &memory) : HD_ENOMEM;
    if (status == HD_OK) {
        status = write_block(image, device, texels, memory);
        if (status != HD_OK)
            device->backend->free(device, memory, size_of(image));
    }
    if (status != HD_OK) {
        free(d);
        return status;
    }
    *d = (struct hdi_image_description){launcher, memory, image->descriptions};
    image->descriptions = d;
    return HD_OK;
}

// With the lock; a list, since an image is on few devices.
static const struct hdi_image_description *find(
    const struct hd_image *image, const struct hdi_launcher *launcher)
{
    const struct hdi_image_description *d = image->descriptions;

    while (d && d->launcher != launcher)
        d = d->next;
    return d;
}

// On a CPU kernels read the image's own description, and nothing is made.
hd_status hdi_image_describe(struct hd_image *image,
                             struct hdi_launcher *launcher, void *texels,
                             const struct hdi_image **description,
                             struct hd_error *error)
{
    hd_status status = HD_OK;

    if (launcher == image->launcher && launcher->device->can.host_memory) {
        *description = &image->shown;
        return HD_OK;
    }
    pthread_mutex_lock(&image->lock);
    if (!find(image, launcher))
        status = make(image, launcher, texels);
    if (status == HD_OK)
        *description = &find(image, launcher)->block->image;
    pthread_mutex_unlock(&image->lock);
    if (status != HD_OK)
        return hdi_fail(error, status, "an image cannot be brought to %s: %s",
                        launcher->device->can.description,
                        hd_status_text(status));
    return HD_OK;
}

void hdi_image_undescribe(struct hd_image *image)
{
    while (image->descriptions) {
        struct hdi_image_description *d = image->descriptions;
        struct hdi_device *device = d->launcher->device;
        image->descriptions = d->next;
        device->backend->free(device, d->block, size_of(image));
        free(d);
    }
}
