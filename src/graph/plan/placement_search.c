// Branch and bound: bottom up, as in MiniMalloc (Moffitt, ASPLOS 2023), whose
// ideas are canonical solutions, where everything stands on the ground or on
// something, floors per section, and splitting at times nothing left lives
// through.
//
// A node holds, for all that is not placed, the least offset it may have. The
// life with the smallest is placed there, or never: then it stands on something
// that is not placed yet, which raises its least offset.
//
// Invariant: `least` of a life never exceeds its offset in some solution of the
// node, if there is one.
#include "graph/plan/placement_search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

// More looks give a better bound, but two that hover and could stand on each
// other only would raise each other step by step up to the capacity.
enum {
    LIFTS = 32 // looks at what hovers, per node
};

// Lives during one call of hdi_placement_search(). Of each life, unless another
// is named:
//
//     open      hovering   what it is
//     1         0          may be placed at its least offset
//     1         1          stands on something that is not placed yet
//     0         -          placed, at `offset`
//
// `stack` is a region that nodes take their arrays from and give back in
// reverse order (`used` of `room` bytes). `gave_up` ends all recursion.
struct solver {
    const struct hdi_sections *s;
    const uint32_t *rank;
    uint64_t capacity;
    uint64_t end, most_nodes, nodes;
    uint64_t *least;
    uint8_t *open;     // not placed
    uint8_t *hovering; // may stand on what is not placed only
    uint64_t *height;  // of each section, at least
    uint64_t *offset;
    uint8_t *queued; // lives to be lifted again, and those in `queue`
    uint32_t *queue, queue_count;
    char *stack; // of saved nodes
    size_t used, room;
    bool gave_up;
};

// The clock is read at one node in 64 only.
static bool over(struct solver *v)
{
    if (v->nodes >= v->most_nodes ||
        ((v->nodes & 63) == 0 && hdi_now() > v->end))
        v->gave_up = true;
    return v->gave_up;
}

static uint64_t top(const struct solver *v, uint32_t life)
{
    return v->least[life] + v->s->life[life].size;
}

// What hovers near a life that rose, or was placed, is looked at again.
static void queue_near(struct solver *v, uint32_t life)
{
    for (uint32_t k = v->s->near[life]; k < v->s->near[life + 1]; k++) {
        uint32_t other = v->s->other[k];
        if (!v->open[other] || !v->hovering[other] || v->queued[other])
            continue;
        v->queued[other] = 1;
        v->queue[v->queue_count++] = other;
    }
}

static void rise(struct solver *v, uint32_t life, uint64_t least)
{
    v->least[life] = least;
    queue_near(v, life);
}

// What hovers stands on the lowest top of what may be below it, or higher. Two
// that could stand on each other only would climb for long: there is a limit.
static bool lift(struct solver *v)
{
    for (int steps = 0; v->queue_count > 0 && steps < LIFTS; steps++) {
        uint32_t life = v->queue[--v->queue_count];
        uint64_t lowest = UINT64_MAX;
        v->queued[life] = 0;
        if (!v->open[life] || !v->hovering[life])
            continue;
        for (uint32_t k = v->s->near[life]; k < v->s->near[life + 1]; k++) {
            uint32_t other = v->s->other[k];
            if (v->open[other] && top(v, other) < lowest)
                lowest = top(v, other);
        }
        if (lowest <= v->least[life])
            continue;
        if (lowest > v->capacity - v->s->life[life].size)
            return false;
        rise(v, life, lowest);
    }
    return true;
}

// Forget what is to be looked at again.
static void settle(struct solver *v)
{
    while (v->queue_count > 0)
        v->queued[v->queue[--v->queue_count]] = 0;
}

static bool is_lower(const struct solver *v, uint32_t a, uint32_t b)
{
    return v->least[a] != v->least[b] ? v->least[a] < v->least[b]
                                      : v->rank[a] < v->rank[b];
}

// By insertion: since the node before, little has changed.
static void sort_open(const struct solver *v, uint32_t *open, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        uint32_t life = open[i], at = i;
        for (; at > 0 && is_lower(v, life, open[at - 1]); at--)
            open[at] = open[at - 1];
        open[at] = life;
    }
}

// Put the lives of every section upon each other by their least offsets: they
// must stay below the capacity. Sorts `open`.
//
// A lower bound: no placement of this node is lower than these stacks. Which is
// why it may be given up where they are too high. False: no solution here.
static bool fits(struct solver *v, uint32_t *open, uint32_t count)
{
    bool good = lift(v);

    settle(v);
    if (!good)
        return false;
    sort_open(v, open, count);
    memset(v->height, 0, v->s->count * sizeof(*v->height));
    for (uint32_t i = 0; i < count; i++) {
        uint64_t least = v->least[open[i]], size = v->s->life[open[i]].size;
        uint64_t *restrict height = v->height;
        for (uint32_t k = v->s->from[open[i]]; k < v->s->to[open[i]]; k++)
            height[k] = (height[k] > least ? height[k] : least) + size;
    }
    uint64_t most = 0;
    for (uint32_t k = 0; k < v->s->count; k++)
        most = v->height[k] > most ? v->height[k] : most;
    return most <= v->capacity;
}

// At its least offset, for good in this node. Others that meet it lie above it
// from now on; a life whose least offset was at or below its top stands on it,
// so it need not hover. False: one of them cannot stay below the capacity.
static bool place(struct solver *v, uint32_t life)
{
    uint64_t up = top(v, life);

    v->open[life] = 0;
    v->offset[life] = v->least[life];
    queue_near(v, life);
    for (uint32_t k = v->s->near[life]; k < v->s->near[life + 1]; k++) {
        uint32_t other = v->s->other[k];
        if (!v->open[other] || v->least[other] > up)
            continue;
        v->hovering[other] = 0;
        if (v->least[other] == up)
            continue;
        if (up > v->capacity - v->s->life[other].size)
            return false;
        rise(v, other, up);
    }
    return true;
}

// NULL: the region is too small, and the search gives up.
static void *reserve(struct solver *v, size_t size)
{
    size = (size + 15) / 16 * 16;
    if (v->room - v->used < size)
        return NULL;
    void *at = v->stack + v->used;
    v->used += size;
    return at;
}

static bool solve(struct solver *v, uint32_t *open, uint32_t count);

// Solve what is left in parts that share no section. `part` becomes the lives
// of one after another.
//
// Parts do not influence each other, so what would be a product of their nodes
// becomes a sum.
//
//     |---|    |-----|
//       |---|      |----|        two parts: no life reaches across the gap
//
// `*split` is false where all are one part: then nothing was solved here.
static bool solve_parts(struct solver *v, const uint32_t *open, uint32_t count,
                        bool *split)
{
    const struct hdi_sections *s = v->s;
    size_t used = v->used;
    // How far the lives that begin in a section reach.
    uint32_t *reach = reserve(v, (s->count + (size_t)1) * sizeof(*reach));
    uint32_t *part = reserve(v, count * sizeof(*part));
    bool solved = true;

    *split = false;
    if (!reach || !part) {
        v->gave_up = true;
        return false;
    }
    memset(reach, 0, (s->count + (size_t)1) * sizeof(*reach));
    for (uint32_t i = 0; i < count; i++)
        if (s->to[open[i]] > reach[s->from[open[i]]])
            reach[s->from[open[i]]] = s->to[open[i]];
    for (uint32_t begin = 0; begin < s->count && solved;) {
        uint32_t end = reach[begin];
        if (end == 0) {
            begin++;
            continue;
        }
        for (uint32_t i = begin + 1; i < end; i++)
            if (reach[i] > end)
                end = reach[i];
        uint32_t members = 0;
        for (uint32_t i = 0; i < count; i++)
            if (s->from[open[i]] >= begin && s->from[open[i]] < end)
                part[members++] = open[i];
        begin = end;
        if (members == count)
            break;
        *split = true;
        solved = solve(v, part, members);
    }
    v->used = used;
    return solved;
}

// A node on the stack: of each open life, its least offset and whether it
// hovers.
static void save(const struct solver *v, const uint32_t *open, uint32_t count,
                 uint64_t *saved)
{
    for (uint32_t i = 0; i < count; i++)
        saved[i] = v->least[open[i]] * 2 + v->hovering[open[i]];
}

static void restore(struct solver *v, const uint32_t *open, uint32_t count,
                    const uint64_t *saved)
{
    for (uint32_t i = 0; i < count; i++) {
        v->least[open[i]] = saved[i] / 2;
        v->hovering[open[i]] = saved[i] & 1;
        v->open[open[i]] = 1;
    }
}

// `open` is sorted.
//
// First `life`, the lowest, is placed; if that leads to nothing, it is never
// placed on what is placed now: it hovers, until something is placed below it.
// That raises its least offset, another life may be the lowest, and so on until
// no solution is left. Each state is seen once.
static bool solve_one(struct solver *v, uint32_t *open, uint32_t count,
                      uint64_t *saved, uint32_t *rest)
{
    for (;;) {
        v->nodes++;
        if (over(v))
            return false;
        uint32_t life = open[0], left = count - 1;
        save(v, open, count, saved);
        memcpy(rest, open + 1, left * sizeof(*rest));
        if (place(v, life) && fits(v, rest, left) && solve(v, rest, left))
            return true;
        if (v->gave_up)
            return false;
        settle(v);
        restore(v, open, count, saved);
        v->hovering[life] = 1;
        v->queued[life] = 1;
        v->queue[v->queue_count++] = life;
        if (!fits(v, open, count))
            return false;
    }
}

// False with gave_up: nothing is known. False without: there is no solution.
static bool solve(struct solver *v, uint32_t *open, uint32_t count)
{
    if (count == 0)
        return true;

    bool split;
    bool solved = solve_parts(v, open, count, &split);
    if (split || v->gave_up)
        return solved;

    size_t used = v->used;
    uint64_t *saved = reserve(v, count * sizeof(*saved));
    uint32_t *rest = reserve(v, count * sizeof(*rest));
    if (!saved || !rest)
        v->gave_up = true;
    else
        solved = solve_one(v, open, count, saved, rest);
    v->used = used;
    return solved && !v->gave_up;
}

static bool solver_open(struct solver *v)
{
    size_t n = v->s->lives + (size_t)1;

    // One frame per life at most, of two arrays of what is open, and of the
    // splitting.
    v->room = n * n / 2 * 16 + n * (8 * v->s->count + 256) + 4096;
    v->least = calloc(n, sizeof(*v->least));
    v->open = malloc(n);
    v->hovering = calloc(n, 1);
    v->height = malloc((v->s->count + (size_t)1) * sizeof(*v->height));
    v->queued = calloc(n, 1);
    v->queue = malloc(n * sizeof(*v->queue));
    v->stack = malloc(v->room);
    return v->least && v->open && v->hovering && v->height && v->queued &&
           v->queue && v->stack;
}

// `offset` is written to even where nothing is found.
int hdi_placement_search(const struct hdi_sections *sections,
                         const uint32_t *rank, uint64_t capacity, uint64_t end,
                         uint64_t most_nodes, uint64_t *offset, uint64_t *nodes)
{
    struct solver v = {.s = sections,
                       .rank = rank,
                       .capacity = capacity,
                       .end = end,
                       .most_nodes = most_nodes,
                       .offset = offset};
    uint32_t *open = malloc((sections->lives + (size_t)1) * sizeof(*open));
    int result = -2;

    if (solver_open(&v) && open) {
        bool good = true;
        memset(v.open, 1, sections->lives);
        for (uint32_t i = 0; i < sections->lives; i++) {
            open[i] = i;
            good = good && sections->life[i].size <= capacity;
        }
        good = good && fits(&v, open, sections->lives) &&
               solve(&v, open, sections->lives);
        result = good ? 1 : v.gave_up ? -1 : 0;
    }
    *nodes += v.nodes;
    free(open);
    free(v.least);
    free(v.open);
    free(v.hovering);
    free(v.height);
    free(v.queued);
    free(v.queue);
    free(v.stack);
    return result;
}
