// Public instances of the two planning problems, by `heddle graph --stg` and
// `--allocations`, which check what they found. A folder holds
//
//     minimalloc/*.csv               allocations that fit in 1,048,576 bytes
//     stg/50/*.stg                   task graphs
//     stg/Optimal_values/*_N_*.csv   "50/rand0000.stg,N,best known makespan"
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/graph/graph.h"
#include "plan/plan.h"

enum {
    CAPACITY = 1 << 20 // [bytes]
};

static bool read_number(const char *text, const char *key, double *value)
{
    const char *at = strstr(text, key);

    return at && sscanf(at + strlen(key), "\":%lf", value) == 1;
}

// What a planner prints as JSON; NULL when it failed. free().
static char *ask(hd_status (*plan)(const struct plan_params *params, FILE *file,
                                   struct hd_error *error),
                 const struct plan_params *params)
{
    char *text = NULL;
    size_t size;
    struct hd_error error;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        return NULL;
    hd_status status = plan(params, file, &error);
    fclose(file);
    if (status == HD_OK)
        return text;
    fprintf(stderr, "bench graph: %s\n", error.text);
    free(text);
    return NULL;
}

static void place(const char *path, const char *file, int *solved, int *tried)
{
    char name[300];
    const struct plan_params params = {.path = path,
                                       .capacity = CAPACITY,
                                       .time = UINT64_C(1000000000),
                                       .json = true};
    double begin = figure_now();
    char *text = ask(plan_placement, &params);

    snprintf(name, sizeof(name), "allocations %s", file);
    if (text)
        graph_figure(name, "time to fit 1,048,576 bytes", figure_now() - begin,
                     "ms", NULL, "<=", 1000);
    *solved += text != NULL;
    ++*tried;
    free(text);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void measure_allocations(const char *folder)
{
    char path[4200];
    struct dirent **list;
    int solved = 0, tried = 0;

    snprintf(path, sizeof(path), "%s/minimalloc", folder);
    int count = scandir(path, &list, NULL, by_name);
    for (int i = 0; i < count; i++) {
        const char *end = strrchr(list[i]->d_name, '.');
        if (end && strcmp(end, ".csv") == 0) {
            snprintf(path, sizeof(path), "%s/minimalloc/%s", folder,
                     list[i]->d_name);
            place(path, list[i]->d_name, &solved, &tried);
        }
        free(list[i]);
    }
    if (count >= 0)
        free(list);
    if (tried == 0) {
        graph_skip("allocations", "solved", "no minimalloc/*.csv there");
        return;
    }
    graph_figure("allocations", "solved", (double)solved / tried, "ratio", NULL,
                 ">=", 1);
}

static void measure_schedules(const char *folder, unsigned processors,
                              bool quick)
{
    char path[4200], line[256], file[128], name[64];
    double gaps = 0;
    int equal = 0, count = 0;

    snprintf(path, sizeof(path), "%s/stg/Optimal_values/Case50_%u_OPT.csv",
             folder, processors);
    snprintf(name, sizeof(name), "task graphs of 50, %u processors",
             processors);
    FILE *values = fopen(path, "re");
    if (!values) {
        graph_skip(name, "gap", "no stg/Optimal_values there");
        return;
    }
    while (fgets(line, sizeof(line), values)) {
        double best, makespan;
        if (sscanf(line, "%127[^,],%*u,%lf", file, &best) != 2 ||
            (quick && count >= 60))
            continue;
        snprintf(path, sizeof(path), "%s/stg/%s", folder, file);
        const struct plan_params params = {.path = path,
                                           .processors = processors,
                                           .time = UINT64_C(10000000),
                                           .json = true};
        char *text = ask(plan_schedule, &params);
        if (text && read_number(text, "\"makespan", &makespan)) {
            gaps += makespan / best - 1;
            equal += makespan <= best;
            count++;
        }
        free(text);
    }
    fclose(values);
    if (count == 0) {
        graph_skip(name, "gap", "no instance could be read");
        return;
    }
    graph_figure(name, "mean gap to best known", 100 * gaps / count, "%",
                 "best known", "<=", 0.1);
    graph_figure(name, "equal to best known, or better", 100.0 * equal / count,
                 "%", "best known", ">=", 95);
}

void graph_measure_instances(const char *folder, bool quick)
{
    if (!folder) {
        graph_skip("allocations", "solved",
                   "name a folder of instances with --data DIR");
        graph_skip("task graphs of 50", "gap",
                   "name a folder of instances with --data DIR");
        return;
    }
    measure_allocations(folder);
    for (unsigned processors = 2; processors <= 16; processors *= 2)
        measure_schedules(folder, processors, quick);
}
