// Memory of the coroutines of a unit, which stays for those that come later.
//
// Apart, each has pages of its own with inaccessible ones behind: what strays
// out of one harms no other. Side by side they take less where there are
// many small ones. Either way nothing is there on either side of them all.
#ifndef HDI_BACKEND_CPU_COROUTINE_H
#define HDI_BACKEND_CPU_COROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Apart, with `room` and `stride` in pages (o: open, x: inaccessible):
//
//     xx MARGIN xx | oooo x | oooo x | oooo x | xxxxxx not open yet | xx MARGIN
//                   \ room /  \ stride /
//
// Together: no x between, and all of it is open.
struct hdi_coroutine_area {
    char *memory;
    size_t bytes;    // with what is inaccessible
    size_t stride;   // from one to the next [bytes]
    size_t capacity; // coroutines
    // Of those that lie apart:
    size_t room;     // for each; the rest of the stride is inaccessible
    size_t open;     // so many can be used
    size_t mappings; // they have taken
    bool full;       // the system gave no more
};

// All zero but `guard`: nothing allocated.
// Invariant: `area` is one of the two, or NULL after a failure; its coroutines
// 0 to `count` - 1 of the latest hdi_coroutines_reserve() may be used.
struct hdi_coroutines {
    bool guard; // always apart, and each ends where nothing is
    struct hdi_coroutine_area apart, together;
    const struct hdi_coroutine_area *area; // in use; NULL: none
    size_t size;                           // of each [bytes]
    size_t most;                           // at once
    // Where they begin: the first, or some of `places` steps before.
    char *first;
    size_t step; // [bytes]
    uint32_t places;
};

// For `count` coroutines of `size` bytes, of which up to `most` will be there
// at once; what was in them goes. The size is a multiple of how they are
// aligned. False: no memory.
bool hdi_coroutines_reserve(struct hdi_coroutines *c, size_t count, size_t most,
                            uint64_t size);
char *hdi_coroutines_at(const struct hdi_coroutines *c, size_t index);

// Give back what is too much to be kept, or all.
void hdi_coroutines_trim(struct hdi_coroutines *c);
void hdi_coroutines_free(struct hdi_coroutines *c);

#endif
