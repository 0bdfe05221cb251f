// Bringing what a kernel reads to a device that is a node.
#ifndef HDI_FIELD_MEMORY_BRING_H
#define HDI_FIELD_MEMORY_BRING_H

#include "field/memory/window.h"

// Have all of a box on the device: what others own comes by `fetch` first.
hd_status hdi_mirror_bring(struct hd_field *field, uint32_t node,
                           const struct hd_grid *box,
                           const struct hdi_fetch *fetch,
                           struct hdi_traffic *traffic, struct hd_error *error);

#endif
