// One buffer on several devices: its memory on each, made when it is needed,
// and which bytes are valid where.
//
// A buffer lives on the device it was made for. A launch on another one gets a
// twin there; what of it is not valid is copied before the launch begins, and
// what a launch may write is valid on its device alone from then on. Buffers of
// a runtime with one device have none of this.
#ifndef HDI_LAUNCH_MEMORY_SPREAD_H
#define HDI_LAUNCH_MEMORY_SPREAD_H

#include "launch/memory/buffer.h"

enum hdi_use {
    HDI_USE_READ,
    HDI_USE_WRITE,    // and maybe read before
    HDI_USE_OVERWRITE // every byte, unread
};

// Make bytes of a buffer (of its root, from `begin` to `end`) valid on the
// launcher's device and say how they are used there; `address` (optional) is
// where the root's memory is there. Copies before it returns.
//
// Errors:  HD_ENOMEM, or what the devices say of a copy
// Threads: any, on the terms of kernel.h for buffers
hd_status hdi_spread_use(struct hd_buffer *root, struct hdi_launcher *launcher,
                         uint64_t begin, uint64_t end, enum hdi_use use,
                         char **address, struct hd_error *error);

// Of `size` bytes of a buffer or a part of one, at home.
hd_status hdi_spread_use_home(const struct hd_buffer *buffer, uint64_t offset,
                              uint64_t size, enum hdi_use use,
                              struct hd_error *error);

// How many bytes of a root, from `begin` to `end`, are not valid on the
// launcher's device.
uint64_t hdi_spread_missing(const struct hd_buffer *root,
                            const struct hdi_launcher *launcher, uint64_t begin,
                            uint64_t end);

// The buffer goes; only its holder is left.
void hdi_spread_destroy(struct hd_buffer *root);

// Copy between the memories of two devices, NULL: the host's. It has finished
// when it returns.
hd_status hdi_copy_between(struct hdi_device *to, void *to_at,
                           struct hdi_device *from, const void *from_at,
                           uint64_t size);

#endif
