// Where the resources and scratch of a graph lie in one block of memory.
//
// Invariant: of two that share a byte, all who use the one come before who
// takes the other, by edges (HDI_EDGE_MEMORY where nothing else says so).
#include "graph/arena/arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "graph/arena/recall.h"
#include "graph/plan/placement.h"
#include "graph/plan/tasks.h"

// ALIGNMENT is that of the largest type of OpenCL C. More CHOICES make an order
// better, and planning a wide graph slower, by as much. SEARCH_TIME is spent
// once: plans are kept between processes (recall.h). GOOD_ENOUGH ends the
// search where less than 1 % could be gained.
enum {
    ALIGNMENT = 128,         // of what lies in the block [bytes]
    CHOICES = 64,            // ready passes that are compared
    SEARCH_TIME = 200000000, // for a better placement [ns]
    SMALL = 4096,            // no matter, even if memory is short [bytes]
    GOOD_ENOUGH = 128        // above the bound: one part in so many
};

// Something in the block: a slot, or scratch of a pass.
//
// One of `slot` and `scratch` is HDI_NONE. Scratch lives during its pass alone;
// a slot from the pass that takes it to the last one that uses it, or to the
// end.
struct item {
    uint32_t slot;    // or HDI_NONE
    uint32_t scratch; // or HDI_NONE
    uint32_t first;   // pass that takes it
    uint64_t size;    // [bytes]
};

// Bytes of the block, and who has them.
//
// While edges are made: the block as it is at some place in the order. Places
// stand side by side, without gaps:
//
//     | item 3 | nobody | item 7      | item 1 |
//     0                                        height
struct place {
    uint64_t begin, end;
    uint32_t item; // or HDI_NONE
};

// Lives during one call of hdi_arena_plan(); nothing of the graph is changed
// before the plan is made, but for edges that a failure leaves, which the next
// linking drops.
struct planner {
    struct hd_graph *graph;
    HDI_ARRAY(struct item) items;
    uint32_t *item_of; // of each slot, or HDI_NONE
    // Passes that use each slot, one slot after another.
    uint32_t *users, *first_user;
    uint32_t *order, *position;  // passes in order; where each is
    struct hdi_life *lives;      // of each item
    uint64_t live;               // most of them at one time [bytes]
    struct hdi_feedback_key key; // of everything that the plan follows from
    uint64_t *recalled;          // offset of each item; NULL: not planned yet
    uint64_t height;             // of these [bytes]
    uint32_t *stamp; // of each pass: the last that got an edge from it
    uint32_t *uses;  // of each pass: item + 1 that it uses
    HDI_ARRAY(struct place) places;
};

// What lies in it -------------------------------------------------------------

static bool add_item(struct planner *p, uint32_t slot, uint32_t scratch,
                     uint32_t first, uint64_t size)
{
    if (!HDI_ROOM(p->items, 1))
        return false;
    p->items.at[p->items.count++] =
        (struct item){slot, scratch, first, hdi_round_up(size, ALIGNMENT)};
    return true;
}

// Slots in their order, then scratch in program order: a plan that is kept
// names items by number, so two processes must count alike (make_key() is over
// the same).
static bool list_items(struct planner *p)
{
    const struct hd_graph *graph = p->graph;
    bool good = true;

    for (uint32_t i = 0; i < graph->slots.count && good; i++) {
        const struct hdi_graph_slot *slot = &graph->slots.at[i];
        p->item_of[i] = HDI_NONE;
        if (slot->first == HDI_NONE || graph->resources.at[slot->resource].map)
            continue; // the caller's, or a field
        p->item_of[i] = p->items.count;
        good = add_item(p, i, HDI_NONE, slot->first,
                        graph->resources.at[slot->resource].size);
    }
    for (uint32_t i = 0; i < graph->passes.count && good; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        for (uint32_t k = 0; !pass->dropped && k < pass->scratch_count && good;
             k++)
            good = add_item(p, HDI_NONE, pass->scratch + k, i,
                            graph->scratch.at[pass->scratch + k].size);
    }
    return good;
}

// Counting sort in two walks: the first counts, the second fills.
static void list_users(struct planner *p)
{
    const struct hd_graph *graph = p->graph;
    uint32_t *first = p->first_user;

    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < graph->passes.count; i++) {
            const struct hdi_pass *pass = &graph->passes.at[i];
            for (uint32_t k = 0; !pass->dropped && k < pass->access_count;
                 k++) {
                uint32_t slot = graph->accesses.at[pass->accesses + k].slot;
                if (fill)
                    p->users[first[slot + 1]++] = i;
                else
                    first[slot + 2]++;
            }
        }
        for (uint32_t i = 2; !fill && i < graph->slots.count + 2; i++)
            first[i] += first[i - 1];
    }
}

// Its memory is kept after the run, so nothing else may have it.
static bool lives_on(const struct hd_graph *graph, uint32_t slot)
{
    const struct hdi_resource *r =
        &graph->resources.at[graph->slots.at[slot].resource];

    return r->is_output && r->slot == slot;
}

// Orders ----------------------------------------------------------------------

// What the pass takes and what dies with it, `left` users being left [bytes].
//
// As in run/ready.c, but for the order that is planned, not one that happens.
static int64_t growth(const struct planner *p, const uint32_t *left,
                      uint32_t index)
{
    const struct hd_graph *graph = p->graph;
    const struct hdi_pass *pass = &graph->passes.at[index];
    int64_t grows = 0;

    for (uint32_t k = 0; !pass->dropped && k < pass->access_count; k++) {
        uint32_t slot = graph->accesses.at[pass->accesses + k].slot;
        if (p->item_of[slot] == HDI_NONE)
            continue;
        int64_t size = (int64_t)p->items.at[p->item_of[slot]].size;
        if (graph->slots.at[slot].first == index)
            grows += size;
        if (left[slot] == 1 && !lives_on(graph, slot))
            grows -= size;
    }
    return grows;
}

// The place in `ready`. Of equal growth the one that became ready first, which
// comes near to breadth first.
static uint32_t choose(const struct planner *p, const uint32_t *left,
                       const uint32_t *ready, uint32_t count)
{
    uint32_t most = count < CHOICES ? count : CHOICES, best = 0;
    int64_t least = growth(p, left, ready[0]);

    for (uint32_t i = 1; i < most; i++) {
        int64_t grows = growth(p, left, ready[i]);
        if (grows < least) {
            least = grows;
            best = i;
        }
    }
    return best;
}

// An order that keeps lives short: of what is ready that goes first which makes
// memory grow least. Else the program's, as far as it can be.
//
// Fills p->order and p->position. Kahn's way, with a choice among what is
// ready; otherwise `ready` is kept sorted, so that the smallest number comes
// first. All passes are in it, dropped ones too: these take nothing.
static bool make_order(struct planner *p, bool shortest)
{
    const struct hd_graph *graph = p->graph;
    uint32_t passes = graph->passes.count, count = 0, done = 0;
    uint32_t *waits = malloc((passes + (size_t)1) * sizeof(*waits));
    uint32_t *ready = malloc((passes + (size_t)1) * sizeof(*ready));
    uint32_t *left = malloc((graph->slots.count + (size_t)1) * sizeof(*left));
    bool good = waits && ready && left;

    for (uint32_t i = 0; good && i < graph->slots.count; i++)
        left[i] = p->first_user[i + 1] - p->first_user[i];
    for (uint32_t i = 0; good && i < passes; i++) {
        waits[i] = graph->waits[i];
        if (waits[i] == 0)
            ready[count++] = i;
    }
    while (good && count > 0) {
        uint32_t at = shortest ? choose(p, left, ready, count) : 0;
        uint32_t pass = ready[at];
        // Those in front stay in the order in which they became ready.
        memmove(ready + at, ready + at + 1, (--count - at) * sizeof(*ready));
        p->position[pass] = done;
        p->order[done++] = pass;
        const struct hdi_pass *of = &graph->passes.at[pass];
        for (uint32_t k = 0; !of->dropped && k < of->access_count; k++)
            left[graph->accesses.at[of->accesses + k].slot]--;
        for (uint32_t i = graph->first_successor[pass];
             i < graph->first_successor[pass + 1]; i++) {
            uint32_t next = graph->successors[i];
            if (--waits[next] > 0)
                continue;
            uint32_t to = count++;
            for (; !shortest && to > 0 && ready[to - 1] > next; to--)
                ready[to] = ready[to - 1];
            ready[to] = next;
        }
    }
    free(waits);
    free(ready);
    free(left);
    return good;
}

// Lives in units of passes: pass k of the order runs from k to k + 1. One that
// is an output lives beyond the last pass. p->live is the most that lives at
// one time, below which no block can be.
static bool measure(struct planner *p)
{
    const struct hd_graph *graph = p->graph;
    uint32_t passes = graph->passes.count;
    int64_t *change = calloc(passes + (size_t)2, sizeof(*change));
    int64_t live = 0, most = 0;

    if (!change)
        return false;
    for (uint32_t i = 0; i < p->items.count; i++) {
        const struct item *item = &p->items.at[i];
        uint32_t begin = p->position[item->first], end = begin;
        if (item->slot != HDI_NONE) {
            for (uint32_t u = p->first_user[item->slot];
                 u < p->first_user[item->slot + 1]; u++)
                if (p->position[p->users[u]] > end)
                    end = p->position[p->users[u]];
            if (lives_on(graph, item->slot))
                end = passes;
        }
        p->lives[i] = (struct hdi_life){begin, end + (uint64_t)1, item->size};
        change[begin] += (int64_t)item->size;
        change[end + 1] -= (int64_t)item->size;
    }
    for (uint32_t i = 0; i < passes + 2; i++) {
        live += change[i];
        most = live > most ? live : most;
    }
    free(change);
    p->live = (uint64_t)most;
    return true;
}

// Plans that are kept ---------------------------------------------------------

static void mix(struct planner *p, const void *data, size_t size)
{
    hdi_feedback_mix(&p->key, data, size);
}

// The structure of the graph, as far as a plan of its memory goes.
static void make_key(struct planner *p)
{
    const struct hd_graph *graph = p->graph;
    uint32_t passes = graph->passes.count, slots = graph->slots.count;
    uint32_t edges = graph->first_successor[passes];
    const uint64_t counts[] = {passes, slots, edges, p->items.count, ALIGNMENT};

    p->key = hdi_feedback_key("plan");
    mix(p, counts, sizeof(counts));
    mix(p, graph->first_successor, (passes + (size_t)1) * sizeof(uint32_t));
    mix(p, graph->successors, edges * sizeof(uint32_t));
    mix(p, p->first_user, (slots + (size_t)1) * sizeof(uint32_t));
    mix(p, p->users, p->first_user[slots] * sizeof(uint32_t));
    for (uint32_t i = 0; i < p->items.count; i++) {
        const struct item *item = &p->items.at[i];
        bool on = item->slot != HDI_NONE && lives_on(graph, item->slot);
        const uint64_t what[] = {item->slot, item->first, item->size, on};
        mix(p, what, sizeof(what));
    }
}

// Whether the order is one of all passes in which each comes after those that
// it waits for.
//
// It comes from a file, so nothing is taken for granted; fills p->position.
static bool is_order(struct planner *p, const uint32_t *order)
{
    const struct hd_graph *graph = p->graph;
    uint32_t passes = graph->passes.count;

    for (uint32_t i = 0; i < passes; i++)
        p->position[i] = HDI_NONE;
    for (uint32_t i = 0; i < passes; i++) {
        if (order[i] >= passes || p->position[order[i]] != HDI_NONE)
            return false;
        p->position[order[i]] = i;
    }
    for (uint32_t i = 0; i < passes; i++)
        for (uint32_t k = graph->first_successor[i];
             k < graph->first_successor[i + 1]; k++)
            if (p->position[graph->successors[k]] <= p->position[i])
                return false;
    return true;
}

// Offsets within the block, so that sums do not overflow, and aligned; the
// block not much larger than it need be, lest a bad plan stays for ever.
static bool lies_well(const struct planner *p,
                      const struct hdi_recalled_plan *plan)
{
    for (uint32_t i = 0; i < plan->items; i++)
        if (plan->offset[i] > plan->height || plan->offset[i] % ALIGNMENT != 0)
            return false;
    return plan->height <= 2 * p->live;
}

// What a process before has found for such a graph. False: nothing that is
// right.
//
// A key is a hash, and may be that of another graph: so the plan is checked as
// if it were anybody's, order and overlaps too. Then it is as good as a new
// one.
static bool recall(struct planner *p)
{
    struct hd_error error;
    struct hdi_recalled_plan plan = {.passes = p->graph->passes.count,
                                     .items = p->items.count,
                                     .order = p->order};
    bool good = false;

    plan.offset = calloc(plan.items + (size_t)1, sizeof(*plan.offset));
    if (plan.offset && plan.items <= HDI_RECALL_ITEMS &&
        hdi_recall_find(p->graph->context.programs.cache, &p->key, &plan) &&
        is_order(p, plan.order) && measure(p) && lies_well(p, &plan)) {
        const struct hdi_placement placed = {
            .count = plan.items, .offset = plan.offset, .height = plan.height};
        good =
            hdi_placement_check(p->lives, plan.items, &placed, &error) == HD_OK;
    }
    if (good) {
        p->recalled = plan.offset;
        p->height = plan.height;
    } else {
        free(plan.offset);
    }
    return good;
}

static void keep(const struct planner *p, const struct hdi_placement *placed)
{
    const struct hdi_recalled_plan plan = {.passes = p->graph->passes.count,
                                           .items = p->items.count,
                                           .height = placed->height,
                                           .order = p->order,
                                           .offset = placed->offset};

    hdi_recall_keep(p->graph->context.programs.cache, &p->key, &plan);
}

// The better of both orders.
//
// Program order in case of a tie: data stay near.
static bool settle_order(struct planner *p)
{
    if (!make_order(p, false) || !measure(p))
        return false;
    uint64_t live = p->live;
    if (!make_order(p, true) || !measure(p))
        return false;
    return p->live < live || (make_order(p, false) && measure(p));
}

// Edges -----------------------------------------------------------------------

// None where the graph has that edge, or got it for the item before. Successors
// are those from before planning; the caller lists them anew.
static bool add_edge(struct planner *p, uint32_t from, uint32_t to)
{
    struct hd_graph *graph = p->graph;

    if (from == to || p->stamp[from] == to + 1)
        return true;
    for (uint32_t i = graph->first_successor[from];
         i < graph->first_successor[from + 1]; i++)
        if (graph->successors[i] == to)
            return true;
    if (!HDI_ROOM(graph->edges, 1))
        return false;
    p->stamp[from] = to + 1;
    graph->edges.at[graph->edges.count++] =
        (struct hdi_edge){.from = from, .to = to, .kind = HDI_EDGE_MEMORY};
    return true;
}

// Whether some other user comes straight after this one.
//
// Then waiting for that one is enough: it waits for this one.
static bool is_followed(const struct planner *p, uint32_t pass, uint32_t item)
{
    const struct hd_graph *graph = p->graph;

    for (uint32_t i = graph->first_successor[pass];
         i < graph->first_successor[pass + 1]; i++)
        if (p->uses[graph->successors[i]] == item + 1)
            return true;
    return false;
}

// `next` is taken when all who use `item` have ended.
//
// Marks users first, so that is_followed() finds out in one step whether a
// successor uses the item too.
static bool come_after(struct planner *p, uint32_t item, uint32_t next)
{
    const struct item *before = &p->items.at[item];
    bool good = true;

    if (before->slot == HDI_NONE)
        return add_edge(p, before->first, p->items.at[next].first);
    uint32_t begin = p->first_user[before->slot];
    uint32_t end = p->first_user[before->slot + 1];
    for (uint32_t u = begin; u < end; u++)
        p->uses[p->users[u]] = item + 1;
    for (uint32_t u = begin; u < end && good; u++)
        good = is_followed(p, p->users[u], item) ||
               add_edge(p, p->users[u], p->items.at[next].first);
    return good;
}

// Make a border at `at`, if there is none.
static bool cut(struct planner *p, uint64_t at)
{
    for (uint32_t i = 0; i < p->places.count; i++) {
        struct place *place = &p->places.at[i];
        if (at <= place->begin || at >= place->end)
            continue;
        if (!HDI_ROOM(p->places, 1))
            return false;
        place = &p->places.at[i];
        memmove(place + 1, place, (p->places.count - i) * sizeof(*place));
        p->places.count++;
        place[0].end = place[1].begin = at;
        return true;
    }
    return true;
}

// Whoever had some of these bytes last is waited for. Who had them before is
// not: the last one waited for that. The parts in between become one place.
static bool occupy(struct planner *p, uint32_t item, uint64_t begin)
{
    uint64_t end = begin + p->items.at[item].size;
    uint32_t from = 0, to;

    if (!cut(p, begin) || !cut(p, end))
        return false;
    while (p->places.at[from].begin < begin)
        from++;
    for (to = from; to < p->places.count && p->places.at[to].begin < end; to++)
        if (p->places.at[to].item != HDI_NONE &&
            !come_after(p, p->places.at[to].item, item))
            return false;
    p->places.at[from] = (struct place){begin, end, item};
    memmove(&p->places.at[from + 1], &p->places.at[to],
            (p->places.count - to) * sizeof(struct place));
    p->places.count -= to - from - 1;
    return true;
}

struct birth {
    uint64_t lower;
    uint32_t item;
};

static int compare_births(const void *a, const void *b)
{
    const struct birth *one = a, *other = b;

    if (one->lower != other->lower)
        return one->lower < other->lower ? -1 : 1;
    return one->item < other->item ? -1 : 1;
}

// By birth, so that places are as the order would find them: of two items that
// share bytes the earlier one is there when the later comes.
static bool link_places(struct planner *p, const struct hdi_placement *placed)
{
    uint32_t count = p->items.count;
    struct birth *births = malloc((count + (size_t)1) * sizeof(*births));
    bool good = births && HDI_ROOM(p->places, 1);

    if (good) {
        for (uint32_t i = 0; i < count; i++)
            births[i] = (struct birth){p->lives[i].lower, i};
        qsort(births, count, sizeof(*births), compare_births);
        p->places.count = 1;
        p->places.at[0] = (struct place){0, placed->height, HDI_NONE};
    }
    for (uint32_t i = 0; i < count && good; i++)
        good = occupy(p, births[i].item, placed->offset[births[i].item]);
    free(births);
    return good;
}

// The plan --------------------------------------------------------------------

// Sizes of parts are those of resources, not rounded up: a part is a buffer,
// and checks of launches go by its size.
static hd_status place(struct planner *p, struct hd_error *error)
{
    struct hdi_arena *arena = &p->graph->arena;
    struct hdi_placement placed;
    const struct hdi_placement_params params = {
        .capacity = p->live + p->live / GOOD_ENOUGH, .time = SEARCH_TIME};

    arena->recalled = p->recalled != NULL;
    if (p->recalled) {
        placed = (struct hdi_placement){.count = p->items.count,
                                        .offset = p->recalled,
                                        .height = p->height};
        p->recalled = NULL;
    } else {
        HDI_TRY(hdi_placement_make(p->lives, p->items.count, &params, &placed,
                                   error));
        keep(p, &placed);
    }
    arena->parts = calloc(p->items.count + (size_t)1, sizeof(*arena->parts));
    bool good = arena->parts && link_places(p, &placed);
    for (uint32_t i = 0; i < p->items.count && good; i++) {
        const struct item *item = &p->items.at[i];
        bool is_slot = item->slot != HDI_NONE;
        uint64_t size = is_slot
                            ? p->graph->resources
                                  .at[p->graph->slots.at[item->slot].resource]
                                  .size
                            : p->graph->scratch.at[item->scratch].size;
        arena->parts[i] =
            (struct hdi_byte_range){.offset = placed.offset[i], .size = size};
        if (is_slot)
            p->graph->slots.at[item->slot].part = i;
        else
            p->graph->scratch.at[item->scratch].part = i;
    }
    arena->part_count = p->items.count;
    arena->height = placed.height;
    arena->live = p->live;
    hdi_placement_free(&placed);
    return good ? HD_OK
                : hdi_fail(error, HD_ENOMEM, "no memory to place resources");
}

static void free_planner(struct planner *p)
{
    free(p->items.at);
    free(p->item_of);
    free(p->users);
    free(p->first_user);
    free(p->order);
    free(p->position);
    free(p->lives);
    free(p->recalled);
    free(p->stamp);
    free(p->uses);
    free(p->places.at);
}

// False without memory only.
static bool begin(struct planner *p)
{
    const struct hd_graph *graph = p->graph;
    size_t passes = graph->passes.count + (size_t)1;
    size_t slots = graph->slots.count + (size_t)2;

    p->item_of = calloc(slots, sizeof(*p->item_of));
    p->users = calloc(graph->accesses.count + (size_t)1, sizeof(*p->users));
    p->first_user = calloc(slots, sizeof(*p->first_user));
    p->order = calloc(passes, sizeof(*p->order));
    p->position = calloc(passes, sizeof(*p->position));
    p->stamp = calloc(passes, sizeof(*p->stamp));
    p->uses = calloc(passes, sizeof(*p->uses));
    if (!p->item_of || !p->users || !p->first_user || !p->order ||
        !p->position || !p->stamp || !p->uses || !list_items(p))
        return false;
    list_users(p);
    p->lives = calloc(p->items.count + (size_t)1, sizeof(*p->lives));
    if (!p->lives)
        return false;
    make_key(p);
    return recall(p) || settle_order(p);
}

// What the kernel thinks could be had without swapping [bytes].
//
// UINT64_MAX where that cannot be found: memory is not short then.
static uint64_t available_bytes(void)
{
    unsigned long long kib = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib > 0 ? (uint64_t)kib * 1024 : UINT64_MAX;
}

// More than this is running short [bytes].
static uint64_t limit_of(const struct hd_graph *graph)
{
    return graph->policy.memory > 0 ? graph->policy.memory : available_bytes();
}

// What all slots and scratch take together, which is more than they ever do.
static uint64_t all_bytes(const struct hd_graph *graph)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < graph->slots.count; i++)
        if (graph->slots.at[i].first != HDI_NONE &&
            !graph->resources.at[graph->slots.at[i].resource].map)
            all += graph->resources.at[graph->slots.at[i].resource].size;
    for (uint32_t i = 0; i < graph->scratch.count; i++)
        all += graph->scratch.at[i].size;
    return all;
}

// Whether it may be wanted, without looking at lives. Not by itself where stray
// accesses are looked for: they would hit other parts.
//
// Called by every preparing, so it must cost little: of most graphs the sum of
// all sizes is below the limit, which settles it. Not in a run that goes on
// from passes that have run, whose memory is no part of a block.
static bool may_be_wanted(const struct hd_graph *graph)
{
    if (graph->keeps_all || graph->first > 0 ||
        graph->policy.goal == HD_GRAPH_TIME)
        return false;
    if (graph->policy.goal == HD_GRAPH_MEMORY || graph->ran_short)
        return true;
    uint64_t all = all_bytes(graph);
    return !graph->context.launcher->seals && all > SMALL &&
           all > limit_of(graph);
}

// The allocator holds as much again as what is alive (memory.h).
static bool is_wanted(const struct hd_graph *graph, const struct planner *p)
{
    return graph->policy.goal == HD_GRAPH_MEMORY || graph->ran_short ||
           p->live > limit_of(graph) / 2;
}

// Whether the goal is worth it shows only when lives are known. Sharing memory
// makes passes wait, so with the goal of least time it is avoided where there
// is enough.
hd_status hdi_arena_plan(struct hd_graph *graph, bool *planned,
                         struct hd_error *error)
{
    struct planner p = {.graph = graph};
    hd_status status = HD_OK;

    hdi_arena_forget(graph);
    *planned = false;
    if (!may_be_wanted(graph))
        return HD_OK;
    if (!begin(&p))
        status = hdi_fail(error, HD_ENOMEM, "no memory to place resources");
    else if ((*planned = is_wanted(graph, &p)))
        status = place(&p, error);
    free_planner(&p);
    graph->arena.planned = status == HD_OK && *planned;
    graph->arena.current = false;
    return status;
}

// The block -------------------------------------------------------------------

// The plan alone: the block may be in use by what the last run has left, until
// hdi_arena_free().
void hdi_arena_forget(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->slots.count; i++)
        graph->slots.at[i].part = HDI_NONE;
    for (uint32_t i = 0; i < graph->scratch.count; i++)
        graph->scratch.at[i].part = HDI_NONE;
    free(graph->arena.parts);
    graph->arena.parts = NULL;
    graph->arena.planned = false;
}

// Parts before the block that they lie in.
void hdi_arena_free(struct hd_graph *graph)
{
    struct hdi_arena *arena = &graph->arena;

    for (uint32_t i = 0; i < arena->made_count; i++)
        hd_buffer_destroy(arena->made[i]);
    free(arena->made);
    hd_buffer_destroy(arena->block);
    arena->made = NULL;
    arena->made_count = 0;
    arena->block = NULL;
}

// `made_count` grows with them, so that hdi_arena_free() undoes what there is.
static hd_status make_parts(struct hdi_arena *arena, struct hd_error *error)
{
    for (uint32_t i = 0; i < arena->part_count; i++) {
        const struct hdi_byte_range *part = &arena->parts[i];
        HDI_TRY(hd_buffer_sub(arena->block, part->offset, part->size,
                              &arena->made[i], error));
        arena->made_count = i + 1;
    }
    return HD_OK;
}

// What is spare goes first: the block and the buffers of an earlier plan need
// not be there at the same time, when memory is short.
hd_status hdi_arena_make(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_arena *arena = &graph->arena;

    if (!arena->planned || arena->part_count == 0 || arena->current)
        return HD_OK;
    hdi_arena_free(graph);
    hdi_memory_drop(&graph->memory);
    hd_status status = hdi_buffer_create(graph->context.launcher, arena->height,
                                         &arena->block, error);
    if (status != HD_OK) {
        hdi_prefix_error(error, "memory of the graph's resources");
        return status;
    }
    arena->made = calloc(arena->part_count, sizeof(*arena->made));
    status = arena->made ? make_parts(arena, error)
                         : hdi_fail(error, HD_ENOMEM,
                                    "no memory for %u parts of a block",
                                    arena->part_count);
    if (status != HD_OK)
        hdi_arena_free(graph);
    arena->current = status == HD_OK;
    return status;
}
