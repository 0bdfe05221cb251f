// Launches, copies and fills that are started and not waited for.
#ifndef HDI_LAUNCH_START_START_H
#define HDI_LAUNCH_START_START_H

#include "heddle/event.h"
#include "launch/launch.h"

// As hd_launch_start(), on the launcher's device. What can be refused is
// refused now; arguments are copied, their buffers and images kept.
hd_status hdi_launch_start(struct hdi_launcher *launcher,
                           const struct hd_start *start,
                           const struct hdi_request *request, hd_event *event,
                           struct hd_error *error);

// The same for a part of a joint launch (joint.h), which cancelling `whole`
// ends too, or `cancel`. Both may be NULL and live longer than the part runs.
hd_status hdi_launch_start_within(struct hdi_launcher *launcher,
                                  const struct hd_start *start,
                                  struct hd_group *whole,
                                  const atomic_bool *cancel,
                                  const struct hdi_request *request,
                                  hd_event *event, struct hd_error *error);

// Once in a while, before launches are started or run with
// hdi_launch_planned().
void hdi_launch_prepare(struct hdi_launcher *launcher);

// Code of the application has run: the next of these does its work.
void hdi_launch_expect(struct hdi_launcher *launcher);

// One side of a copy: a buffer, or host memory.
struct hdi_side {
    struct hd_buffer *buffer; // or NULL, and then
    void *memory;
    const struct hd_layout *layout; // NULL: from the beginning, without gaps
};

// As hd_copy_start(), hd_write_start() and hd_read_start(). One side at least
// is a buffer; they may be on different devices.
hd_status hdi_copy_start(struct hd_pool *pool, const struct hd_start *start,
                         const struct hdi_side *to, const struct hdi_side *from,
                         const struct hd_extent *extent, hd_event *event,
                         struct hd_error *error);

// As hd_fill_start().
hd_status hdi_fill_start(struct hd_pool *pool, const struct hd_start *start,
                         struct hd_buffer *to, uint64_t offset, uint64_t size,
                         const void *pattern, unsigned pattern_size,
                         hd_event *event, struct hd_error *error);

#endif
