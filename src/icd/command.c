// The engine: commands wait for others, become jobs of the device's workers,
// run and end.
//
// A command counts what it waits for, and the flush of its queue. Whoever takes
// the count to 0 makes it a job; the worker that ends a command goes on with
// what waited for it, so that a chain is run by one worker without a queue in
// between. In an in-order queue each command waits for the one before.
//
// Invariants: a command is in its queue's list, and held, from enqueueing to
// its end. Its `dependents` is a stack until it has ended and `ended_mark` from
// then on; who finds the mark does not wait. A command of a queue that is not
// flushed has its count above 0.
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/futex.h"
#include "icd/event.h"
#include "icd/icd.h"
#include "icd/platform.h"
#include "runtime/runtime.h"

enum {
    CHAIN = 64,       // commands a worker runs before others have a turn
    UNFLUSHED = 256,  // that a queue collects before it flushes itself
    MOST = 16384,     // in one queue, before enqueueing waits
    LEAST = MOST / 2, // where it goes on
    WAIT = 2000000,   // before another look at whether anything moves [ns]
    REST = 500        // such looks, until it is taken for endless
};

static struct hdi_cl_edge ended_mark;

// Commands that are ready or run, of all queues: while there are any, something
// will end without the application.
static _Atomic uint64_t moving;

bool hdi_cl_commands_rest(void)
{
    for (int i = 0; i < REST && atomic_load(&moving) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = WAIT}, NULL);
    return atomic_load(&moving) == 0;
}

void hdi_cl_commands_forget(void)
{
    atomic_store(&moving, 0);
}

// Lists of ready commands, linked by `ready`.
struct ready {
    struct _cl_event *first, *last;
};

static void append(struct ready *list, struct _cl_event *event)
{
    event->ready = NULL;
    if (list->last)
        list->last->ready = event;
    else
        list->first = event;
    list->last = event;
    atomic_fetch_add_explicit(&moving, 1, memory_order_relaxed);
}

static struct _cl_event *take_first(struct ready *list)
{
    struct _cl_event *event = list->first;

    list->first = event->ready;
    if (!list->first)
        list->last = NULL;
    return event;
}

// Waiting for each other ------------------------------------------------------

// An input is there, or the queue is flushed.
static void count_down(struct _cl_event *event, struct ready *list)
{
    if (atomic_fetch_sub_explicit(&event->waits, 1, memory_order_acq_rel) == 1)
        append(list, event);
}

// `edge->to` is to wait for `event`, unless that has ended.
static void add_edge(struct _cl_event *event, struct hdi_cl_edge *edge)
{
    struct _cl_event *to = edge->to;

    atomic_fetch_add_explicit(&to->waits, 1, memory_order_relaxed);
    edge->next = atomic_load_explicit(&event->dependents, memory_order_acquire);
    while (edge->next != &ended_mark)
        if (atomic_compare_exchange_weak_explicit(
                &event->dependents, &edge->next, edge, memory_order_acq_rel,
                memory_order_acquire))
            return;
    if (edge->cares && atomic_load(&event->status) < 0)
        atomic_store(&to->failed, atomic_load(&event->status));
    atomic_fetch_sub_explicit(&to->waits, 1, memory_order_relaxed);
}

// Ending ----------------------------------------------------------------------

static void unlink_event(struct _cl_event *event)
{
    struct _cl_command_queue *queue = event->queue;

    pthread_mutex_lock(&queue->lock);
    if (event->before)
        event->before->after = event->after;
    else
        queue->first = event->after;
    if (event->after)
        event->after->before = event->before;
    else
        queue->last = event->before;
    if (queue->barrier == event)
        queue->barrier = NULL;
    pthread_mutex_unlock(&queue->lock);
    atomic_fetch_sub(&queue->count, 1);
}

static void set_status(struct _cl_event *event, cl_int status)
{
    // Against a sleeper that counts itself, then looks at the status.
    atomic_store(&event->status, status);
    if (atomic_load(&event->sleepers) > 0)
        hdi_futex_wake(&event->status, INT_MAX);
    hdi_cl_event_call(event, status);
}

static void end(struct _cl_event *event, cl_int status, struct ready *list)
{
    struct hdi_cl_edge *next, *edge;

    if (event->queue)
        unlink_event(event);
    if (event->work && event->work->end && event->payload)
        event->work->end(event->payload);
    event->payload = NULL;
    set_status(event, status);
    edge = atomic_exchange_explicit(&event->dependents, &ended_mark,
                                    memory_order_acq_rel);
    // An edge is its command's: gone when that has ended.
    for (; edge; edge = next) {
        next = edge->next;
        if (status < 0 && edge->cares)
            atomic_store(&edge->to->failed, status);
        count_down(edge->to, list);
    }
    hdi_cl_drop(event);
}

static void run(struct _cl_event *event, struct ready *list)
{
    cl_int status = atomic_load(&event->failed)
                        ? CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
                        : CL_COMPLETE;

    event->started = hdi_now();
    if (status == CL_COMPLETE) {
        set_status(event, CL_RUNNING);
        if (event->work->run)
            status = event->work->run(event, event->payload);
    }
    event->ended = hdi_now();
    end(event, status, list);
    atomic_fetch_sub_explicit(&moving, 1, memory_order_relaxed);
}

static struct hd_pool *pool_of(const struct _cl_event *event)
{
    return hdi_cl_runtime(event->queue->device)->pool;
}

static void run_job(struct hd_worker *worker, struct hd_job *job);

static void submit(struct ready *list)
{
    while (list->first) {
        struct _cl_event *event = take_first(list);
        event->job = (struct hd_job){.run = run_job};
        hd_submit(pool_of(event), &event->job);
    }
}

// Until `target` has ended, which may be NULL.
static void run_chain(struct hd_pool *pool, struct _cl_event *event,
                      const struct _cl_event *target)
{
    struct ready list = {event, event};

    event->ready = NULL;
    for (unsigned i = 0; list.first; i++) {
        event = list.first;
        // Of another part of the machine, or after long.
        if (i == CHAIN || (i > 0 && pool_of(event) != pool) ||
            (target && atomic_load(&target->status) <= CL_COMPLETE)) {
            submit(&list);
            break;
        }
        take_first(&list);
        submit(&list);
        run(event, &list);
    }
}

static void run_job(struct hd_worker *worker, struct hd_job *job)
{
    run_chain(hd_worker_pool(worker),
              (struct _cl_event *)(void *)((char *)job -
                                           offsetof(struct _cl_event, job)),
              NULL);
}

// Somebody outside waits for `target`: a worker runs what begins with `first`
// for it, and is waited for as workers are, which is sooner than by sleeping.
struct errand {
    struct _cl_event *first;
    const struct _cl_event *target;
};

static void run_errand(struct hd_worker *worker, void *data)
{
    const struct errand *errand = data;

    run_chain(hd_worker_pool(worker), errand->first, errand->target);
}

bool hdi_cl_event_end(struct _cl_event *event, cl_int status)
{
    struct ready list = {0};

    pthread_mutex_lock(&event->lock);
    bool first = atomic_load(&event->status) == CL_SUBMITTED && !event->job.run;
    // Marks it as set.
    event->job.run = first ? run_job : event->job.run;
    pthread_mutex_unlock(&event->lock);
    if (!first)
        return false;
    end(event, status, &list);
    submit(&list);
    return true;
}

// Flushing --------------------------------------------------------------------

// What becomes ready, under the lock of the queue.
static void flush(struct _cl_command_queue *queue, struct ready *list)
{
    uint64_t now = queue->unflushed ? hdi_now() : 0;
    struct _cl_event *event = queue->unflushed;

    queue->unflushed = NULL;
    queue->unflushed_count = 0;
    while (event) {
        struct _cl_event *after = event->after;
        event->submitted = now;
        set_status(event, CL_SUBMITTED);
        count_down(event, list);
        event = after;
    }
}

void hdi_cl_flush(struct _cl_command_queue *queue)
{
    struct ready list = {0};

    pthread_mutex_lock(&queue->lock);
    flush(queue, &list);
    pthread_mutex_unlock(&queue->lock);
    submit(&list);
}

static bool is_unflushed(struct _cl_event *event)
{
    return event->queue && atomic_load(&event->status) == CL_QUEUED;
}

// Enqueueing ------------------------------------------------------------------

static bool in_order(const struct _cl_command_queue *queue)
{
    return !(queue->modes & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

// A marker or barrier without a list waits for all before it.
static bool waits_for_all(const struct _cl_command_queue *queue,
                          const struct hdi_cl_work *work, cl_uint wait_count)
{
    return wait_count == 0 && !in_order(queue) && !work->run;
}

// Put it behind what is there. False: no memory.
static bool link_event(struct _cl_command_queue *queue, struct _cl_event *event,
                       cl_uint wait_count, const cl_event *wait_list)
{
    bool all = waits_for_all(queue, event->work, wait_count);
    uint64_t most =
        (uint64_t)wait_count + 1 + (all ? atomic_load(&queue->count) : 0);
    unsigned n = 0;

    event->edges =
        most <= HDI_CL_FEW ? event->few : malloc(most * sizeof(*event->edges));
    if (!event->edges)
        return false;
    for (cl_uint i = 0; i < wait_count; i++) {
        event->edges[n] = (struct hdi_cl_edge){.to = event, .cares = true};
        add_edge(wait_list[i], &event->edges[n++]);
    }
    struct _cl_event *before = in_order(queue) ? queue->last : queue->barrier;
    if (all) {
        for (struct _cl_event *e = queue->first; e; e = e->after) {
            event->edges[n] = (struct hdi_cl_edge){.to = event};
            add_edge(e, &event->edges[n++]);
        }
    } else if (before) {
        event->edges[n] = (struct hdi_cl_edge){.to = event};
        add_edge(before, &event->edges[n++]);
    }
    event->before = queue->last;
    if (queue->last)
        queue->last->after = event;
    else
        queue->first = event;
    queue->last = event;
    if (!queue->unflushed)
        queue->unflushed = event;
    queue->unflushed_count++;
    if (event->work->type == CL_COMMAND_BARRIER)
        queue->barrier = event;
    atomic_fetch_add(&queue->count, 1);
    return true;
}

// A full queue: let it run until there is room, as long as something moves.
// What waits for the application alone may grow, since only the application
// knows when it ends.
static void make_room(struct _cl_command_queue *queue)
{
    if (atomic_load(&queue->count) < MOST ||
        hd_pool_worker(hdi_cl_runtime(queue->device)->pool))
        return;
    hdi_cl_flush(queue);
    while (atomic_load(&queue->count) > LEAST && atomic_load(&moving) > 0) {
        uint32_t count = atomic_load(&queue->count);
        hdi_futex_wait_for(&queue->count, count, WAIT);
    }
}

static void flush_others(const struct _cl_command_queue *queue, cl_uint count,
                         const cl_event *list)
{
    for (cl_uint i = 0; i < count; i++)
        if (list[i]->queue != queue && is_unflushed(list[i]))
            hdi_cl_flush(list[i]->queue);
}

struct _cl_event *hdi_cl_event_create(struct _cl_context *context,
                                      struct _cl_command_queue *queue)
{
    struct _cl_event *event = hdi_cl_object_create(HDI_CL_EVENT);
    if (!event)
        return NULL;
    event->context = context;
    event->queue = queue;
    hdi_cl_hold(context);
    if (queue)
        hdi_cl_hold(queue);
    atomic_store(&event->status, queue ? CL_QUEUED : CL_SUBMITTED);
    pthread_mutex_init(&event->lock, NULL);
    return event;
}

cl_int hdi_cl_enqueue(struct _cl_command_queue *queue,
                      const struct hdi_cl_work *work, void *payload,
                      cl_bool blocks, cl_uint wait_count,
                      const cl_event *wait_list, cl_event *event_ret)
{
    struct ready list = {0};

    make_room(queue);
    flush_others(queue, wait_count, wait_list);
    struct _cl_event *event = hdi_cl_event_create(queue->context, queue);
    if (!event)
        goto err;
    event->work = work;
    event->payload = payload;
    event->queued = hdi_now();
    atomic_store(&event->waits, 1);

    hdi_cl_hold(event); // until it has ended
    pthread_mutex_lock(&queue->lock);
    bool linked = link_event(queue, event, wait_count, wait_list);
    if (linked && queue->unflushed_count >= UNFLUSHED)
        flush(queue, &list);
    pthread_mutex_unlock(&queue->lock);
    submit(&list);
    if (!linked) {
        event->payload = NULL;
        hdi_cl_drop(event);
        hdi_cl_object_release(event);
        goto err;
    }

    cl_int status = CL_SUCCESS;
    if (blocks)
        status = hdi_cl_wait(event);
    if (event_ret)
        *event_ret = event;
    else
        hdi_cl_object_release(event);
    return status;

err:
    if (work->end && payload)
        work->end(payload);
    return CL_OUT_OF_HOST_MEMORY;
}

// Waiting ---------------------------------------------------------------------

static cl_int sleep_until_ended(struct _cl_event *event)
{
    cl_int status;

    atomic_fetch_add(&event->sleepers, 1);
    while ((status = atomic_load(&event->status)) > CL_COMPLETE)
        hdi_futex_wait(&event->status, (uint32_t)status);
    atomic_fetch_sub(&event->sleepers, 1);
    return status;
}

static void flush_for(struct _cl_event *event)
{
    struct _cl_command_queue *queue = event->queue;
    struct ready list = {0};

    pthread_mutex_lock(&queue->lock);
    flush(queue, &list);
    pthread_mutex_unlock(&queue->lock);
    struct errand errand = {list.first, event};
    struct hd_pool *pool = pool_of(event);
    if (!errand.first || hd_pool_worker(pool)) {
        submit(&list);
        return;
    }
    take_first(&list);
    submit(&list);
    hd_pool_run(pool, run_errand, &errand);
}

cl_int hdi_cl_wait(struct _cl_event *event)
{
    if (is_unflushed(event))
        flush_for(event);
    cl_int status = atomic_load(&event->status);
    if (status <= CL_COMPLETE)
        return status == CL_COMPLETE
                   ? CL_SUCCESS
                   : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;

    struct hd_worker *worker =
        event->queue ? hd_pool_worker(pool_of(event)) : NULL;
    // A worker waits in a callback or a native kernel: another takes its core.
    if (worker)
        hd_blocking_begin(worker);
    status = sleep_until_ended(event);
    if (worker)
        hd_blocking_end(worker);
    return status == CL_COMPLETE ? CL_SUCCESS
                                 : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

cl_int hdi_cl_finish(struct _cl_command_queue *queue)
{
    static const struct hdi_cl_work all = {.type = CL_COMMAND_MARKER};
    struct _cl_event *last = NULL;
    cl_int status = CL_SUCCESS;

    pthread_mutex_lock(&queue->lock);
    if (in_order(queue) && (last = queue->last))
        hdi_cl_hold(last);
    bool empty = !queue->first;
    pthread_mutex_unlock(&queue->lock);
    if (last) {
        hdi_cl_wait(last);
        hdi_cl_drop(last);
    } else if (!empty) {
        status = hdi_cl_enqueue(queue, &all, NULL, CL_TRUE, 0, NULL, NULL);
        if (status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
            status = CL_SUCCESS;
    }
    return status;
}
