// Events as the application sees them, and the thread that calls it back.
#include <string.h>

#include "base/clock.h"
#include "icd/object/info.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"

// In one of two lists, both under the lock of `calls`: of its event, until the
// status comes, then of what is to be called. It holds its event all the time.
struct hdi_cl_callback {
    struct hdi_cl_callback *next;
    struct _cl_event *event; // held
    cl_int type;             // the status that it is for
    cl_int status;           // that it is told
    void(CL_CALLBACK *call)(cl_event event, cl_int status, void *data);
    void *data;
};

// Calling back ----------------------------------------------------------------

// Callbacks run one after another on a thread of their own, which holds no lock
// and is no worker: they may take what locks they like and wait for what they
// like. The thread starts with the first one and stays.
static struct {
    pthread_mutex_t lock; // over what is here, and the callbacks of events
    pthread_cond_t changed;
    struct hdi_cl_callback *first, *last;
    bool
        runs; // the thread is there; never false again but in a child of fork()
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER,
           .changed = PTHREAD_COND_INITIALIZER};

// Without the lock. The callback may release the event: ours holds it until
// after.
static void call(struct hdi_cl_callback *callback)
{
    callback->call(callback->event, callback->status, callback->data);
    hdi_cl_drop(callback->event);
    free(callback);
}

// Never ends: the process takes the thread with it. The lock is let go for each
// call, so that a callback may register others.
static void *call_all(void *data)
{
    (void)data;
    pthread_mutex_lock(&calls.lock);
    for (;;) {
        while (!calls.first)
            pthread_cond_wait(&calls.changed, &calls.lock);
        struct hdi_cl_callback *callback = calls.first;
        calls.first = callback->next;
        if (!calls.first)
            calls.last = NULL;
        pthread_mutex_unlock(&calls.lock);
        call(callback);
        pthread_mutex_lock(&calls.lock);
    }
    return NULL;
}

// In the child of fork(): the thread is the parent's, and the lock may have
// been held when it forked. What was queued is the parent's to call.
static void forget_calls(void)
{
    pthread_mutex_init(&calls.lock, NULL);
    pthread_cond_init(&calls.changed, NULL);
    calls.first = calls.last = NULL;
    calls.runs = false;
}

static bool
    watches; // for children of fork(), from before the first callback on

static void watch(void)
{
    watches = pthread_atfork(NULL, NULL, forget_calls) == 0;
}

// False: no thread to be had.
//
// When an application first registers a callback, not before: most never do. It
// is asked for before the callback is in any list, so that none waits in vain.
static bool start_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_t thread;

    pthread_once(&once, watch);
    pthread_mutex_lock(&calls.lock);
    if (watches && !calls.runs &&
        pthread_create(&thread, NULL, call_all, NULL) == 0) {
        pthread_detach(thread);
        calls.runs = true;
    }
    bool runs = calls.runs;
    pthread_mutex_unlock(&calls.lock);
    return runs;
}

// With the lock.
static void call_soon(struct hdi_cl_callback *callback)
{
    callback->next = NULL;
    if (calls.last)
        calls.last->next = callback;
    else
        calls.first = callback;
    calls.last = callback;
    pthread_cond_signal(&calls.changed);
}

// A callback for CL_COMPLETE (0) is called for errors as well, which are below
// it, hence the order of the comparison: those of a type at or above the new
// status are due. With an error each gets that, else the status that it asked
// for.
//
//     type       SUBMITTED 2 > RUNNING 1 > COMPLETE 0 > errors < 0
//     status s   calls every callback with type >= s
void hdi_cl_event_call(struct _cl_event *event, cl_int status)
{
    struct hdi_cl_callback **at, *callback;

    // Against who counts its callback, then looks at the status.
    if (atomic_load(&event->callback_count) == 0)
        return;
    pthread_mutex_lock(&calls.lock);
    for (at = &event->callbacks; (callback = *at);) {
        if (callback->type < status) {
            at = &callback->next;
            continue;
        }
        *at = callback->next;
        atomic_fetch_sub(&event->callback_count, 1);
        callback->status = status < 0 ? status : callback->type;
        call_soon(callback);
    }
    pthread_mutex_unlock(&calls.lock);
}

// At the end of the list: callbacks of one status are called in the order of
// their registration. Counted before the look at the status, while who changes
// the status stores it before the look at the count: one of the two sees the
// other, and the lock lets only one of them take the callback out.
CL_API_ENTRY cl_int CL_API_CALL clSetEventCallback(
    cl_event event, cl_int type,
    void(CL_CALLBACK *notify)(cl_event, cl_int, void *), void *data)
{
    if (!hdi_cl_is(HDI_CL_EVENT, event))
        return CL_INVALID_EVENT;
    if (!notify ||
        (type != CL_SUBMITTED && type != CL_RUNNING && type != CL_COMPLETE))
        return CL_INVALID_VALUE;
    if (!start_calls())
        return CL_OUT_OF_RESOURCES;
    struct hdi_cl_callback *callback = malloc(sizeof(*callback));
    if (!callback)
        return CL_OUT_OF_HOST_MEMORY;
    *callback = (struct hdi_cl_callback){
        .event = event, .type = type, .call = notify, .data = data};
    hdi_cl_hold(event);
    pthread_mutex_lock(&calls.lock);
    struct hdi_cl_callback **at = &event->callbacks;
    while (*at)
        at = &(*at)->next;
    *at = callback;
    atomic_fetch_add(&event->callback_count, 1);
    pthread_mutex_unlock(&calls.lock);
    // It may be there already; whoever changes it meanwhile looks as well.
    cl_int status = hdi_cl_event_status(event);
    if (status <= type)
        hdi_cl_event_call(event, status);
    else if (type == CL_SUBMITTED)
        hdi_cl_event_call_when_flushed(event);
    return CL_SUCCESS;
}

// Objects ---------------------------------------------------------------------

// Of one that ended well the handle was released at its end (command.c).
void hdi_cl_event_destroy(void *object)
{
    struct _cl_event *event = object;

    if (event->holds)
        hd_event_release(event->pool, event->handle);
    hdi_cl_drop(event->queue ? (void *)event->queue : (void *)event->context);
}

// Handles of dead events are found first, then those of other contexts. What
// may follow after this is that an event is released by another thread, which
// is the application's mistake.
cl_int hdi_cl_check_wait(const struct _cl_context *context, cl_uint count,
                         const cl_event *list)
{
    if ((count == 0) != !list)
        return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_EVENT, list[i]))
            return CL_INVALID_EVENT_WAIT_LIST;
    for (cl_uint i = 0; i < count; i++)
        if (list[i]->context != context)
            return CL_INVALID_CONTEXT;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_event CL_API_CALL clCreateUserEvent(cl_context context,
                                                    cl_int *error)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return hdi_cl_none(error, CL_INVALID_CONTEXT);
    struct _cl_event *event = hdi_cl_event_create(context, NULL);
    if (!event)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    if (!hdi_cl_event_begin(event)) {
        hdi_cl_object_release(event);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    hdi_cl_good(error);
    return event;
}

CL_API_ENTRY cl_int CL_API_CALL clSetUserEventStatus(cl_event event,
                                                     cl_int status)
{
    if (!hdi_cl_is(HDI_CL_EVENT, event) || event->queue)
        return CL_INVALID_EVENT;
    if (status > CL_COMPLETE)
        return CL_INVALID_VALUE;
    return hdi_cl_event_end(event, status) ? CL_SUCCESS : CL_INVALID_OPERATION;
}

CL_API_ENTRY cl_int CL_API_CALL clRetainEvent(cl_event event)
{
    return hdi_cl_is(HDI_CL_EVENT, event) && hdi_cl_object_retain(event)
               ? CL_SUCCESS
               : CL_INVALID_EVENT;
}

CL_API_ENTRY cl_int CL_API_CALL clReleaseEvent(cl_event event)
{
    if (!hdi_cl_is(HDI_CL_EVENT, event) ||
        !hdi_cl_hold_same(event, event->object.serial))
        return CL_INVALID_EVENT;
    bool released = hdi_cl_object_release(event);
    // Nobody can end a user's event without a reference: what waits for it ends
    // too, rather than never. Of threads that see none left, one ends it.
    if (released && !event->queue && hdi_cl_object_references(event) == 0)
        hdi_cl_event_end(event, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    hdi_cl_drop(event);
    return released ? CL_SUCCESS : CL_INVALID_EVENT;
}

CL_API_ENTRY cl_int CL_API_CALL clWaitForEvents(cl_uint count,
                                                const cl_event *list)
{
    cl_int status = CL_SUCCESS;

    if (count == 0 || !list)
        return CL_INVALID_VALUE;
    for (cl_uint i = 0; i < count; i++)
        if (!hdi_cl_is(HDI_CL_EVENT, list[i]))
            return CL_INVALID_EVENT;
    for (cl_uint i = 1; i < count; i++)
        if (list[i]->context != list[0]->context)
            return CL_INVALID_CONTEXT;
    for (cl_uint i = 0; i < count; i++)
        if (hdi_cl_event_status(list[i]) == CL_QUEUED)
            hdi_cl_flush(list[i]->queue);
    for (cl_uint i = 0; i < count; i++) {
        cl_int one = hdi_cl_wait(list[i]);
        status = one != CL_SUCCESS ? one : status;
    }
    return status;
}

// What it is now. Who asks wants it to go on.
//
// Without the flush a program that polls would wait for ever.
static cl_int look(struct _cl_event *event)
{
    if (hdi_cl_event_status(event) == CL_QUEUED)
        hdi_cl_flush(event->queue);
    return hdi_cl_event_status(event);
}

CL_API_ENTRY cl_int CL_API_CALL clGetEventInfo(cl_event event,
                                               cl_event_info name, size_t size,
                                               void *value, size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_EVENT, event))
        return CL_INVALID_EVENT;
    switch (name) {
        HDI_CL_IS(CL_EVENT_COMMAND_QUEUE, cl_command_queue, event->queue)
        HDI_CL_IS(CL_EVENT_CONTEXT, cl_context, event->context)
        HDI_CL_IS(CL_EVENT_COMMAND_TYPE, cl_command_type, event->type)
        HDI_CL_IS(CL_EVENT_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(event))
        HDI_CL_IS(CL_EVENT_COMMAND_EXECUTION_STATUS, cl_int, look(event))
    default:
        return CL_INVALID_VALUE;
    }
}

// The load of the status pairs with its last store: the times were written
// before that.
CL_API_ENTRY cl_int CL_API_CALL clGetEventProfilingInfo(cl_event event,
                                                        cl_profiling_info name,
                                                        size_t size,
                                                        void *value,
                                                        size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_EVENT, event))
        return CL_INVALID_EVENT;
    if (!event->queue || !(event->queue->modes & CL_QUEUE_PROFILING_ENABLE) ||
        atomic_load(&event->status) != CL_COMPLETE)
        return CL_PROFILING_INFO_NOT_AVAILABLE;
    switch (name) {
        HDI_CL_IS(CL_PROFILING_COMMAND_QUEUED, cl_ulong, event->queued)
        HDI_CL_IS(CL_PROFILING_COMMAND_SUBMIT, cl_ulong, event->submitted)
        HDI_CL_IS(CL_PROFILING_COMMAND_START, cl_ulong, event->started)
        HDI_CL_IS(CL_PROFILING_COMMAND_END, cl_ulong, event->ended)
        HDI_CL_IS(CL_PROFILING_COMMAND_COMPLETE, cl_ulong, event->ended)
    default:
        return CL_INVALID_VALUE;
    }
}
