// Commands: events of the pool of their queue's device.
//
// A command is started when it is enqueued. It comes after the events of its
// wait list, whose failure is its own; loosely, after the command before it in
// an in-order queue, or after a barrier; and after the gate of its queue, which
// the next flush ends. Everything else is the pool's: who runs it, when, and
// how many may be under way before starting waits.
//
//     enqueue     behind the gate:  c1 <- c2 <- c3      (in order: loosely)
//     flush       ends the gate; the pool runs c1, then c2, c3
//     enqueue     a new gate:       c4 <- c5
//
// Behind one gate, in order, it is enough that the last command holds the
// queue: it ends after the others.
//
// Invariants: a command is held from enqueueing to its end. Its status is final
// before anybody sees that its event has ended.
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "icd/device/trace.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"
#include "launch/start/start.h"
#include "runtime/runtime.h"
#include "steal/event.h"
#include "steal/worker.h"

// 16 keeps a small burst together without letting a worker sleep through it; at
// 256 the cost of a flush is spread thin enough, and more would only delay work
// that an application never flushes.
enum {
    // That a queue collects before it flushes itself: few at first, so that a
    // worker is awake soon, then twice as many each time.
    UNFLUSHED_FIRST = 16,
    UNFLUSHED_MAX = 256,
    FEW = 16 // events that a command comes after, without an allocation
};

// A context is only made where the runtime could be started, so it is there.
static struct hd_pool *pool_of(const struct _cl_command_queue *queue)
{
    return hdi_cl_runtime(queue->device)->pool;
}

// Running and ending ----------------------------------------------------------

// What the room of a command's record begins with; the payload may follow.
//
//     record->room   | hdi_cl_command | up to 16 | payload ... |
//                                                ^ PAYLOAD
//
// Written by who enqueues, before the record is started; `holds` and the
// queue's `newest` under the queue's lock, while the gate is closed; the rest
// by who runs and ends it. A recorded command (commandbuffer.c) has none.
struct hdi_cl_command {
    struct _cl_command_queue *queue;
    bool holds; // the queue: of those in order behind a gate, the last does
    const struct hdi_cl_work *work;
    void *payload;
    struct _cl_event *event; // held; NULL: nobody asked for one
    cl_int result;           // the status that it will have
};

enum {
    PAYLOAD = (sizeof(struct hdi_cl_command) + 15) / 16 * 16 // where it begins
};

// The status first, then the callbacks: one that asks sees what it was called
// for.
static void set_status(struct _cl_event *event, cl_int status)
{
    atomic_store(&event->status, status);
    hdi_cl_event_call(event, status);
}

// On a worker, when all that it comes after has ended well. Otherwise the pool
// ends it without running, and `result` is what enqueue() has put there: the
// error for events in the wait list. False: it goes on by itself, and `e` is
// not looked at again here, since it may be another command's by now.
static bool run(struct hd_worker *worker, struct hdi_event *e,
                struct hd_error *error)
{
    struct hdi_cl_command *c = e->room;
    const struct hdi_cl_running at = {worker, c->queue, e, &e->cost};

    if (c->event)
        set_status(c->event, CL_RUNNING);
    cl_int result = c->work->run ? c->work->run(&at, c->payload) : CL_COMPLETE;
    if (result == HDI_CL_LATER)
        return false; // another thread may have ended it
    c->result = result;
    // A launch has looked at the clock.
    if (atomic_load_explicit(&e->cost.last, memory_order_relaxed) == 0)
        atomic_store_explicit(&e->cost.last, hdi_now(), memory_order_relaxed);
    if (result < 0)
        hdi_fail(error, HD_ECANCELED, "OpenCL error %d", result);
    return true;
}

cl_int hdi_cl_result(const struct hdi_event *record)
{
    const struct hdi_cl_command *c = record->room;

    return c->result;
}

// From any thread, once, after `run` has returned HDI_CL_LATER, or while it
// does. The record is gone afterwards.
void hdi_cl_end_later(struct hdi_event *record, cl_int result, uint64_t ended)
{
    struct hdi_cl_command *c = record->room;
    char text[64];

    c->result = result;
    atomic_store_explicit(&record->cost.last, ended, memory_order_relaxed);
    snprintf(text, sizeof(text), "OpenCL error %d", result);
    hdi_event_end(record, result < 0 ? HD_ECANCELED : HD_OK,
                  result < 0 ? text : NULL);
}

// The order matters: times and handle, which others read only after they have
// seen the last status, then the status with its callbacks, then our hold,
// after which the event may be gone. A failed event keeps its record: commands
// that come after it later must fail as well.
static void end_event(struct hdi_event *e, struct _cl_event *event,
                      cl_int result)
{
    event->queued = atomic_load_explicit(&e->queued, memory_order_relaxed);
    event->submitted =
        atomic_load_explicit(&e->submitted, memory_order_relaxed);
    event->started = atomic_load_explicit(&e->started, memory_order_relaxed);
    event->ended = atomic_load_explicit(&e->cost.last, memory_order_relaxed);
    // Of one that ended well nobody needs the record.
    if (result == CL_COMPLETE)
        hd_event_release(e->pool, event->handle);
    event->holds = result != CL_COMPLETE;
    set_status(event, result);
    hdi_cl_drop(event);
}

// The payload goes before the status is told: an application that waits for the
// event may free what the payload used right after.
//
// `done` before the status: who has waited for an event and ends the process
// then finds the counters equal. The queue last: it may go with this.
static void end(struct hdi_event *e)
{
    const struct hdi_cl_command *c = e->room;

    if (c->work->end && c->payload)
        c->work->end(c->payload);
    hdi_cl_count_done();
    if (c->event)
        end_event(e, c->event, c->result);
    if (c->holds)
        hdi_cl_drop(c->queue);
}

static const struct hdi_event_kind commands = {.run = run, .drop = end};

// Flushing --------------------------------------------------------------------

// The gate, which the caller ends and releases; 0: nothing is behind it.
//
// Whoever takes it ends it: two threads that flush at the same time find one
// gate between them, and the other returns at once. It is ended without the
// lock, since that hands all that is behind it to the pool.
static hd_event take_gate(struct _cl_command_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    hd_event gate = queue->gate;
    if (gate) // before what is behind it runs
        hdi_launch_prepare(hdi_cl_runtime(queue->device)->launcher);
    queue->gate = 0;
    queue->unflushed = 0;
    if (gate)
        atomic_fetch_add(&queue->flushes, 1);
    pthread_mutex_unlock(&queue->lock);
    return gate;
}

// What is behind the gate may begin; nothing waits here. The result of ending a
// gate does not matter: it can only be that it has ended.
void hdi_cl_flush(struct _cl_command_queue *queue)
{
    hd_event gate = take_gate(queue);
    struct hd_error error;

    if (!gate)
        return;
    hd_event_end(pool_of(queue), gate, HD_OK, NULL, &error);
    hd_event_release(pool_of(queue), gate);
}

// The queue counts its flushes; the event remembers the count when it was
// enqueued.
static bool is_flushed(const struct _cl_event *event)
{
    return !event->queue || event->flush < atomic_load(&event->queue->flushes);
}

cl_int hdi_cl_event_status(const struct _cl_event *event)
{
    cl_int status = atomic_load(&event->status);
    return status == CL_QUEUED && is_flushed(event) ? CL_SUBMITTED : status;
}

static void call_submitted(struct hd_worker *worker, hd_status status,
                           void *data)
{
    (void)worker, (void)status;
    hdi_cl_event_call(data, CL_SUBMITTED);
    hdi_cl_drop(data);
}

// The gate may have ended already, then the call comes soon. Callbacks run
// elsewhere: this only puts them there.
void hdi_cl_event_call_when_flushed(struct _cl_event *event)
{
    struct hd_error error;

    hdi_cl_hold(event);
    // Without memory for it the call comes when the command begins.
    if (hd_event_on_end(event->pool, event->gate, call_submitted, event,
                        &error) != HD_OK)
        hdi_cl_drop(event);
}

// Users' events ---------------------------------------------------------------

// In the pool of the whole machine, like all memory: a user's event is of a
// context, not of a device.
bool hdi_cl_event_begin(struct _cl_event *event)
{
    struct hd_error error;

    event->pool = hdi_cl_launcher(event->context)->pool;
    event->holds =
        hd_event_create(event->pool, &event->handle, &error) == HD_OK;
    if (event->holds)
        hdi_cl_hold(event); // until its status is set
    return event->holds;
}

// The status is changed once, by compare and exchange: of two threads that end
// it one gets false. A negative status fails all that waits.
bool hdi_cl_event_end(struct _cl_event *event, cl_int status)
{
    cl_int before = CL_SUBMITTED;
    struct hd_error error;

    if (!atomic_compare_exchange_strong(&event->status, &before, status))
        return false;
    hdi_cl_event_call(event, status);
    hd_event_end(event->pool, event->handle, status < 0 ? HD_ECANCELED : HD_OK,
                 NULL, &error);
    hdi_cl_drop(event);
    return true;
}

// Enqueueing ------------------------------------------------------------------

// The lock is held, or nobody changes the modes.
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

// An event of another pool, as one of a queue's.
//
// Parts of the processor have pools of their own, and an event is of one pool.
// Freed by cross(), on a worker of the other pool. The device is held since its
// pool would go with it.
struct bridge {
    struct _cl_device_id *device; // held: the pool's
    struct hd_pool *pool;
    hd_event event;
};

// The event of the other pool has ended, or could not be waited for: pass that
// on.
static void cross(struct hd_worker *worker, hd_status status, void *data)
{
    struct bridge *bridge = data;
    struct hd_error error;

    (void)worker;
    hd_event_end(bridge->pool, bridge->event, status, NULL, &error);
    hdi_cl_drop(bridge->device);
    free(bridge);
}

// `holder` gets what is to be released when the command was started; 0:
// nothing.
//
// False: no memory, and `*here` is not to be used. An event that is of this
// pool already costs nothing here.
static bool translate(struct _cl_command_queue *queue,
                      const struct _cl_event *event, hd_event *here,
                      hd_event *holder)
{
    struct hd_error error;

    *here = event->handle;
    *holder = 0;
    if (event->pool == pool_of(queue))
        return true;
    struct bridge *bridge = malloc(sizeof(*bridge));
    if (!bridge)
        return false;
    *bridge = (struct bridge){.device = queue->device, .pool = pool_of(queue)};
    if (hd_event_create(bridge->pool, &bridge->event, &error) != HD_OK) {
        free(bridge);
        return false;
    }
    *here = *holder = bridge->event;
    hdi_cl_hold(queue->device);
    if (hd_event_on_end(event->pool, event->handle, cross, bridge, &error) ==
        HD_OK)
        return true;
    hd_event late = bridge->event;
    struct hd_pool *pool = bridge->pool;
    cross(NULL, HD_ENOMEM, bridge);
    hd_event_release(pool, late);
    return false;
}

// What is remembered of an out-of-order queue: commands that may be under way.
//
// Those that have ended are swept out when there is no more room, and the room
// is doubled only if half of it is still in use: so the list stays within a few
// times the number of commands in flight, for a constant cost each. The lock is
// held.
static bool remember(struct _cl_command_queue *queue, hd_event event)
{
    struct hd_pool *pool = pool_of(queue);

    if (queue->open_count == queue->open_room) {
        unsigned left = 0;
        for (unsigned i = 0; i < queue->open_count; i++)
            if (hd_event_state(pool, queue->open[i]) != HD_EVENT_ENDED)
                queue->open[left++] = queue->open[i];
        queue->open_count = left;
        if (left > queue->open_room / 2 || !queue->open) {
            unsigned room = queue->open_room ? 2 * queue->open_room : 64;
            hd_event *open = realloc(queue->open, room * sizeof(*open));
            if (!open)
                return false;
            queue->open = open;
            queue->open_room = room;
        }
    }
    queue->open[queue->open_count++] = event;
    return true;
}

// Start it behind what is there. False: no memory; it has ended.
//
// The lock is held. What it comes after is
//
//     the gate          in order only for the first behind it; others come
//                       after that one anyway
//     the one before    in order: the last; out of order: the last barrier,
//                       or for a barrier all that may be under way
//     the wait list     whose failure, unlike that of those above, is its own
//
// so `loose` counts the first two kinds. An out-of-order queue gets its place
// in `open` before the start, as 0, so that nothing can fail after it. The
// bridges' events are released once the pool knows of them.
static bool start(struct _cl_command_queue *queue, struct _cl_event *event,
                  struct hdi_event *record, cl_uint wait_count,
                  const cl_event *wait_list)
{
    const struct hdi_cl_command *c = record->room;
    bool all = waits_for_all(queue, c->work, wait_count);
    unsigned most = wait_count + 2 + (all ? queue->open_count : 0), n = 0;
    hd_event few[FEW], few_held[FEW];
    hd_event *after = most <= FEW ? few : malloc(most * sizeof(*after));
    hd_event *held = most <= FEW ? few_held : malloc(most * sizeof(*held));
    struct hd_start how = {.after = after};
    struct hd_pool *pool = record->pool;
    struct hd_error error;
    unsigned bridges = 0;
    bool ok = after && held && (in_order(queue) || remember(queue, 0));

    if (ok && !queue->gate)
        ok = hd_event_create(pool, &queue->gate, &error) == HD_OK;
    if (event) {
        event->flush = atomic_load(&queue->flushes);
        event->gate = queue->gate;
    }
    // Behind the one before it that waits for the gate, it waits for it too.
    if (ok && !(in_order(queue) && queue->unflushed > 0))
        after[n++] = queue->gate;
    if (all)
        for (unsigned i = 0; ok && i + 1 < queue->open_count; i++)
            after[n++] = queue->open[i];
    else if (ok && queue->last)
        after[n++] = queue->last;
    how.loose = n;
    for (cl_uint i = 0; ok && i < wait_count; i++) {
        ok = translate(queue, wait_list[i], &after[n++], &held[bridges]);
        bridges += ok && held[bridges] != 0;
    }
    how.after_count = n;
    if (ok) {
        ok = hdi_event_start(record, &how, event ? &event->handle : NULL,
                             &error) == HD_OK;
    } else {
        end(record);
        hdi_event_give_back(record);
    }
    for (unsigned i = 0; i < bridges; i++)
        hd_event_release(pool, held[i]);
    if (after != few)
        free(after);
    if (held != few_held)
        free(held);
    return ok;
}

// A user's event never is: it begins as CL_SUBMITTED.
static bool is_unflushed(const struct _cl_event *event)
{
    return hdi_cl_event_status(event) == CL_QUEUED;
}

// A command that waits for one of another queue would otherwise wait for a
// flush that nobody has to make. Those of the same queue are let go by its own
// flush.
static void flush_others(const struct _cl_command_queue *queue, cl_uint count,
                         const cl_event *list)
{
    for (cl_uint i = 0; i < count; i++)
        if (list[i]->queue != queue && is_unflushed(list[i]))
            hdi_cl_flush(list[i]->queue);
}

// One reference, the application's. NULL: no memory.
struct _cl_event *hdi_cl_event_create(struct _cl_context *context,
                                      struct _cl_command_queue *queue)
{
    struct _cl_event *event = hdi_cl_object_create(HDI_CL_EVENT);
    if (!event)
        return NULL;
    event->context = context;
    event->queue = queue;
    // A queue holds its context.
    hdi_cl_hold(queue ? (void *)queue : (void *)context);
    event->type = CL_COMMAND_USER;
    atomic_store(&event->status, queue ? CL_QUEUED : CL_SUBMITTED);
    return event;
}

// A record with room for a command and a payload. NULL: no memory.
//
// With the payload behind the command, one launch is one record and no
// allocation, as long as it fits into the room that the record has from before.
static struct hdi_event *take_record(struct hd_pool *pool, size_t size)
{
    struct hdi_event *record;
    struct hd_error error;

    if (hdi_event_take(pool, &commands, &record, &error) != HD_OK)
        return NULL;
    if (hdi_event_room(record, PAYLOAD + size))
        return record;
    hdi_event_give_back(record);
    return NULL;
}

// The recorder of a command buffer keeps payloads for longer than a record
// lives, hence malloc() there.
void *hdi_cl_take(struct _cl_command_queue *queue, size_t size,
                  struct hdi_event **record)
{
    *record = NULL;
    if (queue->records)
        return malloc(size);
    *record = take_record(pool_of(queue), size);
    return *record ? (char *)(*record)->room + PAYLOAD : NULL;
}

// Put it behind what is there, and there for what comes.
//
// The lock is held. False: it has been ended, and nothing that comes later
// comes after it.
static bool append(struct _cl_command_queue *queue, struct _cl_event *event,
                   struct hdi_event *record, cl_uint wait_count,
                   const cl_event *wait_list)
{
    const struct hdi_cl_command *c = record->room;
    bool is_barrier = c->work->type == CL_COMMAND_BARRIER;
    hd_event handle = hdi_event_handle(record);

    if (!start(queue, event, record, wait_count, wait_list))
        return false;
    if (in_order(queue)) {
        queue->last = handle;
    } else {
        if (is_barrier)
            queue->last = handle;
        queue->open[queue->open_count - 1] = handle;
    }
    queue->unflushed++;
    return true;
}

// Until the command has ended, which has not begun: the gate is closed.
//
// So of commands behind one gate only the last counts up the queue: two atomic
// operations per burst instead of two per command. `before` has not begun, so
// nobody reads its `holds` yet. The lock is held.
static void hold_queue(struct _cl_command_queue *queue,
                       struct hdi_cl_command *c, struct hdi_cl_command *before)
{
    if (before)
        before->holds = false;
    else
        hdi_cl_hold(queue);
    c->holds = true;
    queue->newest = c;
}

// The command is in the record but for this. Takes the references of `event`,
// which is optional, and of the record.
//
// False: no memory, and the command has been ended with its payload. It flushes
// by itself when enough has gathered: a worker is woken first (hdi_pool_rouse),
// since it takes longer to wake than the flush does. The limit doubles with
// each burst up to UNFLUSHED_MAX; clFinish() sets it back.
static bool put(struct _cl_command_queue *queue, struct _cl_event *event,
                struct hdi_event *record, cl_uint wait_count,
                const cl_event *wait_list)
{
    // Nobody flushes a queue that was released, and is known of its events.
    bool released = hdi_cl_object_references(queue) == 0;

    if (event)
        hdi_cl_hold(event);
    if (released)
        hdi_cl_hold(queue);
    hdi_cl_count_begun();
    pthread_mutex_lock(&queue->lock);
    // Behind the one before it, which has not begun, it ends later.
    struct hdi_cl_command *before =
        in_order(queue) && queue->unflushed > 0 ? queue->newest : NULL;
    bool ok = append(queue, event, record, wait_count, wait_list);
    if (ok)
        hold_queue(queue, record->room, before);
    unsigned most = UNFLUSHED_FIRST << queue->bursts;
    bool full = queue->unflushed >= most;
    if (full && most < UNFLUSHED_MAX)
        queue->bursts++;
    pthread_mutex_unlock(&queue->lock);
    if (full)
        hdi_pool_rouse(pool_of(queue));
    if (full || released)
        hdi_cl_flush(queue);
    if (released)
        hdi_cl_drop(queue);
    return ok;
}

// `event` is NULL when nobody is to know of the command.
//
// The command begins as one that fails for its wait list, which is what it is
// if the pool ends it without running it. Without an event nobody asks for
// times, and the clock is not looked at.
static cl_int enqueue(struct _cl_command_queue *queue, struct hdi_event *record,
                      const struct hdi_cl_work *work, void *payload,
                      struct _cl_event *event, cl_uint wait_count,
                      const cl_event *wait_list)
{
    *(struct hdi_cl_command *)record->room = (struct hdi_cl_command){
        .queue = queue,
        .work = work,
        .payload = payload,
        .event = event,
        .result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
    if (event) {
        event->pool = record->pool;
        event->type = work->type;
    }
    record->untimed = !event;
    flush_others(queue, wait_count, wait_list);
    return put(queue, event, record, wait_count, wait_list)
               ? CL_SUCCESS
               : CL_OUT_OF_HOST_MEMORY; // which has ended it
}

// Nobody is told of a part, and its queue is held by the whole.
bool hdi_cl_start_part(struct _cl_command_queue *queue,
                       struct hdi_event *record, const struct hdi_cl_work *work,
                       void *payload, const struct hd_start *how,
                       hd_event *event)
{
    struct hd_error error;

    *(struct hdi_cl_command *)record->room = (struct hdi_cl_command){
        .queue = queue,
        .work = work,
        .payload = payload,
        .result = CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST};
    record->untimed = true;
    hdi_cl_count_begun();
    return hdi_event_start(record, how, event, &error) == HD_OK;
}

// No command comes of it, but `end` gets the payload in any case.
static void give_up(const struct hdi_cl_work *work, void *payload)
{
    if (work->end && payload)
        work->end(payload);
}

cl_int hdi_cl_record(const struct hdi_cl_work *work, void *payload,
                     cl_event *made)
{
    struct hdi_cl_recorded *c = malloc(sizeof(*c));

    if (c) {
        *c = (struct hdi_cl_recorded){.work = work, .payload = payload};
        *made = (cl_event)(void *)c;
        return CL_SUCCESS;
    }
    give_up(work, payload);
    return CL_OUT_OF_HOST_MEMORY;
}

// No record: the queue records. `*event_ret` is set on success only. After an
// error in enqueue() the event has lost its hold and goes with the release.
cl_int hdi_cl_enqueue_taken(struct _cl_command_queue *queue,
                            struct hdi_event *record,
                            const struct hdi_cl_work *work, void *payload,
                            cl_uint wait_count, const cl_event *wait_list,
                            cl_event *event_ret)
{
    struct _cl_event *event = NULL;

    if (!record)
        return hdi_cl_record(work, payload, event_ret);
    if (event_ret && !(event = hdi_cl_event_create(queue->context, queue))) {
        give_up(work, payload);
        hdi_event_give_back(record);
        return CL_OUT_OF_HOST_MEMORY;
    }
    cl_int status =
        enqueue(queue, record, work, payload, event, wait_count, wait_list);
    if (event && status == CL_SUCCESS)
        *event_ret = event;
    else if (event)
        hdi_cl_object_release(event);
    return status;
}

// A blocking call makes an event, also where nobody asked for one, and waits
// for it. With `blocks` the status is that of the command; the event is given
// out even if the command has failed.
cl_int hdi_cl_enqueue(struct _cl_command_queue *queue,
                      const struct hdi_cl_work *work, void *payload,
                      cl_bool blocks, cl_uint wait_count,
                      const cl_event *wait_list, cl_event *event_ret)
{
    cl_event event = NULL;

    if (queue->records)
        return hdi_cl_record(work, payload, event_ret);
    struct hdi_event *record = take_record(pool_of(queue), 0);
    if (!record) {
        give_up(work, payload);
        return CL_OUT_OF_HOST_MEMORY;
    }
    cl_int status =
        hdi_cl_enqueue_taken(queue, record, work, payload, wait_count,
                             wait_list, event_ret || blocks ? &event : NULL);
    if (status != CL_SUCCESS)
        return status;
    if (blocks)
        status = hdi_cl_wait(event);
    if (event_ret)
        *event_ret = event;
    else if (event)
        hdi_cl_object_release(event);
    return status;
}

// Waiting ---------------------------------------------------------------------

// Somebody outside waits for `goal`: a worker opens the gate for it and runs
// what is behind, which is sooner than by waking one and sleeping.
//
// On the stack of who waits in hd_pool_run().
struct errand {
    hd_event gate, goal;
};

static void run_errand(struct hd_worker *worker, void *data)
{
    const struct errand *errand = data;

    hdi_event_end_here(worker, errand->gate, errand->goal);
}

// A worker of this pool only flushes: it runs other work while it waits anyway.
// Outside, one trip into the pool ends the gate and runs what is behind up to
// `goal`.
static void flush_for(struct _cl_command_queue *queue, hd_event goal)
{
    struct hd_pool *pool = pool_of(queue);

    if (hd_pool_worker(pool)) {
        hdi_cl_flush(queue);
        return;
    }
    struct errand errand = {take_gate(queue), goal};
    if (!errand.gate)
        return;
    hd_pool_run(pool, run_errand, &errand);
    hd_event_release(pool, errand.gate);
}

// The status is stored before the pool ends the event, so that it is final when
// the wait is over. Any failure is told as the one error that waiting functions
// have.
cl_int hdi_cl_wait(struct _cl_event *event)
{
    struct hd_error error;

    if (is_unflushed(event))
        flush_for(event->queue, event->handle);
    if (atomic_load(&event->status) > CL_COMPLETE)
        hd_event_wait(event->pool, &event->handle, 1, HD_FOREVER, &error);
    return atomic_load(&event->status) == CL_COMPLETE
               ? CL_SUCCESS
               : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
}

// Until all that was enqueued before the call has ended. In order that is the
// last command. Out of order it is a copy of the list: others may enqueue and
// sweep meanwhile. How commands ended is not told here: each has its event.
cl_int hdi_cl_finish(struct _cl_command_queue *queue)
{
    struct hd_pool *pool = pool_of(queue);
    hd_event last, *open = NULL;
    struct hd_error error;
    unsigned count;

    pthread_mutex_lock(&queue->lock);
    bool chain = in_order(queue);
    last = queue->last;
    count = queue->open_count;
    queue->bursts = 0;
    if (!chain && count > 0) {
        open = malloc(count * sizeof(*open));
        if (open)
            memcpy(open, queue->open, count * sizeof(*open));
        last = queue->open[count - 1];
    }
    pthread_mutex_unlock(&queue->lock);
    flush_for(queue, last);
    if (!chain && count > 0 && !open)
        return CL_OUT_OF_HOST_MEMORY;
    if (chain)
        hd_event_wait(pool, &last, 1, HD_FOREVER, &error);
    else
        hd_event_wait(pool, open, count, HD_FOREVER, &error);
    free(open);
    return CL_SUCCESS;
}
