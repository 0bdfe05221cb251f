// The parts of the graph benchmark.
#ifndef HEDDLE_BENCH_GRAPH_GRAPH_H
#define HEDDLE_BENCH_GRAPH_GRAPH_H

#include <stdbool.h>

// One figure, with a bar if `op` is not NULL.
void graph_figure(const char *name, const char *metric, double value,
                  const char *unit, const char *peer, const char *op,
                  double bar);

// One that was not measured.
void graph_skip(const char *name, const char *metric, const char *reason);

void graph_measure_dags(bool quick);     // tasks.c
void graph_measure_programs(bool quick); // programs.c
void graph_measure_runs(bool quick);     // runs.c
// Public instances; `folder` NULL: skipped.
void graph_measure_instances(const char *folder, bool quick); // instances.c

#endif
