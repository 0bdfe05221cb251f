// What a kernel writes to append launches: hd_append() of the kernel language
// (kernel/compiler/tools/frontend.c, where it is declared once more). Each
// launch that appends has a buffer of these.
//
// Invariant: `count` is how many requests were made, those too for which there
// was no room, and which are not there.
#ifndef HDI_BACKEND_APPENDS_H
#define HDI_BACKEND_APPENDS_H

#include <stdint.h>

struct hdi_append {
    uint32_t command;            // of the same pass
    uint32_t first[3], count[3]; // work-groups of it
    uint32_t reserved;
};

struct hdi_appends {
    uint32_t count; // set back to 0 by who reads them
    uint32_t room;  // for requests
    uint32_t reserved[2];
    struct hdi_append at[];
};

_Static_assert(sizeof(struct hdi_appends) == 16, "ABI");
_Static_assert(sizeof(struct hdi_append) == 32, "ABI");

// Whether `a` asks for one work-group at least, and for none beyond `count`.
static inline int hdi_append_fits(const struct hdi_append *a,
                                  const uint32_t count[3])
{
    for (int i = 0; i < 3; i++)
        if (a->count[i] == 0 || a->first[i] >= count[i] ||
            a->count[i] > count[i] - a->first[i])
            return 0;
    return 1;
}

#endif
