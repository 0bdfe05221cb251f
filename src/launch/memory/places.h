// Where the valid bytes of a buffer are: on which of several places (devices,
// nodes), and of which version.
//
// Every byte belongs to one stretch. A write makes a new version of a range,
// which is valid where it was written alone; a copy makes it valid in one place
// more. A place with a bit in `valid` holds that version.
//
// Not for several threads at a time.
//
//     bytes     0 ......... 100 ......... 300 ......... 400
//     version        1             4             1
//     valid        0, 1            1            0, 1
//
// Place 1 wrote 100 to 299 last; then place 0 lacks these.
#ifndef HDI_LAUNCH_MEMORY_PLACES_H
#define HDI_LAUNCH_MEMORY_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HDI_PLACES = 64
};

struct hdi_stretch {
    uint64_t begin, end; // [bytes]
    uint64_t version;
    uint64_t valid; // bit i: place i
};

struct hdi_places {
    struct hdi_stretch *stretches; // in order, without gaps
    uint32_t count, room;
    uint64_t version; // the latest
};

// All of `size` bytes are valid at `place`. False without memory.
bool hdi_places_init(struct hdi_places *places, uint64_t size, unsigned place);
void hdi_places_destroy(struct hdi_places *places);

// The first stretch in begin..end that is not valid at `place`, cut to that
// range. False: there is none.
// Called again from its end on, it goes through all of them.
bool hdi_places_missing(const struct hdi_places *places, uint64_t begin,
                        uint64_t end, unsigned place,
                        struct hdi_stretch *stretch);

// The range was written at `place`: a new version, which is returned; 0 without
// memory, and nothing has changed.
uint64_t hdi_places_write(struct hdi_places *places, uint64_t begin,
                          uint64_t end, unsigned place);

// What of the range was of this version until now has been copied to `place`.
// False without memory: it counts as not copied.
bool hdi_places_copied(struct hdi_places *places, uint64_t begin, uint64_t end,
                       uint64_t version, unsigned place);

#endif
