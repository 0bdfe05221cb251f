// Read-only pages for buffers that are `constant` arguments and have no
// view, where the launcher `seals`: from when the first launch begins that has
// one as such, to when the last ends, but while anybody is there who may write
// it.
#ifndef HDI_LAUNCH_MEMORY_SEAL_H
#define HDI_LAUNCH_MEMORY_SEAL_H

#include "launch/launch.h"

// A launch with these arguments begins and ends. Any thread.
void hdi_seal_begin(const struct hdi_launcher *launcher,
                    const struct hd_kernel *kernel, const struct hd_arg *args);
void hdi_seal_end(const struct hdi_launcher *launcher,
                  const struct hd_kernel *kernel, const struct hd_arg *args);

// The host writes a buffer. Any thread.
void hdi_seal_lift(struct hd_buffer *buffer);
void hdi_seal_restore(struct hd_buffer *buffer);

#endif
