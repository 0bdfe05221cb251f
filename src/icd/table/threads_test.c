// Threads that use the same objects at a time: what the standard calls
// thread-safe, which is everything but setting arguments of one kernel.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/opencl/driver.h"

// Rounds cost a launch and a few waits each, releases only an event.
enum {
    THREADS = 4,
    ROUNDS = 60,
    RELEASES = 1000,
    BYTES = 4096
};

static const char source[] =
    "kernel void count(global int *p) { atomic_inc(p); }";

// All threads use all of these at the same time; the counters say at the end
// that no callback was lost or came twice.
struct shared {
    struct driver d;
    cl_command_queue free_order;
    cl_program program;
    cl_kernel kernel;
    cl_mem mem, image;
    cl_sampler sampler;
    cl_event event; // the user's, which ends late
    atomic_int called, gone;
    pthread_barrier_t begin;
};

static void CL_CALLBACK count_event(cl_event event, cl_int status, void *data)
{
    struct shared *s = data;

    (void)event;
    CHECK(status == CL_COMPLETE);
    atomic_fetch_add(&s->called, 1);
}

static void CL_CALLBACK count_mem(cl_mem mem, void *data)
{
    struct shared *s = data;

    (void)mem;
    atomic_fetch_add(&s->gone, 1);
}

// The largest of what they are asked for.
union answer {
    char text[BYTES];
    cl_uint number;
    cl_int status;
};

static void ask(struct shared *s)
{
    union answer a;

    CL_OK(clGetMemObjectInfo(s->mem, CL_MEM_MAP_COUNT, sizeof(a), &a, NULL));
    CHECK(a.number <= THREADS);
    CL_OK(clGetMemObjectInfo(s->mem, CL_MEM_REFERENCE_COUNT, sizeof(a), &a,
                             NULL));
    CHECK(a.number >= 1);
    CL_OK(clGetImageInfo(s->image, CL_IMAGE_ROW_PITCH, sizeof(a), &a, NULL));
    CL_OK(clGetSamplerInfo(s->sampler, CL_SAMPLER_ADDRESSING_MODE, sizeof(a),
                           &a, NULL));
    CL_OK(clGetContextInfo(s->d.context, CL_CONTEXT_REFERENCE_COUNT, sizeof(a),
                           &a, NULL));
    CL_OK(clGetCommandQueueInfo(s->d.queue, CL_QUEUE_PROPERTIES, sizeof(a), &a,
                                NULL));
    CL_OK(clGetProgramInfo(s->program, CL_PROGRAM_KERNEL_NAMES, sizeof(a), &a,
                           NULL));
    CHECK(strcmp(a.text, "count") == 0);
    CL_OK(clGetProgramBuildInfo(s->program, s->d.device,
                                CL_PROGRAM_BUILD_STATUS, sizeof(a), &a, NULL));
    CHECK(a.status == CL_BUILD_SUCCESS);
    CL_OK(clGetKernelInfo(s->kernel, CL_KERNEL_NUM_ARGS, sizeof(a), &a, NULL));
    CHECK(a.number == 1);
    CL_OK(clGetKernelArgInfo(s->kernel, 0, CL_KERNEL_ARG_NAME, sizeof(a), &a,
                             NULL));
    CL_OK(clGetKernelWorkGroupInfo(s->kernel, s->d.device,
                                   CL_KERNEL_WORK_GROUP_SIZE, sizeof(a), &a,
                                   NULL));
    CL_OK(clGetEventInfo(s->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(a),
                         &a, NULL));
    CHECK(a.status == CL_SUBMITTED);
}

// In two orders, so that counts are mixed between objects.
static void retain_and_release(struct shared *s)
{
    CL_OK(clRetainMemObject(s->mem));
    CL_OK(clRetainSampler(s->sampler));
    CL_OK(clRetainProgram(s->program));
    CL_OK(clRetainKernel(s->kernel));
    CL_OK(clRetainEvent(s->event));
    CL_OK(clRetainCommandQueue(s->d.queue));
    CL_OK(clRetainContext(s->d.context));
    CL_OK(clReleaseContext(s->d.context));
    CL_OK(clReleaseCommandQueue(s->d.queue));
    CL_OK(clReleaseEvent(s->event));
    CL_OK(clReleaseKernel(s->kernel));
    CL_OK(clReleaseProgram(s->program));
    CL_OK(clReleaseSampler(s->sampler));
    CL_OK(clReleaseMemObject(s->mem));
}

// The map count of the shared objects is never more than one per thread, which
// ask() looks at.
static void map(struct shared *s, cl_command_queue queue)
{
    const size_t origin[3] = {0}, region[3] = {1, 1, 1};
    size_t row;
    cl_int error;
    void *at = clEnqueueMapBuffer(queue, s->mem, CL_TRUE, CL_MAP_READ, 0, 4, 0,
                                  NULL, NULL, &error);

    CL_OK(error);
    CL_OK(clEnqueueUnmapMemObject(queue, s->mem, at, 0, NULL, NULL));
    at = clEnqueueMapImage(queue, s->image, CL_TRUE, CL_MAP_READ, origin,
                           region, &row, NULL, 0, NULL, NULL, &error);
    CL_OK(error);
    CL_OK(clEnqueueUnmapMemObject(queue, s->image, at, 0, NULL, NULL));
}

// Objects of a shared one, which come and go.
static void make(struct shared *s)
{
    const cl_buffer_region region = {1024, 1024};
    cl_int error;
    cl_mem part = clCreateSubBuffer(s->mem, 0, CL_BUFFER_CREATE_TYPE_REGION,
                                    &region, &error);

    CL_OK(error);
    CL_OK(clSetMemObjectDestructorCallback(part, count_mem, s));
    CL_OK(clReleaseMemObject(part));
    CL_OK(clReleaseKernel(driver_kernel(s->program, "count")));
    cl_kernel clone = clCloneKernel(s->kernel, &error);
    CL_OK(error);
    CL_OK(clReleaseKernel(clone));
    void *memory = clSVMAlloc(s->d.context, 0, 64, 0);
    CHECK(memory);
    clSVMFree(s->d.context, memory);
}

// Every wait that there is: by event, by marker, by a blocking call behind a
// wait list.
static void enqueue(struct shared *s, cl_command_queue queue)
{
    const size_t one = 1;
    cl_event done, mark;
    int there;

    CL_OK(clEnqueueNDRangeKernel(queue, s->kernel, 1, NULL, &one, NULL, 0, NULL,
                                 &done));
    CL_OK(clSetEventCallback(done, CL_COMPLETE, count_event, s));
    CL_OK(clEnqueueBarrierWithWaitList(queue, 1, &done, NULL));
    CL_OK(clEnqueueMarkerWithWaitList(queue, 0, NULL, &mark));
    CL_OK(clFlush(queue));
    CL_OK(clEnqueueReadBuffer(queue, s->mem, CL_TRUE, 2048, sizeof(there),
                              &there, 1, &done, NULL));
    CL_OK(clWaitForEvents(1, &mark));
    CL_OK(clReleaseEvent(mark));
    CL_OK(clReleaseEvent(done));
}

static void *run(void *data)
{
    struct shared *s = data;

    pthread_barrier_wait(&s->begin);
    for (int i = 0; i < ROUNDS; i++) {
        cl_command_queue queue = i % 2 ? s->free_order : s->d.queue;
        ask(s);
        retain_and_release(s);
        map(s, queue);
        make(s);
        enqueue(s, queue);
    }
    CL_OK(clSetEventCallback(s->event, CL_COMPLETE, count_event, s));
    CL_OK(clFinish(s->d.queue));
    CL_OK(clFinish(s->free_order));
    return NULL;
}

// Under ThreadSanitizer the test is the sanitizer's; elsewhere what is counted
// in the end.
static void threads_use_the_same_objects(void)
{
    static int zero[BYTES / sizeof(int)];
    const cl_queue_properties free_order[] = {
        CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    const cl_image_format format = {CL_RGBA, CL_UNORM_INT8};
    const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                                .image_width = 8,
                                .image_height = 8};
    static struct shared s;
    pthread_t threads[THREADS];
    cl_int error;
    int count = 0;

    s.d = driver_open(0);
    s.free_order = clCreateCommandQueueWithProperties(s.d.context, s.d.device,
                                                      free_order, &error);
    CL_OK(error);
    s.program = driver_build(&s.d, source, "-cl-kernel-arg-info");
    s.kernel = driver_kernel(s.program, "count");
    s.mem = driver_buffer(&s.d, sizeof(zero), zero);
    s.image = clCreateImage(s.d.context, 0, &format, &desc, NULL, &error);
    CL_OK(error);
    s.sampler = clCreateSamplerWithProperties(s.d.context, NULL, &error);
    CL_OK(error);
    s.event = clCreateUserEvent(s.d.context, &error);
    CL_OK(error);
    CL_OK(clSetKernelArg(s.kernel, 0, sizeof(s.mem), &s.mem));
    CHECK(pthread_barrier_init(&s.begin, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, run, &s) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CL_OK(clSetUserEventStatus(s.event, CL_COMPLETE));
    CL_OK(clEnqueueReadBuffer(s.d.queue, s.mem, CL_TRUE, 0, sizeof(count),
                              &count, 0, NULL, NULL));
    CHECK(count == THREADS * ROUNDS);
    CHECK(atomic_load(&s.gone) == THREADS * ROUNDS);
    // Each command told of its end, and the user's event each of the threads.
    while (atomic_load(&s.called) < THREADS * (ROUNDS + 1))
        sched_yield();
    CL_OK(clReleaseEvent(s.event));
    CL_OK(clReleaseSampler(s.sampler));
    CL_OK(clReleaseMemObject(s.image));
    CL_OK(clReleaseMemObject(s.mem));
    CL_OK(clReleaseKernel(s.kernel));
    CL_OK(clReleaseProgram(s.program));
    CL_OK(clReleaseCommandQueue(s.free_order));
    driver_close(&s.d);
    pthread_barrier_destroy(&s.begin);
}

// A user's event whose status nobody sets.
struct unset {
    cl_event event;
    atomic_int round; // the other thread releases it when this grows
    atomic_int done;  // as far as it has
};

static void *release_too(void *data)
{
    struct unset *u = data;

    for (int i = 1; i <= RELEASES; i++) {
        while (atomic_load(&u->round) < i)
            if (i % 2)
                sched_yield();
        CL_OK(clReleaseEvent(u->event));
        atomic_store(&u->done, i);
    }
    return NULL;
}

// Of two threads that release an event's last two references, one ends it.
static void last_releases_together_end_what_waits(void)
{
    struct driver d = driver_open(0);
    struct unset u = {0};
    pthread_t thread;
    cl_event mark;
    cl_int error;

    CHECK(pthread_create(&thread, NULL, release_too, &u) == 0);
    for (int i = 1; i <= RELEASES; i++) {
        u.event = clCreateUserEvent(d.context, &error);
        CL_OK(error);
        CL_OK(clRetainEvent(u.event));
        CL_OK(clEnqueueMarkerWithWaitList(d.queue, 1, &u.event, &mark));
        CL_OK(clFlush(d.queue));
        atomic_store(&u.round, i);
        CL_OK(clReleaseEvent(u.event));
        CL_IS(clWaitForEvents(1, &mark),
              CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
        CL_OK(clReleaseEvent(mark));
        while (atomic_load(&u.done) < i)
            sched_yield();
    }
    CHECK(pthread_join(thread, NULL) == 0);
    driver_close(&d);
}

int main(void)
{
    threads_use_the_same_objects();
    last_releases_together_end_what_waits();
    return 0;
}
