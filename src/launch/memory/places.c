// Invariant: neighbours differ in version or places.
#include "launch/memory/places.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_ROOM = 4
};

static uint64_t bit(unsigned place)
{
    return UINT64_C(1) << place;
}

bool hdi_places_init(struct hdi_places *places, uint64_t size, unsigned place)
{
    *places = (struct hdi_places){.room = FIRST_ROOM};
    places->stretches = malloc(FIRST_ROOM * sizeof(*places->stretches));
    if (!places->stretches)
        return false;
    places->stretches[0] =
        (struct hdi_stretch){.end = size, .valid = bit(place)};
    places->count = size > 0;
    return true;
}

void hdi_places_destroy(struct hdi_places *places)
{
    free(places->stretches);
}

// The stretch that this byte is in.
static uint32_t find(const struct hdi_places *p, uint64_t byte)
{
    uint32_t low = 0, high = p->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (p->stretches[middle].end <= byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool hdi_places_missing(const struct hdi_places *places, uint64_t begin,
                        uint64_t end, unsigned place,
                        struct hdi_stretch *stretch)
{
    for (uint32_t i = find(places, begin); i < places->count && begin < end;
         i++) {
        const struct hdi_stretch *s = &places->stretches[i];
        if (s->begin >= end)
            return false;
        if (s->valid & bit(place))
            continue;
        *stretch = *s;
        stretch->begin = s->begin < begin ? begin : s->begin;
        stretch->end = s->end > end ? end : s->end;
        return true;
    }
    return false;
}

// Both cuts of a range may split a stretch.
static bool make_room(struct hdi_places *p)
{
    if (p->count + 2 <= p->room)
        return true;
    uint32_t room = 2 * p->room;
    struct hdi_stretch *more =
        realloc(p->stretches, room * sizeof(*p->stretches));
    if (!more)
        return false;
    p->stretches = more;
    p->room = room;
    return true;
}

// A stretch begins here, if any byte is left; which one.
static uint32_t cut(struct hdi_places *p, uint64_t byte)
{
    uint32_t i = find(p, byte);

    if (i == p->count || p->stretches[i].begin == byte)
        return i;
    memmove(&p->stretches[i + 1], &p->stretches[i],
            (p->count - i) * sizeof(*p->stretches));
    p->count++;
    p->stretches[i].end = p->stretches[i + 1].begin = byte;
    return i + 1;
}

// Join equal neighbours among first..last, and those beside them.
// Keeps the table short: where parts are written and copied back in turn it
// would grow for ever.
static void join(struct hdi_places *p, uint32_t first, uint32_t last)
{
    uint32_t to = first > 0 ? first - 1 : 0, from = to + 1;
    uint32_t stop = last < p->count ? last + 1 : p->count;

    for (; from < stop; from++) {
        const struct hdi_stretch *s = &p->stretches[from];
        struct hdi_stretch *before = &p->stretches[to];
        if (s->version == before->version && s->valid == before->valid)
            before->end = s->end;
        else
            p->stretches[++to] = *s;
    }
    to++;
    if (to >= from)
        return;
    memmove(&p->stretches[to], &p->stretches[from],
            (p->count - from) * sizeof(*p->stretches));
    p->count -= from - to;
}

// Cuts at both ends, makes one stretch of what is between. No join: a new
// version is like no neighbour's.
uint64_t hdi_places_write(struct hdi_places *places, uint64_t begin,
                          uint64_t end, unsigned place)
{
    if (begin >= end)
        return places->version;
    if (!make_room(places))
        return 0;
    uint32_t first = cut(places, begin), last = cut(places, end);
    struct hdi_stretch *s = places->stretches;
    s[first].end = end;
    s[first].version = ++places->version;
    s[first].valid = bit(place);
    memmove(&s[first + 1], &s[last], (places->count - last) * sizeof(*s));
    places->count -= last - first - 1;
    return places->version;
}

// What was written meanwhile has another version, and is left alone.
bool hdi_places_copied(struct hdi_places *places, uint64_t begin, uint64_t end,
                       uint64_t version, unsigned place)
{
    if (begin >= end)
        return true;
    if (!make_room(places))
        return false;
    uint32_t first = cut(places, begin), last = cut(places, end);
    for (uint32_t i = first; i < last; i++)
        if (places->stretches[i].version == version)
            places->stretches[i].valid |= bit(place);
    join(places, first, last);
    return true;
}
