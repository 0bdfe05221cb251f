// The steps, each of which only ever keeps what is shorter:
//
//     rank          the longest chain from each task to the end
//     find_bound    no schedule is shorter than this
//     schedule_list greedy, by rank: a schedule
//     search        disturb the order, schedule_order, improve; again
//     assign        starts become processors
//
// Invariant: an order that is scheduled is topological in its direction, so
// that what a task follows is always there before it.
#include "graph/plan/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

// A round takes time by tasks times points of the profile, so it grows with the
// square; above MAX_SEARCHED too few rounds fit a time limit to gain anything.
// After PUSHES a further push seldom gains. With less PATIENCE it leaves a way
// that would have led on, with more it goes on far from the best.
enum {
    MAX_SEARCHED = 2000, // a round of local search on more takes too long
    PUSHES = 6,          // to the end and back, in one round
    PATIENCE = 60        // rounds without gain before it goes back to the best
};

// One direction of the graph: the predecessors and successors of every task.
//
// The backward one is the same arrays in exchanged roles: a schedule from the
// end is a schedule of the graph with all edges turned round.
struct side {
    const uint32_t *first_before, *before;
    const uint32_t *first_after, *after;
};

// How many processors are busy from each point of time on. Points ascend; the
// last has no task.
//
//     used    0     2       3        1       0
//     time    |-----|-------|--------|-------|------>
//
// At most two points for each task, and the first: room for these is made once.
struct profile {
    uint64_t *time;
    uint32_t *used;
    uint32_t count;
};

// Lives during one call of hdi_schedule_make(); all arrays have a place for
// each task. What `key`, `order`, `heap` and `waits` hold changes with each
// function; `start[0]` is the schedule at hand, `best` the shortest so far.
struct search {
    const struct hdi_tasks *tasks;
    uint32_t processors;
    struct side forward, backward;
    uint32_t *first_before, *before; // owned
    struct profile profile;
    uint64_t *rank, *key;
    uint64_t *start[2]; // of the schedule being made, in each direction
    uint64_t *current, *best;
    uint32_t *order, *waits, *heap;
    struct hdi_random random;
};

// Heaps -----------------------------------------------------------------------

// A binary heap of tasks, the smallest key on top; ties go by number.
static bool is_first(const uint64_t *key, uint32_t a, uint32_t b)
{
    return key[a] != key[b] ? key[a] < key[b] : a < b;
}

static void push(uint32_t *heap, uint32_t *count, const uint64_t *key,
                 uint32_t task)
{
    uint32_t at = (*count)++;

    while (at > 0 && is_first(key, task, heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = task;
}

static uint32_t pop(uint32_t *heap, uint32_t *count, const uint64_t *key)
{
    uint32_t top = heap[0], last = heap[--*count], at = 0;

    for (uint32_t child; (child = 2 * at + 1) < *count; at = child) {
        if (child + 1 < *count && is_first(key, heap[child + 1], heap[child]))
            child++;
        if (!is_first(key, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

// Orders ----------------------------------------------------------------------

static uint32_t count_before(const struct side *side, uint32_t task)
{
    return side->first_before[task + 1] - side->first_before[task];
}

// The topological order in which, of the tasks that may come, the one with the
// smallest key comes.
static void order_by_key(struct search *s, const struct side *side)
{
    uint32_t ready = 0;

    for (uint32_t t = 0; t < s->tasks->count; t++) {
        s->waits[t] = count_before(side, t);
        if (s->waits[t] == 0)
            push(s->heap, &ready, s->key, t);
    }
    for (uint32_t i = 0; i < s->tasks->count; i++) {
        uint32_t task = pop(s->heap, &ready, s->key);
        s->order[i] = task;
        for (uint32_t a = side->first_after[task];
             a < side->first_after[task + 1]; a++)
            if (--s->waits[side->after[a]] == 0)
                push(s->heap, &ready, s->key, side->after[a]);
    }
}

// Schedules -------------------------------------------------------------------

// When all that a task follows has ended, in the direction of `side`.
static uint64_t earliest(const struct search *s, const struct side *side,
                         const uint64_t *start, uint32_t task)
{
    uint64_t time = 0;

    for (uint32_t b = side->first_before[task];
         b < side->first_before[task + 1]; b++) {
        uint64_t end = start[side->before[b]] + s->tasks->cost[side->before[b]];
        if (end > time)
            time = end;
    }
    return time;
}

// Make a point at `time`, which is behind the one at `at`; return its index.
//
// Points behind are moved, so this is the dear part of a schedule of many
// tasks.
static uint32_t split(struct profile *p, uint32_t at, uint64_t time)
{
    if (p->time[at] == time)
        return at;
    if (at + 1 < p->count && p->time[at + 1] == time)
        return at + 1;
    at++;
    memmove(p->time + at + 1, p->time + at, (p->count - at) * sizeof(*p->time));
    memmove(p->used + at + 1, p->used + at, (p->count - at) * sizeof(*p->used));
    p->time[at] = time;
    p->used[at] = p->used[at - 1];
    p->count++;
    return at;
}

// Occupy a processor for `cost` from the first time not before `time` when one
// is free for so long; return that time.
//
// Halving finds the point at or before `time`; from there it goes along until
// the stretch is as long as needed, and begins again behind each point at which
// all processors are busy. The last point has no task, so it ends.
static uint64_t occupy(struct profile *p, uint32_t processors, uint64_t time,
                       uint64_t cost)
{
    uint32_t low = 0, high = p->count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (p->time[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    uint32_t at = low, end = low;
    while (end < p->count && p->time[end] < time + cost) {
        if (p->used[end] < processors) {
            end++;
            continue;
        }
        at = ++end;
        time = p->time[at];
    }
    uint32_t first = split(p, at, time);
    uint32_t last = split(p, end - (first == at), time + cost);
    for (uint32_t i = first; i < last; i++)
        p->used[i]++;
    return time;
}

// Schedule s->order, each task as early as it fits (the serial scheme of
// Kolisch, 1996: some order gives an optimal schedule).
static uint64_t schedule_order(struct search *s, const struct side *side,
                               uint64_t *start)
{
    uint64_t makespan = 0;
    struct profile *p = &s->profile;

    p->count = 1;
    p->time[0] = 0;
    p->used[0] = 0;
    for (uint32_t i = 0; i < s->tasks->count; i++) {
        uint32_t task = s->order[i];
        uint64_t cost = s->tasks->cost[task];
        uint64_t time = earliest(s, side, start, task);
        start[task] = cost ? occupy(p, s->processors, time, cost) : time;
        if (start[task] + cost > makespan)
            makespan = start[task] + cost;
    }
    return makespan;
}

// Run tasks as they become ready, the smallest key first, and let no processor
// idle while one is ready.
static uint64_t schedule_list(struct search *s, uint64_t *start)
{
    const struct side *side = &s->forward;
    uint32_t *ready = s->heap, *running = s->order;
    uint32_t ready_count = 0, running_count = 0;
    uint64_t *end = s->start[1];
    uint64_t now = 0;

    for (uint32_t t = 0; t < s->tasks->count; t++) {
        s->waits[t] = count_before(side, t);
        if (s->waits[t] == 0)
            push(ready, &ready_count, s->key, t);
    }
    while (ready_count + running_count > 0) {
        while (ready_count > 0 && running_count < s->processors) {
            uint32_t task = pop(ready, &ready_count, s->key);
            start[task] = now;
            end[task] = now + s->tasks->cost[task];
            push(running, &running_count, end, task);
        }
        uint32_t task = pop(running, &running_count, end);
        now = end[task];
        for (uint32_t a = side->first_after[task];
             a < side->first_after[task + 1]; a++)
            if (--s->waits[side->after[a]] == 0)
                push(ready, &ready_count, s->key, side->after[a]);
    }
    return now;
}

// Push the schedule of `start` to the end: the same, seen from there.
//
// What ends last is placed first: keys fall as ends grow.
static uint64_t turn(struct search *s, const struct side *side,
                     const uint64_t *start, uint64_t *turned)
{
    for (uint32_t t = 0; t < s->tasks->count; t++)
        s->key[t] = UINT64_MAX / 2 - (start[t] + s->tasks->cost[t]);
    order_by_key(s, side);
    return schedule_order(s, side, turned);
}

// To the end and back while that gains something; the schedule is in
// s->start[0].
//
// Equal length is kept as well: another schedule of that length may lead on.
static uint64_t improve(struct search *s, uint64_t makespan)
{
    for (int i = 0; i < PUSHES; i++) {
        turn(s, &s->backward, s->start[0], s->start[1]);
        uint64_t next = turn(s, &s->forward, s->start[1], s->current);
        if (next > makespan)
            break;
        memcpy(s->start[0], s->current, s->tasks->count * sizeof(uint64_t));
        if (next == makespan)
            break;
        makespan = next;
    }
    return makespan;
}

// Bounds ----------------------------------------------------------------------

// What must run between the earliest start of some tasks and the latest end of
// others has to fit on the processors (after Fernandez and Bussell, 1973): over
// all pairs of a head and a tail, head + work / processors + tail.
static uint64_t find_bound(struct search *s, uint64_t least)
{
    uint32_t n = s->tasks->count;
    uint64_t *head = s->start[0];
    uint64_t bound = least;

    // Without a limit on processors, tasks start at their heads.
    for (uint32_t i = 0; i < n; i++)
        head[s->order[i]] = earliest(s, &s->forward, head, s->order[i]);
    if (n > MAX_SEARCHED)
        return bound;
    // By falling tail; then one pass over them for every head.
    for (uint32_t t = 0; t < n; t++)
        s->key[t] = UINT64_MAX / 2 - (s->rank[t] - s->tasks->cost[t]);
    uint32_t count = 0;
    for (uint32_t t = 0; t < n; t++)
        push(s->heap, &count, s->key, t);
    for (uint32_t i = 0; i < n; i++)
        s->order[i] = pop(s->heap, &count, s->key);
    for (uint32_t h = 0; h < n; h++) {
        uint64_t work = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t task = s->order[i];
            if (head[task] < head[h])
                continue;
            work += s->tasks->cost[task];
            uint64_t sum = head[h] +
                           (work + s->processors - 1) / s->processors +
                           s->rank[task] - s->tasks->cost[task];
            if (sum > bound)
                bound = sum;
        }
    }
    return bound;
}

// Local search ----------------------------------------------------------------

// Move tasks of the schedule in `from`: all a little, those in one stretch of
// time, or a few far.
//
// Keys are starts times 16, so that a change by less than a unit of time can
// still exchange two tasks; 4 times the mean keeps them from falling below 0.
// Stretches (half of all cases) leave the rest of a good schedule as it is.
static void disturb(struct search *s, const uint64_t *from, uint64_t makespan,
                    uint64_t mean)
{
    uint32_t n = s->tasks->count;
    uint64_t width = mean + hdi_random_below64(&s->random, 3 * mean + 1);
    uint64_t begin = hdi_random_below64(&s->random, makespan + 1);
    uint64_t length = 2 * mean + hdi_random_below64(&s->random, 6 * mean + 1);
    uint64_t kind = hdi_random_below64(&s->random, 4);

    for (uint32_t t = 0; t < n; t++) {
        s->key[t] = (from[t] + 4 * mean) * 16;
        bool moves =
            kind == 0 || (kind == 1 && hdi_random_below64(&s->random, n) < 4) ||
            (kind >= 2 && from[t] >= begin && from[t] < begin + length);
        if (moves)
            s->key[t] +=
                hdi_random_below64(&s->random, width * 32) - width * 16;
    }
}

static void keep(const struct search *s, uint64_t *to)
{
    memcpy(to, s->start[0], s->tasks->count * sizeof(*to));
}

// Simulated annealing without a temperature: what is no worse is gone on from,
// and one in 32 that is worse. One round in 8 begins with the list, its ranks
// disturbed, instead of the schedule at hand. It ends at the bound, since
// nothing is shorter.
static uint64_t search(struct search *s, const struct hdi_schedule_params *p,
                       uint64_t makespan, uint64_t bound, uint64_t mean,
                       uint64_t *rounds)
{
    uint64_t end = hdi_now() + p->time, now = makespan;
    uint32_t n = s->tasks->count, idle = 0;
    uint64_t *from = malloc(n * sizeof(*from));
    if (!from)
        return makespan; // the list's schedule is one, too

    memcpy(from, s->best, n * sizeof(*from));
    for (*rounds = 0; makespan > bound && hdi_now() < end &&
                      (p->rounds == 0 || *rounds < p->rounds);
         ++*rounds) {
        uint64_t next;
        if (hdi_random_below64(&s->random, 8) == 0) {
            for (uint32_t t = 0; t < n; t++)
                s->key[t] = UINT64_MAX / 2 - s->rank[t] -
                            hdi_random_below64(&s->random, 4 * mean + 1);
            next = schedule_list(s, s->start[0]);
        } else {
            disturb(s, from, now, mean);
            order_by_key(s, &s->forward);
            next = schedule_order(s, &s->forward, s->start[0]);
        }
        next = improve(s, next);
        if (next < makespan) {
            makespan = next;
            keep(s, s->best);
            idle = 0;
        }
        if (next <= now || hdi_random_below64(&s->random, 32) == 0) {
            now = next;
            keep(s, from);
        } else if (++idle > PATIENCE) {
            now = makespan;
            memcpy(from, s->best, n * sizeof(*from));
            idle = 0;
        }
    }
    free(from);
    return makespan;
}

// Making ----------------------------------------------------------------------

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory to schedule tasks");
}

static void search_close(struct search *s)
{
    free(s->first_before);
    free(s->before);
    free(s->profile.time);
    free(s->profile.used);
    free(s->rank);
    free(s->key);
    free(s->start[0]);
    free(s->start[1]);
    free(s->current);
    free(s->best);
    free(s->order);
    free(s->waits);
    free(s->heap);
}

// On failure the caller closes it all the same: what was not allocated is NULL.
static bool search_open(struct search *s, const struct hdi_tasks *tasks,
                        const struct hdi_schedule_params *params)
{
    size_t n = tasks->count + (size_t)1, edges = tasks->first[tasks->count];

    *s = (struct search){.tasks = tasks, .processors = params->processors};
    hdi_random_seed(&s->random, params->seed);
    s->first_before = calloc(n + 1, sizeof(uint32_t));
    s->before = malloc((edges + 1) * sizeof(uint32_t));
    s->profile.time = malloc((2 * n + 2) * sizeof(uint64_t));
    s->profile.used = malloc((2 * n + 2) * sizeof(uint32_t));
    uint64_t **numbers[] = {&s->rank,     &s->key,     &s->start[0],
                            &s->start[1], &s->current, &s->best};
    uint32_t **indices[] = {&s->order, &s->waits, &s->heap};
    bool good =
        s->first_before && s->before && s->profile.time && s->profile.used;
    for (int i = 0; i < 6; i++)
        good = (*numbers[i] = malloc(n * sizeof(uint64_t))) && good;
    for (int i = 0; i < 3; i++)
        good = (*indices[i] = malloc(n * sizeof(uint32_t))) && good;
    if (!good)
        return false;

    for (size_t i = 0; i < edges; i++)
        s->first_before[tasks->successors[i] + 2]++;
    for (size_t i = 2; i <= n; i++)
        s->first_before[i] += s->first_before[i - 1];
    for (uint32_t t = 0; t < tasks->count; t++)
        for (uint32_t i = tasks->first[t]; i < tasks->first[t + 1]; i++)
            s->before[s->first_before[tasks->successors[i] + 1]++] = t;
    s->forward = (struct side){s->first_before, s->before, tasks->first,
                               tasks->successors};
    s->backward = (struct side){tasks->first, tasks->successors,
                                s->first_before, s->before};
    return true;
}

// Give every task a processor that is free when it starts: there is one, since
// never more tasks run at once than there are.
static bool assign(struct search *s, struct hdi_schedule *schedule)
{
    uint64_t *free_at = calloc(s->processors, sizeof(*free_at));
    if (!free_at)
        return false;

    uint32_t count = 0;
    for (uint32_t t = 0; t < schedule->count; t++)
        push(s->heap, &count, schedule->start, t);
    while (count > 0) {
        uint32_t task = pop(s->heap, &count, schedule->start), at = 0;
        if (s->tasks->cost[task] > 0)
            while (free_at[at] > schedule->start[task])
                at++;
        schedule->processor[task] = at;
        if (s->tasks->cost[task] > 0)
            free_at[at] = schedule->start[task] + s->tasks->cost[task];
    }
    free(free_at);
    return true;
}

// find_bound() uses the order of hdi_tasks_sort(), which is still in s->order,
// and start[0] for itself; the list comes after it.
static void make(struct search *s, const struct hdi_schedule_params *params,
                 struct hdi_schedule *out)
{
    uint64_t work = 0;

    for (uint32_t t = 0; t < s->tasks->count; t++)
        work += s->tasks->cost[t];
    out->critical_path = hdi_tasks_rank(s->tasks, s->order, s->rank);
    out->area = (work + s->processors - 1) / s->processors;
    out->bound = find_bound(
        s, out->area > out->critical_path ? out->area : out->critical_path);
    for (uint32_t t = 0; t < s->tasks->count; t++)
        s->key[t] = UINT64_MAX / 2 - s->rank[t];
    out->makespan = out->list_makespan = schedule_list(s, s->start[0]);
    keep(s, s->best);
    if (params->time > 0 && s->tasks->count <= MAX_SEARCHED)
        out->makespan =
            search(s, params, out->makespan, out->bound,
                   work / (s->tasks->count + (uint64_t)1) + 1, &out->rounds);
    memcpy(out->start, s->best, s->tasks->count * sizeof(*out->start));
}

hd_status hdi_schedule_make(const struct hdi_tasks *tasks,
                            const struct hdi_schedule_params *params,
                            struct hdi_schedule *schedule,
                            struct hd_error *error)
{
    struct hdi_schedule out = {.count = tasks->count};
    struct search s;
    hd_status status = HD_OK;

    out.start = calloc(tasks->count + (size_t)1, sizeof(*out.start));
    out.processor = calloc(tasks->count + (size_t)1, sizeof(*out.processor));
    bool good = search_open(&s, tasks, params);
    if (!good || !out.start || !out.processor) {
        status = no_memory(error);
    } else if (!hdi_tasks_sort(tasks, s.order, s.waits)) {
        status = hdi_fail(error, HD_EGRAPH, "tasks wait for each other");
    } else {
        make(&s, params, &out);
        if (!assign(&s, &out))
            status = no_memory(error);
    }
    search_close(&s);
    if (status != HD_OK) {
        hdi_schedule_free(&out);
        return status;
    }
    *schedule = out;
    return HD_OK;
}

void hdi_schedule_free(struct hdi_schedule *schedule)
{
    free(schedule->start);
    free(schedule->processor);
    *schedule = (struct hdi_schedule){0};
}
