// Read-only pages for buffers that are `constant` arguments and have no
// view, where the launcher `seals`: from when the first launch begins that has
// one as such, to when the last ends, but while anybody is there who may write
// it.
#ifndef HDI_LAUNCH_MEMORY_SEAL_H
#define HDI_LAUNCH_MEMORY_SEAL_H

#include "launch/memory/buffer.h"

// So many launches more, or fewer, that have the buffer as a constant, and that
// may write it. Any thread.
void hdi_seal_count(struct hd_buffer *buffer, int readers, int writers);

// The host writes a buffer. Any thread.
void hdi_seal_lift(struct hd_buffer *buffer);
void hdi_seal_restore(struct hd_buffer *buffer);

#endif
