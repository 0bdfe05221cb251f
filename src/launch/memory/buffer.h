// Who needs a buffer: its maker, and everything that was started with it.
#ifndef HDI_LAUNCH_MEMORY_BUFFER_H
#define HDI_LAUNCH_MEMORY_BUFFER_H

#include "launch/launch.h"

// Once more; hd_buffer_destroy() once less, and the last one frees it.
void hdi_buffer_hold(struct hd_buffer *buffer);

// So many bytes more on the launcher's device.
void hdi_buffer_count(struct hdi_launcher *launcher, uint64_t size);

// Whose memory it is.
static inline struct hd_buffer *hdi_buffer_root(struct hd_buffer *buffer)
{
    return buffer->root ? buffer->root : buffer;
}

// Whether `size` bytes from `offset` on are inside.
hd_status hdi_buffer_check(const struct hd_buffer *buffer, uint64_t offset,
                           uint64_t size, struct hd_error *error);

#endif
