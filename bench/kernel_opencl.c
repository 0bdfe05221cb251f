// The peer of bench/kernel.c: the same kernels on the same data by another
// implementation of OpenCL.
//
//     kernel_opencl PLATFORM, suite_opencl PLATFORM
//
// Says "ready" when kernels can run, or exits with 1 when there is no platform
// with that name. Then answers lines: "run CASE" (a number) with the bytes of
// both outputs after one run, and "time REPEATS" with the time per run of that
// case [ms].
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/opencl.h"
#include "bench/problem.h"

static struct opencl opencl;
static cl_mem buffers[PROBLEM_BUFFERS];
static void *memory[PROBLEM_BUFFERS];

static cl_kernel load(const struct problem *p)
{
    struct problem_arg args[PROBLEM_ARGS];
    unsigned count = problem_args(p, args);
    cl_int status;
    cl_kernel kernel = clCreateKernel(opencl.program, p->kernel, &status);

    opencl_check(status, p->kernel);
    problem_fill(p, memory);
    problem_reset(p, memory, memory + PROBLEM_INPUTS);
    for (int b = 0; b < PROBLEM_BUFFERS; b++)
        opencl_check(clEnqueueWriteBuffer(opencl.queue, buffers[b], CL_TRUE, 0,
                                          PROBLEM_BYTES, memory[b], 0, NULL,
                                          NULL),
                     "write");
    for (unsigned i = 0; i < count; i++)
        opencl_check(
            args[i].buffer >= 0
                ? clSetKernelArg(kernel, i, sizeof(cl_mem),
                                 &buffers[args[i].buffer])
                : clSetKernelArg(kernel, i, args[i].size, args[i].value),
            "argument");
    return kernel;
}

// [ms]
static double run(const struct problem *p, cl_kernel kernel, int repeats)
{
    size_t global[3], local[3];

    for (unsigned d = 0; d < p->range.dims; d++) {
        global[d] = p->range.global[d];
        local[d] = p->range.local[d];
    }
    double begin = figure_now();
    for (int i = 0; i < repeats; i++)
        opencl_check(clEnqueueNDRangeKernel(opencl.queue, kernel, p->range.dims,
                                            NULL, global, local, 0, NULL, NULL),
                     p->kernel);
    opencl_check(clFinish(opencl.queue), p->kernel);
    return (figure_now() - begin) / repeats;
}

static void send_outputs(void)
{
    for (int b = PROBLEM_INPUTS; b < PROBLEM_BUFFERS; b++) {
        opencl_check(clEnqueueReadBuffer(opencl.queue, buffers[b], CL_TRUE, 0,
                                         PROBLEM_BYTES, memory[b], 0, NULL,
                                         NULL),
                     "read");
        fwrite(memory[b], 1, PROBLEM_BYTES, stdout);
    }
}

int main(int argc, char **argv)
{
    char line[64];
    int which, repeats;
    cl_kernel kernel = NULL;

    // What is compiled for a benchmark is of no use afterwards.
    setenv("POCL_KERNEL_CACHE", "0", 0);
    if (argc != 2)
        return 2;
    cl_device_id device = opencl_find_device(argv[1]);
    char *text = problem_read_source();
    opencl = opencl_build(device, text, "");
    free(text);
    for (int b = 0; b < PROBLEM_BUFFERS; b++) {
        buffers[b] = opencl_new_buffer(&opencl, PROBLEM_BYTES);
        if (!(memory[b] = malloc(PROBLEM_BYTES)))
            return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin)) {
        if (sscanf(line, "run %d", &which) == 1 && which >= 0 &&
            which < problem_set.count) {
            if (kernel)
                clReleaseKernel(kernel);
            kernel = load(&problem_set.problems[which]);
            run(&problem_set.problems[which], kernel, 1);
            send_outputs();
        } else if (kernel && sscanf(line, "time %d", &repeats) == 1) {
            printf("%f\n", run(&problem_set.problems[which], kernel, repeats));
        } else {
            return 2;
        }
        fflush(stdout);
    }
    return 0;
}
