// Arguments of a launch that runs later: values are copied, buffers and images
// held.
#ifndef HDI_LAUNCH_START_CAPTURE_H
#define HDI_LAUNCH_START_CAPTURE_H

#include "heddle/kernel.h"

enum {
    HDI_VALUE_ALIGNMENT = 16 // [bytes]
};

// Room for their values [bytes].
uint64_t hdi_capture_room(const struct hd_arg *args, unsigned count);

// Returns an estimate of the bytes they have: every buffer and image once.
uint64_t hdi_capture(const struct hd_arg *args, unsigned count,
                     struct hd_arg *to, unsigned char *values);
void hdi_capture_drop(const struct hd_arg *args, unsigned count);

#endif
