// A graph of tasks in StarPU: dependences between tasks that are declared, and
// submitted together. Tasks are made for every run, as its programs do.
#include "bench/graph/dag.h"

#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>

static void call(void *buffers[], void *data)
{
    struct dag_task *task = data;

    (void)buffers;
    dag_run_task(task->dag, task->index);
}

static struct starpu_codelet codelet = {.cpu_funcs = {call},
                                        .where = STARPU_CPU};

struct network {
    struct dag *dag;
    struct starpu_task **tasks; // of the next run, or NULL
};

static void open_starpu(unsigned workers)
{
    struct starpu_conf conf;

    setenv("STARPU_SILENT", "1", 1);
    starpu_conf_init(&conf);
    conf.ncpus = (int)workers;
    conf.ncuda = conf.nopencl = 0;
    if (starpu_init(&conf) != 0) {
        fprintf(stderr, "bench graph: StarPU does not start\n");
        exit(1);
    }
}

static void make_tasks(struct network *n)
{
    struct dag *dag = n->dag;
    struct starpu_task **before = NULL;

    n->tasks = malloc(dag->count * sizeof(struct starpu_task *));
    before = malloc((dag->edges + 1) * sizeof(struct starpu_task *));
    if (!n->tasks || !before)
        exit(1);
    for (uint32_t i = 0; i < dag->count; i++) {
        uint32_t count = 0;
        n->tasks[i] = starpu_task_create();
        n->tasks[i]->cl = &codelet;
        n->tasks[i]->cl_arg = &dag->tasks[i];
        n->tasks[i]->cl_arg_size = sizeof(dag->tasks[i]);
        for (uint32_t e = dag->first[i]; e < dag->first[i + 1]; e++)
            before[count++] = n->tasks[dag->before[e]];
        starpu_task_declare_deps_array(n->tasks[i], count, before);
    }
    free(before);
}

static void *build(struct dag *dag)
{
    struct network *n = calloc(1, sizeof(*n));

    if (!n)
        exit(1);
    n->dag = dag;
    make_tasks(n);
    return n;
}

static void run(void *graph)
{
    struct network *n = graph;

    if (!n->tasks)
        make_tasks(n);
    for (uint32_t i = 0; i < n->dag->count; i++)
        if (starpu_task_submit(n->tasks[i]) != 0)
            exit(1);
    starpu_task_wait_for_all();
    free(n->tasks);
    n->tasks = NULL;
}

static void free_network(void *graph)
{
    struct network *n = graph;

    for (uint32_t i = 0; n->tasks && i < n->dag->count; i++)
        starpu_task_destroy(n->tasks[i]);
    free(n->tasks);
    free(n);
}

const struct runner starpu_runner = {"starpu", open_starpu, starpu_shutdown,
                                     build,    run,         free_network};
