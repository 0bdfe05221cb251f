// Where things lie that live for a while. Seen as a picture, lives are bars of
// fixed place in time that are moved up and down until none overlap:
//
//     offset ^   +-----+   +-------+
//            |   |  b  |   |   d   |
//            |   +-----+---+---+---+
//            |   |    a        |  +---+
//            |   +-------------+  | c |
//            +-----------------------> time
#include "graph/plan/placement.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "graph/plan/placement_search.h"

// MAX_SEARCHED and MAX_NEAR bound memory: a list of pairs takes 16 MiB at most.
// As slices grow by SLICE_GROWS, those of one order that were too short add up
// to a seventh of the one that does. Above SHORT_LIST the square of insertion
// sort shows. Of more than MANY lives branch and bound seldom ends in time, so
// changing orders comes first.
enum {
    MAX_SEARCHED = 4096, // lives; branch and bound keeps their square
    MAX_NEAR = 1 << 22,  // pairs of lives that meet
    FIRST_SLICE = 8000,  // nodes of one order before the next has its turn
    SHORT_LIST = 48,     // of spans
    TRIES = 500,         // of an order, changed
    MANY = 400,          // lives
    SLICE_GROWS = 8      // from one round to the next, by this factor
};

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory to place memory");
}

// Sections --------------------------------------------------------------------

struct event {
    uint64_t time;
    uint32_t life;
    bool begins;
};

// What ends comes before what begins at the same time: the two never meet.
static int compare_events(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->begins != y->begins)
        return x->begins - y->begins;
    return (x->life > y->life) - (x->life < y->life);
}

static void sections_free(struct hdi_sections *s)
{
    free(s->from);
    free(s->to);
    free(s->total);
    free(s->first);
    free(s->member);
    free(s->near);
    free(s->other);
}

// A section is a time after the last of some beginnings in a row, before an
// end.
//
// Sections matter because the total of each is a lower bound, the most of which
// is out->bound, and since lives meet exactly if they share one:
//
//     a   |------------|
//     b       |-----|
//     c                   |----|
//             ^section 0  ^section 1      a: 0 up to 1, c: 1 up to 2
static void find_sections(struct hdi_sections *s, const struct event *events)
{
    uint64_t live = 0;
    bool grows = false;

    for (uint32_t i = 0; i < 2 * s->lives; i++) {
        uint32_t life = events[i].life;
        if (events[i].begins) {
            grows = true;
            s->from[life] = s->count;
            live += s->life[life].size;
            continue;
        }
        if (grows)
            s->total[s->count++] = live;
        grows = false;
        s->to[life] = s->count;
        live -= s->life[life].size;
    }
}

// Lists of equal kind one behind the other (CSR), by counting; `first` ends
// where it should since entry k + 2 counts and entry k + 1 is used to fill. Too
// many members: neither they nor `near` are there, and greedy orders but the
// first are left out.
static bool list_members(struct hdi_sections *s)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < s->lives; i++)
        sum += s->to[i] - s->from[i];
    if (sum > MAX_NEAR)
        return true; // without members: too large for a search
    s->first = calloc(s->count + (size_t)2, sizeof(*s->first));
    s->member = malloc((sum + 1) * sizeof(*s->member));
    if (!s->first || !s->member)
        return false;
    for (uint32_t i = 0; i < s->lives; i++)
        for (uint32_t k = s->from[i]; k < s->to[i]; k++)
            s->first[k + 2]++;
    for (uint32_t k = 2; k <= s->count + 1; k++)
        s->first[k] += s->first[k - 1];
    for (uint32_t i = 0; i < s->lives; i++)
        for (uint32_t k = s->from[i]; k < s->to[i]; k++)
            s->member[s->first[k + 1]++] = i;
    return true;
}

// Two lives meet first in the section where the later of them begins.
//
// So each pair is seen once, without looking for duplicates: `i` is the one
// that begins later, or has the larger number. The first pass counts, the
// second fills.
static bool list_near(struct hdi_sections *s)
{
    if (!s->first)
        return true;
    s->near = calloc(s->lives + (size_t)2, sizeof(*s->near));
    if (!s->near)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < s->lives; i++)
            for (uint32_t m = s->first[s->from[i]];
                 m < s->first[s->from[i] + 1]; m++) {
                uint32_t other = s->member[m];
                if (other == i || (s->from[other] == s->from[i] && other > i))
                    continue;
                if (pass == 0) {
                    s->near[i + 2]++;
                    s->near[other + 2]++;
                } else {
                    s->other[s->near[i + 1]++] = other;
                    s->other[s->near[other + 1]++] = i;
                }
            }
        if (pass == 1)
            break;
        uint64_t sum = 0;
        for (uint32_t i = 2; i <= s->lives + 1; i++) {
            sum += s->near[i];
            if (sum > MAX_NEAR) {
                free(s->near);
                s->near = NULL;
                return true;
            }
            s->near[i] = (uint32_t)sum;
        }
        s->other = malloc((sum + 1) * sizeof(*s->other));
        if (!s->other)
            return false;
    }
    return true;
}

static bool sections_open(struct hdi_sections *s, const struct hdi_life *lives,
                          uint32_t count)
{
    size_t n = count + (size_t)1;
    struct event *events = malloc(2 * n * sizeof(*events));

    *s = (struct hdi_sections){.lives = count, .life = lives};
    s->from = malloc(n * sizeof(*s->from));
    s->to = malloc(n * sizeof(*s->to));
    s->total = malloc(n * sizeof(*s->total));
    bool good = events && s->from && s->to && s->total;
    if (good) {
        for (uint32_t i = 0; i < count; i++) {
            events[2 * i] = (struct event){lives[i].lower, i, true};
            events[2 * i + 1] = (struct event){lives[i].upper, i, false};
        }
        qsort(events, 2 * (size_t)count, sizeof(*events), compare_events);
        find_sections(s, events);
        good = list_members(s) && list_near(s);
    }
    free(events);
    return good;
}

// Orders ----------------------------------------------------------------------

struct measure {
    uint64_t first, second, third; // the larger comes first
    uint32_t life;
};

static int compare_measures(const void *a, const void *b)
{
    const struct measure *x = a, *y = b;

    if (x->first != y->first)
        return x->first > y->first ? -1 : 1;
    if (x->second != y->second)
        return x->second > y->second ? -1 : 1;
    if (x->third != y->third)
        return x->third > y->third ? -1 : 1;
    return (x->life > y->life) - (x->life < y->life);
}

// Products that do not fit count as the largest.
static void make_order(const struct hdi_sections *s,
                       enum hdi_placement_order order, struct measure *measures)
{
    for (uint32_t i = 0; i < s->lives; i++) {
        uint64_t total = 0, size = s->life[i].size;
        uint64_t width = s->life[i].upper - s->life[i].lower, area;
        if (__builtin_mul_overflow(width, size, &area))
            area = UINT64_MAX;
        for (uint32_t k = s->from[i]; k < s->to[i]; k++)
            if (s->total[k] > total)
                total = s->total[k];
        measures[i] =
            order == HDI_ORDER_TOTAL   ? (struct measure){total, width, area, i}
            : order == HDI_ORDER_WIDTH ? (struct measure){width, area, total, i}
            : order == HDI_ORDER_AREA  ? (struct measure){area, total, width, i}
                                      : (struct measure){size, width, total, i};
    }
    qsort(measures, s->lives, sizeof(*measures), compare_measures);
}

// Greedy ----------------------------------------------------------------------

struct span {
    uint64_t from, to;
};

static int compare_spans(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

// Most lists are short, and calls of a function would take most of the time.
static void sort_spans(struct span *spans, uint32_t count)
{
    if (count > SHORT_LIST) {
        qsort(spans, count, sizeof(*spans), compare_spans);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct span span = spans[i];
        uint32_t at = i;
        for (; at > 0 && spans[at - 1].from > span.from; at--)
            spans[at] = spans[at - 1];
        spans[at] = span;
    }
}

// The lowest offset at which `size` bytes lie between none of the spans, which
// are sorted here.
static uint64_t find_gap(struct span *spans, uint32_t count, uint64_t size)
{
    uint64_t offset = 0;

    sort_spans(spans, count);
    for (uint32_t i = 0; i < count; i++) {
        if (spans[i].from >= offset && spans[i].from - offset >= size)
            break;
        if (spans[i].to > offset)
            offset = spans[i].to;
    }
    return offset;
}

// Place one life after another, each as low as it fits.
//
// UINT64_MAX marks what is not placed yet.
static uint64_t place_in_order(const struct hdi_sections *s,
                               const struct measure *order, uint64_t *offset,
                               struct span *spans)
{
    uint64_t height = 0;

    for (uint32_t i = 0; i < s->lives; i++)
        offset[i] = UINT64_MAX;
    for (uint32_t i = 0; i < s->lives; i++) {
        uint32_t life = order[i].life, count = 0;
        for (uint32_t k = s->near[life]; k < s->near[life + 1]; k++) {
            uint32_t other = s->other[k];
            if (offset[other] != UINT64_MAX)
                spans[count++] = (struct span){
                    offset[other], offset[other] + s->life[other].size};
        }
        offset[life] = find_gap(spans, count, s->life[life].size);
        if (offset[life] + s->life[life].size > height)
            height = offset[life] + s->life[life].size;
    }
    return height;
}

// The same by time, as an allocator does it, which needs no lists of who meets
// whom: what has ended is forgotten.
//
// What was placed stays, so this is also what a run without a plan would get at
// best. `alive` and `spans` are of equal length; `order` is used up.
static uint64_t place_by_time(const struct hdi_sections *s,
                              struct measure *order, uint64_t *offset,
                              struct span *spans, uint32_t *alive)
{
    uint64_t height = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->lives; i++)
        order[i] = (struct measure){UINT64_MAX - s->life[i].lower,
                                    s->life[i].size, 0, i};
    qsort(order, s->lives, sizeof(*order), compare_measures);
    for (uint32_t i = 0; i < s->lives; i++) {
        uint32_t life = order[i].life, kept = 0;
        for (uint32_t k = 0; k < count; k++) {
            if (s->life[alive[k]].upper <= s->life[life].lower)
                continue;
            alive[kept] = alive[k];
            spans[kept++] = (struct span){
                offset[alive[k]], offset[alive[k]] + s->life[alive[k]].size};
        }
        count = kept;
        offset[life] = find_gap(spans, count, s->life[life].size);
        alive[count++] = life;
        if (offset[life] + s->life[life].size > height)
            height = offset[life] + s->life[life].size;
    }
    return height;
}

// Making ----------------------------------------------------------------------

// Lives during one call of hdi_placement_make(). `rank` is the place of each
// life in an order; place_by_time() uses it as room.
struct maker {
    struct hdi_sections sections;
    struct measure *order;
    struct span *spans;
    uint64_t *offset; // of the try
    uint32_t *rank;
    struct measure *tried; // order, changed
};

// Keeps the try if it is lower than what is there.
static void take(const struct maker *m, uint64_t height,
                 struct hdi_placement *out)
{
    if (height >= out->height)
        return;
    out->height = height;
    memcpy(out->offset, m->offset, out->count * sizeof(*out->offset));
}

// The orders stop as soon as one is good enough. By time first: it needs no
// list of who meets whom, and is always there.
static void make_greedy(struct maker *m, uint64_t enough,
                        struct hdi_placement *out)
{
    out->height = UINT64_MAX;
    take(m, place_by_time(&m->sections, m->order, m->offset, m->spans, m->rank),
         out);
    for (int i = 0; m->sections.near && i < HDI_ORDER_COUNT; i++) {
        if (out->height <= enough)
            break;
        make_order(&m->sections, (enum hdi_placement_order)i, m->order);
        take(m, place_in_order(&m->sections, m->order, m->offset, m->spans),
             out);
    }
    out->greedy = out->height;
}

// Processor time of this thread [ns]: beside other programs a plan is as good.
static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// What rose above the goal in the last try, kept or not, is placed earlier: any
// place before will do, so that no two tries are alike.
static void raise(struct maker *m, uint64_t goal, struct hdi_random *random)
{
    for (uint32_t i = 1; i < m->sections.lives; i++) {
        struct measure up = m->tried[i];
        if (m->offset[up.life] + m->sections.life[up.life].size <= goal)
            continue;
        uint32_t to = (uint32_t)hdi_random_below64(random, i);
        memmove(m->tried + to + 1, m->tried + to, (i - to) * sizeof(up));
        m->tried[to] = up;
    }
}

// Change the order that is in m->order, and keep what makes nothing worse.
static void improve_order(struct maker *m, uint64_t goal, uint64_t end,
                          struct hdi_random *random, struct hdi_placement *out)
{
    size_t size = out->count * sizeof(*m->order);
    uint64_t height =
        place_in_order(&m->sections, m->order, m->offset, m->spans);

    for (unsigned i = 0; i < TRIES && out->height > goal && used() < end; i++) {
        memcpy(m->tried, m->order, size);
        raise(m, goal, random);
        uint64_t got =
            place_in_order(&m->sections, m->tried, m->offset, m->spans);
        take(m, got, out);
        if (got > height)
            continue;
        height = got;
        memcpy(m->order, m->tried, size);
    }
}

// Each of the greedy orders. The numbers that look random come again, so that a
// plan does.
//
// The seed is the number of lives.
static void improve(struct maker *m, uint64_t goal, uint64_t time,
                    struct hdi_placement *out)
{
    uint64_t end = used() + time;
    struct hdi_random random;

    hdi_random_seed(&random, out->count);
    for (int i = 0; i < HDI_ORDER_COUNT && out->height > goal; i++) {
        make_order(&m->sections, (enum hdi_placement_order)i, m->order);
        improve_order(m, goal, end, &random, out);
    }
}

// Look for a placement of height `capacity` by each order in turn, with more
// nodes every time round: how many an order needs differs by orders of
// magnitude. 1, 0 or less as hdi_placement_search().
//
// A found one is kept if it is lower; -1: neither found nor refuted in time.
static int search_one(struct maker *m, uint64_t capacity, uint64_t end,
                      struct hdi_placement *out)
{
    int found = -1;

    for (uint64_t slice = FIRST_SLICE; found == -1 && hdi_now() < end;
         slice *= SLICE_GROWS)
        for (int i = 0; found == -1 && i < HDI_ORDER_COUNT; i++) {
            make_order(&m->sections, (enum hdi_placement_order)i, m->order);
            for (uint32_t k = 0; k < out->count; k++)
                m->rank[m->order[k].life] = k;
            found = hdi_placement_search(&m->sections, m->rank, capacity, end,
                                         slice, m->offset, &out->nodes);
        }
    if (found == 1) {
        uint64_t height = 0;
        for (uint32_t i = 0; i < out->count; i++)
            if (m->offset[i] + m->sections.life[i].size > height)
                height = m->offset[i] + m->sections.life[i].size;
        take(m, height, out);
    }
    return found;
}

// The height asked for; or the least: the bound first, which is reached as a
// rule, then halfway between what is known not to do and what is there.
//
// Half of the time is left for each try, so that a first one that fails does
// not use it up; below 1 ms no further one is made.
static int search(struct maker *m, const struct hdi_placement_params *params,
                  uint64_t enough, struct hdi_placement *out)
{
    uint64_t begin = hdi_now(), low = out->bound;

    if (params->capacity)
        return search_one(m, enough, begin + params->time, out);
    for (uint64_t time = params->time / 2; out->height > low && time > 1000000;
         time /= 2) {
        uint64_t goal = low == out->bound ? low : low + (out->height - low) / 2;
        int found = search_one(m, goal, hdi_now() + time, out);
        if (found == -2)
            return -2;
        if (found != 1)
            low = goal + 1;
    }
    return 1;
}

// The limit of 63 bits lets offsets be doubled (placement_search.c) and added
// without overflow.
static hd_status check(const struct hdi_life *lives, uint32_t count,
                       struct hd_error *error)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (lives[i].lower >= lives[i].upper)
            return hdi_fail(error, HD_EINVAL,
                            "life %u ends at %llu, not after its beginning", i,
                            (unsigned long long)lives[i].upper);
        if (__builtin_add_overflow(sum, lives[i].size, &sum) || sum >> 63)
            return hdi_fail(error, HD_ELIMIT,
                            "the sizes of all lives together are too large");
    }
    return HD_OK;
}

static hd_status make(struct maker *m, const struct hdi_life *lives,
                      const struct hdi_placement_params *params,
                      struct hdi_placement *out, struct hd_error *error)
{
    size_t n = out->count + (size_t)1;

    if (!sections_open(&m->sections, lives, out->count))
        return no_memory(error);
    m->order = malloc(n * sizeof(*m->order));
    m->spans = malloc(n * sizeof(*m->spans));
    m->offset = calloc(n, sizeof(*m->offset));
    m->rank = malloc(n * sizeof(*m->rank));
    m->tried = malloc(n * sizeof(*m->tried));
    out->offset = calloc(n, sizeof(*out->offset));
    if (!m->order || !m->spans || !m->offset || !m->rank || !m->tried ||
        !out->offset)
        return no_memory(error);
    for (uint32_t i = 0; i < m->sections.count; i++)
        if (m->sections.total[i] > out->bound)
            out->bound = m->sections.total[i];
    uint64_t enough =
        params->capacity > out->bound ? params->capacity : out->bound;
    make_greedy(m, enough, out);
    if (out->height <= enough || params->time == 0 || !m->sections.near)
        return HD_OK;
    // Of few lives a search comes to an end, of many a change helps sooner.
    if (out->count > MANY)
        improve(m, enough, params->time / 2, out);
    if (out->height > enough && out->count <= MAX_SEARCHED &&
        search(m, params, enough, out) == -2)
        return no_memory(error);
    if (out->height > enough && out->count <= MANY)
        improve(m, enough, params->time / 2, out);
    return HD_OK;
}

hd_status hdi_placement_make(const struct hdi_life *lives, uint32_t count,
                             const struct hdi_placement_params *params,
                             struct hdi_placement *placement,
                             struct hd_error *error)
{
    struct hdi_placement out = {.count = count};
    struct maker m = {0};

    HDI_TRY(check(lives, count, error));
    hd_status status = make(&m, lives, params, &out, error);
    sections_free(&m.sections);
    free(m.order);
    free(m.spans);
    free(m.offset);
    free(m.rank);
    free(m.tried);
    if (status != HD_OK) {
        hdi_placement_free(&out);
        return status;
    }
    *placement = out;
    return HD_OK;
}

void hdi_placement_free(struct hdi_placement *placement)
{
    free(placement->offset);
    *placement = (struct hdi_placement){0};
}
