// A graph of tasks with OpenMP's task dependences, which are found while it
// runs: there is nothing to build, and every run finds them again.
#include "bench/graph/dag.h"

#include <omp.h>

static void open_openmp(unsigned workers)
{
    omp_set_dynamic(0);
    omp_set_num_threads((int)workers);
}

// Threads that wait for more would be in the way of the others.
static void close_openmp(void)
{
    omp_pause_resource_all(omp_pause_hard);
}

static void *build(struct dag *dag)
{
    return dag;
}

static void run(void *graph)
{
    struct dag *dag = graph;

#pragma omp parallel
#pragma omp single
    for (uint32_t i = 0; i < dag->count; i++) {
        const uint32_t *before = &dag->before[dag->first[i]];
        // clang-format off
#pragma omp task firstprivate(i) depend(out : dag->value[i])    \
    depend(iterator(k = 0 : dag->first[i + 1] - dag->first[i]), \
           in : dag->value[before[k]])
        // clang-format on
        dag_run_task(dag, i);
    }
}

static void free_nothing(void *graph)
{
    (void)graph;
}

const struct runner openmp_runner = {"openmp", open_openmp, close_openmp,
                                     build,    run,         free_nothing};
