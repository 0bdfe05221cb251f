// Programs are linked while others compile them again: a link takes what there
// is at that moment, or says that there is nothing.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/opencl/driver.h"

// As many links as meet a few compilations; and one that was refused at least,
// so that both were seen.
enum {
    LINKS = 60
};

static const char source[] =
    "kernel void fill(global int *p) { p[get_global_id(0)] = 7; }";

// A program that one thread compiles while the other links it.
struct shared {
    struct driver d;
    cl_program part;
    atomic_bool stop;
    atomic_uint compiled;
};

// Every third time in vain.
static void *compile(void *data)
{
    struct shared *s = data;
    unsigned i = 0;

    for (; !atomic_load(&s->stop); i++) {
        bool fails = i % 3 == 2;
        CL_IS(clCompileProgram(s->part, 1, &s->d.device,
                               fails ? "-no-such-option" : "", 0, NULL, NULL,
                               NULL, NULL),
              fails ? CL_INVALID_COMPILER_OPTIONS : CL_SUCCESS);
        atomic_fetch_add(&s->compiled, 1);
    }
    return NULL;
}

// What was linked is whole, whatever became of its parts.
static void run(const struct shared *s, cl_program program)
{
    const size_t items = 3; // before 2.0: all work-groups have one size
    cl_mem mem = driver_buffer(&s->d, items * sizeof(cl_int), NULL);
    cl_kernel kernel = driver_kernel(program, "fill");
    cl_int values[3];

    CL_OK(clSetKernelArg(kernel, 0, sizeof(mem), &mem));
    CL_IS(clEnqueueNDRangeKernel(s->d.queue, kernel, 1, NULL, &items,
                                 &(size_t){2}, 0, NULL, NULL),
          CL_INVALID_WORK_GROUP_SIZE);
    CL_OK(clEnqueueNDRangeKernel(s->d.queue, kernel, 1, NULL, &items, NULL, 0,
                                 NULL, NULL));
    CL_OK(clEnqueueReadBuffer(s->d.queue, mem, CL_TRUE, 0, sizeof(values),
                              values, 0, NULL, NULL));
    CHECK(values[0] == 7 && values[1] == 7 && values[2] == 7);
    CL_OK(clReleaseKernel(kernel));
    CL_OK(clReleaseMemObject(mem));
}

int main(void)
{
    struct shared s = {.d = driver_open(0)};
    const char *text = source;
    unsigned linked = 0, refused = 0;
    pthread_t thread;
    cl_int error;

    s.part = clCreateProgramWithSource(s.d.context, 1, &text, NULL, &error);
    CL_OK(error);
    CHECK(pthread_create(&thread, NULL, compile, &s) == 0);
    while (linked < LINKS || refused == 0) {
        cl_program program = clLinkProgram(s.d.context, 1, &s.d.device, "", 1,
                                           &s.part, NULL, NULL, &error);
        if (error == CL_SUCCESS) {
            linked++;
            run(&s, program);
        } else {
            refused++;
            CHECK(error == CL_INVALID_OPERATION ||
                  error == CL_LINK_PROGRAM_FAILURE);
        }
        if (program)
            CL_OK(clReleaseProgram(program));
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&s.compiled) > 3);
    CL_OK(clReleaseProgram(s.part));
    driver_close(&s.d);
    return 0;
}
