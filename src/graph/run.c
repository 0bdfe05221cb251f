// Running a graph: a pass becomes a job of the pool when the last pass it waits
// for has finished. Of the passes that are ready, the one goes first after
// which most is to be done.
//
// Invariant: a heap holds what is ready, and for each entry there is one job in
// the pool, or one worker that will take it as soon as it has counted down the
// successors of its pass. After the first failure no pass starts; whoever waits
// for the run gives back what is left.
#include "graph/model.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "graph/order.h"
#include "graph/perform.h"
#include "steal/worker.h"

// Passes ----------------------------------------------------------------------

static void fail_run(struct hd_graph *graph, const struct hdi_pass *pass,
                     hd_status status, const struct hd_error *error)
{
    pthread_mutex_lock(&graph->lock);
    if (graph->failed == HD_OK) {
        graph->failed = status;
        graph->failure = *error;
        hdi_prefix_error(&graph->failure, "%s%spass '%s'",
                         HDI_PASS_OF(pass->where, pass->name));
    }
    pthread_mutex_unlock(&graph->lock);
    atomic_store_explicit(&graph->stopped, true, memory_order_relaxed);
}

// Passes of this run that are not dropped.
static uint32_t total(const struct hd_graph *graph)
{
    return graph->passes.count - graph->first - graph->dropped;
}

static void tell_progress(struct hd_graph *graph, const struct hdi_pass *pass)
{
    const struct hd_graph_run_params *params = graph->params;

    if (!params || !params->progress) {
        atomic_fetch_add_explicit(&graph->finished, 1, memory_order_relaxed);
        return;
    }
    pthread_mutex_lock(&graph->lock);
    uint32_t finished =
        atomic_fetch_add_explicit(&graph->finished, 1, memory_order_relaxed) +
        1;
    params->progress(params->data, finished, total(graph), pass->name);
    pthread_mutex_unlock(&graph->lock);
}

static bool is_stopped(struct hd_graph *graph)
{
    return atomic_load_explicit(&graph->stopped, memory_order_relaxed) ||
           atomic_load_explicit(&graph->cancel, memory_order_relaxed);
}

// False when the pass failed or never started: what waits for it must not
// start.
static bool run_pass(struct hd_graph *graph, struct hd_worker *worker,
                     uint32_t index)
{
    struct hdi_pass *pass = &graph->passes.at[index];
    if (is_stopped(graph))
        return false;
    if (pass->dropped)
        return true;

    struct hdi_track *track =
        graph->context.launcher->tracks[hd_worker_index(worker)];
    uint64_t begin = hdi_now();
    struct hd_error error = {.status = HD_OK};
    hd_status status = hdi_pass_perform(graph, pass, &error);
    hdi_trace_span(track, HDI_EVENT_pass, begin, pass->trace_name,
                   pass->work_items);
    if (status != HD_OK) {
        fail_run(graph, pass, status, &error);
        return false;
    }
    hdi_pass_release(graph, pass);
    pass->begin = begin - graph->start;
    pass->end = hdi_now() - graph->start;
    tell_progress(graph, pass);
    return true;
}

// What is ready ---------------------------------------------------------------

static bool is_before(const struct hd_graph *graph, uint32_t a, uint32_t b)
{
    // HD_PRIORITY_NORMAL is 0, so that it is the default.
    static const int order[] = {[HD_PRIORITY_HIGH] = 0,
                                [HD_PRIORITY_NORMAL] = 1,
                                [HD_PRIORITY_LOW] = 2};
    int one = order[graph->passes.at[a].priority];
    int other = order[graph->passes.at[b].priority];

    if (one != other)
        return one < other;
    return graph->rank[a] != graph->rank[b] ? graph->rank[a] > graph->rank[b]
                                            : a < b;
}

static void push(struct hd_graph *graph, uint32_t pass)
{
    uint32_t *heap = graph->ready;
    uint32_t at =
        atomic_load_explicit(&graph->ready_count, memory_order_relaxed);

    atomic_store_explicit(&graph->ready_count, at + 1, memory_order_relaxed);
    for (; at > 0 && is_before(graph, pass, heap[(at - 1) / 2]);
         at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = pass;
}

static uint32_t pop(struct hd_graph *graph)
{
    uint32_t *heap = graph->ready;
    uint32_t count =
        atomic_load_explicit(&graph->ready_count, memory_order_relaxed) - 1;
    uint32_t top = heap[0], last = heap[count], at = 0;

    atomic_store_explicit(&graph->ready_count, count, memory_order_relaxed);
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_before(graph, heap[child + 1], heap[child]))
            child++;
        if (!is_before(graph, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return top;
}

static uint32_t take_ready(struct hd_graph *graph)
{
    pthread_mutex_lock(&graph->ready_lock);
    uint32_t pass = pop(graph);
    pthread_mutex_unlock(&graph->ready_lock);
    return pass;
}

// Everything that waited for this pass only becomes ready. This worker goes on
// with the first of all that is ready, which is returned (or HDI_NONE), so that
// a chain of passes costs no submission and stays near its data.
static uint32_t start_successors(struct hd_graph *graph, uint32_t index)
{
    uint32_t only = HDI_NONE, count = 0;

    for (uint32_t i = graph->first_successor[index];
         i < graph->first_successor[index + 1]; i++) {
        uint32_t successor = graph->successors[i];
        if (atomic_fetch_sub_explicit(&graph->jobs[successor].waiting, 1,
                                      memory_order_acq_rel) != 1)
            continue;
        if (++count == 1) {
            only = successor;
            continue;
        }
        pthread_mutex_lock(&graph->ready_lock);
        push(graph, successor);
        pthread_mutex_unlock(&graph->ready_lock);
        hd_submit_work(graph->context.launcher->pool,
                       &graph->jobs[successor].work);
    }
    if (count == 0 ||
        atomic_load_explicit(&graph->ready_count, memory_order_relaxed) == 0)
        return only;
    pthread_mutex_lock(&graph->ready_lock);
    push(graph, only);
    only = pop(graph);
    pthread_mutex_unlock(&graph->ready_lock);
    return only;
}

static void run_job(struct hd_worker *worker, struct hd_job *job)
{
    struct hdi_pass_job *pass_job = (struct hdi_pass_job *)job;
    struct hd_graph *graph = pass_job->graph;
    uint32_t index = take_ready(graph);

    while (index != HDI_NONE && run_pass(graph, worker, index))
        index = start_successors(graph, index);
}

// Runs ------------------------------------------------------------------------

static hd_status check_inputs(const struct hd_graph *graph,
                              struct hd_error *error)
{
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        const struct hdi_resource *r = &graph->resources.at[i];
        if (r->is_input && !r->input && (r->users > 0 || r->is_output))
            return hdi_fail(error, HD_EINVAL,
                            "input '%s' has no buffer; hand one in with "
                            "hd_graph_input()",
                            r->name);
    }
    return HD_OK;
}

static void release_slots(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->slots.count; i++)
        hdi_graph_slot_release(graph, &graph->slots.at[i]);
}

static void release_kept(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        if (r->kept_is_ours)
            hdi_memory_give(&graph->memory, r->kept);
        r->kept = NULL;
        r->kept_is_ours = false;
    }
}

void hdi_graph_release(struct hd_graph *graph)
{
    release_slots(graph);
    release_kept(graph);
}

// What the passes before have left goes to the slots that it is in.
static void hand_over(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->slots.count; i++) {
        struct hdi_graph_slot *slot = &graph->slots.at[i];
        struct hdi_resource *r = &graph->resources.at[slot->resource];
        atomic_store_explicit(&slot->left, slot->uses, memory_order_relaxed);
        slot->owned = slot->carried;
        slot->memory = slot->first != HDI_NONE ? NULL
                       : slot->carried         ? r->kept
                                               : r->input;
        if (slot->carried) {
            r->kept = NULL;
            r->kept_is_ours = false;
            if (slot->uses == 0)
                hdi_graph_slot_release(graph, slot);
        }
    }
}

// The memory of outputs and of what is kept leaves the slots.
static void keep_results(struct hd_graph *graph)
{
    release_kept(graph);
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        if (r->slot == HDI_NONE || !(r->is_output || graph->keeps_all))
            continue;
        struct hdi_graph_slot *slot = &graph->slots.at[r->slot];
        r->kept = slot->memory;
        r->kept_is_ours = slot->owned;
        slot->memory = NULL;
        slot->owned = false;
    }
}

static void reset(struct hd_graph *graph,
                  const struct hd_graph_run_params *params)
{
    graph->params = params;
    graph->failed = HD_OK;
    atomic_store(&graph->stopped, false);
    atomic_store(&graph->finished, 0);
    atomic_store(&graph->ready_count, 0);
    release_slots(graph);
    if (graph->first == 0) {
        release_kept(graph);
        hdi_memory_begin(&graph->memory);
    }
    hand_over(graph);
    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        struct hdi_pass *pass = &graph->passes.at[i];
        pass->begin = pass->end = pass->busy = 0;
        graph->jobs[i].work =
            (struct hd_work){.job = {.run = run_job, .group = &graph->group},
                             .priority = (enum hd_priority)pass->priority};
        graph->jobs[i].graph = graph;
        atomic_store_explicit(&graph->jobs[i].waiting, graph->waits[i],
                              memory_order_relaxed);
    }
    graph->start = hdi_now();
}

// A cancellation that comes when everything has finished changes nothing.
static hd_status finish(struct hd_graph *graph, struct hd_error *error)
{
    uint32_t finished = atomic_load(&graph->finished);

    atomic_store(&graph->cancel, false);
    if (finished == total(graph)) {
        graph->took = hdi_now() - graph->start;
        keep_results(graph);
        hdi_graph_learn(graph);
        return HD_OK;
    }
    hdi_graph_release(graph);
    hdi_memory_drop(&graph->memory);
    graph->done = 0;
    if (graph->failed != HD_OK && graph->failed != HD_ECANCELED)
        return hdi_fail_text(error, graph->failed, graph->failure.text,
                             strlen(graph->failure.text));
    return hdi_fail(error, HD_ECANCELED,
                    "the run was cancelled; %u of %u passes had finished",
                    finished, total(graph));
}

static hd_status run(struct hd_graph *graph,
                     const struct hd_graph_run_params *params,
                     struct hd_error *error)
{
    if (graph->prepared && graph->first != graph->done)
        hdi_graph_unprepare(graph);
    HDI_TRY(hd_graph_prepare(graph, error));
    HDI_TRY(check_inputs(graph, error));
    if (!hdi_graph_reweigh(graph))
        return hdi_fail(error, HD_ENOMEM, "no memory to order the passes");

    struct hd_pool *pool = graph->context.launcher->pool;
    HDI_TRY(hdi_pool_check(pool, error));
    reset(graph, params);
    // All are in the heap before the first job may look for the best of them.
    for (uint32_t i = graph->first; i < graph->passes.count; i++)
        if (graph->waits[i] == 0)
            push(graph, i);
    for (uint32_t i = graph->first; i < graph->passes.count; i++)
        if (graph->waits[i] == 0)
            hd_submit_work(pool, &graph->jobs[i].work);
    hd_group_wait(pool, &graph->group);
    return finish(graph, error);
}

hd_status hd_graph_run(struct hd_graph *graph,
                       const struct hd_graph_run_params *params,
                       struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_run() takes a graph");
    if (graph->keeps_all)
        hdi_graph_unprepare(graph);
    graph->keeps_all = false;
    HDI_TRY(run(graph, params, error));
    graph->done = 0;
    return HD_OK;
}

hd_status hd_graph_advance(struct hd_graph *graph,
                           const struct hd_graph_run_params *params,
                           struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_advance() takes a graph");
    if (graph->done > 0 && graph->done == graph->passes.count)
        return HD_OK;
    if (!graph->keeps_all)
        hdi_graph_unprepare(graph);
    graph->keeps_all = true;
    HDI_TRY(run(graph, params, error));
    graph->done = graph->passes.count;
    return HD_OK;
}

void hd_graph_cancel(struct hd_graph *graph)
{
    if (!graph)
        return;
    atomic_store(&graph->cancel, true);
    hdi_stop_poke(graph->context.launcher);
}
