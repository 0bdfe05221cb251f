// Several launches at a time: what the rules of the broker are worth, each as
// the time that the same launches take with it over the time without.
//
//     compete [--quick]      one JSON object per line on stdout
//
// Every launch is on a thread of its own, as in an application of many parts.
// Both brokers are measured in turn in one runtime; medians of the ratios
// count. For shares of caches a core with its second-level cache is a module: a
// last-level cache may be larger than what a virtual machine gets of it.
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "heddle/heddle.h"
#include "launch/broker/broker.h"
#include "launch/launch.h"
#include "runtime/runtime.h"

enum {
    ROUNDS = 11,
    STREAM = 8 << 20,  // numbers of each of three buffers, beyond any cache
    COMPUTE = 1 << 18, // work-items
    SWEEP = 256 << 10, // work-items of one launch over data of its own
    LOCAL_ITEMS = 64,
    CALLERS = 4,
    BUFFERS = 3
};

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_error error;

// A thread that launches one kernel again and again.
struct caller {
    const struct hd_kernel *kernel;
    struct hd_range range;
    struct hd_arg args[BUFFERS];
    unsigned arg_count;
    enum hd_priority priority;
    struct hd_buffer *buffers[BUFFERS];
    int32_t number;
    int repeats;
    pthread_t thread;
    double took; // [ms]
};

static void check(hd_status status, const char *what)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench compete: %s: %s\n", what, error.text);
    exit(1);
}

static void add_buffer(struct caller *c, uint64_t bytes)
{
    struct hd_buffer **buffer = &c->buffers[c->arg_count];

    check(hd_buffer_create(runtime, bytes, buffer, &error), "a buffer");
    memset(hd_buffer_host(*buffer), 0, bytes);
    c->args[c->arg_count++] =
        (struct hd_arg){.is = HD_IS_BUFFER, .buffer = *buffer};
}

static void add_number(struct caller *c, int32_t number)
{
    c->number = number;
    c->args[c->arg_count++] = (struct hd_arg){
        .is = HD_IS_VALUE, .value = &c->number, .size = sizeof(c->number)};
}

static void make(struct caller *c, const char *kernel, uint64_t items)
{
    *c = (struct caller){
        .kernel = hd_program_find(program, kernel),
        .range = {.dims = 1, .global = {items}, .local = {LOCAL_ITEMS}},
        .repeats = 1};
    if (!c->kernel)
        exit(1);
}

static void make_stream(struct caller *c, uint64_t cache)
{
    (void)cache;
    make(c, "stream", STREAM);
    for (int i = 0; i < 3; i++)
        add_buffer(c, STREAM * sizeof(float));
}

static void make_compute(struct caller *c, uint64_t cache)
{
    (void)cache;
    make(c, "compute", COMPUTE);
    add_buffer(c, COMPUTE * sizeof(float));
    add_number(c, 2000);
}

// Data of 0.7 of a cache.
static void make_sweep(struct caller *c, uint64_t cache)
{
    uint64_t chunks = cache * 7 / 10 / (4096 * sizeof(float));

    make(c, "sweep", SWEEP);
    add_buffer(c, chunks * 4096 * sizeof(float));
    add_buffer(c, SWEEP * sizeof(float));
    add_number(c, (int32_t)chunks);
}

static void end(struct caller *c)
{
    for (unsigned i = 0; i < BUFFERS; i++)
        hd_buffer_destroy(c->buffers[i]);
}

static void *call(void *data)
{
    struct caller *c = data;
    const struct hd_launch_params params = {.priority = c->priority};
    struct hd_error failure;
    double begin = figure_now();

    for (int i = 0; i < c->repeats; i++)
        if (hd_launch_with(runtime, &params, c->kernel, &c->range, c->args,
                           c->arg_count, &failure) != HD_OK) {
            fprintf(stderr, "bench compete: %s\n", failure.text);
            exit(1);
        }
    c->took = figure_now() - begin;
    return NULL;
}

// How long all take together [ms].
static double run(struct caller *callers, unsigned count)
{
    double begin = figure_now();

    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&callers[i].thread, NULL, call, &callers[i]) != 0)
            exit(1);
    for (unsigned i = 0; i < count; i++)
        pthread_join(callers[i].thread, NULL);
    return figure_now() - begin;
}

static struct hdi_broker *make_broker(const struct hdi_broker_rules *rules)
{
    struct hdi_broker *broker;

    check(hdi_broker_create(runtime->pool, runtime->launcher->port_count, rules,
                            &broker, &error),
          "a broker");
    return broker;
}

// As often as it takes to last `time` alone [ms].
static void set_length(struct caller *c, double time)
{
    double once;

    run(c, 1);
    once = run(c, 1);
    c->repeats = once < time ? (int)ceil(time / once) : 1;
}

static double all(const struct caller *callers, unsigned count, double took)
{
    (void)callers, (void)count;
    return took;
}

static double of_last(const struct caller *callers, unsigned count, double took)
{
    (void)took;
    return callers[count - 1].took;
}

static const struct contest {
    const char *name, *metric;
    void (*make[CALLERS])(struct caller *caller, uint64_t cache);
    enum hd_priority priority; // of all but the last, which has the lowest
    double length;             // of each caller [ms]
    struct hdi_broker_rules without;
    bool by_core; // a module is a core and its second-level cache
    double (*figure)(const struct caller *callers, unsigned count, double took);
} contests[] = {
    {.name = "bandwidth: 2 launches that stream, 2 that compute",
     .metric = "time with the rule",
     .make = {make_stream, make_stream, make_compute, make_compute},
     .length = 60,
     .without = {.no_bandwidth = true},
     .figure = all},
    {.name = "cache share: 2 launches over 0.7 of a core's cache each",
     .metric = "time with the rule",
     .make = {make_sweep, make_sweep},
     .length = 60,
     .without = {.no_cache = true},
     .by_core = true,
     .figure = all},
    {.name = "matching all heads: 2 that stream, 2 that compute",
     .metric = "time with the rule",
     .make = {make_stream, make_stream, make_compute, make_compute},
     .length = 60,
     .without = {.no_matching = true},
     .figure = all},
    {.name = "windows: a launch of low priority beside 3 of high",
     .metric = "its time with the rule",
     .make = {make_compute, make_compute, make_compute, make_compute},
     .priority = HD_PRIORITY_HIGH,
     .length = 60,
     .without = {.no_windows = true},
     .figure = of_last},
};

static uint64_t cache_bytes(void)
{
    const struct hdi_machine *machine = hdi_topology_machine(runtime->topology);

    return machine->l3_bytes   ? machine->l3_bytes
           : machine->l2_bytes ? machine->l2_bytes
                               : 1 << 20;
}

static void measure(const struct contest *contest, int rounds,
                    struct hdi_broker *both[2])
{
    struct caller callers[CALLERS];
    double ratios[ROUNDS];
    unsigned count = 0;

    for (; count < CALLERS && contest->make[count]; count++) {
        contest->make[count](&callers[count], cache_bytes());
        callers[count].priority = contest->priority;
        set_length(&callers[count], contest->length);
    }
    if (contest->figure == of_last) {
        callers[count - 1].priority = HD_PRIORITY_LOW;
        callers[count - 1].repeats = 1 + callers[count - 1].repeats / 20;
    }
    for (int i = 0; i < rounds; i++) {
        double times[2];
        for (int k = 0; k < 2; k++) {
            runtime->launcher->broker = both[(k ^ i) & 1];
            double took = run(callers, count);
            times[(k ^ i) & 1] = contest->figure(callers, count, took);
        }
        ratios[i] = times[0] / times[1];
    }
    for (unsigned i = 0; i < count; i++)
        end(&callers[i]);
    figure_print(&(struct figure){.bench = "compete",
                                  .name = contest->name,
                                  .metric = contest->metric,
                                  .value = figure_median(ratios, rounds),
                                  .unit = "ratio",
                                  .peer = "without the rule",
                                  .op = "<=",
                                  .bar = 1});
}

// The machine, or its cores alone with the cache of each. NULL: the machine.
static const char *topology_of(const struct contest *contest, char text[64])
{
    struct hdi_topology *topology;

    if (!contest->by_core)
        return NULL;
    check(hdi_topology_create(NULL, &topology, &error), "a topology");
    const struct hdi_machine *machine = hdi_topology_machine(topology);
    snprintf(text, 64, "pack:1 l3:%u(size=%llu) core:1 pu:1", machine->cores,
             machine->l2_bytes ? (unsigned long long)machine->l2_bytes
                               : 1ULL << 20);
    hdi_topology_destroy(topology);
    return text;
}

static void hold(const struct contest *contest, int rounds)
{
    const struct hd_program_params params = {.path = COMPETE_SOURCE};
    char text[64];

    check(hd_runtime_create(&(struct hd_runtime_params){.topology = topology_of(
                                                            contest, text)},
                            &runtime, &error),
          "a runtime");
    check(hd_program_create(runtime, &params, &program, &error), "kernels");
    if (!runtime->launcher->broker) {
        fputs("bench compete: this runtime has no workers of its own\n",
              stderr);
        exit(1);
    }
    struct hdi_broker *both[2] = {runtime->launcher->broker,
                                  make_broker(&contest->without)};
    measure(contest, rounds, both);
    runtime->launcher->broker = both[0];
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    hdi_broker_destroy(both[1]); // no worker is left that might serve it
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 5 : ROUNDS;

    for (size_t i = 0; i < sizeof(contests) / sizeof(*contests); i++)
        hold(&contests[i], rounds);
    return 0;
}
