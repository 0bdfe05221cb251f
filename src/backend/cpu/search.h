// Finding the work-item of a fault: of the accesses that a launch makes when it
// runs again, the one that touched the address.
#ifndef HDI_BACKEND_CPU_SEARCH_H
#define HDI_BACKEND_CPU_SEARCH_H

#include "backend/checks.h"
#include "backend/frame.h"

// An access to `size` bytes at `at`, outside of what the pointer was made from:
// argument `arg` or, when it is negative, something else. The first that fits
// is kept.
void hdi_search_look(const struct hdi_check_launch *launch,
                     const struct hdi_frame *frame, const struct hdi_item *item,
                     const struct hdi_site *site, int arg, const char *at,
                     uint64_t size);

#endif
