// Command buffers through the loader: recording, order, running again, errors.
#include <stdbool.h>

#include "tests/opencl/driver.h"

static const char source[] =
    "kernel void step(global int *p, int from, int to)"
    "{ if (p[0] == from) p[0] = to; }"
    "kernel void add(global int *p, int n) { p[get_global_id(0)] += n; }"
    "kernel void stray(global int *p) { p[1ul << 40] = 1; }";

// Functions of an extension are asked for by name, as applications do: each is
// a variable with '_' behind.
#define FUNCTION(name) static __typeof__(&name) name##_;
#define LIST(X)                        \
    X(clCreateCommandBufferKHR)        \
    X(clFinalizeCommandBufferKHR)      \
    X(clRetainCommandBufferKHR)        \
    X(clReleaseCommandBufferKHR)       \
    X(clEnqueueCommandBufferKHR)       \
    X(clCommandBarrierWithWaitListKHR) \
    X(clCommandCopyBufferKHR)          \
    X(clCommandCopyBufferRectKHR)      \
    X(clCommandCopyBufferToImageKHR)   \
    X(clCommandCopyImageKHR)           \
    X(clCommandCopyImageToBufferKHR)   \
    X(clCommandFillBufferKHR)          \
    X(clCommandFillImageKHR)           \
    X(clCommandNDRangeKernelKHR)       \
    X(clCommandSVMMemcpyKHR)           \
    X(clCommandSVMMemFillKHR)          \
    X(clGetCommandBufferInfoKHR)
LIST(FUNCTION)

static void find_functions(cl_platform_id platform)
{
#define FIND(name)                                                 \
    void *at_##name =                                              \
        clGetExtensionFunctionAddressForPlatform(platform, #name); \
    CHECK(at_##name);                                              \
    memcpy(&name##_, &at_##name, sizeof(name##_));
    LIST(FIND)
}

// What each test opens and closes, with 64 ints that begin as 0.
struct rig {
    struct driver d;
    cl_program program;
    cl_kernel step, add;
    cl_mem mem;
};

static struct rig open_rig(cl_command_queue_properties modes)
{
    static int zero[64];
    struct rig r = {.d = driver_open(modes)};

    find_functions(r.d.platform);
    r.program = driver_build(&r.d, source, NULL);
    r.step = driver_kernel(r.program, "step");
    r.add = driver_kernel(r.program, "add");
    r.mem = driver_buffer(&r.d, sizeof(zero), zero);
    return r;
}

static void close_rig(struct rig *r)
{
    CL_OK(clReleaseMemObject(r->mem));
    CL_OK(clReleaseKernel(r->step));
    CL_OK(clReleaseKernel(r->add));
    CL_OK(clReleaseProgram(r->program));
    driver_close(&r->d);
}

// On the rig's queue, still recording.
static cl_command_buffer_khr create(struct rig *r, bool simultaneous)
{
    const cl_command_buffer_properties_khr properties[] = {
        CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
    cl_int error;
    cl_command_buffer_khr b = clCreateCommandBufferKHR_(
        1, &r->d.queue, simultaneous ? properties : NULL, &error);

    CL_OK(error);
    return b;
}

// From one number to the next, after these sync points: it does nothing where
// it runs out of its place.
static cl_sync_point_khr record_step(struct rig *r, cl_command_buffer_khr b,
                                     int from, cl_uint count,
                                     const cl_sync_point_khr *list)
{
    const size_t one = 1;
    const int to = from + 1;
    cl_sync_point_khr point = 0;

    CL_OK(clSetKernelArg(r->step, 0, sizeof(r->mem), &r->mem));
    CL_OK(clSetKernelArg(r->step, 1, sizeof(from), &from));
    CL_OK(clSetKernelArg(r->step, 2, sizeof(to), &to));
    CL_OK(clCommandNDRangeKernelKHR_(b, NULL, NULL, r->step, 1, NULL, &one,
                                     NULL, count, list, &point, NULL));
    CHECK(point != 0);
    return point;
}

// A blocking read.
static int value(struct rig *r, size_t index)
{
    int v = -1;

    CL_OK(clEnqueueReadBuffer(r->d.queue, r->mem, CL_TRUE, index * sizeof(v),
                              sizeof(v), &v, 0, NULL, NULL));
    return v;
}

static cl_command_buffer_state_khr state_of(cl_command_buffer_khr b)
{
    cl_command_buffer_state_khr state;

    CL_OK(clGetCommandBufferInfoKHR_(b, CL_COMMAND_BUFFER_STATE_KHR,
                                     sizeof(state), &state, NULL));
    return state;
}

// What is recorded is what counts: not the arguments at the time it runs.
static void runs_in_order_and_again(void)
{
    struct rig r = open_rig(0);
    const size_t items = 16;
    const int zero = 0, two = 2, ten = 10;
    cl_command_buffer_khr b = create(&r, true);

    CL_OK(clCommandFillBufferKHR_(b, NULL, NULL, r.mem, &two, sizeof(two), 0,
                                  64, 0, NULL, NULL, NULL));
    CL_OK(clSetKernelArg(r.add, 0, sizeof(r.mem), &r.mem));
    for (int i = 0; i < 3; i++) {
        CL_OK(clSetKernelArg(r.add, 1, sizeof(ten), &ten));
        CL_OK(clCommandNDRangeKernelKHR_(b, NULL, NULL, r.add, 1, NULL, &items,
                                         NULL, 0, NULL, NULL, NULL));
    }
    CL_OK(clSetKernelArg(r.add, 1, sizeof(zero), &zero));
    // The first 16 behind themselves.
    CL_OK(clCommandCopyBufferKHR_(b, NULL, NULL, r.mem, r.mem, 0, 64, 64, 0,
                                  NULL, NULL, NULL));
    CHECK(state_of(b) == CL_COMMAND_BUFFER_STATE_RECORDING_KHR);
    CL_IS(clEnqueueCommandBufferKHR_(0, NULL, b, 0, NULL, NULL),
          CL_INVALID_OPERATION);
    CL_OK(clFinalizeCommandBufferKHR_(b));
    CHECK(state_of(b) == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR);
    for (int i = 0; i < 3; i++) {
        CL_OK(clEnqueueFillBuffer(r.d.queue, r.mem, &zero, sizeof(zero), 0, 256,
                                  0, NULL, NULL));
        CL_OK(clEnqueueCommandBufferKHR_(0, NULL, b, 0, NULL, NULL));
    }
    // It may go before it has run.
    CL_OK(clReleaseCommandBufferKHR_(b));
    CHECK(value(&r, 0) == 32 && value(&r, 15) == 32 && value(&r, 16) == 32 &&
          value(&r, 31) == 32 && value(&r, 32) == 0);
    close_rig(&r);
}

// A chain, a command behind two points many times, and a barrier: any that ran
// out of its place would leave another number.
static void sync_points_order_what_runs_out_of_order(void)
{
    enum {
        CHAIN = 60,
        REPEATED = 200 // more than there are commands
    };
    struct rig r = open_rig(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_command_buffer_khr b = create(&r, false);
    cl_sync_point_khr points[CHAIN], all[REPEATED];
    cl_event event;

    for (int i = 0; i < CHAIN; i++)
        points[i] = record_step(&r, b, i, i > 0, i > 0 ? &points[i - 1] : NULL);
    for (int i = 0; i < REPEATED; i++)
        all[i] = points[i % 2 ? CHAIN - 1 : 0];
    record_step(&r, b, CHAIN, REPEATED, all);
    CL_OK(clCommandBarrierWithWaitListKHR_(b, NULL, NULL, 0, NULL, NULL, NULL));
    record_step(&r, b, CHAIN + 1, 0, NULL);
    CL_OK(clFinalizeCommandBufferKHR_(b));
    CL_OK(clEnqueueCommandBufferKHR_(1, &r.d.queue, b, 0, NULL, &event));
    CL_OK(clWaitForEvents(1, &event));
    cl_command_type type;
    CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type,
                         NULL));
    CHECK(type == CL_COMMAND_COMMAND_BUFFER_KHR);
    CHECK(value(&r, 0) == CHAIN + 2);
    CL_OK(clReleaseEvent(event));
    CL_OK(clReleaseCommandBufferKHR_(b));
    close_rig(&r);
}

// Through every kind of copy that can be recorded, one behind the other: the
// colour arrives only if all of them work.
static void images_are_copied_and_filled(void)
{
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    static const cl_uint color[] = {1, 2, 3, 4};
    static const size_t zero[3] = {0}, all[] = {4, 4, 1}, box[] = {16, 4, 1};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = 4,
                                .image_height = 4};
    struct rig r = open_rig(0);
    cl_int error;
    cl_mem images[3];
    unsigned char bytes[64];

    for (int i = 0; i < 3; i++) {
        images[i] = clCreateImage(r.d.context, 0, &format, &desc, NULL, &error);
        CL_OK(error);
    }
    cl_command_buffer_khr b = create(&r, false);
    CL_OK(clCommandFillImageKHR_(b, NULL, NULL, images[0], color, zero, all, 0,
                                 NULL, NULL, NULL));
    CL_OK(clCommandCopyImageKHR_(b, NULL, NULL, images[0], images[1], zero,
                                 zero, all, 0, NULL, NULL, NULL));
    CL_OK(clCommandCopyImageToBufferKHR_(b, NULL, NULL, images[1], r.mem, zero,
                                         all, 64, 0, NULL, NULL, NULL));
    CL_OK(clCommandCopyBufferRectKHR_(b, NULL, NULL, r.mem, r.mem,
                                      (size_t[]){0, 4, 0}, zero, box, 16, 0, 16,
                                      0, 0, NULL, NULL, NULL));
    CL_OK(clCommandCopyBufferToImageKHR_(b, NULL, NULL, r.mem, images[2], 0,
                                         zero, all, 0, NULL, NULL, NULL));
    CL_OK(clFinalizeCommandBufferKHR_(b));
    CL_OK(clEnqueueCommandBufferKHR_(0, NULL, b, 0, NULL, NULL));
    CL_OK(clEnqueueReadImage(r.d.queue, images[2], CL_TRUE, zero, all, 0, 0,
                             bytes, 0, NULL, NULL));
    for (unsigned i = 0; i < sizeof(bytes); i++)
        CHECK(bytes[i] == i % 4 + 1);
    CL_OK(clReleaseCommandBufferKHR_(b));
    for (int i = 0; i < 3; i++)
        CL_OK(clReleaseMemObject(images[i]));
    close_rig(&r);
}

// In either order what comes after the failure does not run.
static void a_fault_ends_the_run(void)
{
    for (int free_order = 0; free_order < 2; free_order++) {
        struct rig r =
            open_rig(free_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
        cl_command_buffer_khr b = create(&r, false);
        cl_kernel stray = driver_kernel(r.program, "stray");
        const size_t one = 1;
        cl_sync_point_khr point;
        cl_event event;
        cl_int status;

        point = record_step(&r, b, 0, 0, NULL);
        CL_OK(clSetKernelArg(stray, 0, sizeof(r.mem), &r.mem));
        CL_OK(clCommandNDRangeKernelKHR_(b, NULL, NULL, stray, 1, NULL, &one,
                                         NULL, 1, &point, &point, NULL));
        record_step(&r, b, 1, 1, &point);
        CL_OK(clFinalizeCommandBufferKHR_(b));
        CL_OK(clEnqueueCommandBufferKHR_(0, NULL, b, 0, NULL, &event));
        CL_IS(clWaitForEvents(1, &event),
              CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CL_OK(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                             sizeof(status), &status, NULL));
        CHECK(status == CL_OUT_OF_RESOURCES);
        CHECK(value(&r, 0) == 1);
        CL_OK(clReleaseEvent(event));
        CL_OK(clReleaseKernel(stray));
        CL_OK(clReleaseCommandBufferKHR_(b));
        close_rig(&r);
    }
}

// While recording, and after it.
static void wrong_calls_are_refused(void)
{
    struct rig r = open_rig(0);
    const cl_command_buffer_properties_khr unknown[] = {1, 1, 0};
    const size_t one = 1;
    const cl_sync_point_khr late = 2;
    const int two = 2;
    cl_mutable_command_khr handle;
    cl_int error;
    cl_command_buffer_khr b = create(&r, false);

    CHECK(!clCreateCommandBufferKHR_(0, NULL, NULL, &error) &&
          error == CL_INVALID_VALUE);
    CHECK(!clCreateCommandBufferKHR_(1, &r.d.queue, unknown, &error) &&
          error == CL_INVALID_VALUE);
    cl_command_queue none = NULL;
    CHECK(!clCreateCommandBufferKHR_(1, &none, NULL, &error) &&
          error == CL_INVALID_COMMAND_QUEUE);
    CL_IS(clCommandBarrierWithWaitListKHR_((cl_command_buffer_khr)(void *)&two,
                                           NULL, NULL, 0, NULL, NULL, NULL),
          CL_INVALID_COMMAND_BUFFER_KHR);
    CL_IS(clCommandBarrierWithWaitListKHR_(b, r.d.queue, NULL, 0, NULL, NULL,
                                           NULL),
          CL_INVALID_COMMAND_QUEUE);
    CL_IS(
        clCommandBarrierWithWaitListKHR_(b, NULL, NULL, 0, NULL, NULL, &handle),
        CL_INVALID_VALUE);
    CL_IS(
        clCommandBarrierWithWaitListKHR_(b, NULL, unknown, 0, NULL, NULL, NULL),
        CL_INVALID_VALUE);
    CL_IS(clCommandBarrierWithWaitListKHR_(b, NULL, NULL, 1, NULL, NULL, NULL),
          CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
    CL_IS(clCommandBarrierWithWaitListKHR_(b, NULL, NULL, 1, &late, NULL, NULL),
          CL_INVALID_SYNC_POINT_WAIT_LIST_KHR);
    CL_IS(clCommandFillBufferKHR_(b, NULL, NULL, NULL, &two, 4, 0, 4, 0, NULL,
                                  NULL, NULL),
          CL_INVALID_MEM_OBJECT);
    cl_kernel unset = driver_kernel(r.program, "add");
    CL_IS(clCommandNDRangeKernelKHR_(b, NULL, NULL, unset, 1, NULL, &one, NULL,
                                     0, NULL, NULL, NULL),
          CL_INVALID_KERNEL_ARGS);
    CL_OK(clReleaseKernel(unset));
    CL_OK(clFinalizeCommandBufferKHR_(b));
    CL_IS(clFinalizeCommandBufferKHR_(b), CL_INVALID_OPERATION);
    CL_IS(clCommandFillBufferKHR_(b, NULL, NULL, r.mem, &two, 4, 0, 4, 0, NULL,
                                  NULL, NULL),
          CL_INVALID_OPERATION);

    CL_OK(clRetainCommandBufferKHR_(b));
    CL_OK(clReleaseCommandBufferKHR_(b));
    CL_OK(clReleaseCommandBufferKHR_(b));
    close_rig(&r);
}

// Through memory of clSVMAlloc, and to another queue: it keeps its order, which
// is that of the queue it was made for, and may be under way many times.
static void runs_in_any_queue_of_the_device(void)
{
    enum {
        TIMES = 20
    };
    struct rig r = open_rig(0);
    const cl_queue_properties modes[] = {
        CL_QUEUE_PROPERTIES,
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE, 0};
    cl_command_queue_properties offered;
    cl_context context;
    cl_int error;
    cl_command_queue free_queue = clCreateCommandQueueWithProperties(
        r.d.context, r.d.device, modes, &error);
    CL_OK(error);
    CL_OK(clGetDeviceInfo(
        r.d.device, CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR,
        sizeof(offered), &offered, NULL));
    CHECK(offered == modes[1]);

    int *shared = clSVMAlloc(r.d.context, CL_MEM_READ_WRITE, 64, 0);
    CHECK(shared);
    cl_command_buffer_khr b = create(&r, false);
    const int seven = 7;
    CL_OK(clCommandSVMMemFillKHR_(b, NULL, NULL, shared, &seven, 4, 32, 0, NULL,
                                  NULL, NULL));
    CL_OK(clCommandSVMMemcpyKHR_(b, NULL, NULL, shared + 8, shared, 32, 0, NULL,
                                 NULL, NULL));
    for (int i = 0; i < TIMES; i++)
        record_step(&r, b, i, 0, NULL);
    CL_OK(clFinalizeCommandBufferKHR_(b));
    CL_OK(clGetCommandBufferInfoKHR_(b, CL_COMMAND_BUFFER_CONTEXT_KHR,
                                     sizeof(context), &context, NULL));
    CHECK(context == r.d.context);

    cl_event gate = clCreateUserEvent(r.d.context, &error);
    CL_OK(error);
    for (int i = 0; i < TIMES; i++)
        CL_OK(clEnqueueCommandBufferKHR_(1, &free_queue, b, 1, &gate, NULL));
    CHECK(state_of(b) == CL_COMMAND_BUFFER_STATE_EXECUTABLE_KHR);
    CL_OK(clSetUserEventStatus(gate, CL_COMPLETE));
    CL_OK(clFinish(free_queue));
    CHECK(value(&r, 0) == TIMES);
    for (int i = 0; i < 16; i++)
        CHECK(shared[i] == seven);
    CL_OK(clReleaseCommandBufferKHR_(b));
    CL_OK(clReleaseEvent(gate));
    clSVMFree(r.d.context, shared);
    CL_OK(clReleaseCommandQueue(free_queue));
    close_rig(&r);
}

// A part of the device is another device.
static void another_device_is_refused(void)
{
    struct driver d = driver_open(0);
    const cl_device_partition_property one[] = {
        CL_DEVICE_PARTITION_BY_COUNTS, 1,
        CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0};
    cl_uint units;
    cl_int error;

    find_functions(d.platform);
    CL_OK(clGetDeviceInfo(d.device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(units),
                          &units, NULL));
    if (units > 1) {
        cl_device_id both[2] = {d.device};
        CL_OK(clCreateSubDevices(d.device, one, 1, &both[1], NULL));
        cl_context context = clCreateContext(NULL, 2, both, NULL, NULL, &error);
        CL_OK(error);
        cl_command_queue queues[2];
        for (int i = 0; i < 2; i++) {
            queues[i] = clCreateCommandQueueWithProperties(context, both[i],
                                                           NULL, &error);
            CL_OK(error);
        }
        cl_command_buffer_khr b =
            clCreateCommandBufferKHR_(1, queues, NULL, &error);
        CL_OK(error);
        CL_OK(clFinalizeCommandBufferKHR_(b));
        CL_IS(clEnqueueCommandBufferKHR_(1, &queues[1], b, 0, NULL, NULL),
              CL_INVALID_DEVICE);
        CL_OK(clReleaseCommandBufferKHR_(b));
        CL_OK(clReleaseCommandQueue(queues[0]));
        CL_OK(clReleaseCommandQueue(queues[1]));
        CL_OK(clReleaseContext(context));
        CL_OK(clReleaseDevice(both[1]));
    }
    driver_close(&d);
}

// What a context was told while a buffer was recorded.
struct heard {
    cl_command_buffer_khr b;
    int times;
};

static void CL_CALLBACK hear(const char *text, const void *info, size_t size,
                             void *data)
{
    struct heard *heard = data;

    (void)info, (void)size;
    CHECK(*text);
    CHECK(state_of(heard->b) == CL_COMMAND_BUFFER_STATE_RECORDING_KHR);
    CL_OK(clCommandBarrierWithWaitListKHR_(heard->b, NULL, NULL, 0, NULL, NULL,
                                           NULL));
    heard->times++;
}

// A callback that is told what is wrong with a command may ask about the buffer
// and record, too: nobody holds its lock.
static void callbacks_may_use_what_is_recorded(void)
{
    struct driver d = driver_open(0), own = d;
    struct heard heard = {0};
    const size_t one = 1;
    cl_ulong local;
    cl_int error;

    find_functions(d.platform);
    own.context = clCreateContext(NULL, 1, &d.device, hear, &heard, &error);
    CL_OK(error);
    own.queue = clCreateCommandQueueWithProperties(own.context, own.device,
                                                   NULL, &error);
    CL_OK(error);
    heard.b = clCreateCommandBufferKHR_(1, &own.queue, NULL, &error);
    CL_OK(error);
    cl_program program =
        driver_build(&own, "kernel void k(local int *p) { p[0] = 1; }", NULL);
    cl_kernel kernel = driver_kernel(program, "k");
    CL_OK(clGetDeviceInfo(own.device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(local),
                          &local, NULL));
    CL_OK(clSetKernelArg(kernel, 0, local + 4, NULL));
    CL_IS(clCommandNDRangeKernelKHR_(heard.b, NULL, NULL, kernel, 1, NULL, &one,
                                     NULL, 0, NULL, NULL, NULL),
          CL_OUT_OF_RESOURCES);
    CHECK(heard.times == 1);
    CL_OK(clFinalizeCommandBufferKHR_(heard.b));
    CL_OK(clEnqueueCommandBufferKHR_(0, NULL, heard.b, 0, NULL, NULL));
    CL_OK(clFinish(own.queue));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    CL_OK(clReleaseCommandBufferKHR_(heard.b));
    driver_close(&own);
    driver_close(&d);
}

int main(void)
{
    callbacks_may_use_what_is_recorded();
    runs_in_order_and_again();
    sync_points_order_what_runs_out_of_order();
    images_are_copied_and_filled();
    a_fault_ends_the_run();
    wrong_calls_are_refused();
    runs_in_any_queue_of_the_device();
    another_device_is_refused();
    return 0;
}
