// What a command costs through the OpenCL driver, against PoCL: both in one
// process, through the system's loader, in turn.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/figure.h"
#include "bench/opencl.h"

enum {
    ROUNDS = 400,     // of what takes microseconds
    SLOW_ROUNDS = 20, // of what takes milliseconds
    QUEUED = 1000,    // kernels in order
    CHAINS = 8,
    LINKS = 20, // kernels of a chain
    BYTES = 4096
};

static const char source[] =
    "kernel void empty(global int *p) {}"
    "kernel void add(global int *p) { p[get_global_id(0)] += 1; }"
    "kernel void spin(global float *p, int n)"
    "{ float x = p[0]; for (int i = 0; i < n; i++) x = x * 0.999f + 1;"
    "  p[0] = x; }";

struct side {
    struct opencl cl;
    cl_command_queue free_order;
    cl_kernel empty, add, spin;
    cl_mem mem, chains[CHAINS];
    cl_int turns; // of spin, for 20 us
};

static void launch(cl_command_queue queue, cl_kernel kernel, size_t items,
                   cl_event after, cl_event *event)
{
    opencl_check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL,
                                        after ? 1 : 0, after ? &after : NULL,
                                        event),
                 "a kernel");
}

static void set(cl_kernel kernel, cl_uint index, size_t size, const void *value)
{
    opencl_check(clSetKernelArg(kernel, index, size, value), "an argument");
}

// Each returns a time [us].

static double run_one(struct side *s)
{
    double begin = figure_now();

    launch(s->cl.queue, s->empty, 1, NULL, NULL);
    opencl_check(clFinish(s->cl.queue), "clFinish");
    return (figure_now() - begin) * 1e3;
}

static double run_rested(struct side *s)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    return run_one(s);
}

static double run_many(struct side *s)
{
    double begin = figure_now();

    for (int i = 0; i < QUEUED; i++)
        launch(s->cl.queue, s->empty, 1, NULL, NULL);
    opencl_check(clFinish(s->cl.queue), "clFinish");
    return (figure_now() - begin) * 1e3 / QUEUED;
}

static double run_round(struct side *s)
{
    static int data[BYTES / sizeof(int)];
    double begin = figure_now();

    opencl_check(clEnqueueWriteBuffer(s->cl.queue, s->mem, CL_FALSE, 0, BYTES,
                                      data, 0, NULL, NULL),
                 "a write");
    launch(s->cl.queue, s->add, BYTES / sizeof(int), NULL, NULL);
    opencl_check(clEnqueueReadBuffer(s->cl.queue, s->mem, CL_TRUE, 0, BYTES,
                                     data, 0, NULL, NULL),
                 "a read");
    return (figure_now() - begin) * 1e3;
}

static double run_chains(struct side *s, cl_command_queue queue, bool free)
{
    cl_event last[CHAINS] = {0};
    double begin = figure_now();

    for (int i = 0; i < CHAINS * LINKS; i++) {
        cl_event *at = &last[i % CHAINS], event = NULL;
        set(s->spin, 0, sizeof(cl_mem), &s->chains[i % CHAINS]);
        launch(queue, s->spin, 1, free ? *at : NULL, free ? &event : NULL);
        if (*at)
            clReleaseEvent(*at);
        *at = event;
    }
    opencl_check(clFinish(queue), "clFinish");
    for (int i = 0; i < CHAINS; i++)
        if (last[i])
            clReleaseEvent(last[i]);
    return (figure_now() - begin) * 1e3;
}

static double run_in_order(struct side *s)
{
    return run_chains(s, s->cl.queue, false);
}

static double run_overlapped(struct side *s)
{
    return run_chains(s, s->free_order, true);
}

static cl_kernel find(const struct side *s, const char *name)
{
    cl_int status;
    cl_kernel kernel = clCreateKernel(s->cl.program, name, &status);

    opencl_check(status, name);
    return kernel;
}

static struct side open_side(const char *platform)
{
    cl_device_id device = opencl_find_device(platform);
    struct side s = {.cl = opencl_build(device, source, ""), .turns = 1000};
    cl_int status;

    s.free_order = clCreateCommandQueue(
        s.cl.context, device, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status);
    opencl_check(status, "a queue");
    s.empty = find(&s, "empty");
    s.add = find(&s, "add");
    s.spin = find(&s, "spin");
    s.mem = opencl_new_buffer(&s.cl, BYTES);
    for (int i = 0; i < CHAINS; i++)
        s.chains[i] = opencl_new_buffer(&s.cl, 64);
    set(s.empty, 0, sizeof(s.mem), &s.mem);
    set(s.add, 0, sizeof(s.mem), &s.mem);
    // 20 us a kernel, by what many take.
    for (int i = 0; i < 3; i++) {
        set(s.spin, 1, sizeof(s.turns), &s.turns);
        run_in_order(&s);
        double each = run_in_order(&s) / (CHAINS * LINKS);
        s.turns = (cl_int)(s.turns * 20 / each) + 1;
    }
    set(s.spin, 1, sizeof(s.turns), &s.turns);
    return s;
}

// Medians of rounds in turn.
static void measure(struct side *sides, unsigned count,
                    double (*run)(struct side *), int rounds, double *medians)
{
    double times[2][ROUNDS];

    for (int i = 0; i < rounds; i++)
        for (unsigned k = 0; k < count; k++)
            times[k][i] = run(&sides[k]);
    for (unsigned k = 0; k < count; k++)
        medians[k] = figure_median(times[k], rounds);
}

static const struct {
    const char *name;
    double (*run)(struct side *);
    int rounds;
    double bar;
} cases[] = {
    {"empty kernel and finish", run_one, ROUNDS, 0.25},
    {"the same after 10 ms", run_rested, SLOW_ROUNDS, 0.5},
    {"1000 empty kernels in order", run_many, SLOW_ROUNDS, 0.2},
    {"write, kernel, read of 4 KiB", run_round, ROUNDS, 1.0 / 3},
};

int main(int count, char **words)
{
    bool quick = count > 1 && strcmp(words[count - 1], "--quick") == 0;
    struct side sides[2];
    double us[2], together[1];

    setenv("OCL_ICD_VENDORS", VENDORS, 1);
    bool pocl = opencl_look_for_device("Portable") != NULL;
    sides[0] = open_side("Heddle");
    if (pocl)
        sides[1] = open_side("Portable");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct figure figure = {.bench = "opencl",
                                .name = cases[i].name,
                                .metric = "time over PoCL",
                                .unit = "ratio",
                                .peer = "pocl",
                                .op = "<=",
                                .bar = cases[i].bar};
        measure(sides, pocl ? 2 : 1, cases[i].run,
                quick ? cases[i].rounds / 4 : cases[i].rounds, us);
        figure_print(&(struct figure){.bench = "opencl",
                                      .name = cases[i].name,
                                      .metric = "time",
                                      .value = us[0],
                                      .unit = "us"});
        figure.value = pocl ? us[0] / us[1] : 0;
        if (pocl)
            figure_print(&figure);
        else
            figure_skip(&figure, "PoCL is not installed");
    }
    measure(sides, 1, run_in_order, SLOW_ROUNDS, us);
    measure(sides, 1, run_overlapped, SLOW_ROUNDS, together);
    figure_print(&(struct figure){.bench = "opencl",
                                  .name = "8 chains of 20 us kernels",
                                  .metric = "speed over one core",
                                  .value = us[0] / together[0],
                                  .unit = "ratio",
                                  .peer = "in order",
                                  .op = ">=",
                                  .bar = 1.8});
    return 0;
}
