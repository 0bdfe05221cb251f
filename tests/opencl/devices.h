// For tests of the processor and the GPU of the fake driver together: a context
// of both, a program for both, and launches of its kernels.
#ifndef HEDDLE_TESTS_OPENCL_DEVICES_H
#define HEDDLE_TESTS_OPENCL_DEVICES_H

#include "tests/cuda/fake.h"
#include "tests/opencl/driver.h"

enum {
    CPU,
    GPU,
    DEVICES_N = 256 // ints of a buffer, work-items of a launch
};

// Owned by the test: devices_open() makes it, devices_close() releases it.
struct devices {
    cl_platform_id platform;
    cl_device_id device[2];
    cl_context context;
    cl_program program;
};

// Without the fake driver, or a compiler, the test is skipped.
static inline struct devices devices_open(const char *source)
{
    struct devices d = {.platform = driver_find("Heddle")};
    cl_bool compiles;
    cl_uint count;
    cl_int error;

    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    CHECK(d.platform);
    CL_OK(clGetDeviceIDs(d.platform, CL_DEVICE_TYPE_ALL, 2, d.device, &count));
    CHECK(count == 2);
    CL_OK(clGetDeviceInfo(d.device[GPU], CL_DEVICE_COMPILER_AVAILABLE,
                          sizeof(compiles), &compiles, NULL));
    if (!compiles)
        SKIP("no compiler is built in");
    d.context = clCreateContext(NULL, 2, d.device, NULL, NULL, &error);
    CL_OK(error);
    d.program = clCreateProgramWithSource(d.context, 1, &source, NULL, &error);
    CL_OK(error);
    CL_OK(clBuildProgram(d.program, 2, d.device, "", NULL, NULL));
    return d;
}

static inline void devices_close(struct devices *d)
{
    CL_OK(clReleaseProgram(d->program));
    CL_OK(clReleaseContext(d->context));
}

static inline cl_command_queue devices_queue(const struct devices *d,
                                             int device,
                                             cl_command_queue_properties modes)
{
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, modes, 0};
    cl_int error;
    cl_command_queue queue = clCreateCommandQueueWithProperties(
        d->context, d->device[device], properties, &error);

    CL_OK(error);
    return queue;
}

static inline cl_mem devices_zeros(const struct devices *d)
{
    static int none[DEVICES_N];
    cl_int error;
    cl_mem mem = clCreateBuffer(d->context, CL_MEM_COPY_HOST_PTR, sizeof(none),
                                none, &error);

    CL_OK(error);
    return mem;
}

// By name, with its arguments set; `by` 0: it has the buffer alone.
static inline cl_kernel devices_kernel(const struct devices *d,
                                       const char *name, cl_mem mem, int by)
{
    cl_kernel kernel = driver_kernel(d->program, name);

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    if (by)
        CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    return kernel;
}

// One launch of such a kernel, which goes at once. Flushed.
static inline cl_event devices_run(const struct devices *d,
                                   cl_command_queue queue, const char *name,
                                   cl_mem mem, int by)
{
    const size_t n = DEVICES_N;
    cl_kernel kernel = devices_kernel(d, name, mem, by);
    cl_event event;

    CL_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 &event));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clFlush(queue));
    return event;
}

// All elements are `value`; the buffer goes.
static inline void devices_check(cl_command_queue queue, cl_mem mem, int value)
{
    static int seen[DEVICES_N];

    CL_OK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(seen), seen, 0,
                              NULL, NULL));
    for (int i = 0; i < DEVICES_N; i++)
        CHECK(seen[i] == value);
    CL_OK(clReleaseMemObject(mem));
}

// At the moment.
static inline cl_int devices_status(cl_event event)
{
    cl_int status;

    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    return status;
}

#endif
