// Handles that were released are none, whatever was made after them.
#include <stdbool.h>

#include "tests/opencl/driver.h"

// MADE is what object.h promises; ALIVE is more than the slots that rest, so
// that some are used again.
enum {
    MADE = 1000, // after a handle was released
    ALIVE = 300  // at a time
};

static struct driver d;
static cl_program program;

static const char source[] = "kernel void empty(global int *p) {}";

// Each makes an object, releases one, or asks something of it.

static void *make_context(void)
{
    cl_int error;
    void *made = clCreateContext(NULL, 1, &d.device, NULL, NULL, &error);

    CL_OK(error);
    return made;
}

static void *make_queue(void)
{
    cl_int error;
    void *made =
        clCreateCommandQueueWithProperties(d.context, d.device, NULL, &error);

    CL_OK(error);
    return made;
}

static void *make_buffer(void)
{
    return driver_buffer(&d, 64, NULL);
}

static void *make_sampler(void)
{
    cl_int error;
    void *made = clCreateSampler(d.context, CL_FALSE, CL_ADDRESS_CLAMP,
                                 CL_FILTER_NEAREST, &error);

    CL_OK(error);
    return made;
}

static void *make_program(void)
{
    const char *text = source;
    cl_int error;
    void *made = clCreateProgramWithSource(d.context, 1, &text, NULL, &error);

    CL_OK(error);
    return made;
}

static void *make_kernel(void)
{
    return driver_kernel(program, "empty");
}

static void *make_event(void)
{
    cl_int error;
    void *made = clCreateUserEvent(d.context, &error);

    CL_OK(error);
    return made;
}

#define CALLS(name, type, retain, release) \
    static cl_int retain_##name(void *it)  \
    {                                      \
        return retain((type)it);           \
    }                                      \
    static cl_int release_##name(void *it) \
    {                                      \
        return release((type)it);          \
    }

CALLS(context, cl_context, clRetainContext, clReleaseContext)
CALLS(queue, cl_command_queue, clRetainCommandQueue, clReleaseCommandQueue)
CALLS(buffer, cl_mem, clRetainMemObject, clReleaseMemObject)
CALLS(sampler, cl_sampler, clRetainSampler, clReleaseSampler)
CALLS(program, cl_program, clRetainProgram, clReleaseProgram)
CALLS(kernel, cl_kernel, clRetainKernel, clReleaseKernel)
CALLS(event, cl_event, clRetainEvent, clReleaseEvent)

#define KIND(name, error) \
    {#name, make_##name, retain_##name, release_##name, error}

static const struct {
    const char *name;
    void *(*make)(void);
    cl_int (*retain)(void *it);
    cl_int (*release)(void *it);
    cl_int error;
} kinds[] = {
    KIND(context, CL_INVALID_CONTEXT),   KIND(queue, CL_INVALID_COMMAND_QUEUE),
    KIND(buffer, CL_INVALID_MEM_OBJECT), KIND(sampler, CL_INVALID_SAMPLER),
    KIND(program, CL_INVALID_PROGRAM),   KIND(kernel, CL_INVALID_KERNEL),
    KIND(event, CL_INVALID_EVENT),
};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

// After each new object the old handle is asked again: it must never be the new
// one.
static void test_released(unsigned k)
{
    void *gone = kinds[k].make();

    CL_OK(kinds[k].release(gone));
    CL_IS(kinds[k].retain(gone), kinds[k].error);
    for (int i = 0; i < MADE; i++) {
        void *made = kinds[k].make();
        if (made == gone || kinds[k].retain(gone) != kinds[k].error) {
            fprintf(stderr, "%s: a released one is back after %d others\n",
                    kinds[k].name, i);
            exit(1);
        }
        CL_OK(kinds[k].retain(made));
        CL_OK(kinds[k].release(made));
        CL_OK(kinds[k].release(made));
        CL_IS(kinds[k].release(made), kinds[k].error);
    }
}

// Many at a time, used again in another order: all of them are good.
static void test_alive(unsigned k)
{
    void *made[ALIVE];

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < ALIVE; i++)
            made[i] = kinds[k].make();
        for (int i = 0; i < ALIVE; i++)
            for (int j = 0; j < i; j++)
                CHECK(made[i] != made[j]);
        for (int i = 0; i < ALIVE; i++)
            CL_OK(kinds[k].retain(made[i]));
        for (int i = 0; i < ALIVE; i++) {
            int at = (i * 7 + round) % ALIVE;
            CL_OK(kinds[k].release(made[at]));
            CL_OK(kinds[k].release(made[at]));
            CL_IS(kinds[k].release(made[at]), kinds[k].error);
        }
    }
}

// What is in an object is there, wherever its slot was before.
static void test_contents(void)
{
    cl_mem mems[ALIVE];
    cl_int number;

    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < ALIVE; i++) {
            number = round * ALIVE + i;
            mems[i] = driver_buffer(&d, sizeof(number), &number);
        }
        for (int i = 0; i < ALIVE; i++) {
            CL_OK(clEnqueueReadBuffer(d.queue, mems[i], CL_TRUE, 0,
                                      sizeof(number), &number, 0, NULL, NULL));
            CHECK(number == round * ALIVE + i);
            CL_OK(clReleaseMemObject(mems[i]));
        }
    }
}

// A kernel that was given a buffer that is gone is not run with another's.
static void test_arguments(void)
{
    const size_t one = 1;
    cl_kernel kernel = make_kernel();
    cl_mem mem = make_buffer();

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_OK(clReleaseMemObject(mem));
    for (int i = 0; i < 200; i++) {
        cl_mem other = make_buffer();
        CL_IS(clEnqueueNDRangeKernel(d.queue, kernel, 1, NULL, &one, NULL, 0,
                                     NULL, NULL),
              CL_INVALID_KERNEL_ARGS);
        CL_OK(clReleaseMemObject(other));
    }
    CL_OK(clReleaseKernel(kernel));
}

int main(void)
{
    d = driver_open(0);
    program = driver_build(&d, source, "");
    for (unsigned k = 0; k < KINDS; k++) {
        test_released(k);
        test_alive(k);
    }
    test_contents();
    test_arguments();
    CL_OK(clReleaseProgram(program));
    driver_close(&d);
    return 0;
}
