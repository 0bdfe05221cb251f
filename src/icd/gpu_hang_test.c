// A kernel that hangs on the GPU, with a time limit: its command fails, and
// those behind it; the GPU is not available any more, the processor goes on.
#include <unistd.h>

#include "icd/driver.h"
#include "tests/cuda/fake.h"

enum {
    N = 256
};

static const char source[] = "kernel void add(global int *x, int by) {\n"
                             "    x[get_global_id(0)] += by;\n"
                             "}\n"
                             "kernel void hang(global int *x) {\n"
                             "    volatile global int *word = x;\n"
                             "    while (word[get_global_id(0)] == 0) ;\n"
                             "}\n";

static cl_context context;
static cl_program program;

static cl_mem zeros(void)
{
    static int none[N];
    cl_int error;
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(none),
                                none, &error);

    CL_OK(error);
    return mem;
}

// One launch of a kernel by name; `by` 0: it has one argument. The kernel
// object goes at once.
static cl_event run(cl_command_queue queue, const char *name, cl_mem mem,
                    int by)
{
    const size_t n = N;
    cl_kernel kernel = driver_kernel(program, name);
    cl_event event;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    if (by)
        CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 &event));
    CL_OK(clReleaseKernel(kernel));
    return event;
}

// It waits first, whatever comes of that.
static cl_int status_of(cl_event event)
{
    cl_int status;

    clWaitForEvents(1, &event);
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    CL_OK(clReleaseEvent(event));
    return status;
}

int main(void)
{
    cl_device_id devices[2];
    cl_command_queue queues[2];
    const char *text = source;
    static int seen[N];
    cl_bool there;
    cl_uint count;
    cl_int error;

    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    setenv("HEDDLE_GPU_TIMEOUT", "0.3", 1);
    cl_platform_id platform = driver_find("Heddle");
    CHECK(platform);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count));
    CHECK(count == 2);
    CL_OK(clGetDeviceInfo(devices[1], CL_DEVICE_COMPILER_AVAILABLE,
                          sizeof(there), &there, NULL));
    if (!there)
        SKIP("no compiler is built in");
    context = clCreateContext(NULL, 2, devices, NULL, NULL, &error);
    CL_OK(error);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    CL_OK(error);
    CL_OK(clBuildProgram(program, 2, devices, "", NULL, NULL));
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, devices[i],
                                                       NULL, &error);
        CL_OK(error);
    }
    cl_mem x = zeros(), y = zeros();

    cl_event hung = run(queues[1], "hang", x, 0);
    cl_event behind = run(queues[1], "add", y, 1);
    CHECK(status_of(hung) == CL_OUT_OF_RESOURCES);
    CHECK(status_of(behind) < 0);
    CL_OK(clFinish(queues[1]));
    CL_OK(clGetDeviceInfo(devices[1], CL_DEVICE_AVAILABLE, sizeof(there),
                          &there, NULL));
    CHECK(!there);
    CHECK(status_of(run(queues[0], "add", y, 2)) == CL_COMPLETE);
    CL_OK(clEnqueueReadBuffer(queues[0], y, CL_TRUE, 0, sizeof(seen), seen, 0,
                              NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == 2);
    CL_OK(clReleaseMemObject(x));
    CL_OK(clReleaseMemObject(y));
    for (int i = 0; i < 2; i++)
        CL_OK(clReleaseCommandQueue(queues[i]));
    CL_OK(clReleaseProgram(program));
    CL_OK(clReleaseContext(context));
    fflush(stdout);
    _exit(0); // the kernel hangs in a thread of the fake driver
}
