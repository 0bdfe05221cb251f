// What comes after what, from what passes read and write in program order: the
// same edges as those of link.c one folder up.
#include "graph/calls/calls.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct reader {
    uint32_t pass, next;
};

// Of the version of each resource that the next pass finds.
//
// Lives during one call of hdi_calls_link(). Edges are noted as they are found,
// by where they lead to; sort() then lists them by where they come from, which
// is what a run needs.
struct linking {
    struct hdi_calls *calls;
    uint32_t *writer, *readers; // of each resource; readers are a list
    uint32_t *stamp;            // of each pass: the last one after it, plus 1
    struct reader *reader;
    uint32_t reader_count, reader_room;
    uint32_t *from; // of each edge, in the order of where they lead
    uint32_t *ends; // of each pass: where the edges that lead to it end in from
    uint32_t edge_count, edge_room;
};

static bool grow(void **items, uint32_t *room, uint32_t count, size_t size)
{
    if (count < *room)
        return true;
    if (*room > UINT32_MAX / 2)
        return false;

    uint32_t wanted = *room ? *room * 2 : 1024;
    void *grown = realloc(*items, wanted * size);
    if (!grown)
        return false;
    *items = grown;
    *room = wanted;
    return true;
}

// No edge twice: `stamp` of a pass says to which pass its last edge led, and
// edges are found pass by pass.
static bool add_edge(struct linking *l, uint32_t from, uint32_t to)
{
    if (from == NONE || from == to || l->stamp[from] == to + 1)
        return true;
    if (!grow((void **)&l->from, &l->edge_room, l->edge_count,
              sizeof(*l->from)))
        return false;
    l->stamp[from] = to + 1;
    l->from[l->edge_count++] = from;
    return true;
}

// To the front of the list of those that read this version: all of them must
// end before the next write.
static bool add_reader(struct linking *l, uint32_t resource, uint32_t pass)
{
    if (!grow((void **)&l->reader, &l->reader_room, l->reader_count,
              sizeof(*l->reader)))
        return false;
    l->reader[l->reader_count] = (struct reader){pass, l->readers[resource]};
    l->readers[resource] = l->reader_count++;
    return true;
}

// Whether the pass reads what it overwrites: then it depends on what was there,
// and its overwriting waits like a write.
static bool reads(const struct hdi_calls *calls, uint32_t begin, uint32_t end,
                  uint32_t resource)
{
    for (uint32_t i = begin; i < end; i++)
        if (hdi_calls_use(calls, i) ==
            (resource << 2 | (uint32_t)HDI_CALLS_READS))
            return true;
    return false;
}

// What is overwritten has memory of its own, unless it is read as well.
static bool link_write(struct linking *l, uint32_t resource, uint32_t pass,
                       bool waits)
{
    bool good = true;

    for (uint32_t n = l->readers[resource]; n != NONE && waits && good;
         n = l->reader[n].next)
        good = add_edge(l, l->reader[n].pass, pass);
    good = good && (!waits || add_edge(l, l->writer[resource], pass));
    l->readers[resource] = NONE;
    l->writer[resource] = pass;
    return good;
}

// Readers come in a second walk, when it is known what the pass writes: of what
// it has written it is the writer that later passes wait for, not a reader of
// the version before.
static bool link_pass(struct linking *l, uint32_t pass)
{
    const struct hdi_calls *calls = l->calls;
    uint32_t begin = hdi_calls_pass(calls, pass)->uses;
    uint32_t end = hdi_calls_uses_end(calls, pass);
    bool good = true;

    for (uint32_t i = begin; i < end && good; i++) {
        uint32_t use = hdi_calls_use(calls, i), of = use >> 2;
        switch ((enum hdi_calls_how)(use & 3)) {
        case HDI_CALLS_READS:
            good = add_edge(l, l->writer[of], pass);
            break;
        case HDI_CALLS_WRITES:
            good = link_write(l, of, pass, true);
            break;
        case HDI_CALLS_OVERWRITES:
            good = link_write(l, of, pass, reads(calls, begin, end, of));
            break;
        case HDI_CALLS_AFTER:
            good = add_edge(l, of, pass);
            break;
        }
    }
    for (uint32_t i = begin; i < end && good; i++) {
        uint32_t use = hdi_calls_use(calls, i);
        if ((use & 3) == HDI_CALLS_READS && l->writer[use >> 2] != pass)
            good = add_reader(l, use >> 2, pass);
    }
    l->ends[pass] = l->edge_count;
    return good;
}

// A counting sort: entry i + 1 of `first` counts, then is the next free place,
// and ends as the place where the successors of pass i + 1 begin.
static bool sort(struct linking *l)
{
    struct hdi_calls *calls = l->calls;
    uint32_t count = calls->passes.count;

    free(calls->first);
    free(calls->after);
    calls->first = calloc(count + (size_t)2, sizeof(uint32_t));
    calls->after = malloc((l->edge_count + (size_t)calls->order_count + 1) *
                          sizeof(uint32_t));
    if (!calls->first || !calls->after)
        return false;
    for (uint32_t i = 0; i < l->edge_count; i++)
        calls->first[l->from[i] + 2]++;
    for (uint32_t i = 0; i < calls->order_count; i++)
        calls->first[calls->orders[i].from + 2]++;
    for (uint32_t i = 2; i < count + 2; i++)
        calls->first[i] += calls->first[i - 1];
    for (uint32_t pass = 0, i = 0; pass < count; pass++)
        for (; i < l->ends[pass]; i++)
            calls->after[calls->first[l->from[i] + 1]++] = pass;
    for (uint32_t i = 0; i < calls->order_count; i++)
        calls->after[calls->first[calls->orders[i].from + 1]++] =
            calls->orders[i].to;
    return true;
}

// Takes time by the number of uses: each use makes one edge, or ends as many
// readers as there were. The edges found are freed at the end; first and after
// stay until a pass is added. Orders may double an edge: then both count, in
// left and in after.
bool hdi_calls_link(struct hdi_calls *calls)
{
    if (calls->linked)
        return true;

    // These have a place for each pass.
    free((void *)calls->left);
    free(calls->shared);
    calls->left = NULL;
    calls->shared = NULL;

    size_t passes = calls->passes.count, resources = calls->resources.count;
    struct linking l = {
        .calls = calls,
        .writer = malloc((resources + 1) * sizeof(uint32_t)),
        .readers = malloc((resources + 1) * sizeof(uint32_t)),
        .stamp = calloc(passes + 1, sizeof(uint32_t)),
        .ends = malloc((passes + 1) * sizeof(uint32_t)),
    };
    bool good = l.writer && l.readers && l.stamp && l.ends;
    if (good) {
        memset(l.writer, 0xff, resources * sizeof(uint32_t));
        memset(l.readers, 0xff, resources * sizeof(uint32_t));
    }
    for (uint32_t i = 0; i < passes && good; i++)
        good = link_pass(&l, i);
    good = good && sort(&l);
    free(l.writer);
    free(l.readers);
    free(l.stamp);
    free(l.reader);
    free(l.from);
    free(l.ends);
    calls->linked = good;
    return good;
}
