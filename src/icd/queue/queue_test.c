// Queues and events through the loader: order, overlap, wait lists, user
// events, callbacks, times, and many commands.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tests/opencl/driver.h"

// `step` says by its result whether it ran in its place: it only goes from one
// number to the next. `meet` waits for a bounded time, so that commands that do
// not overlap fail the test instead of hanging it.
static const char source[] =
    "kernel void step(global int *p, int from, int to)"
    "{ if (p[0] == from) p[0] = to; }"
    "kernel void meet(global int *p, int me, int other)"
    "{ global volatile atomic_int *a = (global volatile atomic_int *)p;"
    "  atomic_store(&a[me], 1);"
    "  for (int i = 0; i < 400000000 && !atomic_load(&a[other]); i++) ;"
    "  p[2 + me] = atomic_load(&a[other]); }";

// What each test opens, runs and closes: a driver with its queue, both kernels,
// and 16 ints that begin as 0.
struct rig {
    struct driver d;
    cl_program program;
    cl_kernel step, meet;
    cl_mem mem;
};

static struct rig open_rig(cl_command_queue_properties modes)
{
    static int zero[16];
    struct rig r = {.d = driver_open(modes)};

    r.program = driver_build(&r.d, source, "-cl-std=CL3.0");
    r.step = driver_kernel(r.program, "step");
    r.meet = driver_kernel(r.program, "meet");
    r.mem = driver_buffer(&r.d, sizeof(zero), zero);
    return r;
}

static void close_rig(struct rig *r)
{
    CL_OK(clReleaseMemObject(r->mem));
    CL_OK(clReleaseKernel(r->step));
    CL_OK(clReleaseKernel(r->meet));
    CL_OK(clReleaseProgram(r->program));
    driver_close(&r->d);
}

// One work-item of a kernel on the buffer, with two numbers.
static void enqueue(struct rig *r, cl_kernel kernel, int a, int b,
                    cl_uint count, const cl_event *list, cl_event *event)
{
    const size_t one = 1;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(r->mem), &r->mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(a), &a));
    CL_OK(clSetKernelArg(kernel, 2, sizeof(b), &b));
    CL_OK(clEnqueueNDRangeKernel(r->d.queue, kernel, 1, NULL, &one, &one, count,
                                 list, event));
}

// It waits, and flushes by that.
static int value(struct rig *r, size_t index)
{
    int v = -1;

    CL_OK(clEnqueueReadBuffer(r->d.queue, r->mem, CL_TRUE, index * sizeof(v),
                              sizeof(v), &v, 0, NULL, NULL));
    return v;
}

static cl_int status_of(cl_event event)
{
    cl_int status;

    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    return status;
}

// More than a queue holds; each depends on the one before.
static void many_commands_run_in_order(void)
{
    enum {
        MANY = 100000
    };
    struct rig r = open_rig(0);

    for (int i = 0; i < MANY; i++)
        enqueue(&r, r.step, i, i + 1, 0, NULL, NULL);
    CL_OK(clFinish(r.d.queue));
    CHECK(value(&r, 0) == MANY);
    close_rig(&r);
}

// A full queue that waits for the application alone is no deadlock.
static void a_full_queue_behind_a_user_event_takes_more(void)
{
    enum {
        MANY = 17000
    };
    struct rig r = open_rig(0);
    cl_int error;
    cl_event gate = clCreateUserEvent(r.d.context, &error);

    CL_OK(error);
    enqueue(&r, r.step, 0, 1, 1, &gate, NULL);
    for (int i = 1; i < MANY; i++)
        enqueue(&r, r.step, i, i + 1, 0, NULL, NULL);
    CL_OK(clSetUserEventStatus(gate, CL_COMPLETE));
    CL_OK(clFinish(r.d.queue));
    CHECK(value(&r, 0) == MANY);
    CL_OK(clReleaseEvent(gate));
    close_rig(&r);
}

// Each waits for a sign of the other, so neither ends alone.
static void commands_of_an_out_of_order_queue_overlap(void)
{
    struct rig r = open_rig(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_uint units;

    CL_OK(clGetDeviceInfo(r.d.device, CL_DEVICE_MAX_COMPUTE_UNITS,
                          sizeof(units), &units, NULL));
    if (units > 1) {
        enqueue(&r, r.meet, 0, 1, 0, NULL, NULL);
        enqueue(&r, r.meet, 1, 0, 0, NULL, NULL);
        CL_OK(clFinish(r.d.queue));
        CHECK(value(&r, 2) == 1 && value(&r, 3) == 1);
    }
    close_rig(&r);
}

// The order is that of the lists, not of enqueueing.
static void wait_lists_order_an_out_of_order_queue(void)
{
    struct rig r = open_rig(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_int error;
    cl_event gate = clCreateUserEvent(r.d.context, &error), last, marker;

    CL_OK(error);
    last = gate;
    for (int i = 0; i < 100; i++) {
        cl_event event;
        enqueue(&r, r.step, i, i + 1, 1, &last, &event);
        if (i > 0)
            CL_OK(clReleaseEvent(last));
        last = event;
    }
    CL_OK(clEnqueueBarrierWithWaitList(r.d.queue, 0, NULL, &marker));
    enqueue(&r, r.step, 100, 101, 0, NULL, NULL);
    CL_OK(clFlush(r.d.queue));
    CHECK(status_of(last) > CL_COMPLETE && status_of(marker) > CL_COMPLETE);
    CL_OK(clSetUserEventStatus(gate, CL_COMPLETE));
    CL_IS(clSetUserEventStatus(gate, CL_COMPLETE), CL_INVALID_OPERATION);
    CL_OK(clFinish(r.d.queue));
    CHECK(value(&r, 0) == 101);
    CL_OK(clReleaseEvent(last));
    CL_OK(clReleaseEvent(marker));
    CL_OK(clReleaseEvent(gate));
    close_rig(&r);
}

// The command ends without having run, and tells so; the user's own code stays
// with the user's event.
static void a_failed_user_event_ends_what_waits_for_it(void)
{
    struct rig r = open_rig(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_int error;
    cl_event gate = clCreateUserEvent(r.d.context, &error), event;

    CL_OK(error);
    enqueue(&r, r.step, 0, 1, 1, &gate, &event);
    CL_OK(clSetUserEventStatus(gate, -77));
    CL_IS(clWaitForEvents(1, &event),
          CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CHECK(status_of(event) < 0 && status_of(gate) == -77);
    CHECK(value(&r, 0) == 0);
    CL_OK(clReleaseEvent(event));
    CL_OK(clReleaseEvent(gate));
    close_rig(&r);
}

// In order, what comes next does not mind that the one before has failed,
// unless it names it.
static void an_in_order_queue_goes_on_after_a_failure(void)
{
    struct rig r = open_rig(0);
    cl_int error;
    cl_event gate = clCreateUserEvent(r.d.context, &error), events[3];

    CL_OK(error);
    enqueue(&r, r.step, 0, 1, 1, &gate, &events[0]);
    enqueue(&r, r.step, 0, 2, 0, NULL, &events[1]);
    enqueue(&r, r.step, 2, 3, 1, &events[0], &events[2]);
    CL_OK(clSetUserEventStatus(gate, -5));
    CL_OK(clFinish(r.d.queue));
    CHECK(status_of(events[0]) < 0 && status_of(events[1]) == CL_COMPLETE &&
          status_of(events[2]) < 0);
    CHECK(value(&r, 0) == 2);
    // One that comes late fails as well.
    CL_OK(clReleaseEvent(events[2]));
    enqueue(&r, r.step, 2, 3, 1, &events[0], &events[2]);
    CL_IS(clWaitForEvents(1, &events[2]),
          CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    for (int i = 0; i < 3; i++)
        CL_OK(clReleaseEvent(events[i]));
    CL_OK(clReleaseEvent(gate));
    close_rig(&r);
}

// Parts of the device have workers of their own; their queues wait for each
// other, and fail for each other.
static void parts_of_the_device_wait_for_each_other(void)
{
    static const cl_device_partition_property singly[] = {
        CL_DEVICE_PARTITION_EQUALLY, 1, 0};
    struct driver whole = driver_open(0);
    cl_device_id parts[2];
    cl_uint count = 0;
    cl_int error;

    clCreateSubDevices(whole.device, singly, 0, NULL, &count);
    if (count != 2) { // which needs two cores, and more make no difference
        driver_close(&whole);
        return;
    }
    CL_OK(clCreateSubDevices(whole.device, singly, 2, parts, NULL));
    struct rig r = {.d = {.device = parts[0]}};
    r.d.context = clCreateContext(NULL, 2, parts, NULL, NULL, &error);
    CL_OK(error);
    cl_command_queue queues[2];
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(r.d.context, parts[i],
                                                       NULL, &error);
        CL_OK(error);
    }
    r.program = driver_build(&r.d, source, "-cl-std=CL3.0");
    CL_OK(clBuildProgram(r.program, 2, parts, "-cl-std=CL3.0", NULL, NULL));
    r.step = driver_kernel(r.program, "step");
    int zero = 0;
    r.mem = driver_buffer(&r.d, sizeof(zero), &zero);
    for (cl_int fate = CL_COMPLETE; fate >= -1; fate--) {
        cl_event gate = clCreateUserEvent(r.d.context, &error), last = gate;
        CL_OK(error);
        for (int i = 0; i < 20; i++) {
            cl_event event;
            r.d.queue = queues[i % 2];
            enqueue(&r, r.step, i, i + 1, 1, &last, &event);
            if (i > 0)
                CL_OK(clReleaseEvent(last));
            last = event;
        }
        CL_OK(clFlush(queues[0]));
        CL_OK(clFlush(queues[1]));
        CL_OK(clSetUserEventStatus(gate, fate));
        CL_OK(clReleaseEvent(gate));
        CL_IS(clWaitForEvents(1, &last),
              fate == CL_COMPLETE
                  ? CL_SUCCESS
                  : CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CHECK(value(&r, 0) == 20);
        CL_OK(clReleaseEvent(last));
    }
    CL_OK(clReleaseMemObject(r.mem));
    CL_OK(clReleaseKernel(r.step));
    CL_OK(clReleaseProgram(r.program));
    for (int i = 0; i < 2; i++) {
        CL_OK(clReleaseCommandQueue(queues[i]));
        CL_OK(clReleaseDevice(parts[i]));
    }
    CL_OK(clReleaseContext(r.d.context));
    driver_close(&whole);
}

// How often each callback came, and on which thread the last one.
static atomic_int called[3];
static atomic_ulong caller;

static void CL_CALLBACK note(cl_event event, cl_int status, void *data)
{
    int which = *(const int *)data;

    (void)event;
    CHECK(status == (which == 0   ? CL_SUBMITTED
                     : which == 1 ? CL_RUNNING
                                  : CL_COMPLETE));
    atomic_store(&caller, (unsigned long)pthread_self());
    atomic_fetch_add(&called[which], 1);
}

// They may come after the wait is over, so the test waits for them too.
static void callbacks_come_once_and_from_a_thread_of_their_own(void)
{
    static const int which[3] = {0, 1, 2};
    static const cl_int types[3] = {CL_SUBMITTED, CL_RUNNING, CL_COMPLETE};
    struct rig r = open_rig(0);
    cl_event event;

    enqueue(&r, r.step, 0, 1, 0, NULL, &event);
    for (int i = 0; i < 3; i++)
        CL_OK(clSetEventCallback(event, types[i], note,
                                 (void *)(uintptr_t)&which[i]));
    CL_OK(clFinish(r.d.queue));
    for (int i = 0; i < 3; i++)
        while (atomic_load(&called[i]) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(atomic_load(&caller) != (unsigned long)pthread_self());
    // Of what has ended it comes as well.
    CL_OK(clSetEventCallback(event, CL_COMPLETE, note,
                             (void *)(uintptr_t)&which[2]));
    while (atomic_load(&called[2]) < 2)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK(atomic_load(&called[0]) == 1 && atomic_load(&called[1]) == 1);
    CL_OK(clReleaseEvent(event));
    close_rig(&r);
}

// All are there once the command has ended, and none is earlier than the one
// before it.
static void times_of_a_command_follow_each_other(void)
{
    static const cl_profiling_info names[] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    struct rig r = open_rig(CL_QUEUE_PROFILING_ENABLE);
    cl_event event;
    cl_ulong times[4];

    enqueue(&r, r.step, 0, 1, 0, NULL, &event);
    CL_OK(clWaitForEvents(1, &event));
    for (int i = 0; i < 4; i++) {
        CL_OK(clGetEventProfilingInfo(event, names[i], sizeof(times[i]),
                                      &times[i], NULL));
        CHECK(times[i] > 0 && (i == 0 || times[i] >= times[i - 1]));
    }
    CL_OK(clReleaseEvent(event));
    close_rig(&r);
}

// The application finds a queue that it released through an event: what it
// enqueues there runs though nobody will flush it.
static void a_released_queue_runs_what_is_enqueued(void)
{
    struct rig r = open_rig(0);
    cl_int error;
    cl_command_queue queue = clCreateCommandQueue(
        r.d.context, r.d.device, CL_QUEUE_PROFILING_ENABLE, &error);
    cl_event first, second;
    const struct timespec moment = {.tv_nsec = 1000000};

    CL_OK(error);
    CL_OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &first));
    CL_OK(clReleaseCommandQueue(queue));
    queue = NULL;
    CL_OK(clGetEventInfo(first, CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue,
                         NULL));
    CL_OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &second));
    CL_OK(clReleaseEvent(first));
    // Asking for its status would flush it too.
    cl_ulong ended = 0;
    for (int i = 0; i < 20000 && ended == 0; i++) {
        clGetEventProfilingInfo(second, CL_PROFILING_COMMAND_END, sizeof(ended),
                                &ended, NULL);
        nanosleep(&moment, NULL);
    }
    CHECK(ended != 0);
    CL_OK(clReleaseEvent(second));
    close_rig(&r);
}

// Of the native kernels, and of their context.
static atomic_int ran, gone;

static void CL_CALLBACK count_run(void *arguments)
{
    (void)arguments;
    // Its context is there for as long as any of its commands.
    CHECK(atomic_load(&gone) == 0);
    atomic_fetch_add(&ran, 1);
}

static void CL_CALLBACK note_end(cl_context context, void *data)
{
    (void)context, (void)data;
    atomic_fetch_add(&gone, 1);
}

// What has no event keeps the queue and the context, however many there are and
// whatever is released meanwhile, and nothing keeps them afterwards.
static void commands_keep_a_released_queue(cl_command_queue_properties modes)
{
    enum {
        COMMANDS = 700 // more than a queue collects
    };
    const struct timespec moment = {.tv_nsec = 1000000};
    struct driver d = driver_open(modes);
    cl_int error;
    cl_event gate = clCreateUserEvent(d.context, &error);

    CL_OK(error);
    atomic_store(&ran, 0);
    atomic_store(&gone, 0);
    CL_OK(clSetContextDestructorCallback(d.context, note_end, NULL));
    CL_OK(clEnqueueBarrierWithWaitList(d.queue, 1, &gate, NULL));
    for (int i = 0; i < COMMANDS; i++)
        CL_OK(clEnqueueNativeKernel(d.queue, count_run, NULL, 0, 0, NULL, NULL,
                                    0, NULL, NULL));
    driver_close(&d);
    for (int i = 0; i < 20; i++)
        nanosleep(&moment, NULL);
    CHECK(atomic_load(&ran) == 0 && atomic_load(&gone) == 0);
    CL_OK(clSetUserEventStatus(gate, CL_COMPLETE));
    CL_OK(clReleaseEvent(gate));
    for (int i = 0; i < 20000 && atomic_load(&gone) == 0; i++)
        nanosleep(&moment, NULL);
    CHECK(atomic_load(&ran) == COMMANDS);
    CHECK(atomic_load(&gone) == 1);
}

int main(void)
{
    many_commands_run_in_order();
    a_full_queue_behind_a_user_event_takes_more();
    commands_of_an_out_of_order_queue_overlap();
    wait_lists_order_an_out_of_order_queue();
    a_failed_user_event_ends_what_waits_for_it();
    an_in_order_queue_goes_on_after_a_failure();
    parts_of_the_device_wait_for_each_other();
    callbacks_come_once_and_from_a_thread_of_their_own();
    times_of_a_command_follow_each_other();
    a_released_queue_runs_what_is_enqueued();
    commands_keep_a_released_queue(0);
    commands_keep_a_released_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    return 0;
}
