// Sorting keys of 8 bytes on two processes, beside oneTBB's sort in the memory
// of one.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/field/field.h"

static void random_key(void *data, const int64_t *index, void *value)
{
    uint64_t v = ((uint64_t)index[0] + 1) * 0x9e3779b97f4a7c15u;

    (void)data;
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    *(uint64_t *)value = v ^ v >> 31;
}

static void sort(struct rig *rig, void *data)
{
    must(rig, hd_field_sort(data, &rig->error));
}

// Process 1 sleeps until process 0 has done something for which both cores are
// needed; where it waits for a message it looks for it all the time.
static void sleep_until_done(_Atomic uint64_t *done)
{
    while (!atomic_load_explicit(done, memory_order_acquire))
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

// oneTBB's time [ms], measured by a program beside this one; 0 when it is
// missing.
static double time_of_tbb(struct rig *rig, long count)
{
    struct hd_map *map = parse(rig, "2 tiles 1 cyclic nodes 2");
    struct hd_field *field;
    char path[512], command[600];
    double mine = 0, all[64] = {0};
    size_t size;

    // Of zeros: process 0's word says that it is done.
    must(rig, hd_field_create(rig->cluster, sizeof(uint64_t), map, &field,
                              &rig->error));
    _Atomic uint64_t *done = (_Atomic uint64_t *)memory_of(field, 0, &size);
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    path[length > 0 ? length : 0] = 0;
    char *slash = strrchr(path, '/');
    if (slash)
        slash[1] = 0;
    snprintf(command, sizeof(command), "%.480ssort_tbb %ld", path, count);
    if (hd_cluster_process(rig->cluster) == 0) {
        FILE *pipe = popen(command, "r");

        if (!pipe || fscanf(pipe, "%lf", &mine) != 1)
            mine = 0;
        if (pipe)
            pclose(pipe);
        atomic_store_explicit(done, 1, memory_order_release);
    } else {
        sleep_until_done(done);
    }
    must(rig, hdi_cluster_gather(rig->cluster, &mine, sizeof(mine), (char *)all,
                                 &rig->error));
    hd_field_destroy(field);
    hd_map_destroy(map);
    return all[0];
}

static void check_order(struct hd_field *field, uint32_t node)
{
    size_t size;
    const uint64_t *keys = (const uint64_t *)memory_of(field, node, &size);

    for (size_t i = 1; i < size; i++)
        if (keys[i - 1] > keys[i]) {
            fprintf(stderr, "bench_field: the keys are not sorted\n");
            exit(1);
        }
}

void measure_sort(struct rig *rig)
{
    long count = rig->quick ? 10000000 : 100000000;
    struct hd_map *map = parse(rig, "%ld nodes 2", count);
    struct hd_view view;
    struct hd_field *field;
    double times[3];
    char label[64];

    snprintf(label, sizeof(label), "sort, 10^%d keys", rig->quick ? 7 : 8);
    must(rig, hd_view_function(hd_map_grid(map), sizeof(uint64_t), random_key,
                               NULL, &view, &rig->error));
    for (int r = 0; r < 3; r++) {
        must(rig, hd_agile(rig->cluster, &view, map, &field, &rig->error));
        times[r] = timed(rig, sort, field);
        check_order(field, hd_cluster_process(rig->cluster));
        hd_field_destroy(field);
    }
    double tbb = time_of_tbb(rig, count), ours = figure_median(times, 3);
    if (tbb > 0)
        report(rig, label, "time over a sort in one memory", ours / tbb,
               "ratio", "oneTBB", "<=", 1.5);
    report(rig, label, "keys per second", (double)count / ours / 1e3, "M/s",
           NULL, NULL, 0);
    hd_map_destroy(map);
}
