// A kernel that is enqueued again: what was found out about it the last time
// counts as long as nothing has changed, and no longer.
#include <pthread.h>

#include "tests/opencl/driver.h"

enum {
    THREADS = 4,
    ROUNDS = 200,
    SLOTS = 256
};

static const char source[] =
    "kernel void count(global int *p)"
    "{ atomic_inc(p + get_global_id(0)); }"
    "kernel void local_count(global int *p, local int *q)"
    "{ q[get_local_id(0)] = 1; atomic_add(p + get_global_id(0),"
    "  q[get_local_id(0)]); }"
    "kernel void give(global int *p, int value) { p[get_global_id(0)] = value; "
    "}";

static void read_all(const struct driver *d, cl_mem mem, int values[SLOTS])
{
    CL_OK(clEnqueueReadBuffer(d->queue, mem, CL_TRUE, 0, SLOTS * sizeof(int),
                              values, 0, NULL, NULL));
}

static cl_int run(const struct driver *d, cl_kernel kernel, size_t offset,
                  size_t items, size_t local)
{
    return clEnqueueNDRangeKernel(d->queue, kernel, 1, offset ? &offset : NULL,
                                  &items, local ? &local : NULL, 0, NULL, NULL);
}

static void check_counts(const int values[SLOTS], int begin, int end, int count)
{
    for (int i = 0; i < SLOTS; i++)
        CHECK(values[i] == (i >= begin && i < end ? count : 0));
}

// Each is run twice: the second time by what is known from the first.
// Neighbours differ in one thing each.
static void each_range_is_run_as_given(void)
{
    static int zero[SLOTS];
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, "-cl-std=CL3.0");
    cl_kernel kernel = driver_kernel(program, "count");
    int values[SLOTS];

    static const struct {
        size_t offset, items, local;
    } ranges[] = {{0, 64, 0}, {0, 64, 0}, {8, 64, 0},  {0, 32, 0},
                  {0, 64, 4}, {0, 64, 8}, {192, 64, 8}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        cl_mem mem = driver_buffer(&d, sizeof(zero), zero);
        CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
        for (int twice = 0; twice < 2; twice++)
            CL_OK(run(&d, kernel, ranges[i].offset, ranges[i].items,
                      ranges[i].local));
        read_all(&d, mem, values);
        check_counts(values, (int)ranges[i].offset,
                     (int)(ranges[i].offset + ranges[i].items), 2);
        CL_OK(clReleaseMemObject(mem));
    }
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// An error must not leave anything behind that counts the next time, nor a
// success hide an error.
static void what_is_wrong_now_is_told(void)
{
    static int zero[SLOTS];
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, "-cl-std=CL3.0");
    cl_kernel kernel = driver_kernel(program, "local_count");
    cl_mem mem = driver_buffer(&d, sizeof(zero), zero);
    cl_ulong most;
    int values[SLOTS];

    CL_OK(clGetDeviceInfo(d.device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof(most),
                          &most, NULL));
    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_IS(run(&d, kernel, 0, 64, 16), CL_INVALID_KERNEL_ARGS);
    CL_OK(clSetKernelArg(kernel, 1, 16 * sizeof(int), NULL));
    CL_OK(run(&d, kernel, 0, 64, 16));
    CL_OK(run(&d, kernel, 0, 64, 16));
    CL_OK(clSetKernelArg(kernel, 1, (size_t)most + 1, NULL));
    CL_IS(run(&d, kernel, 0, 64, 16), CL_OUT_OF_RESOURCES);
    CL_IS(run(&d, kernel, 0, 64, 16), CL_OUT_OF_RESOURCES);
    CL_OK(clSetKernelArg(kernel, 1, 16 * sizeof(int), NULL));
    CL_OK(run(&d, kernel, 0, 64, 16));
    CL_IS(run(&d, kernel, 0, 64, 1 << 20), CL_INVALID_WORK_ITEM_SIZE);
    CL_IS(run(&d, kernel, SIZE_MAX, 64, 16), CL_INVALID_GLOBAL_OFFSET);
    CL_IS(clEnqueueNDRangeKernel(d.queue, kernel, 4, NULL, NULL, NULL, 0, NULL,
                                 NULL),
          CL_INVALID_WORK_DIMENSION);
    CL_OK(run(&d, kernel, 0, 64, 16));
    read_all(&d, mem, values);
    check_counts(values, 0, 64, 4);
    // The kernel does not hold its arguments.
    CL_OK(clReleaseMemObject(mem));
    CL_IS(run(&d, kernel, 0, 64, 16), CL_INVALID_KERNEL_ARGS);
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// A value is written over without a note of it, a buffer is not: both have to
// arrive.
static void values_and_buffers_are_those_set_last(void)
{
    static int zero[SLOTS];
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, "-cl-std=CL3.0");
    cl_kernel kernel = driver_kernel(program, "give");
    cl_mem mems[2] = {driver_buffer(&d, sizeof(zero), zero),
                      driver_buffer(&d, sizeof(zero), zero)};
    int values[2][SLOTS];

    for (int i = 1; i <= 6; i++) {
        CL_OK(clSetKernelArg(kernel, 0, sizeof(cl_mem), &mems[i % 2]));
        CL_OK(clSetKernelArg(kernel, 1, sizeof(i), &i));
        CL_OK(run(&d, kernel, 0, SLOTS, 0));
    }
    for (int i = 0; i < 2; i++) {
        read_all(&d, mems[i], values[i]);
        check_counts(values[i], 0, SLOTS, i ? 5 : 6);
        CL_OK(clReleaseMemObject(mems[i]));
    }
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

// A thread with a queue and a range of its own; the kernel is everybody's.
struct enqueuer {
    pthread_t thread;
    const struct driver *d;
    cl_kernel kernel;
    size_t offset;
};

static void *enqueue(void *data)
{
    const struct enqueuer *e = data;
    cl_int error;
    cl_command_queue queue = clCreateCommandQueueWithProperties(
        e->d->context, e->d->device, NULL, &error);
    size_t items = SLOTS / THREADS;

    CL_OK(error);
    for (int i = 0; i < ROUNDS; i++)
        CL_OK(clEnqueueNDRangeKernel(queue, e->kernel, 1, &e->offset, &items,
                                     NULL, 0, NULL, NULL));
    CL_OK(clFinish(queue));
    CL_OK(clReleaseCommandQueue(queue));
    return NULL;
}

// Only to set arguments is for one thread at a time.
static void threads_enqueue_one_kernel_with_ranges_of_their_own(void)
{
    static int zero[SLOTS];
    struct driver d = driver_open(0);
    cl_program program = driver_build(&d, source, "-cl-std=CL3.0");
    cl_kernel kernel = driver_kernel(program, "count");
    cl_mem mem = driver_buffer(&d, sizeof(zero), zero);
    struct enqueuer e[THREADS];
    int values[SLOTS];

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    for (int i = 0; i < THREADS; i++) {
        e[i] = (struct enqueuer){
            .d = &d, .kernel = kernel, .offset = (size_t)i * (SLOTS / THREADS)};
        CHECK(pthread_create(&e[i].thread, NULL, enqueue, &e[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(e[i].thread, NULL);
    read_all(&d, mem, values);
    check_counts(values, 0, SLOTS, ROUNDS);
    CL_OK(clReleaseMemObject(mem));
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
}

int main(void)
{
    each_range_is_run_as_given();
    what_is_wrong_now_is_told();
    values_and_buffers_are_those_set_last();
    threads_enqueue_one_kernel_with_ranges_of_their_own();
    return 0;
}
