// Graphs of small tasks, and what can run them: ours, peers, and the floor.
#ifndef HEDDLE_BENCH_GRAPH_DAG_H
#define HEDDLE_BENCH_GRAPH_DAG_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Task i comes after before[first[i]] up to before[first[i + 1]].
struct dag {
    uint32_t count, edges;
    uint32_t *first, *before;
    uint32_t *value;        // what each task makes of those before it
    struct dag_task *tasks; // one each, for those who take a pointer
    uint64_t spins;         // rounds of work in each task
};

struct dag_task {
    struct dag *dag;
    uint32_t index;
};

// The body of a task: the same for all.
void dag_run_task(struct dag *dag, uint32_t index);

// Something that builds and runs such graphs. All end the program on errors.
struct runner {
    const char *name;
    void (*open)(unsigned workers);
    void (*close)(void);
    void *(*build)(struct dag *dag);
    void (*run)(void *graph);
    void (*free)(void *graph);
};

extern const struct runner floor_runner;    // one array, one thread
extern const struct runner order_runner;    // passes that come after others
extern const struct runner resource_runner; // passes that read and write
#ifdef BENCH_TBB
extern const struct runner tbb_runner;
#endif
#ifdef BENCH_TASKFLOW
extern const struct runner taskflow_runner;
#endif
#ifdef BENCH_OPENMP
extern const struct runner openmp_runner;
#endif
#ifdef BENCH_STARPU
extern const struct runner starpu_runner;
#endif

#ifdef __cplusplus
}
#endif

#endif
