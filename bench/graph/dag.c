// What Heddle and a bare array do with a graph of tasks.
#include "bench/graph/dag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"

void dag_run_task(struct dag *dag, uint32_t index)
{
    uint32_t sum = 1;

    for (uint32_t e = dag->first[index]; e < dag->first[index + 1]; e++)
        sum += dag->value[dag->before[e]] * 3 + 1;
    for (uint64_t i = 0; i < dag->spins; i++) {
        sum = sum * 1664525 + 1013904223;
        __asm__ volatile("" : "+r"(sum));
    }
    dag->value[index] = sum;
}

static void *get(size_t size)
{
    void *memory = malloc(size + 1);
    if (!memory)
        exit(1);
    return memory;
}

// The floor -------------------------------------------------------------------

struct array {
    struct dag *dag;
    uint32_t *first, *after; // successors of each task
    uint32_t *waits, *left, *stack;
};

static void floor_open(unsigned workers)
{
    (void)workers;
}

static void floor_close(void)
{
}

static void *floor_build(struct dag *dag)
{
    struct array *a = get(sizeof(*a));
    size_t n = dag->count;

    a->dag = dag;
    a->first = calloc(n + 2, sizeof(uint32_t));
    a->after = get(dag->edges * sizeof(uint32_t));
    a->waits = get(n * sizeof(uint32_t));
    a->left = get(n * sizeof(uint32_t));
    a->stack = get(n * sizeof(uint32_t));
    if (!a->first)
        exit(1);
    for (uint32_t e = 0; e < dag->edges; e++)
        a->first[dag->before[e] + 2]++;
    for (size_t i = 2; i < n + 2; i++)
        a->first[i] += a->first[i - 1];
    for (uint32_t i = 0; i < n; i++) {
        a->waits[i] = dag->first[i + 1] - dag->first[i];
        for (uint32_t e = dag->first[i]; e < dag->first[i + 1]; e++)
            a->after[a->first[dag->before[e] + 1]++] = i;
    }
    return a;
}

static void floor_run(void *graph)
{
    struct array *a = graph;
    uint32_t ready = 0;

    memcpy(a->left, a->waits, a->dag->count * sizeof(uint32_t));
    for (uint32_t i = a->dag->count; i-- > 0;)
        if (a->waits[i] == 0)
            a->stack[ready++] = i;
    while (ready > 0) {
        uint32_t task = a->stack[--ready];
        dag_run_task(a->dag, task);
        for (uint32_t e = a->first[task]; e < a->first[task + 1]; e++)
            if (--a->left[a->after[e]] == 0)
                a->stack[ready++] = a->after[e];
    }
}

static void floor_free(void *graph)
{
    struct array *a = graph;

    free(a->first);
    free(a->after);
    free(a->waits);
    free(a->left);
    free(a->stack);
    free(a);
}

const struct runner floor_runner = {"array",     floor_open, floor_close,
                                    floor_build, floor_run,  floor_free};

// Heddle ----------------------------------------------------------------------

static struct hd_runtime *runtime;
static struct hd_error error;

static void check(hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench graph: %s\n", error.text);
    exit(1);
}

static void heddle_open(unsigned workers)
{
    const struct hd_runtime_params params = {
        .workers = workers, .device = "cpu", .no_cache = true};

    check(hd_runtime_create(&params, &runtime, &error));
}

static void heddle_close(void)
{
    hd_runtime_destroy(runtime);
}

static hd_status call(void *data, struct hd_error *failure)
{
    const struct dag_task *task = data;

    (void)failure;
    dag_run_task(task->dag, task->index);
    return HD_OK;
}

// Handles count from 1.
static unsigned get_handles(const struct dag *dag, uint32_t task,
                            uint32_t handles[8])
{
    unsigned count = 0;

    for (uint32_t e = dag->first[task]; e < dag->first[task + 1]; e++)
        handles[count++] = dag->before[e] + 1;
    return count;
}

static void *order_build(struct dag *dag)
{
    struct hd_graph *graph;

    check(hd_graph_create(runtime, &graph, &error));
    for (uint32_t i = 0; i < dag->count; i++) {
        hd_pass after[8], pass;
        const struct hd_call_params params = {.call = call,
                                              .data = &dag->tasks[i],
                                              .after = after,
                                              .after_count =
                                                  get_handles(dag, i, after)};
        check(hd_graph_call(graph, &params, &pass, &error));
    }
    check(hd_graph_prepare(graph, &error));
    return graph;
}

static void *resource_build(struct dag *dag)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {1}};
    struct hd_graph *graph;

    check(hd_graph_create(runtime, &graph, &error));
    for (uint32_t i = 0; i < dag->count; i++) {
        hd_resource reads[8], write;
        hd_pass pass;
        check(hd_graph_resource(graph, "r", &shape, NULL, &write, &error));
        const struct hd_call_params params = {.call = call,
                                              .data = &dag->tasks[i],
                                              .reads = reads,
                                              .read_count =
                                                  get_handles(dag, i, reads),
                                              .writes = &write,
                                              .write_count = 1};
        check(hd_graph_call(graph, &params, &pass, &error));
    }
    check(hd_graph_prepare(graph, &error));
    return graph;
}

static void heddle_run(void *graph)
{
    const struct hd_graph_run_params params = {.here = true};

    check(hd_graph_run(graph, &params, &error));
}

static void heddle_free(void *graph)
{
    hd_graph_destroy(graph);
}

const struct runner order_runner = {"heddle, order", heddle_open, heddle_close,
                                    order_build,     heddle_run,  heddle_free};
const struct runner resource_runner = {"heddle, resources", heddle_open,
                                       heddle_close,        resource_build,
                                       heddle_run,          heddle_free};
