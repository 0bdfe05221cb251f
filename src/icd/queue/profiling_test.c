// Profiling: the four times of a command, against each other, against what the
// application's clock says of its calls, and against what commands wait for.
#include <stdbool.h>
#include <time.h>

#include "tests/opencl/driver.h"

// A MiB takes long enough to be told from nothing; a nap is long against the
// grain of any clock; STREAM is often enough to hit the moment in which a
// command ends.
enum {
    BYTES = 1 << 20,
    NAP = 3000000, // [ns]
    STREAM = 60000
};

enum {
    QUEUED,
    SUBMITTED,
    STARTED,
    ENDED,
    TIMES
};

struct times {
    cl_ulong at[TIMES]; // [ns]
};

// Two buffers of BYTES and a kernel that takes one of them.
struct rig {
    struct driver d;
    cl_program program;
    cl_kernel kernel;
    cl_mem a, b;
};

static struct rig open_rig(cl_command_queue_properties modes)
{
    struct rig r = {.d = driver_open(modes | CL_QUEUE_PROFILING_ENABLE)};

    r.program = driver_build(
        &r.d, "kernel void add(global int *p) { p[get_global_id(0)]++; }",
        NULL);
    r.kernel = driver_kernel(r.program, "add");
    r.a = driver_buffer(&r.d, BYTES, NULL);
    r.b = driver_buffer(&r.d, BYTES, NULL);
    CL_OK(clSetKernelArg(r.kernel, 0, sizeof(r.a), &r.a));
    return r;
}

static void close_rig(struct rig *r)
{
    CL_OK(clReleaseMemObject(r->a));
    CL_OK(clReleaseMemObject(r->b));
    CL_OK(clReleaseKernel(r->kernel));
    CL_OK(clReleaseProgram(r->program));
    driver_close(&r->d);
}

// The clock that events are told in.
static cl_ulong now(const struct rig *r)
{
    cl_ulong time;

    CL_OK(clGetHostTimer(r->d.device, &time));
    return time;
}

// The times of a command that has ended, in their order. Its event goes.
static struct times take_times(cl_event event)
{
    static const cl_profiling_info names[] = {
        CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
        CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    struct times t;

    for (int i = 0; i < TIMES; i++) {
        CL_OK(clGetEventProfilingInfo(event, names[i], sizeof(t.at[i]),
                                      &t.at[i], NULL));
        CHECK(i == 0 || t.at[i] >= t.at[i - 1]);
    }
    CL_OK(clReleaseEvent(event));
    return t;
}

static void CL_CALLBACK nap(void *arguments)
{
    (void)arguments;
    nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
}

// One command of each sort, behind `list`.
enum {
    SORTS = 8
};

static cl_event enqueue(struct rig *r, int sort, cl_uint count,
                        const cl_event *list)
{
    static char host[BYTES];
    static void *mapped;
    const size_t items = BYTES / sizeof(int);
    cl_command_queue q = r->d.queue;
    const int zero = 0;
    cl_event event;
    cl_int error;

    switch (sort) {
    case 0:
        CL_OK(clEnqueueNDRangeKernel(q, r->kernel, 1, NULL, &items, NULL, count,
                                     list, &event));
        break;
    case 1:
        CL_OK(clEnqueueCopyBuffer(q, r->a, r->b, 0, 0, BYTES, count, list,
                                  &event));
        break;
    case 2:
        CL_OK(clEnqueueFillBuffer(q, r->a, &zero, sizeof(zero), 0, BYTES, count,
                                  list, &event));
        break;
    case 3:
        CL_OK(clEnqueueReadBuffer(q, r->a, CL_FALSE, 0, BYTES, host, count,
                                  list, &event));
        break;
    case 4:
        mapped = clEnqueueMapBuffer(q, r->a, CL_FALSE, CL_MAP_READ, 0, BYTES,
                                    count, list, &event, &error);
        CL_OK(error);
        break;
    case 5:
        CL_OK(clEnqueueUnmapMemObject(q, r->a, mapped, count, list, &event));
        break;
    case 6:
        CL_OK(clEnqueueMarkerWithWaitList(q, count, list, &event));
        break;
    default:
        CL_OK(clEnqueueNativeKernel(q, nap, NULL, 0, 0, NULL, NULL, count, list,
                                    &event));
    }
    return event;
}

// What the application's clock said before and after each call bounds the
// command's times.
static void times_lie_between_the_calls(cl_command_queue_properties modes)
{
    struct rig r = open_rig(modes);

    for (int sort = 0; sort < SORTS; sort++) {
        cl_ulong before = now(&r);
        cl_event event = enqueue(&r, sort, 0, NULL);
        cl_ulong enqueued = now(&r);
        CL_OK(clFlush(r.d.queue));
        CL_OK(clWaitForEvents(1, &event));
        cl_ulong after = now(&r);
        struct times t = take_times(event);
        CHECK(before <= t.at[QUEUED] && t.at[QUEUED] <= enqueued);
        CHECK(enqueued <= t.at[SUBMITTED] && t.at[ENDED] <= after);
        if (sort == SORTS - 1)
            CHECK(t.at[ENDED] - t.at[STARTED] >= NAP);
    }
    close_rig(&r);
}

// A command that waits for the application begins after that, and took no
// longer for having waited.
static void what_waits_for_the_user_starts_later(
    cl_command_queue_properties modes)
{
    struct rig r = open_rig(modes);

    for (int sort = 0; sort < SORTS; sort++) {
        cl_int error;
        cl_event user = clCreateUserEvent(r.d.context, &error);
        CL_OK(error);
        cl_event event = enqueue(&r, sort, 1, &user);
        cl_ulong enqueued = now(&r);
        CL_OK(clFlush(r.d.queue));
        nap(NULL);
        cl_ulong set = now(&r);
        CL_OK(clSetUserEventStatus(user, CL_COMPLETE));
        CL_OK(clFinish(r.d.queue));
        cl_ulong after = now(&r);
        struct times t = take_times(event);
        CHECK(t.at[QUEUED] <= enqueued && enqueued + NAP <= set);
        CHECK(set <= t.at[STARTED] && t.at[ENDED] <= after);
        CL_OK(clReleaseEvent(user));
    }
    close_rig(&r);
}

// In order, or by wait lists, one begins when the other has ended.
static void one_after_the_other(cl_command_queue_properties modes)
{
    struct rig r = open_rig(modes);
    bool apart = modes & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    cl_event events[2 * SORTS];
    cl_ulong last = 0;

    for (int i = 0; i < 2 * SORTS; i++)
        events[i] = enqueue(&r, i % SORTS, apart && i > 0,
                            apart && i > 0 ? &events[i - 1] : NULL);
    CL_OK(clFinish(r.d.queue));
    for (int i = 0; i < 2 * SORTS; i++) {
        struct times t = take_times(events[i]);
        CHECK(t.at[STARTED] >= last);
        last = t.at[ENDED];
    }
    close_rig(&r);
}

// Enqueued while the one before it ends, again and again: none is submitted
// before it was there.
static void enqueued_at_the_end_of_another(cl_command_queue_properties modes)
{
    static cl_event events[STREAM];
    struct rig r = open_rig(modes);
    cl_ulong last = 0;

    for (int i = 0; i < STREAM; i++) {
        CL_OK(clEnqueueMarkerWithWaitList(
            r.d.queue, i > 0, i > 0 ? &events[i - 1] : NULL, &events[i]));
        CL_OK(clFlush(r.d.queue));
    }
    CL_OK(clFinish(r.d.queue));
    for (int i = 0; i < STREAM; i++) {
        struct times t = take_times(events[i]);
        CHECK(t.at[STARTED] >= last);
        last = t.at[ENDED];
    }
    close_rig(&r);
}

int main(void)
{
    const cl_command_queue_properties modes[] = {
        0, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE};

    for (int i = 0; i < 2; i++) {
        times_lie_between_the_calls(modes[i]);
        what_waits_for_the_user_starts_later(modes[i]);
        one_after_the_other(modes[i]);
        enqueued_at_the_end_of_another(modes[i]);
    }
    return 0;
}
