// Command buffers: commands that are recorded once and run many times.
//
// A buffer has a queue of its own that nobody else sees: what is enqueued there
// is checked and captured as in any queue, and kept instead of run. To run a
// buffer is one command. In order, on the processor, a worker runs its commands
// one after another; otherwise each is an event of the pool, after the one
// before it or those of its sync points, and the last that ends ends the run:
// no worker waits for it.
//
//     clCommand...KHR(b)  begin(): checks b and sync points
//       clEnqueue...(b->recorder)  checks, captures, hdi_cl_record()
//     add(): to the list, behind its sync points
//
// No lock is held while a command is captured: the application's callback may
// be told what is wrong with it, and may ask anything.
//
//     clEnqueueCommandBufferKHR(b)  one command: run_buffer()
//
// Payloads must stand being run many times: `run` leaves them as they are.
#include <string.h>

#include "base/clock.h"
#include "icd/command/commandbuffer.h"
#include "icd/object/info.h"
#include "icd/queue/event.h"
#include "runtime/runtime.h"

// Of the recorder, whose modes are those of the queue it was made for.
static bool is_out_of_order(const struct _cl_command_queue *queue)
{
    return queue->modes & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
}

static void destroy(struct hdi_cl_recorded *c)
{
    if (c->work->end && c->payload)
        c->work->end(c->payload);
    free(c->after);
    free(c);
}

// Also of one that was made halfway. Each run holds the buffer, so none is
// under way. The recorder goes with its last reference: it has no commands.
void hdi_cl_command_buffer_destroy(void *object)
{
    struct _cl_command_buffer_khr *b = object;

    for (unsigned i = 0; i < b->count; i++)
        destroy(b->commands[i]);
    free(b->commands);
    pthread_mutex_destroy(&b->lock);
    if (b->recorder)
        hdi_cl_object_release(b->recorder);
    hdi_cl_drop(b->queue);
}

// Recording -------------------------------------------------------------------

// Put it behind the others; false: no memory. Room is doubled, so that
// recording n commands costs n. The lock is held.
static bool append(struct _cl_command_buffer_khr *b, struct hdi_cl_recorded *c)
{
    if (b->count == b->room) {
        unsigned room = b->room ? 2 * b->room : 16;
        struct hdi_cl_recorded **more =
            realloc(b->commands, room * sizeof(struct hdi_cl_recorded *));
        if (!more)
            return false;
        b->commands = more;
        b->room = room;
    }
    b->commands[b->count++] = c;
    return true;
}

// What a command comes after that will be the next, where the order is not that
// of recording.
//
// The lock is held. What it comes after has a smaller index: sync points are of
// commands that were recorded before. In order nothing is noted: the order is
// that of the list. False: no memory.
static bool connect(const struct _cl_command_buffer_khr *b,
                    struct hdi_cl_recorded *c, cl_uint count,
                    const cl_sync_point_khr *list)
{
    bool is_barrier = c->work->type == CL_COMMAND_BARRIER;
    // A barrier without a list waits for all since the one before.
    unsigned first = b->barrier ? b->barrier - 1 : 0, n = 0;
    unsigned all = is_barrier && count == 0 ? b->count - first : 0;

    if (!is_out_of_order(b->recorder))
        return true;
    c->after = calloc((size_t)count + all + 1, sizeof(*c->after));
    if (!c->after)
        return false;
    for (cl_uint i = 0; i < count; i++)
        c->after[n++] = list[i] - 1;
    for (unsigned i = 0; i < all; i++)
        c->after[n++] = first + i;
    if (b->barrier && all == 0)
        c->after[n++] = first;
    c->after_count = n;
    return true;
}

// The lock is held.
static cl_int check_recording(const struct _cl_command_buffer_khr *b,
                              cl_uint count, const cl_sync_point_khr *list)
{
    if (b->is_final)
        return CL_INVALID_OPERATION;
    for (cl_uint i = 0; i < count; i++)
        if (list[i] == 0 || list[i] > b->count)
            return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
    return CL_SUCCESS;
}

// What can be wrong with a command before it is known which it is.
//
// What other extensions add is refused here: other queues, commands that can be
// changed later, and all properties.
static cl_int begin(cl_command_buffer_khr b, cl_command_queue queue,
                    const cl_properties *properties, cl_uint count,
                    const cl_sync_point_khr *list,
                    const cl_mutable_command_khr *handle)
{
    if (!hdi_cl_is(HDI_CL_COMMAND_BUFFER, b))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if (queue)
        return CL_INVALID_COMMAND_QUEUE;
    if (handle || (properties && properties[0]))
        return CL_INVALID_VALUE;
    if ((count == 0) != !list)
        return CL_INVALID_SYNC_POINT_WAIT_LIST_KHR;
    pthread_mutex_lock(&b->lock);
    cl_int status = check_recording(b, count, list);
    pthread_mutex_unlock(&b->lock);
    return status;
}

// Takes over the command. A sync point is its number, from 1. Another thread
// may have made the buffer final since begin().
static cl_int add(cl_command_buffer_khr b, struct hdi_cl_recorded *c,
                  cl_uint count, const cl_sync_point_khr *list,
                  cl_sync_point_khr *point)
{
    pthread_mutex_lock(&b->lock);
    cl_int status = check_recording(b, count, list);
    if (status == CL_SUCCESS && !(connect(b, c, count, list) && append(b, c)))
        status = CL_OUT_OF_HOST_MEMORY;
    if (status == CL_SUCCESS && c->work->type == CL_COMMAND_BARRIER)
        b->barrier = b->count;
    if (status == CL_SUCCESS && c->after_count > b->most_after)
        b->most_after = c->after_count;
    if (status == CL_SUCCESS && point)
        *point = b->count;
    pthread_mutex_unlock(&b->lock);
    if (status != CL_SUCCESS)
        destroy(c);
    return status;
}

// The body of a function that records: `call` enqueues to the recorder, which
// gives `made`.
#define RECORD(call)                                                       \
    cl_event made = NULL;                                                  \
    cl_int status = begin(b, queue, properties, count, list, handle);      \
    if (status == CL_SUCCESS)                                              \
        status = call;                                                     \
    return status == CL_SUCCESS ? add(b, (void *)made, count, list, point) \
                                : status

CL_API_ENTRY cl_int CL_API_CALL clCommandBarrierWithWaitListKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueBarrierWithWaitList(b->recorder, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to, size_t from_offset,
    size_t to_offset, size_t size, cl_uint count, const cl_sync_point_khr *list,
    cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueCopyBuffer(b->recorder, from, to, from_offset, to_offset,
                               size, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferRectKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *from_origin, const size_t *to_origin, const size_t *region,
    size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueCopyBufferRect(b->recorder, from, to, from_origin,
                                   to_origin, region, from_row, from_slice,
                                   to_row, to_slice, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandCopyBufferToImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to, size_t offset,
    const size_t *origin, const size_t *region, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueCopyBufferToImage(b->recorder, from, to, offset, origin,
                                      region, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandCopyImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *from_origin, const size_t *to_origin, const size_t *region,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueCopyImage(b->recorder, from, to, from_origin, to_origin,
                              region, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandCopyImageToBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem from, cl_mem to,
    const size_t *origin, const size_t *region, size_t offset, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueCopyImageToBuffer(b->recorder, from, to, origin, region,
                                      offset, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandFillBufferKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem mem, const void *pattern,
    size_t pattern_size, size_t offset, size_t size, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueFillBuffer(b->recorder, mem, pattern, pattern_size, offset,
                               size, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandFillImageKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_mem image, const void *color,
    const size_t *origin, const size_t *region, cl_uint count,
    const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueFillImage(b->recorder, image, color, origin, region, 0,
                              NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandNDRangeKernelKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, cl_kernel kernel, cl_uint dims,
    const size_t *offset, const size_t *global, const size_t *local,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueNDRangeKernel(b->recorder, kernel, dims, offset, global,
                                  local, 0, NULL, &made));
}

CL_API_ENTRY cl_int CL_API_CALL clCommandSVMMemcpyKHR(
    cl_command_buffer_khr b, cl_command_queue queue,
    const cl_properties *properties, void *to, const void *from, size_t size,
    cl_uint count, const cl_sync_point_khr *list, cl_sync_point_khr *point,
    cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueSVMMemcpy(b->recorder, CL_FALSE, to, from, size, 0, NULL,
                              &made));
}

CL_API_ENTRY cl_int CL_API_CALL
clCommandSVMMemFillKHR(cl_command_buffer_khr b, cl_command_queue queue,
                       const cl_properties *properties, void *to,
                       const void *pattern, size_t pattern_size, size_t size,
                       cl_uint count, const cl_sync_point_khr *list,
                       cl_sync_point_khr *point, cl_mutable_command_khr *handle)
{
    RECORD(clEnqueueSVMMemFill(b->recorder, to, pattern, pattern_size, size, 0,
                               NULL, &made));
}

// Running ---------------------------------------------------------------------

static cl_int run_recorded(const struct hdi_cl_recorded *c,
                           const struct hdi_cl_running *at)
{
    return c->work->run ? c->work->run(at, c->payload) : CL_COMPLETE;
}

// A run whose commands are events of their own. Freed by the last of them, or
// by who starts them if that is later.
struct run {
    struct _cl_command_queue *queue;
    struct hdi_event *record; // of the buffer's command, which ends last
    atomic_uint left;         // steps that have not ended, and who starts them
    _Atomic cl_int status;    // the first failure
};

// One of its commands, in the room of its record.
struct step {
    struct run *run;
    const struct hdi_cl_recorded *command;
    struct hdi_event *record;
};

// Releases what was done to whoever comes last, which acquires it.
static void leave(struct run *run)
{
    struct hdi_event *record = run->record;

    if (atomic_fetch_sub_explicit(&run->left, 1, memory_order_acq_rel) > 1)
        return;
    cl_int status = atomic_load(&run->status);
    free(run);
    hdi_cl_end_later(record, status, hdi_now());
}

static cl_int run_step(const struct hdi_cl_running *at, void *payload)
{
    const struct step *step = payload;

    return run_recorded(step->command, at);
}

// Also of one that was given up since a step before it has failed: that has
// failed the run first.
static void end_step(void *payload)
{
    const struct step *step = payload;
    cl_int none = CL_COMPLETE, result = hdi_cl_result(step->record);

    if (result < 0)
        atomic_compare_exchange_strong(&step->run->status, &none, result);
    leave(step->run);
}

static const struct hdi_cl_work step_work = {
    .type = CL_COMMAND_COMMAND_BUFFER_KHR, .run = run_step, .end = end_step};

// Start a command; those that it comes after were started. An error makes the
// pool give up what comes after.
static bool start(struct run *run, const struct hdi_cl_recorded *c,
                  const struct hd_start *how, hd_event *event)
{
    struct hdi_event *record;
    struct step *step = hdi_cl_take(run->queue, sizeof(*step), &record);

    if (!step)
        return false;
    *step = (struct step){run, c, record};
    atomic_fetch_add_explicit(&run->left, 1, memory_order_relaxed);
    return hdi_cl_start_part(run->queue, record, &step_work, step, how, event);
}

// All of the buffer, in its order. If memory runs out in the middle, what was
// started goes on.
static void start_all(const struct _cl_command_buffer_khr *b, struct run *run,
                      hd_event *events)
{
    struct hd_pool *pool = hdi_cl_runtime(run->queue->device)->pool;
    hd_event *after = events + b->count; // room for those of one command
    bool chain = !is_out_of_order(b->recorder);
    unsigned started = 0;

    for (; started < b->count; started++) {
        const struct hdi_cl_recorded *c = b->commands[started];
        struct hd_start how = {.after = after, .after_count = c->after_count};
        for (unsigned i = 0; i < c->after_count; i++)
            after[i] = events[c->after[i]];
        if (chain && started > 0)
            how = (struct hd_start){.after = &events[started - 1],
                                    .after_count = 1};
        if (start(run, c, &how, &events[started]))
            continue;
        atomic_store(&run->status, CL_OUT_OF_HOST_MEMORY);
        break;
    }
    for (unsigned i = 0; i < started; i++)
        hd_event_release(pool, events[i]);
}

// HDI_CL_LATER: `b` may be gone.
static cl_int start_run(const struct _cl_command_buffer_khr *b,
                        const struct hdi_cl_running *at)
{
    struct run *run = malloc(sizeof(*run));
    hd_event *events =
        calloc((size_t)b->count + b->most_after + 1, sizeof(*events));

    if (!run || !events) {
        free(run);
        free(events);
        return CL_OUT_OF_HOST_MEMORY;
    }
    *run = (struct run){.queue = at->queue, .record = at->record, .left = 1};
    start_all(b, run, events);
    free(events);
    leave(run);
    return HDI_CL_LATER;
}

// One after another, up to the first error, where each ends before the next.
static cl_int run_buffer(const struct hdi_cl_running *at, void *payload)
{
    const struct _cl_command_buffer_khr *b = payload;
    const struct hdi_cl_running here = {
        .worker = at->worker, .queue = at->queue, .cost = at->cost};
    cl_int status = CL_COMPLETE;

    if (is_out_of_order(b->recorder) ||
        hdi_cl_device_launcher(at->queue->device)->ports)
        return start_run(b, at);
    for (unsigned i = 0; i < b->count && status >= 0; i++)
        status = run_recorded(b->commands[i], &here);
    return status;
}

static const struct hdi_cl_work buffer_work = {
    .type = CL_COMMAND_COMMAND_BUFFER_KHR,
    .run = run_buffer,
    .end = hdi_cl_drop};

// Whether it may run there.
//
// Another queue of the same device may be given, for which payloads are made;
// the order of the commands stays that of the one the buffer was made for.
static cl_int check_queue(const struct _cl_command_buffer_khr *b,
                          cl_command_queue queue)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (queue->device != b->queue->device)
        return CL_INVALID_DEVICE;
    return queue->context == b->queue->context ? CL_SUCCESS
                                               : CL_INVALID_CONTEXT;
}

// Any number of runs may be under way: they share nothing but what is recorded.
CL_API_ENTRY cl_int CL_API_CALL clEnqueueCommandBufferKHR(
    cl_uint queue_count, cl_command_queue *queues, cl_command_buffer_khr b,
    cl_uint wait_count, const cl_event *wait_list, cl_event *event)
{
    cl_int status;

    if (!hdi_cl_is(HDI_CL_COMMAND_BUFFER, b))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    if ((queue_count == 0) != !queues || queue_count > 1)
        return CL_INVALID_VALUE;
    cl_command_queue queue = queues ? queues[0] : b->queue;
    if ((status = check_queue(b, queue)) != CL_SUCCESS ||
        (status = hdi_cl_check_wait(queue->context, wait_count, wait_list)) !=
            CL_SUCCESS)
        return status;
    pthread_mutex_lock(&b->lock);
    bool may = b->is_final;
    pthread_mutex_unlock(&b->lock);
    if (!may)
        return CL_INVALID_OPERATION;
    hdi_cl_hold(b);
    return hdi_cl_enqueue(queue, &buffer_work, b, CL_FALSE, wait_count,
                          wait_list, event);
}

// Objects ---------------------------------------------------------------------

// One property is known, the flags, and one flag. Both forms of "none" are kept
// apart, to be told as they were given: no list, and a list that is empty.
static bool read_properties(struct _cl_command_buffer_khr *b,
                            const cl_command_buffer_properties_khr *p)
{
    if (!p)
        return true;
    b->property_count = p[0] ? 3 : 1;
    if (!p[0])
        return true;
    if (p[0] != CL_COMMAND_BUFFER_FLAGS_KHR || p[2] ||
        (p[1] & ~(cl_properties)CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR))
        return false;
    memcpy(b->properties, p, sizeof(b->properties));
    return true;
}

// The recorder is made as an application would make a queue, and turned into
// one that keeps commands before anybody can use it.
CL_API_ENTRY cl_command_buffer_khr CL_API_CALL clCreateCommandBufferKHR(
    cl_uint queue_count, const cl_command_queue *queues,
    const cl_command_buffer_properties_khr *properties, cl_int *error)
{
    if (queue_count != 1 || !queues)
        return hdi_cl_none(error, CL_INVALID_VALUE);
    if (!hdi_cl_is(HDI_CL_QUEUE, queues[0]))
        return hdi_cl_none(error, CL_INVALID_COMMAND_QUEUE);
    struct _cl_command_buffer_khr *b =
        hdi_cl_object_create(HDI_CL_COMMAND_BUFFER);
    if (!b)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    pthread_mutex_init(&b->lock, NULL);
    b->queue = queues[0];
    hdi_cl_hold(b->queue);
    const cl_queue_properties modes[] = {CL_QUEUE_PROPERTIES, b->queue->modes,
                                         0};
    cl_int status = CL_INVALID_VALUE;
    if (read_properties(b, properties))
        b->recorder = clCreateCommandQueueWithProperties(
            b->queue->context, b->queue->device, modes, &status);
    if (!b->recorder) {
        hdi_cl_object_release(b);
        return hdi_cl_none(error, status);
    }
    b->recorder->records = true;
    hdi_cl_good(error);
    return b;
}

CL_API_ENTRY cl_int CL_API_CALL
clFinalizeCommandBufferKHR(cl_command_buffer_khr b)
{
    if (!hdi_cl_is(HDI_CL_COMMAND_BUFFER, b))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    pthread_mutex_lock(&b->lock);
    bool was = b->is_final;
    b->is_final = true;
    pthread_mutex_unlock(&b->lock);
    return was ? CL_INVALID_OPERATION : CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL
clRetainCommandBufferKHR(cl_command_buffer_khr b)
{
    return hdi_cl_is(HDI_CL_COMMAND_BUFFER, b) && hdi_cl_object_retain(b)
               ? CL_SUCCESS
               : CL_INVALID_COMMAND_BUFFER_KHR;
}

CL_API_ENTRY cl_int CL_API_CALL
clReleaseCommandBufferKHR(cl_command_buffer_khr b)
{
    return hdi_cl_is(HDI_CL_COMMAND_BUFFER, b) && hdi_cl_object_release(b)
               ? CL_SUCCESS
               : CL_INVALID_COMMAND_BUFFER_KHR;
}

static cl_command_buffer_state_khr state_of(struct _cl_command_buffer_khr *b)
{
    pthread_mutex_lock(&b->lock);
    bool is_final = b->is_final;
    pthread_mutex_unlock(&b->lock);
    return !is_final ? CL_COMMAND_BUFFER_STATE_RECORDING_KHR
                     : CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR;
}

CL_API_ENTRY cl_int CL_API_CALL clGetCommandBufferInfoKHR(
    cl_command_buffer_khr b, cl_command_buffer_info_khr name, size_t size,
    void *value, size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_COMMAND_BUFFER, b))
        return CL_INVALID_COMMAND_BUFFER_KHR;
    switch (name) {
        HDI_CL_IS(CL_COMMAND_BUFFER_QUEUES_KHR, cl_command_queue, b->queue)
        HDI_CL_IS(CL_COMMAND_BUFFER_NUM_QUEUES_KHR, cl_uint, 1)
        HDI_CL_IS(CL_COMMAND_BUFFER_CONTEXT_KHR, cl_context, b->queue->context)
        HDI_CL_IS(CL_COMMAND_BUFFER_REFERENCE_COUNT_KHR, cl_uint,
                  hdi_cl_object_references(b))
        HDI_CL_IS(CL_COMMAND_BUFFER_STATE_KHR, cl_command_buffer_state_khr,
                  state_of(b))
        HDI_CL_BYTES(CL_COMMAND_BUFFER_PROPERTIES_ARRAY_KHR, b->properties,
                     b->property_count * sizeof(*b->properties))
    default:
        return CL_INVALID_VALUE;
    }
}
