// What passes cost, how urgent each is, and what a run should take by that. All
// of it is an estimate: a wrong one makes a run slower, never wrong.
#include "graph/order/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/topology.h"
#include "graph/order/batch.h"
#include "graph/order/fit.h"
#include "graph/order/split.h"
#include "graph/plan/tasks.h"
#include "steal/worker.h"

// Guesses only matter for the first run; the passes are measured then. Where
// nothing was measured at all, the ranks of passes depend on how guesses
// compare with each other, not on what they are in ns. LEAST_TIME: what takes
// less is measured too badly, and would fill the file (model/feedback.h).
// FLAT_*: there choosing a pass under a lock takes as long as the pass.
enum {
    LEAST_TIME = 20000, // of a pass that is remembered [ns]
    PASS_TIME = 1000,   // of a pass that does next to nothing [ns]
    ITEM_TIME = 2,      // of a work-item of which nothing is known [ns]
    STEPS_PER_TIME = 4, // operations, until some were measured [1/ns]
    STEPS = 1 << 20,    // whose time is remembered as one; of a pass with
                        // fewer, what is around them takes long
    BYTES_PER_TIME = 8, // copied [bytes/ns]
    FLAT_TIME = 2500,   // of a pass, on the average of a flat graph [ns]
    FLAT_PASSES = 64    // of a flat graph, at least
};

// A graph that is only printed has no pool.
static unsigned workers_of(const struct hd_graph *graph)
{
    const struct hd_pool *pool = graph->context.launcher->pool;

    return pool ? hd_pool_workers(pool) : 1;
}

uint64_t hdi_graph_moved(const struct hd_graph *graph,
                         const struct hdi_pass *pass, bool *counted)
{
    *counted = pass->moved > 0 && !pass->uncounted;
    if (*counted)
        return pass->moved;

    uint64_t bytes = pass->bytes;

    for (uint32_t i = 0; pass->bytes == 0 && i < pass->access_count; i++)
        bytes +=
            graph->resources.at[graph->accesses.at[pass->accesses + i].resource]
                .size;
    return bytes;
}

static uint64_t moved_bytes(const struct hd_graph *graph,
                            const struct hdi_pass *pass)
{
    bool counted;

    return hdi_graph_moved(graph, pass, &counted);
}

// Costs -----------------------------------------------------------------------

// `*measured`: other runs tell; it stays as it is where nothing has to.
//
// What a command takes of one worker [ns]. Calls are 0: nothing is known of the
// function.
static uint64_t guess_command(const struct hd_graph *graph,
                              const struct hdi_command *c, bool *measured)
{
    if (c->is == HD_CALL)
        *measured = false;
    if (c->is == HD_SYNC || c->is == HD_CALL)
        return 0;
    if (c->is != HD_DISPATCH)
        return graph->resources.at[c->to].size / BYTES_PER_TIME;

    const struct hd_kernel *kernel = graph->kernels.at[c->kernel].kernel;
    double items = 1;
    for (unsigned i = 0; i < c->range.dims; i++)
        items *= (double)c->range.global[i];
    uint64_t item = atomic_load_explicit(&kernel->learned->item_time,
                                         memory_order_relaxed); // [ns / 1024]
    double time = item ? (double)item / 1024 : ITEM_TIME;
    *measured = *measured && item > 0;
    // A time beyond a day is as good as endless, and sums stay small.
    return items * time < 1e14 ? (uint64_t)(items * time) : (uint64_t)1e14;
}

// The key of what operations take, whatever they are part of. On a device, so
// not by the number of workers.
static struct hdi_feedback_key key_of_steps(const struct hd_graph *graph)
{
    static const char name[] = "operations";
    const char *device = graph->context.launcher->device->can.description;
    struct hdi_feedback_key key = hdi_feedback_key(device ? device : "");

    hdi_feedback_mix(&key, name, sizeof(name));
    return key;
}

// What an operation takes of a worker, by all passes that have run here [ns].
static double step_time(const struct hd_graph *graph)
{
    const struct hdi_feedback_key key = key_of_steps(graph);
    struct hdi_experience e;

    return graph->context.feedback &&
                   hdi_feedback_find(graph->context.feedback, &key, &e)
               ? e.time / STEPS
               : 1.0 / STEPS_PER_TIME;
}

// Small passes are run by one worker, so `time` is the work; of larger ones it
// is the share of each worker that finds a work-item. `step` is what an
// operation takes.
static void guess(const struct hd_graph *graph, const struct hdi_pass *pass,
                  unsigned workers, double step, struct hdi_weight *weight)
{
    uint64_t moving = PASS_TIME + pass->bytes / BYTES_PER_TIME;
    uint64_t dispatched = 0;

    weight->measured = true;
    weight->work = PASS_TIME;
    for (uint32_t i = 0; i < pass->command_count; i++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + i];
        uint64_t time = guess_command(graph, c, &weight->measured);
        *(c->is == HD_DISPATCH ? &dispatched : &weight->work) += time;
    }
    // Of kernels that never ran, the compiler knows more than their number of
    // work-items tells; and each may go through all its data.
    if (!weight->measured && pass->steps > 0)
        dispatched = (uint64_t)((double)pass->steps * step);
    weight->work += dispatched;
    if (!weight->measured && weight->work < moving)
        weight->work = moving;
    if (pass->work_items > 0 && pass->work_items < workers)
        workers = (unsigned)pass->work_items;
    weight->time =
        weight->work > LEAST_TIME ? weight->work / workers : weight->work;
}

// The device and the number of workers: on others a pass takes another time.
static struct hdi_feedback_key begin_key(const struct hd_graph *graph)
{
    unsigned workers = workers_of(graph);
    const char *device = graph->context.launcher->device->can.description;
    struct hdi_feedback_key key = hdi_feedback_key(device ? device : "");

    hdi_feedback_mix(&key, &workers, sizeof(workers));
    return key;
}

// What a pass computes, over how much, by what code: its commands, ranges,
// sizes of arguments and the content of programs. Not their values, nor names
// of passes and resources: the same work in another graph is the same.
static struct hdi_feedback_key kind_of(const struct hd_graph *graph,
                                       const struct hdi_pass *pass,
                                       struct hdi_feedback_key key)
{
    for (uint32_t i = 0; i < pass->command_count; i++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + i];
        hdi_feedback_mix(&key, &c->is, sizeof(c->is));
        if (c->is != HD_DISPATCH) {
            hdi_feedback_mix(&key, &c->region, sizeof(c->region));
            continue;
        }
        const struct hdi_kernel_use *use = &graph->kernels.at[c->kernel];
        const char *name = use->kernel->info.name;
        hdi_feedback_mix(&key, &use->content, sizeof(use->content));
        hdi_feedback_mix(&key, name, strlen(name) + 1);
        hdi_feedback_mix(&key, &c->range, sizeof(c->range));
        for (uint32_t k = 0; k < c->arg_count; k++) {
            const struct hdi_argument *a = &graph->args.at[c->args + k];
            uint64_t size = a->is == HD_PASS_RESOURCE
                                ? graph->resources.at[a->index].size
                            : a->is == HD_PASS_NUMBERS ? 0
                                                       : a->size;
            hdi_feedback_mix(&key, &size, sizeof(size));
        }
    }
    return key;
}

// -1: not known.
static int magnitude_of(uint64_t steps)
{
    return steps > 0 ? ilogb((double)steps) : -1;
}

// Where a value says how often a loop goes round, passes of one kind differ in
// what there is to do: as many have one key as have the same power of 2.
static struct hdi_feedback_key key_of(const struct hdi_pass *pass,
                                      struct hdi_feedback_key kind)
{
    int magnitude = magnitude_of(pass->steps);

    hdi_feedback_mix(&kind, &magnitude, sizeof(magnitude));
    return kind;
}

// False: nothing like it has run. What has had other operations is scaled by
// them. `busy` may be less than the time, as for a pass that waits; work is
// what it keeps others from, so at least its time.
static bool remember(struct hd_graph *graph, const struct hdi_feedback_key *key,
                     const struct hdi_pass *pass, struct hdi_weight *weight)
{
    struct hdi_experience e;

    if (!hdi_feedback_find(graph->context.feedback, key, &e))
        return false;
    double more =
        pass->steps > 0 && e.steps > 0 ? (double)pass->steps / e.steps : 1;
    weight->time = (uint64_t)(e.time * more);
    weight->work = (uint64_t)((e.busy > e.time ? e.busy : e.time) * more);
    weight->measured = true;
    return true;
}

// What has run with as many operations, or else with others.
static void recall(struct hd_graph *graph, uint32_t index,
                   const struct hdi_feedback_key *begin,
                   struct hdi_weight *weight)
{
    const struct hdi_pass *pass = &graph->passes.at[index];
    struct hdi_feedback_key kind = kind_of(graph, pass, *begin);

    graph->keys[index] = key_of(pass, kind);
    weight->known = remember(graph, &graph->keys[index], pass, weight);
    if (!weight->known && pass->steps > 0)
        remember(graph, &kind, pass, weight);
}

// A pass that is left out takes nothing; what it took is kept for when it comes
// back.
static void lay_aside(struct hdi_weight *weight, bool weighed)
{
    *weight = (struct hdi_weight){.last_time = weighed ? weight->last_time : 0,
                                  .last_work = weighed ? weight->last_work : 0};
}

// False: it was never measured.
static bool take_up(struct hdi_weight *weight)
{
    weight->time = weight->last_time;
    weight->work = weight->last_work;
    weight->known = weight->measured = weight->last_time > 0;
    return weight->known;
}

// Passes that are weighed keep their weights until something
// about them changes (pass.weighed). A pass that takes something has a time.
static void weigh_passes(struct hd_graph *graph, uint32_t from)
{
    unsigned workers = workers_of(graph);
    const struct hdi_feedback_key begin = begin_key(graph);
    double step = step_time(graph);

    for (uint32_t i = from; i < graph->passes.count; i++) {
        struct hdi_pass *pass = &graph->passes.at[i];
        struct hdi_weight *weight = &graph->weights[i];
        if (pass->dropped) {
            lay_aside(weight, pass->weighed);
            continue;
        }
        if (pass->weighed && (weight->time > 0 || take_up(weight)))
            continue;
        *weight = (struct hdi_weight){0};
        pass->weighed = true;
        guess(graph, pass, workers, step, weight);
        if (graph->keys)
            recall(graph, i, &begin, weight);
    }
}

// Of what was measured; 0 stays that.
static void scale(uint64_t *time, double by, double more)
{
    if (*time > 0)
        *time = (uint64_t)((double)*time * by + more);
}

// A pass of few operations took what is around them: what more of them take is
// added to that.
static void scale_weight(const struct hd_graph *graph,
                         const struct hdi_pass *pass, uint64_t before,
                         struct hdi_weight *weight)
{
    double by = 1, more = 0, width = workers_of(graph);

    if (before >= STEPS)
        by = (double)pass->steps / (double)before;
    else if (pass->steps > before)
        more = (double)(pass->steps - before) * step_time(graph);
    if (pass->work_items > 0 && (double)pass->work_items < width)
        width = (double)pass->work_items;
    scale(&weight->time, by, more / width);
    scale(&weight->work, by, more);
    scale(&weight->last_time, by, more / width);
    scale(&weight->last_work, by, more);
}

// Ranks are made anew only if there is twice as much to do, or half as much.
void hdi_graph_rescale(struct hd_graph *graph, struct hdi_pass *pass,
                       uint64_t steps)
{
    uint32_t index = (uint32_t)(pass - graph->passes.at);
    uint64_t before = pass->steps;

    pass->steps = steps;
    if (!pass->weighed || before == 0 || steps == 0 || steps == before)
        return;
    scale_weight(graph, pass, before, &graph->weights[index]);
    if (magnitude_of(steps) == magnitude_of(before))
        return;
    graph->reweigh = true;
    if (graph->keys)
        graph->keys[index] =
            key_of(pass, kind_of(graph, pass, begin_key(graph)));
}

// Ranks and forecast ----------------------------------------------------------

// A pass takes as many workers as it did, or should.
//
// From 1 to all of them; rounded.
static uint32_t width_of(const struct hdi_weight *w, unsigned workers)
{
    uint64_t width = w->time ? (w->work + w->time / 2) / w->time : 1;

    return width < 1 ? 1 : width > workers ? workers : (uint32_t)width;
}

// A binary heap of tasks, by a key of each; ties go by number, so that a
// forecast is the same each time. The arrays are the caller's.
struct queue {
    uint32_t *at, count;
    const uint64_t *key;
    bool largest; // comes first
};

static bool comes_first(const struct queue *q, uint32_t a, uint32_t b)
{
    if (q->key[a] != q->key[b])
        return (q->key[a] > q->key[b]) == q->largest;
    return a < b;
}

static void put(struct queue *q, uint32_t pass)
{
    uint32_t at = q->count++;

    for (; at > 0 && comes_first(q, pass, q->at[(at - 1) / 2]);
         at = (at - 1) / 2)
        q->at[at] = q->at[(at - 1) / 2];
    q->at[at] = pass;
}

static uint32_t get(struct queue *q)
{
    uint32_t top = q->at[0], last = q->at[--q->count], at = 0;

    for (uint32_t child; (child = 2 * at + 1) < q->count; at = child) {
        if (child + 1 < q->count &&
            comes_first(q, q->at[child + 1], q->at[child]))
            child++;
        if (!comes_first(q, q->at[child], last))
            break;
        q->at[at] = q->at[child];
    }
    q->at[at] = last;
    return top;
}

// What the run does, with the costs as they are thought to be: tasks in order
// of rank, as long as workers are free.
//
// Of workers only their number counts. A task that is wider than what is free
// waits, unless nothing runs; it is not overtaken by a narrower one behind it.
static uint64_t simulate(const struct hd_graph *graph, unsigned workers,
                         uint32_t *waits, uint64_t *ends, struct queue ready,
                         struct queue running)
{
    const struct hdi_task_graph *flow = &graph->flow;
    unsigned free_workers = workers;
    uint64_t now = 0;

    for (uint32_t i = graph->first; i < flow->count; i++) {
        waits[i] = flow->waits[i];
        if (waits[i] == 0)
            put(&ready, i);
    }
    while (ready.count + running.count > 0) {
        while (ready.count > 0 &&
               (running.count == 0 || width_of(&flow->weights[ready.at[0]],
                                               workers) <= free_workers)) {
            uint32_t task = get(&ready);
            free_workers -= width_of(&flow->weights[task], workers);
            ends[task] = now + flow->weights[task].time;
            put(&running, task);
        }
        uint32_t task = get(&running);
        now = ends[task];
        free_workers += width_of(&flow->weights[task], workers);
        for (uint32_t i = flow->first[task]; i < flow->first[task + 1]; i++)
            if (--waits[flow->successors[i]] == 0)
                put(&ready, flow->successors[i]);
    }
    return now;
}

// Three arrays of n in one allocation: waits, ready, running.
static bool forecast(struct hd_graph *graph, unsigned workers)
{
    size_t n = graph->flow.count + (size_t)1;
    uint32_t *rooms = malloc(3 * n * sizeof(*rooms));
    uint64_t *ends = malloc(n * sizeof(*ends));

    if (rooms && ends)
        graph->forecast.makespan =
            simulate(graph, workers, rooms, ends,
                     (struct queue){rooms + n, 0, graph->rank, true},
                     (struct queue){rooms + 2 * n, 0, ends, false});
    bool good = rooms && ends;
    free(rooms);
    free(ends);
    return good;
}

// Program order will do.
//
// Backwards in program order each task comes before those it follows, as edges
// lead forward.
static void rank_backwards(struct hd_graph *graph)
{
    const struct hdi_task_graph *flow = &graph->flow;

    for (uint32_t task = flow->count; task-- > graph->first;) {
        uint64_t most = 0;
        for (uint32_t i = flow->first[task]; i < flow->first[task + 1]; i++)
            if (graph->rank[flow->successors[i]] > most)
                most = graph->rank[flow->successors[i]];
        graph->rank[task] = most + flow->weights[task].time;
        if (graph->rank[task] > graph->forecast.critical_path)
            graph->forecast.critical_path = graph->rank[task];
    }
}

// Where an explicit order leads backwards, tasks are sorted first. There is no
// cycle: preparing has looked.
static bool rank_tasks(struct hd_graph *graph)
{
    const struct hdi_task_graph *flow = &graph->flow;
    size_t n = flow->count + (size_t)1;

    graph->forecast.critical_path = 0;
    if (hdi_graph_leads_forward(graph)) {
        rank_backwards(graph);
        return true;
    }
    uint64_t *cost = calloc(n, sizeof(*cost));
    uint32_t *order = malloc(2 * n * sizeof(*order));
    const struct hdi_tasks tasks = {flow->count, cost, flow->first,
                                    flow->successors};
    bool good = cost && order;

    if (good) {
        for (uint32_t i = graph->first; i < flow->count; i++)
            cost[i] = flow->weights[i].time;
        hdi_tasks_sort(&tasks, order, order + n);
        graph->forecast.critical_path =
            hdi_tasks_rank(&tasks, order, graph->rank);
    }
    free(cost);
    free(order);
    return good;
}

// Room for as many tasks as there are now.
static bool make_tasks(struct hd_graph *graph)
{
    uint64_t n = graph->flow.count + UINT64_C(1);

    return HDI_KEEP(graph, tasks, n) && HDI_KEEP(graph, rank, n) &&
           HDI_KEEP(graph, ready, n);
}

// Whether choosing between passes would take longer than they do.
//
// Not with a working set, classes or priorities: these are promises about the
// order. Nor with parts or batches, whose tasks are worth choosing between.
static bool is_flat(const struct hd_graph *graph, uint64_t work)
{
    uint32_t passes = graph->passes.count - graph->first;

    if (passes < FLAT_PASSES || graph->flow.pass ||
        work / passes >= FLAT_TIME || graph->policy.working_set > 0)
        return false;
    for (uint32_t i = graph->first; i < graph->passes.count; i++)
        if (graph->passes.at[i].priority != HD_PRIORITY_NORMAL ||
            graph->passes.at[i].class_index)
            return false;
    return true;
}

// [bytes/ns], by each worker; 0: not known, or its data fit a cache.
static double rate_of(const struct hd_graph *graph, uint32_t index,
                      uint64_t cache)
{
    const struct hdi_weight *weight = &graph->weights[index];
    uint64_t bytes = moved_bytes(graph, &graph->passes.at[index]);

    return weight->known && weight->work > 0 && bytes > cache
               ? (double)bytes / (double)weight->work
               : 0;
}

// Passes whose data no cache holds are bound by memory if they move them not
// much slower than the fastest of them, and computing bounds the others.
static void find_streams(struct hd_graph *graph)
{
    const struct hd_pool *pool = graph->context.launcher->pool;
    double most = 0;

    if (!pool)
        return;
    const struct hdi_machine *m = hdi_topology_machine(hdi_pool_topology(pool));
    uint64_t cache = m->l3_bytes ? m->l3_bytes : m->l2_bytes;
    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        double rate = rate_of(graph, i, cache);
        most = rate > most ? rate : most;
    }
    for (uint32_t i = graph->first; i < graph->passes.count; i++)
        graph->weights[i].streams =
            most > 0 && rate_of(graph, i, cache) * 2 >= most;
}

// Splits need weights, batches need ranks, the forecast needs the tasks there
// are at last. A flat graph is not simulated: that would take as long as
// running it.
static bool rank_and_forecast(struct hd_graph *graph)
{
    unsigned workers = workers_of(graph);
    uint64_t work = 0;

    if (!hdi_graph_split(graph) || !make_tasks(graph))
        return false;
    graph->forecast.known = 0;
    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        work += graph->weights[i].work;
        graph->forecast.known += graph->weights[i].known;
    }
    graph->forecast.area = work / workers;
    if (!rank_tasks(graph) || !hdi_graph_batch(graph))
        return false;
    graph->flat = graph->open.room == 0 && is_flat(graph, work);
    if (!graph->flat)
        find_streams(graph);
    if (!graph->flat)
        return forecast(graph, workers);
    graph->forecast.makespan =
        graph->forecast.area > graph->forecast.critical_path
            ? graph->forecast.area
            : graph->forecast.critical_path;
    return true;
}

bool hdi_graph_weigh(struct hd_graph *graph)
{
    weigh_passes(graph, graph->first);
    graph->reweigh = false;
    return rank_and_forecast(graph);
}

void hdi_graph_weigh_more(struct hd_graph *graph)
{
    weigh_passes(graph, graph->open.passes);
}

// Edges lie in the order of where they lead to, but for those the program
// states.
//
// So backwards each pass has its rank before it is handed on to those it
// follows.
void hdi_graph_rank_more(struct hd_graph *graph, uint32_t edges)
{
    for (uint32_t i = graph->open.passes; i < graph->passes.count; i++)
        graph->rank[i] = graph->weights[i].time;
    for (uint32_t i = graph->edges.count; i-- > edges;) {
        const struct hdi_edge *e = &graph->edges.at[i];
        if (e->from < graph->open.passes)
            continue; // it is ranked already, and may be compared just now
        uint64_t rank = graph->rank[e->to] + graph->weights[e->from].time;
        if (rank > graph->rank[e->from])
            graph->rank[e->from] = rank;
    }
}

// Learning --------------------------------------------------------------------

static uint64_t scratch_bytes(const struct hd_graph *graph,
                              const struct hdi_pass *pass)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pass->scratch_count; i++)
        bytes += graph->scratch.at[pass->scratch + i].size;
    return bytes;
}

// The lesser of the last two: one of them may have lost its core for a while,
// but none is faster than the pass is. So a pass that has grown slower is
// believed after two runs.
static void update(struct hdi_weight *weight, uint64_t time, uint64_t work)
{
    bool less = weight->last_time > 0 && weight->last_time < time;

    weight->time = less ? weight->last_time : time;
    weight->work = less ? weight->last_work : work;
    weight->last_time = time;
    weight->last_work = work;
    weight->known = weight->measured = true;
}

// What operations took, over all passes that ran long enough, so that what
// never ran is guessed by what did.
static void learn_steps(struct hd_graph *graph)
{
    const struct hdi_feedback_key key = key_of_steps(graph);
    double steps = 0, busy = 0;

    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        if (pass->dropped || pass->steps < STEPS || pass->busy < LEAST_TIME)
            continue;
        steps += (double)pass->steps;
        busy += (double)pass->busy;
    }
    if (graph->context.feedback && steps > 0)
        hdi_feedback_add(
            graph->context.feedback, &key,
            &(struct hdi_measure){.time = (uint64_t)(busy / steps * STEPS)});
}

// Under its key, and of a kind that may have more to do another time.
static void keep(struct hd_graph *graph, uint32_t index, uint64_t time)
{
    const struct hdi_pass *pass = &graph->passes.at[index];
    const struct hdi_measure measure = {.time = time,
                                        .busy = pass->busy,
                                        .bytes = moved_bytes(graph, pass),
                                        .memory = scratch_bytes(graph, pass),
                                        .steps = pass->steps};

    hdi_feedback_add(graph->context.feedback, &graph->keys[index], &measure);
    if (pass->steps < STEPS)
        return;
    const struct hdi_feedback_key kind = kind_of(graph, pass, begin_key(graph));
    hdi_feedback_add(graph->context.feedback, &kind, &measure);
}

// Ranks and parts are made anew only if what was thought is off by more than a
// quarter of all time, or many passes have become tiny, or something long is
// new: making them takes time too, and noise alone must not bring it about.
void hdi_graph_learn(struct hd_graph *graph)
{
    uint64_t wrong = 0, all = 0, work = 0;
    uint32_t changed = 0; // passes that became tiny, or are so no more
    bool heavy = false;   // something that takes long is new

    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        struct hdi_weight *weight = &graph->weights[i];
        if (pass->dropped)
            continue;
        if (pass->split != HDI_NONE) {
            // Its parts were among others; what counts is their work.
            weight->work = pass->busy > 0 ? pass->busy : weight->work;
            continue;
        }
        uint64_t time = pass->end - pass->begin;
        bool tiny = hdi_weight_is_tiny(graph, weight),
             was_known = weight->known;
        uint64_t thought = weight->time;
        update(weight, time, pass->busy > time ? pass->busy : time);
        wrong += weight->time > thought ? weight->time - thought
                                        : thought - weight->time;
        all += weight->time;
        work += weight->work;
        changed += tiny != hdi_weight_is_tiny(graph, weight);
        graph->forecast.known += !was_known;
        heavy = heavy || (!was_known && time >= LEAST_TIME);
        if (graph->keys && time >= LEAST_TIME)
            keep(graph, i, time);
    }
    learn_steps(graph);
    // The next run goes by what has been measured, if that differs and matters.
    uint32_t passes = graph->passes.count - graph->first;
    graph->reweigh =
        heavy || changed > passes / 8 ||
        (wrong > all / 4 && all >= passes * UINT64_C(1) * FLAT_TIME) ||
        (!graph->flow.pass && is_flat(graph, work) != graph->flat);
}

// Of the first `count` passes. Edges lead on, but for those that the program
// states: then once more.
//
// Each sweep backwards settles all chains whose edges lead forward; a stated
// order that leads backwards needs one sweep more.
static uint64_t longest_chain(struct hd_graph *graph, uint32_t count)
{
    uint64_t longest = 0;
    bool changed = true;

    for (uint32_t i = graph->first; i < count; i++)
        graph->rank[i] = graph->weights[i].time;
    while (changed) {
        changed = false;
        for (uint32_t i = graph->edges.count; i-- > 0;) {
            const struct hdi_edge *e = &graph->edges.at[i];
            if (e->from < graph->first || e->from >= count || e->to >= count)
                continue;
            uint64_t rank = graph->rank[e->to] + graph->weights[e->from].time;
            changed = changed || rank > graph->rank[e->from];
            if (rank > graph->rank[e->from])
                graph->rank[e->from] = rank;
        }
    }
    for (uint32_t i = graph->first; i < count; i++)
        if (graph->rank[i] > longest)
            longest = graph->rank[i];
    return longest;
}

void hdi_graph_judge(struct hd_graph *graph, uint32_t count)
{
    uint64_t work = 0;

    graph->forecast.known = 0;
    for (uint32_t i = graph->first; i < count; i++) {
        work += graph->weights[i].work;
        graph->forecast.known += graph->weights[i].known;
    }
    graph->forecast.area = work / workers_of(graph);
    graph->forecast.critical_path = longest_chain(graph, count);
}

bool hdi_graph_reweigh(struct hd_graph *graph)
{
    if (!graph->reweigh)
        return true;
    graph->reweigh = false;
    return rank_and_forecast(graph);
}
