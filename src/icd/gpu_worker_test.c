// A launch on the GPU holds no worker: with one, commands of the processor end
// while the GPU does not.
#include <sched.h>
#include <time.h>

#include "icd/driver.h"
#include "tests/cuda/fake.h"

// More launches than there are workers, by far. PATIENCE is for a busy machine;
// a right driver needs a few ms.
enum {
    N = 256,
    AT_ONCE = 12,    // launches on the GPU
    PATIENCE = 60000 // [ms]
};

static const char source[] = "kernel void add(global int *x, int by) {\n"
                             "    x[get_global_id(0)] += by;\n"
                             "}\n";

static cl_context context;
static cl_program program;

// Before the driver looks at the machine: then it has one worker.
static void use_one_core(void)
{
    cpu_set_t all, one;
    int first = 0;

    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
}

static cl_command_queue queue_on(cl_device_id device)
{
    cl_int error;
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES,
                                              CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(context, device, properties, &error);

    CL_OK(error);
    return queue;
}

static cl_mem zeros(void)
{
    static int none[N];
    cl_int error;
    cl_mem mem = clCreateBuffer(context, CL_MEM_COPY_HOST_PTR, sizeof(none),
                                none, &error);

    CL_OK(error);
    return mem;
}

static cl_event add(cl_command_queue queue, cl_mem mem, int by)
{
    const size_t n = N;
    cl_kernel kernel = driver_kernel(program, "add");
    cl_event event;

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clSetKernelArg(kernel, 1, sizeof(by), &by));
    CL_OK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &n, NULL, 0, NULL,
                                 &event));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clFlush(queue));
    return event;
}

static cl_int status_of(cl_event event)
{
    cl_int status;

    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                         sizeof(status), &status, NULL));
    return status;
}

// Nobody waits in the library, where this thread could run commands.
static bool comes_to(cl_event event, cl_int status)
{
    for (int i = 0; i < PATIENCE && status_of(event) > status; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return status_of(event) == status;
}

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
    cl_ulong time;

    CL_OK(clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL));
    return time;
}

// The buffer goes.
static void check(cl_command_queue queue, cl_mem mem, int sum)
{
    static int seen[N];

    CL_OK(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(seen), seen, 0,
                              NULL, NULL));
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == sum);
    CL_OK(clReleaseMemObject(mem));
}

int main(void)
{
    const struct fake_cuda *fake = fake_cuda();
    cl_device_id devices[2];
    const char *text = source;
    cl_event held[AT_ONCE];
    cl_uint count;
    cl_int error;
    cl_bool compiles;

    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    use_one_core();
    cl_platform_id platform = driver_find("Heddle");
    CHECK(platform);
    CL_OK(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 2, devices, &count));
    CHECK(count == 2);
    CL_OK(clGetDeviceInfo(devices[1], CL_DEVICE_COMPILER_AVAILABLE,
                          sizeof(compiles), &compiles, NULL));
    if (!compiles)
        SKIP("no compiler is built in");
    CL_OK(clGetDeviceInfo(devices[0], CL_DEVICE_MAX_COMPUTE_UNITS,
                          sizeof(count), &count, NULL));
    CHECK(count == 1); // one worker
    context = clCreateContext(NULL, 2, devices, NULL, NULL, &error);
    CL_OK(error);
    program = clCreateProgramWithSource(context, 1, &text, NULL, &error);
    CL_OK(error);
    CL_OK(clBuildProgram(program, 2, devices, "", NULL, NULL));
    cl_command_queue cpu = queue_on(devices[0]), gpu = queue_on(devices[1]);
    cl_command_queue others[AT_ONCE];
    cl_mem of_cpu = zeros(), of_gpu[AT_ONCE];

    // All memory is there: getting some waits for what runs.
    for (int i = 0; i < AT_ONCE; i++) {
        others[i] = i ? queue_on(devices[1]) : gpu;
        of_gpu[i] = zeros();
        CL_OK(clReleaseEvent(add(others[i], of_gpu[i], 0)));
        CL_OK(clFinish(others[i]));
    }
    fake->hold(true);
    for (int i = 0; i < AT_ONCE; i++)
        held[i] = add(others[i], of_gpu[i], i + 1);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(comes_to(held[i], CL_RUNNING));
    for (int i = 1; i <= 3; i++) {
        cl_event event = add(cpu, of_cpu, i);
        CHECK(comes_to(event, CL_COMPLETE));
        CL_OK(clReleaseEvent(event));
    }
    // What comes after one on the GPU waits for it, in its queue.
    cl_event after = add(gpu, of_gpu[0], 100);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(status_of(held[i]) == CL_RUNNING);
    CHECK(status_of(after) > CL_RUNNING);

    fake->hold(false);
    CL_OK(clWaitForEvents(1, &after));
    for (int i = 0; i < AT_ONCE; i++) {
        CL_OK(clWaitForEvents(1, &held[i]));
        CHECK(time_of(held[i], CL_PROFILING_COMMAND_START) <=
              time_of(held[i], CL_PROFILING_COMMAND_END));
        CL_OK(clReleaseEvent(held[i]));
    }
    CL_OK(clReleaseEvent(after));
    check(cpu, of_cpu, 6);
    for (int i = 0; i < AT_ONCE; i++) {
        check(others[i], of_gpu[i], i == 0 ? 101 : i + 1);
        CL_OK(clReleaseCommandQueue(others[i]));
    }
    CL_OK(clReleaseCommandQueue(cpu));
    CL_OK(clReleaseProgram(program));
    CL_OK(clReleaseContext(context));
    return 0;
}
