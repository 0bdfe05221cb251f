// The driver through the system's loader: what a program does with it.
#include "tests/opencl/driver.h"

enum {
    N = 10000
};

// From source to result: what works at all, with objects of its own, on the
// device and queue of `d`.
static void adds(struct driver *d)
{
    static float a[N], b[N], c[N];
    cl_program program = driver_build(
        d,
        "kernel void add(global const float *a, global const float *b,"
        " global float *c, float f)"
        "{ size_t i = get_global_id(0); c[i] = a[i] + f * b[i]; }",
        NULL);
    cl_kernel kernel = driver_kernel(program, "add");
    const size_t n = N;
    float f = 3;

    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 7);
    }
    cl_mem ma = driver_buffer(d, sizeof(a), a);
    cl_mem mb = driver_buffer(d, sizeof(b), b);
    cl_mem mc = driver_buffer(d, sizeof(c), NULL);
    CL_OK(clSetKernelArg(kernel, 0, sizeof(ma), &ma));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(mb), &mb));
    CL_OK(clSetKernelArg(kernel, 2, sizeof(mc), &mc));
    CL_OK(clSetKernelArg(kernel, 3, sizeof(f), &f));
    CL_OK(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 NULL));
    CL_OK(clEnqueueReadBuffer(d->queue, mc, CL_TRUE, 0, sizeof(c), c, 0, NULL,
                              NULL));
    for (int i = 0; i < N; i++)
        CHECK(c[i] == (float)i + 3 * (float)(i % 7));
    CL_OK(clReleaseMemObject(ma));
    CL_OK(clReleaseMemObject(mb));
    CL_OK(clReleaseMemObject(mc));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
}

static void a_kernel_runs(void)
{
    struct driver d = driver_open(0);

    adds(&d);
    driver_close(&d);
}

// To build one with none is how programs ask whether a compiler is there.
static void a_program_may_have_no_kernels(void)
{
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, "int f(int n) { return n; }", NULL);
    size_t count = 1;
    cl_uint made = 1;
    cl_int status;

    CL_OK(clGetProgramInfo(program, CL_PROGRAM_NUM_KERNELS, sizeof(count),
                           &count, NULL));
    CL_OK(clCreateKernelsInProgram(program, 0, NULL, &made));
    CHECK(count == 0 && made == 0);
    CHECK(!clCreateKernel(program, "f", &status));
    CL_IS(status, CL_INVALID_KERNEL_NAME);
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// Both vendors' objects are used in turn.
static void runs_beside_another_vendor(void)
{
    cl_platform_id other = driver_find("Portable Computing Language");

    // A driver that is not instrumented looks like races.
    if (!other || HOLDS_SIGNALS) {
        printf("no other vendor's driver is installed: not run beside one\n");
        return;
    }
    struct driver a = driver_open(0), b = driver_open_on(other, 0);
    adds(&a);
    adds(&b);
    adds(&a);
    // Handles of one vendor are none of the other's.
    CL_IS(clReleaseEvent((cl_event)(void *)a.queue), CL_INVALID_EVENT);
    driver_close(&b);
    adds(&a);
    driver_close(&a);
}

// A part of the machine runs what the whole does, with its own workers.
static void parts_of_the_device_run_kernels(void)
{
    const cl_device_partition_property ones[] = {CL_DEVICE_PARTITION_EQUALLY, 1,
                                                 0};
    struct driver whole = driver_open(0), part = whole;
    cl_device_id devices[256];
    cl_uint units, count = 0;
    cl_int error;

    CL_OK(clGetDeviceInfo(whole.device, CL_DEVICE_MAX_COMPUTE_UNITS,
                          sizeof(units), &units, NULL));
    if (units == 1) { // the whole is no part
        CL_IS(clCreateSubDevices(whole.device, ones, 256, devices, &count),
              CL_DEVICE_PARTITION_FAILED);
        driver_close(&whole);
        return;
    }
    CL_OK(clCreateSubDevices(whole.device, ones, 256, devices, &count));
    CHECK(count == units);
    part.device = devices[count - 1];
    part.context = clCreateContext(NULL, count, devices, NULL, NULL, &error);
    CL_OK(error);
    part.queue = clCreateCommandQueueWithProperties(part.context, part.device,
                                                    NULL, &error);
    CL_OK(error);
    CL_OK(clGetDeviceInfo(part.device, CL_DEVICE_MAX_COMPUTE_UNITS,
                          sizeof(units), &units, NULL));
    CHECK(units == 1);
    adds(&part);
    driver_close(&part);
    for (cl_uint i = 0; i < count; i++)
        CL_OK(clReleaseDevice(devices[i]));
    CL_IS(clReleaseDevice(devices[0]), CL_INVALID_DEVICE);
    driver_close(&whole);
}

// The application lets go of everything while a command is under way: the
// worker that ends it is the last who needs the device.
static void a_part_may_go_with_its_last_command(void)
{
    const cl_device_partition_property one[] = {
        CL_DEVICE_PARTITION_BY_COUNTS, 1,
        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    const size_t n = 1 << 20;
    struct driver whole = driver_open(0), part = whole;
    cl_int error;

    cl_device_id devices[256];
    cl_uint count;
    CL_OK(clCreateSubDevices(whole.device, one, 256, devices, &count));
    part.device = devices[0];
    part.context = clCreateContext(NULL, 1, devices, NULL, NULL, &error);
    CL_OK(error);
    part.queue = clCreateCommandQueueWithProperties(part.context, part.device,
                                                    NULL, &error);
    CL_OK(error);
    cl_program program = driver_build(
        &part, "kernel void k(global int *p) { p[get_global_id(0)] = 1; }",
        NULL);
    cl_kernel kernel = driver_kernel(program, "k");
    cl_mem mem = driver_buffer(&part, n * sizeof(int), NULL);
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    for (int i = 0; i < 20; i++)
        CL_OK(clEnqueueNDRangeKernel(part.queue, kernel, 1, NULL, &n, NULL, 0,
                                     NULL, NULL));
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    for (cl_uint i = 0; i < count; i++)
        CL_OK(clReleaseDevice(devices[i]));
    driver_close(&part);
    // Whatever became of it, the machine goes on.
    adds(&whole);
    driver_close(&whole);
}

// `bad` writes 4 GiB beyond its buffer.
static const char faulty[] =
    "kernel void bad(global int *p) { p[1 << 30] = 1; }"
    "kernel void good(global int *p) { p[0] = 7; }";

// A kernel's fault is the end of its command alone.
static void a_fault_ends_its_command_and_the_queue_goes_on(void)
{
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, faulty, NULL);
    cl_kernel bad = driver_kernel(program, "bad");
    cl_kernel good = driver_kernel(program, "good");
    cl_mem mem = driver_buffer(&d, 64, NULL);
    const size_t one = 1;
    cl_event event, after;
    cl_int status, value = 0;

    CL_OK(clSetKernelArg(bad, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(good, 0, sizeof(mem), &mem));
    CL_OK(clEnqueueNDRangeKernel(d.queue, bad, 1, NULL, &one, NULL, 0, NULL,
                                 &event));
    CL_OK(clEnqueueNDRangeKernel(d.queue, good, 1, NULL, &one, NULL, 0, NULL,
                                 NULL));
    CL_OK(clEnqueueMarkerWithWaitList(d.queue, 1, &event, &after));
    CL_OK(clFinish(d.queue));
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CHECK(status < 0);
    // Who waits for it by name ends as well, with the standard's code.
    CL_OK(clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CHECK(status == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    CL_OK(clEnqueueReadBuffer(d.queue, mem, CL_TRUE, 0, 4, &value, 0, NULL,
                              NULL));
    CHECK(value == 7);
    CL_OK(clReleaseEvent(event));
    CL_OK(clReleaseEvent(after));
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(bad));
    CL_OK(clReleaseKernel(good));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// A kernel does not keep its arguments: one that is released is gone, even when
// another object has its address.
//
// Handles come back after a thousand objects or so: the loop waits for that,
// since only then the address is the same.
static void a_released_argument_is_not_taken_for_its_successor(void)
{
    struct driver d = driver_open(0);
    cl_program program =
        driver_build(&d, "kernel void set(global int *p) { p[0] = 5; }", NULL);
    cl_kernel kernel = driver_kernel(program, "set");
    cl_mem old = driver_buffer(&d, sizeof(int), NULL), mem = NULL;
    const size_t one = 1;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(old), &old));
    CL_OK(clReleaseMemObject(old));
    for (int i = 0; i < 100000 && mem != old; i++) {
        if (mem)
            CL_OK(clReleaseMemObject(mem));
        mem = driver_buffer(&d, sizeof(int), NULL);
    }
    CHECK(mem == old);
    CL_IS(clEnqueueNDRangeKernel(d.queue, kernel, 1, NULL, &one, NULL, 0, NULL,
                                 NULL),
          CL_INVALID_KERNEL_ARGS);
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clEnqueueNDRangeKernel(d.queue, kernel, 1, NULL, &one, NULL, 0, NULL,
                                 NULL));
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

int main(void)
{
    a_kernel_runs();
    a_program_may_have_no_kernels();
    a_released_argument_is_not_taken_for_its_successor();
    a_part_may_go_with_its_last_command();
    parts_of_the_device_run_kernels();
    runs_beside_another_vendor();
    a_fault_ends_its_command_and_the_queue_goes_on();
    return 0;
}
