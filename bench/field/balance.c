// Stealing: what one steal takes while the victim computes, and nodes of
// different speeds.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/pause.h"
#include "bench/field/field.h"

// A word there and back -----------------------------------------------------

enum {
    WORD_ROUNDS = 100000
};

// The first words of both processes' memory of a field are the two flags [ns].
static double bare_words(struct rig *rig, struct hd_field *field)
{
    uint32_t me = hd_cluster_process(rig->cluster);
    size_t size;
    _Atomic uint64_t *mine = (_Atomic uint64_t *)memory_of(field, me, &size);
    _Atomic uint64_t *other =
        (_Atomic uint64_t *)memory_of(field, 1 - me, &size);

    atomic_store(mine, 0);
    must(rig, hd_cluster_meet(rig->cluster, &rig->error));
    uint64_t begin = hdi_now();
    for (uint64_t i = 1; i <= WORD_ROUNDS; i++) {
        if (me == 0)
            atomic_store_explicit(mine, i, memory_order_release);
        while (atomic_load_explicit(other, memory_order_acquire) != i)
            hdi_pause();
        if (me == 1)
            atomic_store_explicit(mine, i, memory_order_release);
    }
    double time = (double)(hdi_now() - begin) / WORD_ROUNDS;
    must(rig, hd_cluster_meet(rig->cluster, &rig->error));
    return time;
}

// Steals ----------------------------------------------------------------------

enum {
    BLOCK = 128, // 1 KB
    STEALS = 2000
};

struct steals {
    uint64_t first, last, count; // of the thief [ns]
    uint64_t length;             // of the victim's task [ns]
};

// The victim computes one long task, while the other node takes all others,
// whose results go back to it.
static hd_status take(struct hd_task *task, const struct hd_tile *c,
                      const struct hd_tile *in, void *data,
                      struct hd_error *why)
{
    struct steals *s = data;

    (void)in;
    (void)why;
    for (int64_t i = 0; i < c->grid.extent[0]; i++)
        ((double *)c->data)[i] = (double)i;
    if (hd_task_node(task) == hd_task_owner(task)) {
        volatile double heat = 1;

        for (uint64_t begin = hdi_now(); hdi_now() - begin < s->length;)
            for (int i = 0; i < 1000; i++)
                heat = heat * 1.0000001;
        return HD_OK;
    }
    s->last = hdi_now();
    if (s->count++ == 0)
        s->first = s->last;
    return HD_OK;
}

// The time of one steal [ns]: the thief knows, and tells all.
static double one_steal(struct rig *rig)
{
    struct hd_map *map = parse(rig, "%d tiles %d memory %d tasks %d nodes 2",
                               BLOCK * STEALS, BLOCK * STEALS, BLOCK, BLOCK);
    struct steals s = {.length = 100000000};
    struct hd_forall forall = {.function = take, .data = &s};
    double times[MAX_ROUNDS], all[64] = {0};

    must(rig, hd_field_create(rig->cluster, sizeof(double), map, &forall.output,
                              &rig->error));
    for (int r = 0; r < rig->rounds; r++) {
        s.count = 0;
        must(rig, hd_forall(&forall, &rig->error));
        times[r] = s.count > 1
                       ? (double)(s.last - s.first) / (double)(s.count - 1)
                       : 0;
    }
    double mine = figure_median(times, rig->rounds);
    must(rig, hdi_cluster_gather(rig->cluster, &mine, sizeof(mine), (char *)all,
                                 &rig->error));
    hd_field_destroy(forall.output);
    hd_map_destroy(map);
    return all[0] > all[1] ? all[0] : all[1];
}

void measure_steals(struct rig *rig)
{
    struct hd_map *map = parse(rig, "2 tiles 1 cyclic nodes 2");
    struct hd_field *field = numbered(rig, map);
    double word = bare_words(rig, field);

    report(rig, "steal of 1 KB, same machine", "time over a word's way",
           one_steal(rig) / word, "ratio", "bare words", "<=", 4);
    report(rig, "steal of 1 KB, same machine", "a word there and back", word,
           "ns", NULL, NULL, 0);
    hd_field_destroy(field);
    hd_map_destroy(map);
}

void measure_asking(struct rig *rig)
{
    double time = one_steal(rig) / 1000;

    if (rig->tcp > 0)
        report(rig, "steal of 1 KB, over TCP", "time over TCP's way",
               time / rig->tcp, "ratio", "raw TCP", "<=", 2);
    report(rig, "steal of 1 KB, over TCP", "1 KB there and back", rig->tcp,
           "us", NULL, NULL, 0);
}

// Uneven nodes ----------------------------------------------------------------

enum {
    TASKS = 1000,
    NODES = 4,
    LENGTH = 1000000 // of a task [ns]; node 0 takes twice as long
};

// Nodes sleep: there are more of them than cores.
static hd_status sleep_for(struct hd_task *task, const struct hd_tile *c,
                           const struct hd_tile *in, void *data,
                           struct hd_error *why)
{
    uint64_t end = hdi_now() + (hd_task_node(task) == 0 ? 2 : 1) * LENGTH;
    struct timespec time = {(time_t)(end / 1000000000u),
                            (long)(end % 1000000000u)};

    (void)c;
    (void)in;
    (void)data;
    (void)why;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
    return HD_OK;
}

static void run_uneven(struct rig *rig, void *data)
{
    must(rig, hd_forall(data, &rig->error));
}

void measure_balance(struct rig *rig)
{
    struct hd_map *map = parse(rig, "%d tiles %d memory 1 tasks 1 nodes %d",
                               TASKS, TASKS / NODES, NODES);
    struct hd_forall forall = {.function = sleep_for};
    double times[MAX_ROUNDS];

    must(rig, hd_field_create(rig->cluster, sizeof(double), map, &forall.output,
                              &rig->error));
    for (int r = 0; r < rig->rounds; r++)
        times[r] = timed(rig, run_uneven, &forall);
    report(rig, "1,000 blocks, one of 4 nodes half as fast",
           "time over the ideal",
           figure_median(times, rig->rounds) /
               (TASKS * LENGTH / 1e6 / (NODES - 0.5)),
           "ratio", "ideal", "<=", 1.1);
    hd_field_destroy(forall.output);
    hd_map_destroy(map);
}
