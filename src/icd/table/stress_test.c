// Random calls of the API, many with handles that are wrong or gone, from
// several threads at a time: none may crash, hang or be reported by a
// sanitizer. OPENCL_STRESS_SECONDS makes it a soak.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "tests/opencl/driver.h"

// 8 threads are more than there are cores, so that they are stopped in the
// middle of calls. 12 objects are few enough that they are used again while
// commands on them run.
enum {
    THREADS = 8,
    CALLS = 1500, // per thread
    HELD = 12     // objects of a kind that a thread holds
};

static const char source[] =
    "kernel void add(global int *p, int n)"
    "{ size_t i = get_global_id(0); if (i < 64) p[i] += n; }"
    "kernel void copy(read_only image2d_t a, write_only image2d_t b)"
    "{ int2 i = (int2)((int)get_global_id(0), (int)get_global_id(1));"
    " write_imagef(b, i, read_imagef(a, i)); }";

// Read by all threads, changed by none.
struct shared {
    struct driver d;
    cl_program program;
    cl_context other; // of the same device: its objects do not mix
};

// What one thread has: its own objects, so that what is refused is known to be
// its own doing.
struct thread {
    pthread_t id;
    const struct shared *shared;
    uint64_t state;
    cl_mem mems[HELD], images[HELD];
    cl_event events[HELD];
    cl_command_queue queues[2];
    cl_kernel add, copy;
    uint64_t wrong; // calls that were refused
};

static atomic_bool stop;

// A linear congruential generator per thread: a run can be repeated but for the
// threads' timing.
static uint32_t next(struct thread *t, uint32_t below)
{
    t->state = t->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->state >> 33) % below;
}

// What is no object but begins like one, since loaders look there.
static void *fake[16];

// One in eight is none: NULL, an address of something else, an object of
// another kind.
static void *spoil(struct thread *t, void *handle)
{
    switch (next(t, 40)) {
    case 0:
        return NULL;
    case 1:
    case 2:
        return &fake[next(t, 2) * 8];
    case 3:
        return t->add;
    case 4:
        return t->queues[0];
    default:
        return handle;
    }
}

// Every status is allowed; but of each thread some calls must have been
// refused, or the test did not try.
static void note(struct thread *t, cl_int status)
{
    t->wrong += status != CL_SUCCESS;
}

// Room for a new event: the one that was there is released first, whether or
// not its command has ended.
static cl_event *slot(struct thread *t)
{
    cl_event *e = &t->events[next(t, HELD)];

    if (*e)
        note(t, clReleaseEvent(*e));
    *e = NULL;
    return e;
}

// Some of these sizes and flags are wrong on purpose.
static void make_memory(struct thread *t)
{
    static const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                          .image_width = 1 + next(t, 20),
                          .image_height = next(t, 20)};
    unsigned at = next(t, HELD);
    cl_int error;

    if (t->mems[at])
        note(t, clReleaseMemObject(t->mems[at]));
    if (t->images[at])
        note(t, clReleaseMemObject(t->images[at]));
    t->mems[at] = clCreateBuffer(t->shared->d.context, next(t, 8) ? 0 : 7,
                                 256 * next(t, 20), NULL, &error);
    note(t, error);
    t->images[at] =
        clCreateImage(t->shared->d.context, 0, &format, &desc, NULL, &error);
    note(t, error);
}

// Some of the arguments, sizes and dimensions are wrong on purpose.
static void launch(struct thread *t, cl_command_queue queue)
{
    const size_t global[] = {next(t, 100), 1 + next(t, 10)},
                 local[] = {next(t, 20), 1};
    cl_mem a = spoil(t, t->mems[next(t, HELD)]);
    cl_mem b = spoil(t, t->images[next(t, HELD)]);
    cl_mem c = spoil(t, t->images[next(t, HELD)]);
    int n = (int)next(t, 10);
    cl_event wait = spoil(t, t->events[next(t, HELD)]);
    cl_event *event = slot(t);
    bool image = next(t, 2);
    cl_kernel kernel = image ? t->copy : t->add;

    if (image) {
        note(t, clSetKernelArg(kernel, next(t, 3), next(t, 20) ? 8 : 4, &b));
        note(t, clSetKernelArg(kernel, 1, sizeof(c), &c));
    } else {
        note(t, clSetKernelArg(kernel, 0, sizeof(a), &a));
        note(t, clSetKernelArg(kernel, next(t, 20) ? 1 : 9, sizeof(n), &n));
    }
    if (!image && !a) // would fault, which is another test's
        return;
    note(t, clEnqueueNDRangeKernel(queue, kernel, next(t, 20) ? 2 : 5, NULL,
                                   global, next(t, 3) ? NULL : local,
                                   wait ? 1 : 0, wait ? &wait : NULL, event));
}

// Reads and writes block, since `bytes` is on the stack.
static void move(struct thread *t, cl_command_queue queue)
{
    char bytes[1024];
    cl_mem a = spoil(t, t->mems[next(t, HELD)]);
    cl_mem b = spoil(t, t->mems[next(t, HELD)]);
    size_t offset = next(t, 500), size = next(t, 500);
    unsigned pattern = 7;
    cl_int error;

    memset(bytes, 1, sizeof(bytes));
    switch (next(t, 5)) {
    case 0:
        note(t, clEnqueueReadBuffer(queue, a, CL_TRUE, offset, size, bytes, 0,
                                    NULL, slot(t)));
        break;
    case 1:
        note(t, clEnqueueWriteBuffer(queue, a, CL_TRUE, offset, size, bytes, 0,
                                     NULL, slot(t)));
        break;
    case 2:
        note(t, clEnqueueCopyBuffer(queue, a, b, offset, next(t, 500), size, 0,
                                    NULL, slot(t)));
        break;
    case 3:
        note(t, clEnqueueFillBuffer(queue, a, &pattern, 4, offset & ~3u,
                                    size & ~3u, 0, NULL, slot(t)));
        break;
    default: {
        void *at = clEnqueueMapBuffer(queue, a, CL_TRUE, CL_MAP_READ, offset,
                                      size, 0, NULL, NULL, &error);
        note(t, error);
        if (at)
            note(t, clEnqueueUnmapMemObject(queue, a, at, 0, NULL, NULL));
    }
    }
}

// Names that do not exist, and room that is too small, among them.
static void ask(struct thread *t, cl_command_queue queue)
{
    char bytes[512];
    size_t size = next(t, 512);
    cl_uint name = next(t, 24);

    note(t, clGetMemObjectInfo(spoil(t, t->mems[next(t, HELD)]),
                               CL_MEM_TYPE + name, size, bytes, NULL));
    note(t, clGetEventInfo(spoil(t, t->events[next(t, HELD)]),
                           CL_EVENT_COMMAND_QUEUE + name, size, bytes, NULL));
    note(t, clGetKernelInfo(spoil(t, t->add), CL_KERNEL_FUNCTION_NAME + name,
                            size, bytes, NULL));
    note(t, clGetDeviceInfo(spoil(t, t->shared->d.device),
                            CL_DEVICE_TYPE + next(t, 0x90), size, bytes, NULL));
    note(t, clGetProgramInfo(spoil(t, t->shared->program),
                             CL_PROGRAM_REFERENCE_COUNT + next(t, 5), size,
                             bytes, NULL));
    cl_context other = spoil(t, t->shared->other);
    cl_int status = clRetainContext(other);
    note(t, status);
    if (status == CL_SUCCESS)
        CL_OK(clReleaseContext(other));
    note(t, clGetCommandQueueInfo(spoil(t, queue), CL_QUEUE_CONTEXT + name,
                                  size, bytes, NULL));
}

static void *run(void *data)
{
    struct thread *t = data;

    for (int i = 0; i < CALLS || (!atomic_load(&stop) && i < 1 << 30); i++) {
        cl_command_queue queue = t->queues[next(t, 2)];
        switch (next(t, 8)) {
        case 0:
            make_memory(t);
            break;
        case 1:
        case 2:
            launch(t, spoil(t, queue));
            break;
        case 3:
        case 4:
            // Copies in no order would be a race of this test's own.
            move(t, spoil(t, t->queues[0]));
            break;
        case 5:
            ask(t, queue);
            break;
        case 6:
            note(t, clEnqueueBarrierWithWaitList(spoil(t, queue), 0, NULL,
                                                 slot(t)));
            break;
        default:
            note(t, next(t, 4) ? clFlush(spoil(t, queue))
                               : clFinish(spoil(t, queue)));
        }
    }
    return NULL;
}

// With kernels of its own: arguments of one kernel are for one thread.
static void start(struct thread *t, const struct shared *shared, unsigned seed)
{
    static const cl_queue_properties in_order[] = {0},
                                     free_order[] = {
                                         CL_QUEUE_PROPERTIES,
                                         CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
                                         0};
    cl_int error;

    *t = (struct thread){.shared = shared, .state = seed * 7919 + 1};
    t->add = driver_kernel(shared->program, "add");
    t->copy = driver_kernel(shared->program, "copy");
    for (int i = 0; i < 2; i++) {
        t->queues[i] = clCreateCommandQueueWithProperties(
            shared->d.context, shared->d.device, i ? free_order : in_order,
            &error);
        CL_OK(error);
    }
    CHECK(pthread_create(&t->id, NULL, run, t) == 0);
}

static void end(struct thread *t)
{
    CHECK(pthread_join(t->id, NULL) == 0);
    CHECK(t->wrong > 0);
    for (int i = 0; i < 2; i++) {
        CL_OK(clFinish(t->queues[i]));
        CL_OK(clReleaseCommandQueue(t->queues[i]));
    }
    for (int i = 0; i < HELD; i++) {
        if (t->events[i])
            CL_OK(clReleaseEvent(t->events[i]));
        if (t->mems[i])
            CL_OK(clReleaseMemObject(t->mems[i]));
        if (t->images[i])
            CL_OK(clReleaseMemObject(t->images[i]));
    }
    CL_OK(clReleaseKernel(t->add));
    CL_OK(clReleaseKernel(t->copy));
}

int main(void)
{
    struct shared shared = {.d = driver_open(0)};
    static struct thread threads[THREADS];
    const char *seconds = getenv("OPENCL_STRESS_SECONDS");
    cl_int error;

    shared.program = driver_build(&shared.d, source, NULL);
    shared.other =
        clCreateContext(NULL, 1, &shared.d.device, NULL, NULL, &error);
    CL_OK(error);
    fake[0] = fake[8] = *(void **)(void *)shared.d.device;
    atomic_store(&stop, !seconds);
    for (unsigned i = 0; i < THREADS; i++)
        start(&threads[i], &shared, i);
    if (seconds) {
        nanosleep(&(struct timespec){.tv_sec = atoi(seconds)}, NULL);
        atomic_store(&stop, true);
    }
    for (unsigned i = 0; i < THREADS; i++)
        end(&threads[i]);
    CL_OK(clReleaseProgram(shared.program));
    CL_OK(clReleaseContext(shared.other));
    driver_close(&shared.d);
    return 0;
}
