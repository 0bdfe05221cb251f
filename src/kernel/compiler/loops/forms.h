// How the regions of a kernel were written.
#ifndef HDI_KERNEL_COMPILER_LOOPS_FORMS_H
#define HDI_KERNEL_COMPILER_LOOPS_FORMS_H

#include <stdbool.h>

enum {
    // Added to the number of a region, it is the source column in the location
    // of its x loop: so LLVM's remarks about that loop are known again.
    HDI_REGION_COLUMN = 50000
};

// In their order.
// One per region, in the order in which they were written, which is that of the
// source columns of their loops.
struct hdi_forms {
    struct hdi_form {
        unsigned lanes; // of a chunk, 0: one work-item after the other
        unsigned limit; // line that asks for ids below a limit (split.h), or 0
        bool lone;      // one work-item of a row does all
        bool shared;    // one work-item of the group does it for all
        unsigned joint; // line of the barrier in the middle (join.h), or 0
        const char
            *reason;   // why there are no chunks, NULL: the kernel has none
        unsigned line; // of the reason, or 0
    } * list;
    unsigned count;
};

#endif
