// Children of fork(): the parent's objects are none of theirs but for devices,
// which they may use, and the parent's trace is the parent's to write.
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/status.h"
#include "tests/folder.h"
#include "tests/opencl/driver.h"

enum {
    N = 1000
};

// Asked by AddressSanitizer: what a child forgets of its parent's is no leak.
HD_API const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}

static void adds(const struct driver *d)
{
    static const char source[] =
        "kernel void add(global int *p, int n) { p[get_global_id(0)] += n; }";
    static int seen[N];
    const size_t n = N;
    const int by = 3;
    cl_program program = driver_build(d, source, NULL);
    cl_kernel kernel = driver_kernel(program, "add");

    memset(seen, 0, sizeof(seen));
    cl_mem mem = driver_buffer(d, sizeof(seen), seen);
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 NULL));
    CL_OK(clEnqueueReadBuffer(d->queue, mem, CL_TRUE, 0, sizeof(seen), seen, 0,
                              NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == by);
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
}

static struct driver open_on(cl_device_id device)
{
    struct driver d = {.device = device};
    cl_int error;

    d.context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    CL_OK(error);
    d.queue =
        clCreateCommandQueueWithProperties(d.context, device, NULL, &error);
    CL_OK(error);
    return d;
}

// As it ends by itself: its exit status.
static int end_of(pid_t child)
{
    int state;

    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFEXITED(state));
    return WEXITSTATUS(state);
}

// A child that only ends has nothing to write, nor has one that uses the
// driver.
//
// exit(), which runs what the parent registered for its end.
static void trace_is_the_parents(const struct driver *d, const char *trace)
{
    for (int uses = 0; uses < 2; uses++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CL_IS(clFinish(d->queue), CL_INVALID_COMMAND_QUEUE);
            CL_IS(clReleaseContext(d->context), CL_INVALID_CONTEXT);
            if (uses) {
                struct driver own = driver_open(0);
                adds(&own);
                driver_close(&own);
            }
            exit(0);
        }
        CHECK(end_of(child) == 0);
        CHECK(access(trace, F_OK) != 0);
    }
}

// One that has run what is the parent's has no workers in the child.
static void a_part_runs_in_a_child(const struct driver *whole)
{
    const cl_device_partition_property one[] = {
        CL_DEVICE_PARTITION_BY_COUNTS, 1,
        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_device_id device;

    CL_OK(clCreateSubDevices(whole->device, one, 1, &device, NULL));
    struct driver part = open_on(device);
    adds(&part);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        struct driver own = open_on(device);
        adds(&own);
        driver_close(&own);
        _exit(0);
    }
    CHECK(end_of(child) == 0);
    adds(&part);
    driver_close(&part);
    CL_OK(clReleaseDevice(device));
}

static void run(const char *trace)
{
    struct driver d = driver_open(0);

    adds(&d);
    trace_is_the_parents(&d, trace);
    a_part_runs_in_a_child(&d);
    adds(&d);
    driver_close(&d);
}

// All of it in a process whose end can be looked at.
int main(void)
{
    char trace[320];

    if (HOLDS_SIGNALS)
        SKIP("a child has none of the sanitizer's threads");
    const char *folder = make_folder();
    snprintf(trace, sizeof(trace), "%s/trace.json", folder);
    setenv("HEDDLE_TRACE", trace, 1);
    pid_t all = fork();
    CHECK(all >= 0);
    if (all == 0) {
        run(trace);
        exit(0);
    }
    int status = end_of(all);
    if (status == 0)
        CHECK(unlink(trace) == 0);
    CHECK(rmdir(folder) == 0);
    return status;
}
