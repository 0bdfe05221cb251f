// Queues, as objects; what is in them is in command.c.
//
// A context lists its queues without holding them, so that a queue that nobody
// uses can go; each holds its context. Who walks the list holds one queue at a
// time (hold_next()), and the context's lock only for the step, since finishing
// a queue may take as long as its commands do.
#include <string.h>

#include "icd/object/info.h"
#include "icd/queue/event.h"
#include "icd/queue/queues.h"

static const cl_command_queue_properties known =
    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE;

// Both counts are 0: all commands have ended, since each holds the queue, or
// the last one of those in order does.
void hdi_cl_queue_destroy(void *object)
{
    struct _cl_command_queue *queue = object;

    pthread_mutex_lock(&queue->context->lock);
    struct _cl_command_queue **at = &queue->context->queues;
    while (*at && *at != queue)
        at = &(*at)->next;
    if (*at)
        *at = queue->next;
    pthread_mutex_unlock(&queue->context->lock);
    free(queue->properties);
    free(queue->open);
    pthread_mutex_destroy(&queue->lock);
    hdi_cl_drop(queue->device);
    hdi_cl_drop(queue->context);
}

// The arguments were checked. It is in the context's list from the moment that
// nothing can fail any more. `property_count` is with the final 0; 0: made the
// old way, without a list.
static cl_command_queue create(cl_context context, cl_device_id device,
                               cl_command_queue_properties modes,
                               const cl_queue_properties *properties,
                               unsigned property_count, cl_int *error)
{
    struct _cl_command_queue *queue = hdi_cl_object_create(HDI_CL_QUEUE);
    if (!queue)
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    pthread_mutex_init(&queue->lock, NULL);
    queue->context = context;
    queue->device = device;
    hdi_cl_hold(context);
    hdi_cl_hold(device);
    queue->modes = modes;
    queue->property_count = property_count;
    queue->properties = calloc(property_count + 1, sizeof(*queue->properties));
    if (!queue->properties) {
        hdi_cl_object_release(queue);
        return hdi_cl_none(error, CL_OUT_OF_HOST_MEMORY);
    }
    if (property_count > 0)
        memcpy(queue->properties, properties,
               property_count * sizeof(*properties));
    pthread_mutex_lock(&context->lock);
    queue->next = context->queues;
    context->queues = queue;
    pthread_mutex_unlock(&context->lock);
    hdi_cl_good(error);
    return queue;
}

// One behind `queue`, or the first, held. NULL: there is none.
//
// `queue` is held by the caller, so it is still in the list.
static struct _cl_command_queue *hold_next(
    struct _cl_context *context, const struct _cl_command_queue *queue)
{
    pthread_mutex_lock(&context->lock);
    struct _cl_command_queue *next = queue ? queue->next : context->queues;
    // One that is about to go has nothing to do.
    while (next && !hdi_cl_hold_same(next, next->object.serial))
        next = next->next;
    pthread_mutex_unlock(&context->lock);
    return next;
}

// All queues are walked, also after an error, to drop each; only the first
// error is told. Commands that are enqueued meanwhile are not waited for.
cl_int hdi_cl_context_finish(struct _cl_context *context)
{
    struct _cl_command_queue *queue = hold_next(context, NULL), *next;
    cl_int status = CL_SUCCESS;

    for (; queue; queue = next) {
        if (status == CL_SUCCESS)
            status = hdi_cl_finish(queue);
        next = hold_next(context, queue);
        hdi_cl_drop(queue);
    }
    return status;
}

// What both ways of making a queue look at first.
static cl_int check(cl_context context, cl_device_id device)
{
    if (!hdi_cl_is(HDI_CL_CONTEXT, context))
        return CL_INVALID_CONTEXT;
    if (!hdi_cl_is(HDI_CL_DEVICE, device) ||
        !hdi_cl_context_has(context, device))
        return CL_INVALID_DEVICE;
    return CL_SUCCESS;
}

CL_API_ENTRY cl_command_queue CL_API_CALL
clCreateCommandQueue(cl_context context, cl_device_id device,
                     cl_command_queue_properties modes, cl_int *error)
{
    cl_int status = check(context, device);

    if (status == CL_SUCCESS && (modes & ~known))
        status = CL_INVALID_VALUE;
    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    return create(context, device, modes, NULL, 0, error);
}

// Queues on the device are known and refused as such; anything else that is not
// known is an invalid value.
CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithProperties(
    cl_context context, cl_device_id device,
    const cl_queue_properties *properties, cl_int *error)
{
    const cl_command_queue_properties on_device =
        CL_QUEUE_ON_DEVICE | CL_QUEUE_ON_DEVICE_DEFAULT;
    cl_command_queue_properties modes = 0;
    cl_int status = check(context, device);
    unsigned i = 0;

    if (status != CL_SUCCESS)
        return hdi_cl_none(error, status);
    for (; properties && properties[i]; i += 2)
        if (properties[i] == CL_QUEUE_PROPERTIES) {
            modes = properties[i + 1];
            if (modes & ~(known | on_device))
                return hdi_cl_none(error, CL_INVALID_VALUE);
            if (modes & on_device)
                return hdi_cl_none(error, CL_INVALID_QUEUE_PROPERTIES);
        } else if (properties[i] == CL_QUEUE_SIZE) {
            // Of queues on the device, of which there are none.
            return hdi_cl_none(error, CL_INVALID_QUEUE_PROPERTIES);
        } else {
            return hdi_cl_none(error, CL_INVALID_VALUE);
        }
    return create(context, device, modes, properties, properties ? i + 1 : 0,
                  error);
}

CL_API_ENTRY cl_command_queue CL_API_CALL clCreateCommandQueueWithPropertiesKHR(
    cl_context context, cl_device_id device,
    const cl_queue_properties_khr *properties, cl_int *error)
{
    return clCreateCommandQueueWithProperties(context, device, properties,
                                              error);
}

// There are no queues on the device.
CL_API_ENTRY cl_int CL_API_CALL clSetDefaultDeviceCommandQueue(
    cl_context context, cl_device_id device, cl_command_queue queue)
{
    cl_int status = check(context, device);

    (void)queue;
    return status == CL_SUCCESS ? CL_INVALID_OPERATION : status;
}

// Of OpenCL 1.0. The queue is emptied first: commands in it were started in the
// order of the old modes.
CL_API_ENTRY cl_int CL_API_CALL clSetCommandQueueProperty(
    cl_command_queue queue, cl_command_queue_properties modes, cl_bool enable,
    cl_command_queue_properties *before)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (modes & ~known)
        return CL_INVALID_VALUE;
    cl_int status = hdi_cl_finish(queue);
    if (status != CL_SUCCESS)
        return status;
    pthread_mutex_lock(&queue->lock);
    if (before)
        *before = queue->modes;
    queue->modes = enable ? queue->modes | modes : queue->modes & ~modes;
    pthread_mutex_unlock(&queue->lock);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clRetainCommandQueue(cl_command_queue queue)
{
    return hdi_cl_is(HDI_CL_QUEUE, queue) && hdi_cl_object_retain(queue)
               ? CL_SUCCESS
               : CL_INVALID_COMMAND_QUEUE;
}

// What is in the queue is to run, as the standard has it; the commands hold the
// queue until they have ended.
CL_API_ENTRY cl_int CL_API_CALL clReleaseCommandQueue(cl_command_queue queue)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    hdi_cl_flush(queue);
    return hdi_cl_object_release(queue) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

CL_API_ENTRY cl_int CL_API_CALL
clGetCommandQueueInfo(cl_command_queue queue, cl_command_queue_info name,
                      size_t size, void *value, size_t *size_ret)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    switch (name) {
        HDI_CL_IS(CL_QUEUE_CONTEXT, cl_context, queue->context)
        HDI_CL_IS(CL_QUEUE_DEVICE, cl_device_id, queue->device)
        HDI_CL_IS(CL_QUEUE_REFERENCE_COUNT, cl_uint,
                  hdi_cl_object_references(queue))
        HDI_CL_IS(CL_QUEUE_PROPERTIES, cl_command_queue_properties,
                  queue->modes)
        HDI_CL_BYTES(CL_QUEUE_PROPERTIES_ARRAY, queue->properties,
                     queue->property_count * sizeof(*queue->properties))
        HDI_CL_IS(CL_QUEUE_DEVICE_DEFAULT, cl_command_queue, NULL)
    case CL_QUEUE_SIZE:
        return CL_INVALID_COMMAND_QUEUE;
    default:
        return CL_INVALID_VALUE;
    }
}

CL_API_ENTRY cl_int CL_API_CALL clFlush(cl_command_queue queue)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    hdi_cl_flush(queue);
    return CL_SUCCESS;
}

CL_API_ENTRY cl_int CL_API_CALL clFinish(cl_command_queue queue)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    return hdi_cl_finish(queue);
}

// Markers and barriers --------------------------------------------------------

static const struct hdi_cl_work marker = {.type = CL_COMMAND_MARKER};
static const struct hdi_cl_work barrier = {.type = CL_COMMAND_BARRIER};

// A command that does nothing and ends with what it waits for. With an empty
// list that is, as the standard has it, all that was enqueued before.
static cl_int mark(cl_command_queue queue, const struct hdi_cl_work *work,
                   cl_uint count, const cl_event *list, cl_event *event)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    cl_int status = hdi_cl_check_wait(queue->context, count, list);
    if (status != CL_SUCCESS)
        return status;
    return hdi_cl_enqueue(queue, work, NULL, CL_FALSE, count, list, event);
}

CL_API_ENTRY cl_int CL_API_CALL
clEnqueueMarkerWithWaitList(cl_command_queue queue, cl_uint count,
                            const cl_event *list, cl_event *event)
{
    return mark(queue, &marker, count, list, event);
}

CL_API_ENTRY cl_int CL_API_CALL
clEnqueueBarrierWithWaitList(cl_command_queue queue, cl_uint count,
                             const cl_event *list, cl_event *event)
{
    return mark(queue, &barrier, count, list, event);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueMarker(cl_command_queue queue,
                                                cl_event *event)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    return event ? mark(queue, &marker, 0, NULL, event) : CL_INVALID_VALUE;
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueBarrier(cl_command_queue queue)
{
    return mark(queue, &barrier, 0, NULL, NULL);
}

CL_API_ENTRY cl_int CL_API_CALL clEnqueueWaitForEvents(cl_command_queue queue,
                                                       cl_uint count,
                                                       const cl_event *list)
{
    if (!hdi_cl_is(HDI_CL_QUEUE, queue))
        return CL_INVALID_COMMAND_QUEUE;
    if (count == 0 || !list)
        return CL_INVALID_VALUE;
    cl_int status = mark(queue, &barrier, count, list, NULL);
    return status == CL_INVALID_EVENT_WAIT_LIST ? CL_INVALID_EVENT : status;
}
