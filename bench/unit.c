// Host units: what it costs to have a leaf run on another core.
//
//     one word   what the machine takes to pass a word to a core and back: many
//                times in a row, and one at a time with a look at the clock
//                between, as the doorbell is measured
//     doorbell   one empty chunk at a time, from submit to its result; and in a
//                row, 16 between two looks at the clock
//     ring       a stream of empty chunks, as many in flight as the ring holds
//
// One worker (this thread) and one unit of one core, each with a core of its
// own; with fewer than two cores there is nothing to measure.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "backend/cpu/cpu.h"
#include "base/clock.h"
#include "base/topology.h"
#include "bench/figure.h"

static void nothing(const struct hdi_frame *frame)
{
    (void)frame;
}

static const struct hdi_entry empty = {.run = nothing};

static const struct hdi_chunk chunk = {
    .entry = &empty,
    .frame = {.global = {1, 1, 1},
              .local_size = {1, 1, 1},
              .group_count = {1, 1, 1},
              .count = {1, 1, 1},
              .dims = 1},
};

// What two cores can do at best: one word there and back.
static _Atomic int ball;

static void *return_ball(void *data)
{
    (void)data;
    for (int seen;
         (seen = atomic_load_explicit(&ball, memory_order_acquire)) >= 0;)
        if (seen == 1)
            atomic_store_explicit(&ball, 0, memory_order_release);
    return NULL;
}

static double clock_cost(double *ns, int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t begin = hdi_now();
        ns[i] = (double)(hdi_now() - begin);
    }
    return figure_median(ns, count);
}

// `balls` between two looks at the clock; the median [ns].
static double time_one_word(const struct hdi_topology *topology,
                            const char *name, int count, int balls)
{
    pthread_t thread;
    unsigned last = hdi_topology_machine(topology)->cores - 1;

    atomic_store(&ball, 0);
    if (hdi_thread_start(topology, last, "bench", return_ball, NULL, &thread) !=
        HD_OK)
        exit(1);
    double *ns = malloc((size_t)count * sizeof(*ns));
    if (!ns)
        exit(1);
    double clock = clock_cost(ns, count);
    for (int i = 0; i < count; i++) {
        uint64_t begin = hdi_now();
        for (int j = 0; j < balls; j++) {
            atomic_store_explicit(&ball, 1, memory_order_release);
            while (atomic_load_explicit(&ball, memory_order_acquire) == 1)
                ;
        }
        ns[i] = ((double)(hdi_now() - begin) - clock) / balls;
    }
    atomic_store(&ball, -1);
    pthread_join(thread, NULL);
    double median = figure_median(ns, count);
    figure_print(&(struct figure){
        .bench = "unit",
        .name = name,
        .metric = "round trip, median",
        .value = median,
        .unit = "ns",
    });
    free(ns);
    return median;
}

struct setup {
    const struct hdi_backend *cpu;
    struct hdi_device *device;
    struct hdi_unit *unit;
};

static struct setup set_up(const struct hdi_topology *topology, bool doorbell)
{
    struct hdi_device_params params = {.units = 1, .doorbell = doorbell};
    struct setup s = {.cpu = hdi_backend_find("cpu")};
    struct hd_error error;

    if (s.cpu->open(topology, 0, &params, &s.device, &error) != HD_OK ||
        s.cpu->unit_open(s.device, 0, &s.unit) != HD_OK) {
        fprintf(stderr, "bench_unit: no host unit\n");
        exit(1);
    }
    return s;
}

static void tear_down(const struct setup *s)
{
    s->cpu->unit_close(s->unit);
    s->cpu->close(s->device);
}

static void run_one(const struct setup *s)
{
    s->cpu->submit(s->unit, &chunk);
    uint64_t ticket = s->cpu->submitted(s->unit);
    while (s->cpu->done(s->unit) < ticket)
        ;
    if (s->cpu->status(s->unit, ticket) != HD_OK)
        exit(1);
}

// `trips` between two looks at the clock.
static void time_round_trips(const struct hdi_topology *topology,
                             const char *name, int count, bool doorbell,
                             int trips, double word)
{
    struct setup s = set_up(topology, doorbell);
    double *ns = malloc((size_t)count * sizeof(*ns));

    if (!ns)
        exit(1);
    double clock = clock_cost(ns, count); // no part of it
    for (int i = 0; i < 10000; i++)
        run_one(&s);
    for (int i = 0; i < count; i++) {
        uint64_t begin = hdi_now();
        for (int j = 0; j < trips; j++)
            run_one(&s);
        ns[i] = ((double)(hdi_now() - begin) - clock) / trips;
    }
    double median = figure_median(ns, count);
    figure_print(&(struct figure){
        .bench = "unit",
        .name = name,
        .metric = "round trip, median",
        .value = median,
        .unit = "ns",
    });
    // 30 ns are for what the unit does with an empty chunk.
    if (doorbell && trips == 1)
        figure_print(&(struct figure){
            .bench = "unit",
            .name = name,
            .metric = "round trip less 30 ns, over a word's",
            .value = (median - 30) / word,
            .unit = "ratio",
            .peer = "one word, one at a time",
            .op = "<=",
            .bar = 1.2,
        });
    figure_print(&(struct figure){
        .bench = "unit",
        .name = name,
        .metric = "round trip, 99 of 100",
        .value = ns[(size_t)count * 99 / 100], // the median sorts
        .unit = "ns",
    });
    free(ns);
    tear_down(&s);
}

static void time_stream(const struct hdi_topology *topology, int rounds,
                        double word)
{
    enum {
        CHUNKS = 100000
    };
    struct setup s = set_up(topology, false);
    double *rates = malloc((size_t)rounds * sizeof(*rates));

    if (!rates)
        exit(1);
    for (int round = -1; round < rounds; round++) { // one to warm up
        uint64_t begin = hdi_now(), checked = s.cpu->submitted(s.unit);
        for (int i = 0; i < CHUNKS; i++)
            while (!s.cpu->submit(s.unit, &chunk))
                for (uint64_t done = s.cpu->done(s.unit); checked < done;)
                    if (s.cpu->status(s.unit, ++checked) != HD_OK)
                        exit(1);
        while (s.cpu->done(s.unit) < s.cpu->submitted(s.unit))
            ;
        if (round >= 0)
            rates[round] = CHUNKS / ((double)(hdi_now() - begin) / 1e9) / 1e6;
    }
    figure_print(&(struct figure){
        .bench = "unit",
        .name = "ring",
        .metric = "empty leaves",
        .value = figure_median(rates, rounds),
        .unit = "million/s",
    });
    figure_print(&(struct figure){
        .bench = "unit",
        .name = "ring",
        .metric = "empty leaves while a word goes there and back",
        .value = figure_median(rates, rounds) * word / 1e3,
        .unit = "leaves",
        .peer = "one word, one at a time",
        .op = ">=",
        .bar = 1,
    });
    free(rates);
    tear_down(&s);
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct hdi_topology *topology;
    struct hd_error error;

    if (hdi_topology_create(NULL, &topology, &error) != HD_OK) {
        fprintf(stderr, "bench_unit: %s\n", error.text);
        return 1;
    }
    if (hdi_topology_machine(topology)->cores < 2) {
        figure_skip(&(struct figure){.bench = "unit",
                                     .name = "doorbell",
                                     .metric = "round trip, median"},
                    "a worker and a unit need two cores");
    } else {
        cpu_set_t set; // the worker's core; the unit has the last one
        CPU_ZERO(&set);
        CPU_SET(hdi_topology_core(topology, 0)->os_index, &set);
        pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
        time_one_word(topology, "one word", quick ? 20000 : 200000, 10);
        double word = time_one_word(topology, "one word, one at a time",
                                    quick ? 200000 : 2000000, 1);
        int count = quick ? 200000 : 2000000;
        time_round_trips(topology, "doorbell", count, true, 1, word);
        time_round_trips(topology, "doorbell, in a row", count / 16, true, 16,
                         word);
        time_round_trips(topology, "ring, one at a time", count, false, 1,
                         word);
        time_stream(topology, quick ? 15 : 101, word);
    }
    hdi_topology_destroy(topology);
    return 0;
}
