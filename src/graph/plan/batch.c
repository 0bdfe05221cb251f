// List scheduling with what it costs to hand a task over: tasks in order go to
// the lane, one for each worker, where they would begin first. What a lane gets
// in a row is a batch as long as it is open.
//
// Invariant: by the time of the lanes a batch begins when all that it waits for
// has ended, or will have; what is added later keeps to that. So no two batches
// wait for each other. A batch that another waits for is closed, lest that
// waits for more.
#include "graph/plan/batch.h"

#include <stdlib.h>

// A worker as it is thought to be. Which worker takes a batch is found out when
// it runs: lanes only say what would fit.
struct lane {
    uint64_t end;  // of what it has got [ns]
    uint32_t open; // its newest batch; NONE: that is closed
};

struct batch {
    uint64_t begin, end; // as the lanes have it [ns]
    uint32_t lane;
};

#define NONE UINT32_MAX

// Lives during one call of hdi_batch_tasks(). `batches` has room for as many as
// tasks; `batch` is the caller's.
struct batcher {
    const struct hdi_batch_params *params;
    uint32_t *batch;          // of each task
    uint32_t *first, *before; // what each task follows
    bool *leads;              // of each task: one that is not tiny follows it
    struct lane *lanes;
    struct batch *batches;
    uint32_t count;
};

// Counting sort of the edges by where they lead to, which tasks->first lists by
// where they come from.
static bool list_before(struct batcher *b)
{
    const struct hdi_tasks *tasks = &b->params->tasks;
    uint32_t count = tasks->count;

    b->first = calloc(count + (size_t)2, sizeof(*b->first));
    b->before = malloc((tasks->first[count] + (size_t)1) * sizeof(*b->before));
    b->leads = calloc(count + (size_t)1, sizeof(*b->leads));
    if (!b->first || !b->before || !b->leads)
        return false;
    for (uint32_t i = 0; i < tasks->first[count]; i++)
        b->first[tasks->successors[i] + 2]++;
    for (uint32_t t = 2; t < count + 2; t++)
        b->first[t] += b->first[t - 1];
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t i = tasks->first[t]; i < tasks->first[t + 1]; i++) {
            uint32_t next = tasks->successors[i];
            b->before[b->first[next + 1]++] = t;
            b->leads[t] = b->leads[t] || !b->params->tiny[next];
        }
    return true;
}

static bool is_open(const struct batcher *b, uint32_t batch)
{
    return b->lanes[b->batches[batch].lane].open == batch;
}

// When what the task follows is there, for a lane; that of its open batch is
// not counted.
//
// Inputs of another lane come a handover later: this is what makes tasks stay
// where their inputs are.
static uint64_t inputs_at(const struct batcher *b, uint32_t task, uint32_t lane)
{
    uint64_t at = 0;

    for (uint32_t i = b->first[task]; i < b->first[task + 1]; i++) {
        uint32_t batch = b->batch[b->before[i]];
        uint64_t end = b->batches[batch].end;
        if (batch == b->lanes[lane].open)
            continue;
        end += b->batches[batch].lane == lane ? 0 : b->params->handover;
        at = end > at ? end : at;
    }
    return at;
}

static uint64_t start_at(const struct batcher *b, uint32_t task, uint32_t lane)
{
    uint64_t at = inputs_at(b, task, lane);

    return at > b->lanes[lane].end ? at : b->lanes[lane].end;
}

// The lanes of what the task follows come first, then the one that is free
// first.
//
// Of two that are as early the lane of an input wins, as the data lie there.
static uint32_t choose_lane(const struct batcher *b, uint32_t task)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 0, idle = 0;

    for (uint32_t i = b->first[task]; i < b->first[task + 1]; i++) {
        uint32_t lane = b->batches[b->batch[b->before[i]]].lane;
        uint64_t at = start_at(b, task, lane);
        if (at < least) {
            least = at;
            best = lane;
        }
    }
    for (uint32_t l = 1; l < b->params->workers; l++)
        if (b->lanes[l].end < b->lanes[idle].end)
            idle = l;
    return start_at(b, task, idle) < least ? idle : best;
}

static bool follows(const struct batcher *b, uint32_t task, uint32_t batch)
{
    for (uint32_t i = b->first[task]; i < b->first[task + 1]; i++)
        if (b->batch[b->before[i]] == batch)
            return true;
    return false;
}

// Whether the open batch of a lane takes the task: nothing in the batch is to
// wait for what only this task needs, and what a long one waits for is not to
// come after what it does not need.
//
// The second condition keeps the invariant: what the task waits for has ended
// by the time at which the batch begins, so the batch waits for nothing new.
static bool fits(const struct batcher *b, uint32_t task, uint32_t lane)
{
    uint32_t open = b->lanes[lane].open;

    if (open == NONE || !b->params->tiny[task])
        return false;
    const struct batch *batch = &b->batches[open];
    return batch->end - batch->begin + b->params->tasks.cost[task] <=
               b->params->longest &&
           inputs_at(b, task, lane) <= batch->begin &&
           (!b->leads[task] || follows(b, task, open));
}

// A batch that another waits for may take no more tasks: the other would wait
// for these too, and if one of them followed the other, both would wait for
// ever.
static void close_inputs(struct batcher *b, uint32_t task)
{
    for (uint32_t i = b->first[task]; i < b->first[task + 1]; i++) {
        uint32_t batch = b->batch[b->before[i]];
        if (is_open(b, batch) && batch != b->batch[task])
            b->lanes[b->batches[batch].lane].open = NONE;
    }
}

// A batch begins and ends at `at` when it is opened, and grows by what it
// takes. One whose end a long task waits for is closed at once.
//
//     lane 0   [ a b c ]      [ f g ]
//                      \______/^        a handover between lanes
//     lane 1        [ d e ]
static void add(struct batcher *b, uint32_t task)
{
    uint32_t lane = choose_lane(b, task);
    struct lane *l = &b->lanes[lane];

    if (!fits(b, task, lane)) {
        l->open = NONE;
        uint64_t at = start_at(b, task, lane);
        b->batches[b->count] = (struct batch){at, at, lane};
        l->open = b->count++;
    }
    b->batch[task] = l->open;
    close_inputs(b, task);
    l->end = b->batches[l->open].end += b->params->tasks.cost[task];
    if (b->leads[task] || !b->params->tiny[task])
        l->open = NONE;
}

// Takes time by tasks and edges, times the lanes of what each follows, and
// workers. On failure b.count is 0, as nothing was added.
uint32_t hdi_batch_tasks(const struct hdi_batch_params *params, uint32_t *batch)
{
    struct batcher b = {.params = params, .batch = batch};

    b.lanes = malloc(params->workers * sizeof(*b.lanes));
    b.batches = malloc((params->tasks.count + (size_t)1) * sizeof(*b.batches));
    bool good = b.lanes && b.batches && list_before(&b);
    for (unsigned l = 0; good && l < params->workers; l++)
        b.lanes[l] = (struct lane){0, NONE};
    for (uint32_t i = 0; good && i < params->tasks.count; i++)
        add(&b, params->order[i]);
    free(b.lanes);
    free(b.batches);
    free(b.first);
    free(b.before);
    free(b.leads);
    return b.count;
}
