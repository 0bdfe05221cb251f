// What runs on the GPU holds no worker: with one, commands of the processor end
// while the GPU does not.
#include <sched.h>
#include <time.h>

#include "tests/opencl/devices.h"

// More launches than there are workers, by far. PATIENCE is for a busy machine;
// a right driver needs a few ms.
enum {
    AT_ONCE = 12,    // launches on the GPU
    PATIENCE = 60000 // [ms]
};

static const char source[] = "kernel void add(global int *x, int by) {\n"
                             "    x[get_global_id(0)] += by;\n"
                             "}\n"
                             "kernel void twice(global int *x) {\n"
                             "    x[get_global_id(0)] *= 2;\n"
                             "}\n";

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

// Nobody waits in the library, where this thread could run commands.
static bool comes_to(cl_event event, cl_int status)
{
    for (int i = 0; i < PATIENCE && devices_status(event) > status; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return devices_status(event) == status;
}

static cl_ulong time_of(cl_event event, cl_profiling_info what)
{
    cl_ulong time;

    CL_OK(clGetEventProfilingInfo(event, what, sizeof(time), &time, NULL));
    return time;
}

// Of one that is waited for.
static void check_times(cl_event event)
{
    CL_OK(clWaitForEvents(1, &event));
    CHECK(time_of(event, CL_PROFILING_COMMAND_START) <=
          time_of(event, CL_PROFILING_COMMAND_END));
    CL_OK(clReleaseEvent(event));
}

// Meanwhile, on the one worker.
static void the_processor_goes_on(const struct devices *d)
{
    cl_command_queue cpu = devices_queue(d, CPU, 0);
    cl_mem mem = devices_zeros(d);

    for (int i = 1; i <= 3; i++) {
        cl_event event = devices_run(d, cpu, "add", mem, i);
        CHECK(comes_to(event, CL_COMPLETE));
        CL_OK(clReleaseEvent(event));
    }
    devices_check(cpu, mem, 6);
    CL_OK(clReleaseCommandQueue(cpu));
}

static void launches_hold_no_worker(const struct devices *d)
{
    cl_command_queue queues[AT_ONCE];
    cl_mem mems[AT_ONCE];
    cl_event held[AT_ONCE];

    // All memory is there: getting some waits for what runs.
    for (int i = 0; i < AT_ONCE; i++) {
        queues[i] = devices_queue(d, GPU, CL_QUEUE_PROFILING_ENABLE);
        mems[i] = devices_zeros(d);
        CL_OK(clReleaseEvent(devices_run(d, queues[i], "add", mems[i], 1)));
        CL_OK(clFinish(queues[i]));
    }
    fake_cuda()->hold(true);
    for (int i = 0; i < AT_ONCE; i++)
        held[i] = devices_run(d, queues[i], "add", mems[i], i + 1);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(comes_to(held[i], CL_RUNNING));
    the_processor_goes_on(d);
    // What comes after one on the GPU waits for it, in its queue.
    cl_event after = devices_run(d, queues[0], "add", mems[0], 100);
    for (int i = 0; i < AT_ONCE; i++)
        CHECK(devices_status(held[i]) == CL_RUNNING);
    CHECK(devices_status(after) > CL_RUNNING);

    fake_cuda()->hold(false);
    check_times(after);
    for (int i = 0; i < AT_ONCE; i++) {
        check_times(held[i]);
        devices_check(queues[i], mems[i], i + 2 + (i == 0 ? 100 : 0));
        CL_OK(clReleaseCommandQueue(queues[i]));
    }
}

static clCreateCommandBufferKHR_fn create;
static clCommandNDRangeKernelKHR_fn launch;
static clFinalizeCommandBufferKHR_fn finalize;
static clEnqueueCommandBufferKHR_fn enqueue;
static clReleaseCommandBufferKHR_fn release;

static void find_functions(cl_platform_id platform)
{
#define FIND(name, to)                                                     \
    do {                                                                   \
        void *at =                                                         \
            clGetExtensionFunctionAddressForPlatform(platform, "cl" name); \
        CHECK(at);                                                         \
        memcpy(&(to), &at, sizeof(to));                                    \
    } while (0)

    FIND("CreateCommandBufferKHR", create);
    FIND("CommandNDRangeKernelKHR", launch);
    FIND("FinalizeCommandBufferKHR", finalize);
    FIND("EnqueueCommandBufferKHR", enqueue);
    FIND("ReleaseCommandBufferKHR", release);
}

// Each behind the one before, by the order of the buffer or by a sync point.
static void record(const struct devices *d, cl_command_buffer_khr b,
                   const char *name, cl_mem mem, int by,
                   cl_sync_point_khr *point)
{
    const size_t n = DEVICES_N;
    cl_kernel kernel = devices_kernel(d, name, mem, by);

    CL_OK(launch(b, NULL, NULL, kernel, 1, NULL, &n, NULL, *point ? 1 : 0,
                 *point ? point : NULL, point, NULL));
    CL_OK(clReleaseKernel(kernel));
}

// (((0 + 1) * 2) + 5) * 2, twice over.
static void command_buffers_hold_no_worker(const struct devices *d,
                                           cl_command_queue_properties modes)
{
    cl_command_queue queue =
        devices_queue(d, GPU, modes | CL_QUEUE_PROFILING_ENABLE);
    cl_mem mem = devices_zeros(d);
    cl_sync_point_khr point = 0;
    cl_event first, second;
    cl_int error;
    cl_command_buffer_khr b = create(1, &queue, NULL, &error);

    CL_OK(error);
    record(d, b, "add", mem, 1, &point);
    record(d, b, "twice", mem, 0, &point);
    record(d, b, "add", mem, 5, &point);
    record(d, b, "twice", mem, 0, &point);
    CL_OK(finalize(b));
    CL_OK(enqueue(0, NULL, b, 0, NULL, &first)); // memory is there after this
    check_times(first);
    fake_cuda()->hold(true);
    CL_OK(enqueue(0, NULL, b, 0, NULL, &second));
    CL_OK(clFlush(queue));
    CHECK(comes_to(second, CL_RUNNING));
    the_processor_goes_on(d);
    CHECK(devices_status(second) == CL_RUNNING);
    CL_OK(release(b)); // its run keeps it
    fake_cuda()->hold(false);
    check_times(second);
    devices_check(queue, mem, 2 * (2 * (14 + 1) + 5));
    CL_OK(clReleaseCommandQueue(queue));
}

int main(void)
{
    cl_uint units;

    use_one_core();
    struct devices d = devices_open(source);
    CL_OK(clGetDeviceInfo(d.device[CPU], CL_DEVICE_MAX_COMPUTE_UNITS,
                          sizeof(units), &units, NULL));
    CHECK(units == 1); // one worker
    launches_hold_no_worker(&d);
    find_functions(d.platform);
    command_buffers_hold_no_worker(&d, 0);
    command_buffers_hold_no_worker(&d, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    devices_close(&d);
    return 0;
}
