// Finding the work-item of a fault: of the accesses that a launch makes when it
// runs again, the one that touched the address.
#ifndef HDI_BACKEND_CPU_SEARCH_H
#define HDI_BACKEND_CPU_SEARCH_H

#include "backend/checks.h"
#include "backend/frame.h"

enum {
    HDI_SEARCH_ELSEWHERE = -1, // not an argument
    HDI_SEARCH_PROGRAM = -2    // a constant of the program, whose code is
                               // another this time
};

// An access that should not be, to `size` bytes at `at`; the pointer was made
// from argument `arg`, or HDI_SEARCH_*. The first that fits is kept.
void hdi_search_look(const struct hdi_check_launch *launch,
                     const struct hdi_frame *frame, const struct hdi_item *item,
                     const struct hdi_site *site, int arg, const char *at,
                     uint64_t size);

// These bytes, of one argument, are about to be touched: copy them.
void hdi_search_copy(struct hdi_search *search, const char *at, uint64_t size);

#endif
