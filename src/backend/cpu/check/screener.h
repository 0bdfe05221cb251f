// Where screened kernels keep their tags (backend/checks.h): memory
// of one unit, as much as there is to look at, which appears when it is touched
// and is used again for launch after launch. Tags only grow, so what earlier
// chunks left says nothing.
//
// Threads: one at a time, that of the unit.
#ifndef HDI_BACKEND_CPU_SCREENER_H
#define HDI_BACKEND_CPU_SCREENER_H

#include <stdbool.h>
#include <stddef.h>

#include "backend/checks.h"
#include "backend/frame.h"

// Zeroed is empty. Invariant: all tags in `memory` are below `shown->now`, so a
// plane may lie elsewhere in it for each launch.
struct hdi_screener {
    struct hdi_screen *shown; // to the kernel
    size_t arg_count;         // there is room for
    char *memory;             // of the tags
    size_t size;              // of it [bytes]
};

// A chunk begins: the frame's `checks` become what is shown to it. False: no
// memory.
bool hdi_screener_begin(struct hdi_screener *screener,
                        const struct hdi_check_launch *launch,
                        struct hdi_frame *frame);

// The chunk was left in the middle: nobody knows how far its tags have grown.
void hdi_screener_forget(struct hdi_screener *screener);

void hdi_screener_free(struct hdi_screener *screener);

#endif
