// Running a graph: a pass becomes a job of the pool when the last pass it waits
// for has finished. Of the passes that are ready, the one goes first after
// which most is to be done. A pass whose launch goes on without a worker is
// left and gone on with when that has ended, so any number may be under way.
//
// Invariant: a heap holds what is ready, and for each entry there is one job in
// the pool, or one worker that will take it as soon as it has counted down the
// successors of its pass. Where passes are tiny that costs more than they do:
// in a flat graph the heap is a stack, a worker goes on with what its pass has
// made ready, and there are no more jobs than may find a worker; they take from
// the stack until it is empty, and the run ends with the last of them. After
// the first failure no pass starts, but all are counted down still; whoever
// comes to the last one ends the run.
#include "graph/run/run.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
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
#include "steal/worker.h"

// Passes ----------------------------------------------------------------------

// The first failure is told; later ones often follow from it. Any worker.
// `stopped` is set after it, relaxed: nothing is read by it but that no pass
// starts.
void hdi_graph_fail_run(struct hd_graph *graph, const char *name,
                        const char *where, hd_status status,
                        const struct hd_error *error)
{
    pthread_mutex_lock(&graph->lock);
    if (graph->failed == HD_OK) {
        graph->failed = status;
        graph->failure = *error;
        hdi_prefix_error(&graph->failure, "%s%spass '%s'",
                         HDI_PASS_OF(where, name));
    }
    pthread_mutex_unlock(&graph->lock);
    atomic_store_explicit(&graph->stopped, true, memory_order_relaxed);
}

// Passes of this run that are not dropped.
static uint32_t total(const struct hd_graph *graph)
{
    uint32_t passes = graph->open.is ? graph->open.passes + graph->open.refused
                                     : hd_graph_pass_count(graph);

    return passes - graph->first - graph->dropped;
}

// Under the lock: one call at a time, and numbers that grow.
static void tell_progress(struct hd_graph *graph, const struct hdi_pass *pass)
{
    const struct hd_graph_run_params *params = &graph->params;

    if (!params->progress)
        return;
    pthread_mutex_lock(&graph->lock);
    params->progress(params->data, ++graph->told, total(graph), pass->name);
    pthread_mutex_unlock(&graph->lock);
}

bool hdi_graph_is_stopped(struct hd_graph *graph)
{
    return atomic_load_explicit(&graph->stopped, memory_order_relaxed) ||
           atomic_load_explicit(&graph->cancel, memory_order_relaxed) ||
           hdi_pool_cancelled(graph->context.launcher->pool, &graph->group);
}

static void trace_pass(struct hd_graph *graph, struct hd_worker *worker,
                       const struct hdi_task *task, const struct hdi_pass *pass)
{
    struct hdi_track *track =
        graph->context.launcher->tracks[hd_worker_index(worker)];

    hdi_trace_span(track, HDI_EVENT_pass, task->begin, pass->trace_name,
                   pass->work_items);
}

// It has not run, or failed.
static void give_up(struct hd_graph *graph)
{
    atomic_fetch_add_explicit(&graph->not_run, 1, memory_order_relaxed);
}

// Memory goes first, before anybody is told or waits: the time of the pass
// includes it.
static void end_well(struct hd_graph *graph, struct hdi_pass *pass,
                     uint64_t begin)
{
    hdi_pass_release(graph, pass);
    pass->begin = begin - graph->start;
    pass->end = hdi_now() - graph->start;
    tell_progress(graph, pass);
}

// The last part ends the pass.
//
// Acquire and release: the last one sees `broken` and what the others wrote.
static void end_part(struct hd_graph *graph, struct hdi_pass *pass,
                     struct hdi_split *split, bool good)
{
    if (!good)
        atomic_store_explicit(&split->broken, true, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&split->left, 1, memory_order_acq_rel) != 1)
        return;
    if (atomic_load_explicit(&split->broken, memory_order_relaxed))
        give_up(graph);
    else
        end_well(graph, pass, split->begin);
}

// Scratch goes back whether the pass went well or not; slots only if it did, as
// otherwise all of them go when the run ends.
static void end_task(struct hd_graph *graph, struct hd_worker *worker,
                     struct hdi_task *task, hd_status status,
                     const struct hd_error *error)
{
    struct hdi_pass *pass = &graph->passes.at[task->pass];
    struct hdi_split *split = hdi_task_split(graph, task);

    hdi_pass_end(graph, pass);
    trace_pass(graph, worker, task, pass);
    if (status != HD_OK)
        hdi_graph_fail_run(graph, pass->name, pass->where, status, error);
    if (split)
        end_part(graph, pass, split, status == HD_OK);
    else if (status == HD_OK)
        end_well(graph, pass, task->begin);
    else
        give_up(graph);
}

static void resume(struct hd_worker *worker, hd_status status, void *data);
static void give(struct hd_graph *graph, uint32_t task);

// All of a pass over fields has been started: the next one need not wait for
// its end. Checkpoints are between two of them, so there it does.
//
// `turned` makes start_successors() leave out that task later: it has been
// counted down here.
static void give_turn(struct hd_graph *graph, struct hdi_task *task)
{
    const struct hdi_task_graph *flow = &graph->flow;
    const struct hdi_pass *pass = &graph->passes.at[task->pass];
    uint32_t index = (uint32_t)(task - graph->tasks);

    if (pass->turn == HDI_NONE || task->command < pass->command_count ||
        graph->keeping.folder)
        return;
    for (uint32_t i = flow->first[index]; i < flow->first[index + 1]; i++) {
        uint32_t next = flow->successors[i];

        if (graph->tasks[next].pass != pass->turn)
            continue;
        task->turned = next;
        if (atomic_fetch_sub_explicit(&graph->tasks[next].waiting, 1,
                                      memory_order_acq_rel) == 1 &&
            hdi_ready_admit(graph, next))
            give(graph, next);
        return;
    }
}

// Go on with the pass. False: that is left to the end of what it started, and
// the task is no longer this worker's.
//
// After hd_event_on_end() has taken resume(), another worker may have the task
// already: nothing of it is touched any more.
static bool go_on(struct hd_graph *graph, struct hd_worker *worker,
                  struct hdi_task *task, hd_status status,
                  struct hd_error *error)
{
    struct hd_pool *pool = graph->context.launcher->pool;
    bool later = true;

    while (status == HD_OK && later) {
        status = hdi_pass_go_on(graph, task, &later, error);
        if (status != HD_OK || !later)
            break;
        give_turn(graph, task);
        if (hd_event_on_end(pool, task->event, resume, task, NULL) == HD_OK)
            return false;
        // No memory for that: this worker waits.
        hd_event_wait(pool, &task->event, 1, HD_FOREVER, NULL);
    }
    end_task(graph, worker, task, status, error);
    return true;
}

static hd_status why_stopped(struct hd_graph *graph, struct hd_error *error)
{
    hdi_fail(error, HD_ECANCELED, "the run was stopped");
    pthread_mutex_lock(&graph->lock);
    if (graph->failed != HD_OK) {
        *error = graph->failure;
        error->status = graph->failed;
    }
    pthread_mutex_unlock(&graph->lock);
    return error->status;
}

// A pass over fields begins on all processes or on none, and none waits in it
// for one that never comes: that was stopped, or lacks memory. So what may fail
// here alone comes before all agree.
static hd_status begin_together(struct hd_graph *graph, struct hdi_pass *pass,
                                bool stopped, struct hd_error *error)
{
    hd_status status = stopped ? why_stopped(graph, error)
                               : hdi_pass_begin(graph, pass, error);

    HDI_TRY(hdi_agile_agree(graph, (uint32_t)(pass - graph->passes.at), status,
                            error));
    return hdi_pass_take_fields(graph, pass, error);
}

// False: the run has been stopped, and the pass does not run.
static bool begin_pass(struct hd_graph *graph, struct hdi_task *task,
                       hd_status *status, struct hd_error *error)
{
    struct hdi_pass *pass = &graph->passes.at[task->pass];
    struct hdi_split *split = hdi_task_split(graph, task);
    bool stopped = hdi_graph_is_stopped(graph);

    task->begin = hdi_now();
    if (pass->agile && !graph->parted)
        *status = begin_together(graph, pass, stopped, error);
    else if (!stopped)
        *status = split ? hdi_split_begin(graph, split, task->begin, error)
                        : hdi_pass_begin(graph, pass, error);
    return !stopped;
}

// The pass of a task, or a part of it. True when it has ended, or does not run;
// false: later.
//
// A pass that is not to run ends here all the same, so that everything behind
// it is counted down and the run ends.
static bool run_pass(struct hd_graph *graph, struct hd_worker *worker,
                     struct hdi_task *task)
{
    struct hdi_pass *pass = &graph->passes.at[task->pass];
    struct hdi_split *split = hdi_task_split(graph, task);
    struct hd_error error = {.status = HD_OK};
    hd_status status = HD_OK;

    if (pass->dropped)
        return true;
    if (!begin_pass(graph, task, &status, &error)) {
        if (split)
            end_part(graph, pass, split, false);
        else
            give_up(graph);
        return true;
    }
    return go_on(graph, worker, task, status, &error);
}

// The passes of a batch that are left, as above.
static bool run_batch(struct hd_graph *graph, struct hd_worker *worker,
                      struct hdi_task *task)
{
    const struct hdi_task_graph *flow = &graph->flow;
    uint32_t end = flow->first_member[task - graph->tasks + 1];

    while (task->member < end) {
        task->pass = flow->member[task->member++];
        task->command = 0;
        task->ended = HDI_NONE;
        if (!run_pass(graph, worker, task))
            return false;
    }
    return true;
}

// True when the task has ended, or does not run; false: later.
static bool run_task(struct hd_graph *graph, struct hd_worker *worker,
                     uint32_t index)
{
    struct hdi_task *task = &graph->tasks[index];

    return graph->flow.member ? run_batch(graph, worker, task)
                              : run_pass(graph, worker, task);
}

// What is ready ---------------------------------------------------------------

// Of a flat graph; HDI_NONE: there is nothing, and one job less.
//
// The newest first, so its data are near. `jobs` falls under the lock, with
// which give_any() decides whether another is needed: none is missing when the
// last of them leaves.
static uint32_t take_any(struct hd_graph *graph)
{
    uint32_t task = HDI_NONE;

    pthread_mutex_lock(&graph->ready_lock);
    uint32_t count =
        atomic_load_explicit(&graph->ready_count, memory_order_relaxed);
    if (count > 0) {
        atomic_store_explicit(&graph->ready_count, count - 1,
                              memory_order_relaxed);
        task = graph->ready[count - 1];
    } else {
        graph->jobs--;
    }
    pthread_mutex_unlock(&graph->ready_lock);
    return task;
}

// Hand a task to whoever comes first.
//
// As many jobs as may find a worker, and those threads that stand in for
// blocked ones. A job counts in `unfinished` like a task: it may still look at
// the stack when the last task has ended.
static void give_any(struct hd_graph *graph, uint32_t task)
{
    pthread_mutex_lock(&graph->ready_lock);
    uint32_t count =
        atomic_load_explicit(&graph->ready_count, memory_order_relaxed);
    graph->ready[count] = task;
    atomic_store_explicit(&graph->ready_count, count + 1, memory_order_relaxed);
    bool more = graph->jobs < hd_pool_workers(graph->context.launcher->pool) +
                                  (uint32_t)HD_MAX_SPARE_THREADS;
    if (more) {
        graph->jobs++;
        atomic_fetch_add_explicit(&graph->unfinished, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&graph->ready_lock);
    if (more)
        hd_submit_work(graph->context.launcher->pool, &graph->tasks[task].work);
}

// Hand a task to a worker that may choose a better one.
static void give(struct hd_graph *graph, uint32_t task)
{
    if (graph->flat) {
        give_any(graph, task);
        return;
    }
    hdi_ready_add(graph, task);
    hd_submit_work(graph->context.launcher->pool, &graph->tasks[task].work);
}

void hdi_graph_give(struct hd_graph *graph, uint32_t task)
{
    if (hdi_ready_admit(graph, task))
        give(graph, task);
}

// Everything that waited for this pass only becomes ready, and one that its
// class has kept waiting. This worker goes on
// with the first of all that is ready, which is returned (or HDI_NONE), so that
// a chain of passes costs no submission and stays near its data.
//
// Acquire and release: who counts a task down to 0 sees what all that it waited
// for have written. In a flat graph the first goes on here, and the rest onto
// the stack.
static uint32_t start_successors(struct hd_graph *graph, uint32_t index)
{
    uint32_t only = HDI_NONE, count = 0;

    const struct hdi_task_graph *flow = &graph->flow;
    uint32_t kept = hdi_ready_end(graph, index);

    if (kept != HDI_NONE)
        give(graph, kept);
    if (graph->open.is)
        hdi_open_end_task(graph, &graph->tasks[index]);
    uint32_t end = index < flow->count ? flow->first[index + 1] : 0;
    for (uint32_t i = index < flow->count ? flow->first[index] : 0; i < end;
         i++) {
        uint32_t successor = flow->successors[i];
        if (successor == graph->tasks[index].turned)
            continue;
        if (atomic_fetch_sub_explicit(&graph->tasks[successor].waiting, 1,
                                      memory_order_acq_rel) != 1 ||
            !hdi_ready_admit(graph, successor))
            continue;
        if (++count == 1) {
            only = successor;
            continue;
        }
        give(graph, successor);
    }
    return count == 0 || graph->flat ? only : hdi_ready_exchange(graph, only);
}

static void end_run(struct hd_graph *graph);

// One task less, or one job of a flat graph. True: that was the last, and the
// graph may be gone.
bool hdi_graph_count_down(struct hd_graph *graph)
{
    if (atomic_fetch_sub_explicit(&graph->unfinished, 1,
                                  memory_order_acq_rel) != 1)
        return false;
    end_run(graph);
    return true;
}

// What comes after a pass that has ended, as long as there is something.
//
// A loop instead of a call from a call: a chain of any length needs no stack.
// Successors are started before this task is counted down, so the run cannot
// end between.
static void follow(struct hd_graph *graph, struct hd_worker *worker,
                   uint32_t index)
{
    do {
        uint32_t next = start_successors(graph, index);
        if (hdi_graph_count_down(graph))
            return;
        index = next;
    } while (index != HDI_NONE && run_task(graph, worker, index));
}

static void run_any(struct hd_graph *graph, struct hd_worker *worker)
{
    uint32_t index;

    while ((index = take_any(graph)) != HDI_NONE)
        if (run_task(graph, worker, index))
            follow(graph, worker, index);
    hdi_graph_count_down(graph);
}

// On a worker, when what the task has started has ended. `status` may be a
// failure, which hdi_pass_go_on() finds.
static void resume(struct hd_worker *worker, hd_status status, void *data)
{
    struct hdi_task *task = data;
    struct hd_graph *graph = task->graph;
    struct hd_error error = {.status = HD_OK};

    (void)status; // the event knows, and why
    if (go_on(graph, worker, task, HD_OK, &error) &&
        (!graph->flow.member || run_batch(graph, worker, task)))
        follow(graph, worker, (uint32_t)(task - graph->tasks));
}

// When the run or the pool was cancelled, too: what is stopped is counted.
static void run_job(struct hd_worker *worker, struct hd_work *work,
                    hd_status status)
{
    struct hd_graph *graph = ((struct hdi_task *)(void *)work)->graph;

    (void)status;
    if (graph->flat) {
        run_any(graph, worker);
        return;
    }
    uint32_t index = hdi_ready_take(graph);
    if (run_task(graph, worker, index))
        follow(graph, worker, index);
}

// Runs ------------------------------------------------------------------------

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

// Relaxed: the task is handed to others by a submission, or by the run that
// begins.
void hdi_graph_reset_task(struct hd_graph *graph, uint32_t index, uint32_t pass,
                          uint32_t waits)
{
    struct hdi_task *task = &graph->tasks[index];

    task->graph = graph;
    task->pass = pass;
    task->member =
        graph->flow.member ? graph->flow.first_member[index] : HDI_NONE;
    task->command = 0;
    task->ended = HDI_NONE;
    task->event = 0;
    task->turned = HDI_NONE;
    task->streamed = false;
    task->work = (struct hd_work){
        .job = {.run = hdi_run_nothing},
        .done = run_job,
        .priority = (enum hd_priority)graph->passes.at[pass].priority};
    atomic_store_explicit(&task->waiting, waits, memory_order_relaxed);
    atomic_store_explicit(&task->followers, HDI_NONE, memory_order_relaxed);
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
        graph, HDI_NONE, failed ? why_stopped(graph, &error) : HD_OK, &error);

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
    hdi_agile_drop(graph);
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
             "the run was cancelled; %u of %u passes had finished",
             total(graph) - not_run, total(graph));
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
static void end_run(struct hd_graph *graph)
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
    end_run(graph);
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
        atomic_store(&graph->not_run, total(graph));
    }
    for (uint32_t i = 0; i < graph->passes.count && status == HD_OK; i++)
        if (!graph->passes.at[i].dropped) {
            hdi_pass_release(graph, &graph->passes.at[i]);
            tell_progress(graph, &graph->passes.at[i]);
        }
    end_run(graph);
}

// All are in the heap before the first job may look for the best of them. The
// run may be over when this returns. `here`: this thread may run passes.
//
// The one more in `unfinished` keeps the run from ending before all are
// submitted. `begins` notes which they are: some that wait for nothing may be
// kept outside by their class.
void hdi_graph_start_first(struct hd_graph *graph, bool here)
{
    struct hd_pool *pool = graph->context.launcher->pool;
    const struct hdi_task_graph *flow = &graph->flow;
    uint32_t left = 0, joined = flow->count;

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
    // What starts stands for a task, so that the run does not end before.
    atomic_fetch_add_explicit(&graph->unfinished, 1, memory_order_relaxed);
    for (uint32_t i = graph->first; i < flow->count; i++) {
        graph->tasks[i].begins =
            flow->waits[i] == 0 && hdi_ready_admit(graph, i);
        if (!graph->tasks[i].begins)
            continue;
        left++;
        if (!graph->flat)
            hdi_ready_add(graph, i);
    }
    // A task's job stands for any of those that are ready.
    for (uint32_t i = graph->first; left > 0; i++) {
        if (!graph->tasks[i].begins)
            continue;
        left--;
        if (graph->flat)
            give_any(graph, i);
        else
            hd_submit_work(pool, &graph->tasks[i].work);
    }
    if (graph->open.is)
        hdi_open_start(graph, joined);
    hdi_graph_count_down(graph);
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
