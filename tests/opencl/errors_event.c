// Events, markers and barriers.
#include "tests/opencl/errors.h"

static void CL_CALLBACK forget(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
}

static void marks(struct errors *r)
{
    cl_command_queue q = r->queue;

    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueMarkerWithWaitList,
                   r->bad, 1, NULL, NULL))
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrierWithWaitList,
                   r->bad, 1, NULL, NULL))
    WAITS(clEnqueueMarkerWithWaitList, q);
    WAITS(clEnqueueBarrierWithWaitList, q);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueMarker, r->bad, NULL))
    IS(CL_INVALID_VALUE, clEnqueueMarker, q, NULL);
    EACH(queue, IS(CL_INVALID_COMMAND_QUEUE, clEnqueueBarrier, r->bad))
    EACH(queue,
         IS(CL_INVALID_COMMAND_QUEUE, clEnqueueWaitForEvents, r->bad, 0, NULL))
    IS(CL_INVALID_VALUE, clEnqueueWaitForEvents, q, 0, &r->event);
    IS(CL_INVALID_VALUE, clEnqueueWaitForEvents, q, 1, NULL);
    EACH(event, IS(CL_INVALID_EVENT, clEnqueueWaitForEvents, q, 1,
                   (cl_event *)&r->bad))
    IS(CL_INVALID_CONTEXT, clEnqueueWaitForEvents, q, 1, &r->other_event);
}

static void waiting(struct errors *r)
{
    cl_event two[] = {r->event, r->other_event};

    IS(CL_INVALID_VALUE, clWaitForEvents, 0, &r->event);
    IS(CL_INVALID_VALUE, clWaitForEvents, 1, NULL);
    EACH(event, IS(CL_INVALID_EVENT, clWaitForEvents, 1, (cl_event *)&r->bad))
    IS(CL_INVALID_CONTEXT, clWaitForEvents, 2, two);
    cl_event failed = clCreateUserEvent(r->context, &r->e);
    CL_OK(r->e);
    CL_OK(clSetUserEventStatus(failed, -1));
    IS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clWaitForEvents, 1,
       &failed);
    // So does a command that blocks behind it.
    IS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clEnqueueReadBuffer,
       r->queue, r->mem, CL_TRUE, 0, 64, r->host, 1, &failed, NULL);
    IS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, clEnqueueSVMMemcpy,
       r->queue, CL_TRUE, r->host, r->host + 64, 16, 1, &failed, NULL);
    CL_OK(clReleaseEvent(failed));
}

static void users(struct errors *r)
{
    cl_event user = clCreateUserEvent(r->context, &r->e);

    CL_OK(r->e);
    EACH(context, NONE(CL_INVALID_CONTEXT, clCreateUserEvent, r->bad))
    EACH(event, IS(CL_INVALID_EVENT, clSetUserEventStatus, r->bad, 7))
    IS(CL_INVALID_EVENT, clSetUserEventStatus, r->event, CL_RUNNING);
    IS(CL_INVALID_VALUE, clSetUserEventStatus, user, CL_RUNNING);
    IS(CL_INVALID_VALUE, clSetUserEventStatus, user, CL_SUBMITTED);
    IS(CL_SUCCESS, clSetUserEventStatus, user, CL_COMPLETE);
    IS(CL_INVALID_OPERATION, clSetUserEventStatus, user, CL_COMPLETE);
    IS(CL_INVALID_VALUE, clSetUserEventStatus, user, CL_RUNNING);
    CL_OK(clReleaseEvent(user));
}

void errors_event(struct errors *r)
{
    const cl_queue_properties profiles[] = {CL_QUEUE_PROPERTIES,
                                            CL_QUEUE_PROFILING_ENABLE, 0};
    const cl_profiling_info start = CL_PROFILING_COMMAND_START;
    cl_event timed;

    marks(r);
    waiting(r);
    users(r);
    COUNTS(event, CL_INVALID_EVENT, clRetainEvent, clReleaseEvent);
    TELLS(event, CL_INVALID_EVENT, clGetEventInfo, r->event,
          CL_EVENT_COMMAND_TYPE);
    EACH(event, IS(CL_INVALID_EVENT, clSetEventCallback, r->bad, 7, NULL, NULL))
    IS(CL_INVALID_VALUE, clSetEventCallback, r->event, CL_COMPLETE, NULL, NULL);
    IS(CL_INVALID_VALUE, clSetEventCallback, r->event, CL_QUEUED, forget, NULL);
    IS(CL_INVALID_VALUE, clSetEventCallback, r->event, -1, forget, NULL);

    EACH(event, IS(CL_INVALID_EVENT, clGetEventProfilingInfo, r->bad, 1, 64,
                   r->host, NULL))
    IS(CL_PROFILING_INFO_NOT_AVAILABLE, clGetEventProfilingInfo, r->event, 1, 0,
       r->host, NULL);
    IS(CL_PROFILING_INFO_NOT_AVAILABLE, clGetEventProfilingInfo, r->user, start,
       64, r->host, NULL);
    cl_command_queue q = clCreateCommandQueueWithProperties(
        r->context, r->device, profiles, &r->e);
    CL_OK(r->e);
    CL_OK(clEnqueueMarkerWithWaitList(q, 1, &r->user, &timed));
    IS(CL_PROFILING_INFO_NOT_AVAILABLE, clGetEventProfilingInfo, timed, start,
       64, r->host, NULL);
    CL_OK(clSetUserEventStatus(r->user, CL_COMPLETE));
    CL_OK(clFinish(q));
    IS(CL_INVALID_VALUE, clGetEventProfilingInfo, timed, 1, 64, r->host, NULL);
    IS(CL_INVALID_VALUE, clGetEventProfilingInfo, timed, start, 4, r->host,
       NULL);
    IS(CL_SUCCESS, clGetEventProfilingInfo, timed, start, 64, r->host, NULL);
    CL_OK(clReleaseEvent(timed));
    CL_OK(clReleaseCommandQueue(q));
}
