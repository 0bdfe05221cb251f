// What graphs cost: graphs of small tasks, programs, plans.
//
//     bench_graph [--quick] [--data DIR] [PART]
//
// PART: tasks, programs, runs or instances; all without. DIR: see instances.c.
#include <stdio.h>
#include <string.h>

#include "bench/figure.h"
#include "bench/graph/graph.h"

void graph_figure(const char *name, const char *metric, double value,
                  const char *unit, const char *peer, const char *op,
                  double bar)
{
    figure_print(
        &(struct figure){"graph", name, metric, value, unit, peer, op, bar});
}

void graph_skip(const char *name, const char *metric, const char *reason)
{
    figure_skip(
        &(struct figure){.bench = "graph", .name = name, .metric = metric},
        reason);
}

int main(int count, char **words)
{
    const char *data = NULL, *part = NULL;
    bool quick = false;

    for (int i = 1; i < count; i++)
        if (strcmp(words[i], "--quick") == 0)
            quick = true;
        else if (strcmp(words[i], "--data") == 0 && i + 1 < count)
            data = words[++i];
        else
            part = words[i];
    if (!part || strcmp(part, "tasks") == 0)
        graph_measure_dags(quick);
    if (!part || strcmp(part, "programs") == 0)
        graph_measure_programs(quick);
    if (!part || strcmp(part, "runs") == 0)
        graph_measure_runs(quick);
    if (!part || strcmp(part, "instances") == 0)
        graph_measure_instances(data, quick);
    return 0;
}
