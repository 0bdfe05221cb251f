// Running a graph: a pass becomes a job of the pool when the last pass it waits
// for has finished.
//
// Invariant: all accesses to a resource's memory are ordered by the graph's
// edges. A pass decrements its successors' counters with release and acquire,
// so plain fields of a resource need no other protection. After the first
// failure no pass starts; whoever waits for the run gives back what is left.
#include "graph/model.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"

enum {
    STEP = 4 << 20 // copied or cleared between two looks at `cancel` [bytes]
};

// Memory ----------------------------------------------------------------------

static hd_status check_cancel(struct hd_graph *graph, struct hd_error *error)
{
    if (!atomic_load_explicit(&graph->cancel, memory_order_relaxed))
        return HD_OK;
    return hdi_fail(error, HD_ECANCELED, "cancelled");
}

// `from` NULL clears.
static hd_status fill(struct hd_graph *graph, struct hd_buffer *to,
                      const struct hd_buffer *from, uint64_t size,
                      struct hd_error *error)
{
    static const char zeros[64 * 1024];
    struct hdi_device *device = graph->context.launcher->device;
    bool host = device->can.host_memory;
    uint64_t step = from || host ? STEP : sizeof(zeros);

    for (uint64_t done = 0; done < size; done += step) {
        HDI_TRY(check_cancel(graph, error));
        uint64_t now = size - done < step ? size - done : step;
        char *at = (char *)to->address + done;
        if (!from && host) {
            memset(at, 0, now);
            continue;
        }
        const char *source = from ? (const char *)from->address + done : zeros;
        hd_status status = device->backend->copy(device, at, source, now);
        if (status != HD_OK)
            return hdi_fail(error, status, "copying %llu bytes: %s",
                            (unsigned long long)now, hd_status_text(status));
    }
    return HD_OK;
}

static void release_resource(struct hd_graph *graph, struct hdi_resource *r)
{
    if (r->owned)
        hdi_memory_give(&graph->memory, r->memory);
    r->memory = NULL;
    r->owned = false;
}

// The memory that the first writer of a resource needs. An input is copied, so
// that the caller's buffer stays as it is and the next run starts from it.
static hd_status create_resource(struct hd_graph *graph, struct hdi_resource *r,
                                 struct hd_error *error)
{
    bool used;
    hd_status status = hdi_memory_take(&graph->memory, graph->context.launcher,
                                       r->size, &r->memory, &used, error);

    if (status != HD_OK) {
        hdi_prefix_error(error, "memory for resource '%s' (%llu bytes)",
                         r->name, (unsigned long long)r->size);
        return status;
    }
    r->owned = true;
    if (r->is_input)
        return fill(graph, r->memory, r->input, r->size, error);
    return HD_OK;
}

static hd_status take_memory(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             struct hd_error *error)
{
    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        if (a->creates)
            HDI_TRY(create_resource(graph, &graph->resources.at[a->resource],
                                    error));
    }
    for (uint32_t i = 0; i < pass->scratch_count; i++) {
        struct hdi_scratch *s = &graph->scratch.at[pass->scratch + i];
        bool used;
        hd_status status =
            hdi_memory_take(&graph->memory, graph->context.launcher, s->size,
                            &s->memory, &used, error);
        if (status != HD_OK) {
            hdi_prefix_error(error, "scratch memory (%llu bytes)",
                             (unsigned long long)s->size);
            return status;
        }
        if (used)
            HDI_TRY(fill(graph, s->memory, NULL, s->size, error));
    }
    return HD_OK;
}

static void give_scratch(struct hd_graph *graph, const struct hdi_pass *pass)
{
    for (uint32_t i = 0; i < pass->scratch_count; i++) {
        struct hdi_scratch *s = &graph->scratch.at[pass->scratch + i];
        hdi_memory_give(&graph->memory, s->memory);
        s->memory = NULL;
    }
}

// Acquire and release: whoever comes last frees what the others used.
static void give_resources(struct hd_graph *graph, const struct hdi_pass *pass)
{
    for (uint32_t i = 0; i < pass->access_count; i++) {
        struct hdi_resource *r =
            &graph->resources
                 .at[graph->accesses.at[pass->accesses + i].resource];
        if (atomic_fetch_sub_explicit(&r->uses, 1, memory_order_acq_rel) == 1)
            release_resource(graph, r);
    }
}

// Commands --------------------------------------------------------------------

static hd_status run_dispatch(struct hd_graph *graph,
                              const struct hdi_pass *pass,
                              const struct hdi_command *command,
                              struct hd_error *error)
{
    struct hd_arg *packed = graph->packed + command->args;

    for (uint32_t i = 0; i < command->arg_count; i++) {
        const struct hdi_argument *a = &graph->args.at[command->args + i];
        if (a->is == HD_PASS_RESOURCE)
            packed[i].buffer = graph->resources.at[a->index].memory;
        else if (a->is == HD_PASS_SCRATCH)
            packed[i].buffer =
                graph->scratch.at[pass->scratch + a->index].memory;
    }
    return hdi_launch(graph->context.launcher,
                      graph->kernels.at[command->kernel].kernel,
                      &command->range, packed, command->arg_count,
                      &graph->cancel, pass->priority, error);
}

static hd_status run_commands(struct hd_graph *graph,
                              const struct hdi_pass *pass,
                              struct hd_error *error)
{
    for (uint32_t i = 0; i < pass->command_count; i++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + i];
        if (c->is == HD_DISPATCH) {
            HDI_TRY(run_dispatch(graph, pass, c, error));
            continue;
        }
        const struct hdi_resource *to = &graph->resources.at[c->to];
        const struct hd_buffer *from =
            c->is == HD_COPY ? graph->resources.at[c->from].memory : NULL;
        HDI_TRY(fill(graph, to->memory, from, to->size, error));
    }
    return HD_OK;
}

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
    params->progress(params->data, finished, graph->passes.count, pass->name);
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

    struct hdi_track *track =
        graph->context.launcher->tracks[hd_worker_index(worker)];
    uint64_t begin = hdi_now();
    struct hd_error error = {.status = HD_OK};
    hd_status status = take_memory(graph, pass, &error);
    if (status == HD_OK)
        status = run_commands(graph, pass, &error);
    give_scratch(graph, pass);
    hdi_trace_span(track, HDI_EVENT_pass, begin, pass->trace_name,
                   pass->work_items);
    if (status != HD_OK) {
        fail_run(graph, pass, status, &error);
        return false;
    }
    give_resources(graph, pass);
    pass->begin = begin - graph->start;
    pass->end = hdi_now() - graph->start;
    tell_progress(graph, pass);
    return true;
}

static bool is_before(const struct hd_graph *graph, uint32_t a, uint32_t b)
{
    enum hd_priority one = graph->passes.at[a].priority;
    enum hd_priority other = graph->passes.at[b].priority;

    return one != other &&
           (one == HD_PRIORITY_HIGH || other == HD_PRIORITY_LOW);
}

// Submit every pass that waited for this one only, but for one, which is
// returned (or HDI_NONE): this worker goes on with it, so that a chain of
// passes costs no submission and stays near its data. The most urgent one is.
static uint32_t start_successors(struct hd_graph *graph, uint32_t index)
{
    uint32_t next = HDI_NONE;

    for (uint32_t i = graph->first_successor[index];
         i < graph->first_successor[index + 1]; i++) {
        uint32_t successor = graph->successors[i];
        if (atomic_fetch_sub_explicit(&graph->jobs[successor].waiting, 1,
                                      memory_order_acq_rel) != 1)
            continue;
        if (next == HDI_NONE) {
            next = successor;
            continue;
        }
        if (is_before(graph, successor, next)) {
            uint32_t other = next;
            next = successor;
            successor = other;
        }
        hd_submit_work(graph->context.launcher->pool,
                       &graph->jobs[successor].work);
    }
    return next;
}

static void run_job(struct hd_worker *worker, struct hd_job *job)
{
    struct hdi_pass_job *pass_job = (struct hdi_pass_job *)job;
    struct hd_graph *graph = pass_job->graph;
    uint32_t index = (uint32_t)(pass_job - graph->jobs);

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

void hdi_graph_release(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->resources.count; i++)
        release_resource(graph, &graph->resources.at[i]);
}

static void reset(struct hd_graph *graph,
                  const struct hd_graph_run_params *params)
{
    graph->params = params;
    graph->failed = HD_OK;
    atomic_store(&graph->stopped, false);
    atomic_store(&graph->finished, 0);
    hdi_graph_release(graph);
    hdi_memory_begin(&graph->memory);
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        atomic_store_explicit(&r->uses, r->users + r->is_output,
                              memory_order_relaxed);
        r->memory = r->is_input ? r->input : NULL;
    }
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        graph->passes.at[i].begin = graph->passes.at[i].end = 0;
        graph->jobs[i].work =
            (struct hd_work){.job = {.run = run_job, .group = &graph->group},
                             .priority = graph->passes.at[i].priority};
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
    if (finished == graph->passes.count)
        return HD_OK;
    hdi_graph_release(graph);
    hdi_memory_drop(&graph->memory);
    if (graph->failed != HD_OK && graph->failed != HD_ECANCELED)
        return hdi_fail_text(error, graph->failed, graph->failure.text,
                             strlen(graph->failure.text));
    return hdi_fail(error, HD_ECANCELED,
                    "the run was cancelled; %u of %u passes had finished",
                    finished, graph->passes.count);
}

hd_status hd_graph_run(struct hd_graph *graph,
                       const struct hd_graph_run_params *params,
                       struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_run() takes a graph");
    HDI_TRY(hd_graph_prepare(graph, error));
    HDI_TRY(check_inputs(graph, error));

    struct hd_pool *pool = graph->context.launcher->pool;
    reset(graph, params);
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (graph->waits[i] == 0)
            hd_submit_work(pool, &graph->jobs[i].work);
    hd_group_wait(pool, &graph->group);
    return finish(graph, error);
}

void hd_graph_cancel(struct hd_graph *graph)
{
    if (!graph)
        return;
    atomic_store(&graph->cancel, true);
    hdi_stop_poke(graph->context.launcher);
}
