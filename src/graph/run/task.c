// Tasks of a run, on workers: a pass becomes a job of the pool when the last
// pass it waits for has finished. Of the passes that are ready, the one goes
// first after which most is to be done. A pass whose launch goes on without a
// worker is left and gone on with when that has ended, so any number may be
// under way.
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
#include "graph/model/agile.h"
#include "graph/model/compact.h"
#include "graph/perform/perform.h"
#include "graph/run/ready.h"
#include "steal/event.h"
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
        if (!error->text[0]) // a function of the program that tells no more
            hdi_fail(&graph->failure, status, "%s", hd_status_text(status));
        hdi_prefix_error(&graph->failure, "%s%spass '%s'",
                         HDI_PASS_OF(where, name));
    }
    pthread_mutex_unlock(&graph->lock);
    atomic_store_explicit(&graph->stopped, true, memory_order_relaxed);
}

// Passes of this run that are not dropped.
uint32_t hdi_graph_total(const struct hd_graph *graph)
{
    uint32_t passes = graph->open.is ? graph->open.passes + graph->open.refused
                                     : hd_graph_pass_count(graph);

    return passes - graph->first - graph->dropped;
}

// Under the lock: one call at a time, and numbers that grow.
void hdi_graph_tell_progress(struct hd_graph *graph,
                             const struct hdi_pass *pass)
{
    const struct hd_graph_run_params *params = &graph->params;

    if (!params->progress)
        return;
    pthread_mutex_lock(&graph->lock);
    params->progress(params->data, ++graph->told, hdi_graph_total(graph),
                     pass->name);
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
    hdi_graph_tell_progress(graph, pass);
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

hd_status hdi_graph_why_stopped(struct hd_graph *graph, struct hd_error *error)
{
    struct hd_error why = {.status = HD_OK};

    hdi_fail(&why, HD_ECANCELED, "the run was cancelled");
    pthread_mutex_lock(&graph->lock);
    if (graph->failed != HD_OK) {
        why = graph->failure;
        why.status = graph->failed;
    }
    pthread_mutex_unlock(&graph->lock);
    return hdi_fail_text(error, why.status, why.text, strlen(why.text));
}

// A pass over fields begins on all processes or on none, and none waits in it
// for one that never comes: that was stopped, or lacks memory. So what may fail
// here alone comes before all agree.
static hd_status begin_together(struct hd_graph *graph, struct hdi_pass *pass,
                                bool stopped, struct hd_error *error)
{
    hd_status status = stopped ? hdi_graph_why_stopped(graph, error)
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

// One task less, or one job of a flat graph. True: that was the last, and the
// graph may be gone.
bool hdi_graph_count_down(struct hd_graph *graph)
{
    if (atomic_fetch_sub_explicit(&graph->unfinished, 1,
                                  memory_order_acq_rel) != 1)
        return false;
    hdi_graph_end_run(graph);
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

// All are in the heap before the first job may look for the best of them.
//
// The one more in `unfinished` keeps the run from ending before all are
// submitted. `begins` notes which they are: some that wait for nothing may be
// kept outside by their class.
void hdi_graph_start_tasks(struct hd_graph *graph)
{
    struct hd_pool *pool = graph->context.launcher->pool;
    const struct hdi_task_graph *flow = &graph->flow;
    uint32_t left = 0, joined = flow->count;

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
