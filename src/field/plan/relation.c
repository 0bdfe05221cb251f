#include "field/plan/relation.h"

#include <stdlib.h>
#include <string.h>

// A span with the classes that it belongs to.
// One for each meeting of two tiles; sorted by pair before it becomes a span.
struct found {
    int64_t target, source; // classes
    struct hdi_span span;
};

struct walk {
    struct found *list;
    size_t count, room;
};

// False when memory is short; then the list is as it was.
static bool add(struct walk *walk, struct found found)
{
    if (walk->count == walk->room) {
        size_t room = walk->room ? 2 * walk->room : 64;
        struct found *list = realloc(walk->list, room * sizeof(*list));

        if (!list)
            return false;
        walk->list = list;
        walk->room = room;
    }
    walk->list[walk->count++] = found;
    return true;
}

// The last element of the target that is in the same tile of the source.
static int64_t last_in_tile(const struct hdi_axis *source, int64_t tile,
                            int64_t start, int64_t step)
{
    return step > 0 ? (hdi_axis_end(source, tile) - 1 - start) / step
                    : (start - hdi_axis_begin(source, tile)) / -step;
}

// The target ascends; the source is walked in either direction, by the sign of
// `step`. A tile of the source that no element of the target looks at is not
// visited.
static bool walk_axes(const struct hdi_axis *source,
                      const struct hdi_axis *target, int64_t start,
                      int64_t step, struct walk *walk)
{
    for (int64_t t = 0; t < target->tiles; t++) {
        int64_t begin = hdi_axis_begin(target, t);
        int64_t end = hdi_axis_end(target, t);

        for (int64_t at = begin; at < end;) {
            int64_t from = start + step * at;
            int64_t tile = hdi_axis_find(source, from);
            int64_t last = last_in_tile(source, tile, start, step);

            if (last >= end)
                last = end - 1;
            struct found found = {hdi_axis_class(target, t),
                                  hdi_axis_class(source, tile),
                                  {hdi_axis_place(source, tile) + from -
                                       hdi_axis_begin(source, tile),
                                   hdi_axis_place(target, t) + at - begin,
                                   last - at + 1}};
            if (!add(walk, found))
                return false;
            at = last + 1;
        }
    }
    return true;
}

static int by_classes(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->span.to < y->span.to ? -1 : x->span.to > y->span.to;
}

// Spans that go on where the one before ends become one.
// Tiles of one class that follow each other in both arrays need one copy, not
// one each: of the same layout on both sides one span is left.
static void join_spans(struct walk *walk, int64_t step)
{
    size_t kept = 0;

    for (size_t i = 0; i < walk->count; i++) {
        struct found *last = kept ? &walk->list[kept - 1] : NULL;
        const struct found *next = &walk->list[i];

        if (last && last->target == next->target &&
            last->source == next->source &&
            last->span.to + last->span.length == next->span.to &&
            last->span.from + step * last->span.length == next->span.from)
            last->span.length += next->span.length;
        else
            walk->list[kept++] = *next;
    }
    walk->count = kept;
}

// Fill both lists of pairs from the spans, which are sorted.
// Counting twice, as in a counting sort: `first_from` counts into the place
// after next, so that filling it leaves each class's beginning. What was
// allocated when it fails is freed by hdi_relation_free().
static bool pair_classes(const struct walk *walk, const struct hdi_axis *source,
                         const struct hdi_axis *target, struct hdi_relation *r)
{
    size_t pairs = 0;
    size_t targets = (size_t)target->classes, sources = (size_t)source->classes;

    for (size_t i = 0; i < walk->count; i++)
        pairs += i == 0 || walk->list[i].target != walk->list[i - 1].target ||
                 walk->list[i].source != walk->list[i - 1].source;
    r->spans = malloc((walk->count + 1) * sizeof(*r->spans));
    r->to = malloc((pairs + 1) * sizeof(*r->to));
    r->from = malloc((pairs + 1) * sizeof(*r->from));
    r->first_to = calloc(targets + 2, sizeof(*r->first_to));
    r->first_from = calloc(sources + 2, sizeof(*r->first_from));
    if (!r->spans || !r->to || !r->from || !r->first_to || !r->first_from)
        return false;

    size_t pair = 0;
    for (size_t i = 0; i < walk->count; i++) {
        const struct found *f = &walk->list[i];

        if (i == 0 || f->target != f[-1].target || f->source != f[-1].source) {
            r->to[pair++] =
                (struct hdi_relative){.class = f->source, .first = i};
            r->first_to[f->target + 1]++;
            r->first_from[f->source + 2]++;
        }
        r->spans[i] = f->span;
        r->to[pair - 1].count++;
        r->to[pair - 1].total += f->span.length;
    }
    for (size_t c = 1; c <= targets; c++)
        r->first_to[c] += r->first_to[c - 1];
    for (size_t c = 1; c <= sources; c++)
        r->first_from[c + 1] += r->first_from[c];
    for (size_t c = 0, i = 0; c < targets; c++)
        for (; i < r->first_to[c + 1]; i++) {
            struct hdi_relative *other =
                &r->from[r->first_from[r->to[i].class + 1]++];

            *other = r->to[i];
            other->class = (int64_t)c;
        }
    return true;
}

bool hdi_relation_build(const struct hdi_axis *source,
                        const struct hdi_axis *target, int64_t start,
                        int64_t step, struct hdi_relation *relation)
{
    struct walk walk = {0};

    *relation = (struct hdi_relation){.start = start, .step = step};
    bool done = walk_axes(source, target, start, step, &walk);
    if (done) {
        qsort(walk.list, walk.count, sizeof(*walk.list), by_classes);
        join_spans(&walk, step);
        done = pair_classes(&walk, source, target, relation);
    }
    free(walk.list);
    if (!done)
        hdi_relation_free(relation);
    return done;
}

void hdi_relation_free(struct hdi_relation *relation)
{
    free(relation->spans);
    free(relation->to);
    free(relation->from);
    free(relation->first_to);
    free(relation->first_from);
    *relation = (struct hdi_relation){0};
}
