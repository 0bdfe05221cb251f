// A run as a whole: what is there before the first pass, what stays behind the
// last, and whether passes come after that.
#include "graph/run/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "graph/arena/arena.h"
#include "graph/model/agile.h"
#include "graph/model/compact.h"
#include "graph/order/order.h"
#include "graph/perform/offload.h"
#include "graph/perform/perform.h"
#include "graph/run/ready.h"
#include "heddle/agile.h"
#include "launch/start/start.h"
#include "steal/event.h"
#include "steal/group.h"

// Only of resources that something uses: an input may be left out otherwise.
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
//
// Each slot as a run begins: uses to come, and memory only if it was there.
// Carried memory changes hands, from `kept` to the slot, and goes at once if
// nobody uses it.
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
//
// The other way: from the slots to `kept`, where hd_graph_result() finds it.
// What was kept before, and no slot has taken over, goes first.
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

// A run from the first pass on lets go of all memory of the run before, results
// too; one that goes on takes it over. Nothing runs, so the order of stores
// does not matter.
static void reset(struct hd_graph *graph,
                  const struct hd_graph_run_params *params)
{
    const struct hdi_task_graph *flow = &graph->flow;

    graph->params = params ? *params : (struct hd_graph_run_params){0};
    graph->failed = HD_OK;
    graph->told = 0;
    graph->parted = false;
    atomic_store(&graph->stopped, false);
    atomic_store(&graph->unfinished, flow->count - graph->first);
    atomic_store(&graph->not_run, 0);
    atomic_store_explicit(&graph->appended, 0, memory_order_relaxed);
    hdi_ready_reset(graph);
    graph->jobs = 0;
    release_slots(graph);
    if (graph->first == 0) {
        release_kept(graph);
        hdi_agile_release(graph);
        hdi_memory_begin(&graph->memory);
        graph->memory.held = graph->arena.planned ? graph->arena.height : 0;
    }
    hand_over(graph);
    for (uint32_t i = graph->first; i < graph->passes.count; i++) {
        struct hdi_pass *pass = &graph->passes.at[i];
        pass->begin = pass->end = 0;
        atomic_store_explicit(&pass->busy, 0, memory_order_relaxed);
        atomic_store_explicit(&pass->moved, 0, memory_order_relaxed);
        atomic_store_explicit(&pass->uncounted, false, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < graph->splits.count; i++) {
        struct hdi_split *split = &graph->splits.at[i];
        split->state = HDI_SPLIT_CLOSED;
        atomic_store_explicit(&split->left, split->parts, memory_order_relaxed);
        atomic_store_explicit(&split->broken, false, memory_order_relaxed);
    }
    for (uint32_t i = graph->first; i < flow->count; i++)
        hdi_graph_reset_task(graph, i, flow->pass ? flow->pass[i] : i,
                             flow->waits[i]);
}

// All passes there were have ended well.
//
// Weights are learned only where the host ran the passes: a device tells other
// times.
static void harvest(struct hd_graph *graph)
{
    graph->took = hdi_now() - graph->began;
    keep_results(graph);
    hdi_offload_learn(graph, graph->took);
    if (graph->offload.by == HD_GRAPH_BY_HOST)
        hdi_graph_learn(graph);
    graph->done = graph->keeps_all ? graph->passes.count : 0;
    if (graph->keeps_all)
        hd_graph_stats(graph, &graph->ended);
}

// Where passes are added while the run goes on, one that has failed here may
// leave others in front of a pass over fields that never came here: so all
// agree once more.
static void part(struct hd_graph *graph)
{
    struct hd_error error = {.status = HD_OK};
    bool failed = graph->failed != HD_OK || atomic_load(&graph->not_run) > 0;
    hd_status status = hdi_agile_agree(
        graph, HDI_NONE, failed ? hdi_graph_why_stopped(graph, &error) : HD_OK,
        &error);

    if (status == HD_OK || failed)
        return;
    graph->failed = status;
    graph->failure = error;
}

void hdi_graph_miss(struct hd_graph *graph, bool open,
                    const struct hd_error *why)
{
    struct hd_error error = *why;
    bool waits = graph->cluster && open;

    for (uint32_t i = 0; i < graph->passes.count && !waits; i++)
        waits = graph->passes.at[i].agile;
    if (waits)
        hdi_agile_agree(graph, HDI_NONE, error.status, &error);
}

// A cancellation that comes when everything has finished changes nothing. Of a
// run that grew, what it came to is kept already.
//
// `cancel` falls here, so that a cancellation is of one run. After a failure
// all memory goes, what is spare too, but for fields: where the run went well
// they stay, and destroying them is collective.
static void conclude(struct hd_graph *graph)
{
    uint32_t not_run = atomic_load(&graph->not_run);

    if (graph->cluster && (graph->open.is || graph->params.grow) &&
        !graph->parted)
        part(graph);
    atomic_store(&graph->cancel, false);
    if (not_run == 0 && graph->failed == HD_OK) {
        if (!graph->params.grow)
            harvest(graph);
        if (graph->params.grow || graph->open.is)
            graph->done = 0;
        return;
    }
    hdi_graph_release(graph);
    hdi_memory_drop(&graph->memory);
    graph->done = 0;
    if (graph->failed != HD_OK && graph->failed != HD_ECANCELED)
        return;
    graph->failed = HD_ECANCELED;
    hdi_fail(&graph->failure, HD_ECANCELED,
             "the run was cancelled; %u of %u pass%s had finished",
             hdi_graph_total(graph) - not_run, hdi_graph_total(graph),
             hdi_plural(hdi_graph_total(graph), "es"));
}

// Who waits may destroy the graph as soon as its group is left.
//
// `running` falls with release: who acquires it may change the graph. Leaving
// the group is the last touch of it.
void hdi_graph_leave_run(struct hd_graph *graph)
{
    hd_group_within(&graph->group, NULL);
    graph->event = NULL;
    if (graph->open.is)
        hdi_open_end(graph);
    atomic_store_explicit(&graph->running, false, memory_order_release);
    hdi_pool_leave(graph->context.launcher->pool, &graph->group);
}

// The run is over; the graph may be gone.
//
// With an event the run is left by drop_started(), after the event's end. The
// text is copied first, as it is the graph's.
static void finish_run(struct hd_graph *graph)
{
    struct hdi_event *event = graph->event;
    struct hd_error error;

    conclude(graph);
    if (!event) {
        hdi_graph_leave_run(graph);
        return;
    }
    error.status = graph->failed;
    if (error.status != HD_OK)
        error = graph->failure;
    hdi_event_end(event, error.status,
                  error.status != HD_OK ? error.text : NULL);
}

static void run_growth(struct hd_worker *worker, struct hd_work *work,
                       hd_status status);

// Whether a run that got no memory is to be run again, with as little as there
// need be, from now on. Not where other processes would have to as well, which
// may have failed before they ran.
static bool may_do_with_less(const struct hd_graph *graph)
{
    bool alone = !graph->cluster || hd_cluster_processes(graph->cluster) == 1;

    return alone && graph->failed == HD_ENOMEM &&
           graph->policy.goal == HD_GRAPH_AUTO && !graph->arena.planned &&
           !graph->ran_short && !graph->keeps_all;
}

// The second try is planned with the goal of least memory (arena.c: ran_short).
static void start_over(struct hd_graph *graph)
{
    hdi_graph_release(graph);
    hdi_memory_drop(&graph->memory);
    graph->ran_short = true;
    hdi_graph_unprepare(graph);
}

// All passes have ended. More may come, in a job of its own: what is here may
// lie above any number of passes.
//
// Three ways: once more with less memory; the program's function adds passes,
// and these run; or the run is over.
void hdi_graph_end_run(struct hd_graph *graph)
{
    graph->growth.again = may_do_with_less(graph);
    if (graph->growth.again) {
        start_over(graph);
    } else if (!graph->params.grow || graph->failed != HD_OK ||
               atomic_load(&graph->not_run) > 0) {
        finish_run(graph);
        return;
    } else {
        harvest(graph);
    }
    graph->growth.work =
        (struct hd_work){.job = {.run = hdi_run_nothing}, .done = run_growth};
    graph->growth.graph = graph;
    hd_submit_work(graph->context.launcher->pool, &graph->growth.work);
}

// What the run before has left in the block goes with it.
//
// Buffers of results are parts of the block, so they cannot outlast it.
static hd_status renew_arena(struct hd_graph *graph, struct hd_error *error)
{
    if (graph->arena.block && !(graph->arena.planned && graph->arena.current)) {
        hdi_graph_release(graph);
        hdi_arena_free(graph);
    }
    return hdi_arena_make(graph, error);
}

// Everything is checked, and ready for the passes of the next run.
//
// Whatever can fail comes before reset(), which drops the results of the run
// before: a run that cannot begin leaves them, unless the block had to be made
// anew.
static hd_status make_ready(struct hd_graph *graph,
                            const struct hd_graph_run_params *params,
                            struct hd_error *error)
{
    if (graph->prepared && graph->first != graph->done)
        hdi_graph_unprepare(graph);
    HDI_TRY(hd_graph_prepare(graph, error));
    HDI_TRY(check_inputs(graph, error));
    if (!hdi_graph_reweigh(graph))
        return hdi_fail(error, HD_ENOMEM, "no memory to order the passes");
    HDI_TRY(hdi_pool_check(graph->context.launcher->pool, error));
    HDI_TRY(renew_arena(graph, error));
    reset(graph, params);
    return HD_OK;
}

// The run is counted in graph->group.
//
// After a failure nothing has begun, and the graph is not running. The group is
// made anew, which drops a cancellation of launches of the run before.
hd_status hdi_graph_begin_run(struct hd_graph *graph,
                              const struct hd_graph_run_params *params,
                              struct hd_error *error)
{
    struct hd_pool *pool = graph->context.launcher->pool;

    if (pool &&
        !hdi_group_done(
            &graph->group)) // what is left of the launches of the run before
        hd_group_wait(pool, &graph->group);
    // Who is told of every pass, or adds to the results, needs the whole.
    if (params && (params->progress || params->grow || params->open))
        HDI_TRY(hdi_graph_expand(graph, error));
    graph->open.room = 0;
    if (params && params->open)
        HDI_TRY(hdi_open_make_room(graph, params->room, error));
    HDI_TRY(make_ready(graph, params, error));
    if (graph->open.room > 0)
        HDI_TRY(hdi_open_begin(graph, error));
    if (graph->first == 0)
        graph->start = 0;
    graph->began = 0;
    hd_group_init(&graph->group);
    hdi_group_enter(&graph->group);
    atomic_store_explicit(&graph->running, true, memory_order_relaxed);
    return HD_OK;
}

void hdi_graph_end_calls(struct hd_graph *graph, uint32_t not_run)
{
    atomic_store_explicit(&graph->not_run, not_run, memory_order_relaxed);
    hdi_graph_end_run(graph);
}

// A device has run all passes, or failed.
//
// On a worker, or on the thread that started the run, then without one.
static void end_offload(struct hd_worker *worker, hd_status status, void *data)
{
    struct hd_graph *graph = data;
    struct hd_error error = {.status = HD_OK};

    (void)worker;
    status = hdi_offload_end(graph, &error);
    if (status != HD_OK) {
        graph->failed = status;
        graph->failure = error;
        atomic_store(&graph->not_run, hdi_graph_total(graph));
    }
    for (uint32_t i = 0; i < graph->passes.count && status == HD_OK; i++)
        if (!graph->passes.at[i].dropped) {
            hdi_pass_release(graph, &graph->passes.at[i]);
            hdi_graph_tell_progress(graph, &graph->passes.at[i]);
        }
    hdi_graph_end_run(graph);
}

void hdi_graph_start_first(struct hd_graph *graph, bool here)
{
    if (graph->began == 0) // else the run has grown
        graph->began = hdi_now();
    if (graph->start == 0) // else it goes on from another
        graph->start = graph->began;
    if (graph->calls) {
        hdi_compact_start(graph, here);
        return;
    }
    hdi_launch_expect(graph->context.launcher);
    if (hdi_offload_start(graph, end_offload))
        return;
    hdi_graph_start_tasks(graph);
}

// Let the program add passes, or begin again. False: there is nothing to run.
//
// On a worker; the program's function may take any time, and holds it.
static bool grow(struct hd_graph *graph, struct hd_error *error)
{
    const struct hd_graph_run_params params = graph->params;
    uint32_t before = graph->passes.count;

    error->status = HD_OK;
    error->text[0] = '\0';
    // After a failure passes were stopped, which is over.
    if (graph->growth.again)
        atomic_store(&graph->stopped, false);
    if (hdi_graph_is_stopped(graph)) {
        graph->failed = HD_ECANCELED;
        return false;
    }
    bool again = graph->growth.again;
    graph->failed = again ? HD_OK : params.grow(params.data, graph, error);
    bool more = again || graph->passes.count > before;
    if (graph->failed == HD_OK && more)
        graph->failed = make_ready(graph, &params, error);
    if (graph->failed != HD_OK) {
        if (!error->text[0])
            hdi_fail(error, graph->failed, "%s", hd_status_text(graph->failed));
        graph->failure = *error;
        graph->failure.status = graph->failed;
        return false;
    }
    return more;
}

static void run_growth(struct hd_worker *worker, struct hd_work *work,
                       hd_status status)
{
    struct hd_graph *graph = ((struct hdi_graph_growth *)(void *)work)->graph;
    struct hd_error error;

    (void)worker, (void)status;
    if (grow(graph, &error))
        hdi_graph_start_first(graph, false);
    else
        finish_run(graph);
}
