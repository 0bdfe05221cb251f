// Host units: what it costs to have a leaf run on another core.
//
//     one word   what the machine takes to pass a word to a core and back: many
//                times in a row, and one at a time with a look at the clock
//                between, as the doorbell is measured
//     doorbell   one empty chunk at a time, from submit to its result; and in a
//                row, 16 between two looks at the clock
//     ring       a stream of empty chunks, as many in flight as the ring holds
//
// Doorbell and bare word take turns, and the bar is on the median of their
// ratios: where the two cores lie to each other, and how fast they are, changes
// while a virtual machine runs.
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

// `balls` between two looks at the clock, `count` times; the median [ns].
static double word_round(const struct hdi_topology *topology, double *ns,
                         int count, int balls)
{
    pthread_t thread;
    unsigned last = hdi_topology_machine(topology)->cores - 1;

    atomic_store(&ball, 0);
    if (hdi_thread_start(topology, last, "bench", return_ball, NULL, &thread) !=
        HD_OK)
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
    return figure_median(ns, count);
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

// `trips` between two looks at the clock, `count` times; the median [ns].
static double trip_round(const struct setup *s, double *ns, int count,
                         int trips)
{
    double clock = clock_cost(ns, count); // no part of it

    for (int i = 0; i < count / 10; i++) // the unit may have slept
        run_one(s);
    for (int i = 0; i < count; i++) {
        uint64_t begin = hdi_now();
        for (int j = 0; j < trips; j++)
            run_one(s);
        ns[i] = ((double)(hdi_now() - begin) - clock) / trips;
    }
    return figure_median(ns, count);
}

static void print_ns(const char *name, const char *metric, double ns)
{
    figure_print(&(struct figure){
        .bench = "unit",
        .name = name,
        .metric = metric,
        .value = ns,
        .unit = "ns",
    });
}

enum {
    COUNT = 10000, // of a round
    MAX_ROUNDS = 101
};

// Rounds of the bare word and of the unit in turn. Returns the word's median.
static double time_round_trips(const struct hdi_topology *topology,
                               const char *name, int rounds, bool doorbell,
                               int trips)
{
    static double ns[COUNT];
    double word[MAX_ROUNDS], unit[MAX_ROUNDS], most[MAX_ROUNDS],
        ratio[MAX_ROUNDS];
    struct setup s = set_up(topology, doorbell);

    for (int i = 0; i < rounds; i++) {
        word[i] = word_round(topology, ns, COUNT, trips);
        unit[i] = trip_round(&s, ns, COUNT, trips);
        most[i] = ns[COUNT / 100 * 99]; // the median sorts
        // 30 ns are for what the unit does with an empty chunk.
        ratio[i] = (unit[i] - 30) / word[i];
    }
    print_ns(name, "round trip, median", figure_median(unit, rounds));
    if (doorbell && trips == 1)
        figure_print(&(struct figure){
            .bench = "unit",
            .name = name,
            .metric = "round trip less 30 ns, over a word's",
            .value = figure_median(ratio, rounds),
            .unit = "ratio",
            .peer = "one word, one at a time",
            .op = "<=",
            .bar = 1.2,
        });
    print_ns(name, "round trip, 99 of 100", figure_median(most, rounds));
    tear_down(&s);
    return figure_median(word, rounds);
}

static double stream_round(const struct setup *s, int chunks)
{
    uint64_t begin = hdi_now(), checked = s->cpu->submitted(s->unit);

    for (int i = 0; i < chunks; i++)
        while (!s->cpu->submit(s->unit, &chunk))
            for (uint64_t done = s->cpu->done(s->unit); checked < done;)
                if (s->cpu->status(s->unit, ++checked) != HD_OK)
                    exit(1);
    while (s->cpu->done(s->unit) < s->cpu->submitted(s->unit))
        ;
    return chunks / ((double)(hdi_now() - begin) / 1e9) / 1e6;
}

static void time_stream(const struct hdi_topology *topology, int rounds)
{
    static double ns[COUNT];
    double rates[MAX_ROUNDS], leaves[MAX_ROUNDS];
    struct setup s = set_up(topology, false);

    for (int i = 0; i < rounds; i++) {
        double word = word_round(topology, ns, COUNT, 1);
        stream_round(&s, COUNT); // wakes the unit
        rates[i] = stream_round(&s, 10 * COUNT);
        leaves[i] = rates[i] * word / 1e3;
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
        .value = figure_median(leaves, rounds),
        .unit = "leaves",
        .peer = "one word, one at a time",
        .op = ">=",
        .bar = 1,
    });
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
        int rounds = quick ? 15 : MAX_ROUNDS;
        double one = time_round_trips(topology, "doorbell", rounds, true, 1);
        double row = time_round_trips(topology, "doorbell, in a row",
                                      rounds / 3, true, 16);
        print_ns("one word", "round trip, median", row);
        print_ns("one word, one at a time", "round trip, median", one);
        time_round_trips(topology, "ring, one at a time", rounds, false, 1);
        time_stream(topology, rounds);
    }
    hdi_topology_destroy(topology);
    return 0;
}
