#include "tests/cuda/figures/figures.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/check.h"
#include "tests/cuda/figures/bare.h"
#include "tests/cuda/fake.h"

enum {
    TILES = 64,      // on a GPU
    FEW_TILES = 8,   // on the fake driver, which runs 16 at a time
    LEAVES = 2000,   // that are timed at a time,
    FEW_LEAVES = 24, // on the fake driver
    PASSES = 1000,   // that depend on each other
    FEW_PASSES = 12,
    ROUNDS = 5,      // of which the fastest counts
    BURST = 1000000, // empty leaves
    FEW_IN_BURST = 60,
    CORES = 8
};

static unsigned tiles(void)
{
    return fake_cuda() ? FEW_TILES : TILES;
}

void figure(const struct machine *m, const char *name, const char *metric,
            double value, const char *unit, const char *peer, double bar,
            bool most)
{
    bool holds = bar == 0 || m->fake || (most ? value <= bar : value >= bar);

    printf("{\"bench\":\"gpu\",\"case\":\"%s\",\"metric\":\"%s\","
           "\"value\":%.4g,\"unit\":\"%s\"",
           name, metric, value, unit);
    if (peer)
        printf(",\"peer\":\"%s\"", peer);
    if (bar > 0 && !m->fake)
        printf(",\"op\":\"%s\",\"bar\":%.4g,\"holds\":%s",
               most ? "<=" : ">=", bar, holds ? "true" : "false");
    printf(",\"device\":\"%s\"%s}\n", m->device->can.description,
           m->fake ? ",\"simulated\":true" : "");
    fflush(stdout);
    fprintf(stderr, "%-34s %-28s %10.4g %-8s %s%.4g%s\n", name, metric, value,
            unit,
            bar == 0 ? ""
            : most   ? "at most "
                     : "at least ",
            bar,
            m->fake ? "  (simulated)"
            : holds ? ""
                    : "  MISSED");
}

static int by_time(const void *a, const void *b)
{
    uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return p < q ? -1 : p > q;
}

// Median of one work-group there and back [ns].
static double time_bare_trip(const char *binary)
{
    _Alignas(16) unsigned char args[64] = {0};
    struct machine m;
    struct bare b;

    machine_open(&m, binary, 0, false);
    bare_open(&b, &m);
    struct hdi_chunk c = machine_chunk(&m, "empty", GROUP, args);
    uint64_t *times = calloc((size_t)m.trips, sizeof(*times));
    for (int i = -1; i < m.trips; i++) {
        uint64_t begin = hdi_now();
        bare_launch(&b, 0, &c);
        bare_wait(&b, 0);
        if (i >= 0)
            times[i] = hdi_now() - begin;
    }
    qsort(times, (size_t)m.trips, sizeof(*times), by_time);
    double median = (double)times[m.trips / 2];
    free(times);
    bare_close(&b);
    machine_close(&m);
    return median;
}

static double time_trip(struct machine *m)
{
    _Alignas(16) unsigned char args[64] = {0};
    const struct hdi_chunk c = machine_chunk(m, "empty", GROUP, args);
    uint64_t *times = calloc((size_t)m->trips, sizeof(*times));

    machine_run(m, &c);
    for (int i = 0; i < m->trips; i++) {
        uint64_t begin = hdi_now();
        machine_run(m, &c);
        times[i] = hdi_now() - begin;
    }
    qsort(times, (size_t)m->trips, sizeof(*times), by_time);
    double median = (double)times[m->trips / 2];
    free(times);
    return median;
}

static void measure_trips(const char *binary)
{
    double bare = time_bare_trip(binary);

    for (int doorbell = 0; doorbell < 2; doorbell++) {
        const char *name = doorbell ? "doorbell round trip" : "ring round trip";
        struct machine m;
        machine_open(&m, binary, 2, doorbell);
        double trip = time_trip(&m);
        figure(&m, name, "median", trip, "ns", NULL, 2500, true);
        figure(&m, name, "speed", bare / trip, "ratio",
               "cuLaunchKernel and spinning wait", 3, false);
        if (doorbell)
            figure(&m, "launch and spinning wait", "median", bare, "ns", NULL,
                   0, false);
        machine_close(&m);
    }
}

// Leaves on tiles -------------------------------------------------------------

// One thread feeds every n-th unit with one leaf after another.
struct feeder {
    struct machine *m;
    const struct hdi_chunk *chunk;
    unsigned first, step;
    int leaves;
    pthread_t thread;
};

static void *feed(void *data)
{
    struct feeder *f = data;
    struct machine *m = f->m;
    int left = f->leaves;

    while (left > 0) {
        bool any = false;
        for (unsigned u = f->first; u < m->unit_count && left > 0; u += f->step)
            if (m->backend->submit(m->units[u], f->chunk)) {
                left--;
                any = true;
            } else {
                m->backend->done(m->units[u]);
            }
        if (!any && m->fake)
            sched_yield();
    }
    for (unsigned u = f->first; u < m->unit_count; u += f->step)
        while (m->backend->done(m->units[u]) <
               m->backend->submitted(m->units[u]))
            if (m->fake)
                sched_yield();
    return NULL;
}

// Leaves by so many threads [ns].
static double time_leaves(struct machine *m, const struct hdi_chunk *chunk,
                          unsigned threads, int leaves)
{
    struct feeder feeders[CORES];
    uint64_t begin = hdi_now();

    for (unsigned i = 0; i < threads; i++) {
        feeders[i] = (struct feeder){.m = m,
                                     .chunk = chunk,
                                     .first = i,
                                     .step = threads,
                                     .leaves = leaves / (int)threads};
        if (threads > 1)
            CHECK(pthread_create(&feeders[i].thread, NULL, feed, &feeders[i]) ==
                  0);
        else
            feed(&feeders[i]);
    }
    for (unsigned i = 0; threads > 1 && i < threads; i++)
        pthread_join(feeders[i].thread, NULL);
    return (double)(hdi_now() - begin);
}

static void measure_empty_leaves(const char *binary)
{
    _Alignas(16) unsigned char args[64] = {0};
    struct machine m;

    machine_open(&m, binary, tiles(), false);
    struct hdi_chunk c = machine_chunk(&m, "empty", GROUP, args);
    for (unsigned threads = 1; threads <= CORES; threads += CORES - 1) {
        int leaves = m.fake ? FEW_IN_BURST : BURST;
        time_leaves(&m, &c, threads, leaves / 10);
        double time = time_leaves(&m, &c, threads, leaves);
        figure(&m,
               threads == 1 ? "empty leaves, 1 worker"
                            : "empty leaves, 8 workers",
               "rate", leaves * 1e9 / time, "1/s", NULL,
               threads == 1 ? 2e6 : 5e6, false);
    }
    machine_close(&m);
}

static double time_steps(struct machine *m, void *cells, uint32_t steps)
{
    _Alignas(16) unsigned char args[64] = {0};
    double least = 1e18;

    memcpy(args, &cells, 8);
    memcpy(args + 8, &steps, 4);
    struct hdi_chunk c = machine_chunk(m, "busy", GROUP, args);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begin = hdi_now();
        machine_run(m, &c);
        double time = (double)(hdi_now() - begin);
        least = time < least ? time : least;
    }
    return least;
}

// Steps of `busy` that take so long [ns], by what more of them take.
static uint32_t steps_for(struct machine *m, void *cells, double ns)
{
    enum {
        STEPS = 50000
    };

    if (m->fake)
        return 20;
    double step =
        (time_steps(m, cells, 2 * STEPS) - time_steps(m, cells, STEPS)) / STEPS;
    return step > 0 ? (uint32_t)(ns / step) + 1 : STEPS;
}

static double time_streams(struct machine *m, const struct hdi_chunk *c,
                           int leaves)
{
    struct bare b;

    bare_open(&b, m);
    uint64_t begin = hdi_now();
    for (int i = 0; i < leaves; i++)
        bare_launch(&b, i % BARE_STREAMS, c);
    for (int i = 0; i < BARE_STREAMS; i++)
        bare_wait(&b, i);
    double time = (double)(hdi_now() - begin);
    bare_close(&b);
    return time;
}

// A list of equal steps, one after another or all at once: the fastest run
// [ns].
static double time_list(struct machine *m, enum hdi_list_form form,
                        const struct hdi_chunk *chunk, uint32_t count,
                        bool chained)
{
    struct hdi_list_step *steps = calloc(count, sizeof(*steps));
    uint32_t *next = calloc(count, sizeof(*next));
    const struct hdi_list_params params = {
        .steps = steps, .form = form, .count = count};
    struct hdi_device_list *list;
    struct hd_error error;
    double least = 1e18;

    CHECK(steps && next);
    for (uint32_t i = 0; i < count; i++) {
        next[i] = i + 1;
        steps[i] =
            (struct hdi_list_step){.chunk = *chunk,
                                   .after = &next[i],
                                   .after_count = chained && i + 1 < count};
    }
    CHECK_OK(m->backend->lists->make(m->device, &params, &list, &error), error);
    const struct hdi_chunk whole = {.list = list};
    for (int i = 0; i < (m->fake ? 1 : ROUNDS); i++) {
        uint64_t begin = hdi_now();
        machine_run(m, &whole);
        double time = (double)(hdi_now() - begin);
        least = time < least ? time : least;
    }
    m->backend->lists->free(list);
    free(next);
    free(steps);
    return least;
}

struct work {
    struct machine m;
    void *cells;
    _Alignas(16) unsigned char args[64];
    struct hdi_chunk chunk;
};

// `busy` for so long, on tiles or on streams.
static void open_work(struct work *w, const char *binary, bool on_tiles,
                      uint32_t steps, double ns)
{
    memset(w, 0, sizeof(*w));
    machine_open(&w->m, binary, on_tiles ? tiles() : 0, false);
    CHECK(w->m.backend->alloc(w->m.device, GROUP * 4, &w->cells) == HD_OK);
    if (steps == 0)
        steps = steps_for(&w->m, w->cells, ns);
    memcpy(w->args, &w->cells, 8);
    memcpy(w->args + 8, &steps, 4);
    w->chunk = machine_chunk(&w->m, "busy", GROUP, w->args);
}

static void close_work(struct work *w)
{
    w->m.backend->free(w->m.device, w->cells, GROUP * 4);
    machine_close(&w->m);
}

static uint32_t steps_of(const struct work *w)
{
    uint32_t steps;

    memcpy(&steps, w->args + 8, 4);
    return steps;
}

static double time_tiles(struct work *w, int leaves)
{
    double least = 1e18;

    for (int i = 0; i < (w->m.fake ? 1 : ROUNDS); i++) {
        double time = time_leaves(&w->m, &w->chunk, 1, leaves);
        least = time < least ? time : least;
    }
    return least;
}

static void measure_leaves(const char *binary, double us)
{
    struct work w;
    char name[64];

    open_work(&w, binary, false, 0, us * 1000);
    uint32_t steps = steps_of(&w);
    int leaves = w.m.fake ? FEW_LEAVES : LEAVES;
    double streams = time_streams(&w.m, &w.chunk, leaves);
    double graph = time_list(&w.m, HDI_LIST_BY_LAUNCHES, &w.chunk,
                             (uint32_t)leaves, false);
    close_work(&w);
    open_work(&w, binary, true, steps, 0);
    double tiles = time_tiles(&w, leaves);
    snprintf(name, sizeof(name), "leaves of %.0f us on tiles", us);
    figure(&w.m, name, "speed", streams / tiles, "ratio",
           "launches on 8 streams", 2, false);
    figure(&w.m, name, "speed", graph / tiles, "ratio", "CUDA graph", 1, false);
    close_work(&w);
}

static void measure_passes(const char *binary)
{
    struct work w;

    open_work(&w, binary, false, 0, 5000);
    uint32_t steps = steps_of(&w);
    uint32_t count = w.m.fake ? FEW_PASSES : PASSES;
    double graph = time_list(&w.m, HDI_LIST_BY_LAUNCHES, &w.chunk, count, true);
    close_work(&w);
    open_work(&w, binary, true, steps, 0);
    double list = time_list(&w.m, HDI_LIST_BY_UNITS, &w.chunk, count, true);
    figure(&w.m, "1,000 dependent passes of 5 us", "time", list / 1e6, "ms",
           NULL, 0, false);
    figure(&w.m, "1,000 dependent passes of 5 us", "speed", graph / list,
           "ratio", "CUDA graph", 1, false);
    close_work(&w);
}

void skip_figure(const char *name, const char *why)
{
    printf("{\"bench\":\"gpu\",\"case\":\"%s\",\"skipped\":\"%s\"}\n", name,
           why);
    fflush(stdout);
    fprintf(stderr, "%-34s skipped: %s\n", name, why);
}

void measure(const char *binary)
{
    measure_trips(binary);
    measure_empty_leaves(binary);
    for (double us = 5; us <= 50; us *= us == 5 ? 4 : 2.5)
        measure_leaves(binary, us);
    measure_passes(binary);
}
