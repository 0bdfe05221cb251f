// Graphs of small tasks: building, running again, the smallest task that pays.
//
// Ours, a peer and the floor take turns, so that all see the same machine; a
// ratio is that of medians. With one worker the clock is CPU time, which leaves
// out what other programs take from the core.
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/graph/dag.h"
#include "bench/graph/graph.h"

enum {
    MAX_ROUNDS = 15,
    WINDOW = 1000,    // a task comes after some of so many before it
    MAX_GRAIN = 30000 // longest task that is tried [ns]
};

static const struct runner *const runners[] = {
    &floor_runner,  &order_runner, &resource_runner,
#ifdef BENCH_TBB
    &tbb_runner,
#endif
#ifdef BENCH_TASKFLOW
    &taskflow_runner,
#endif
#ifdef BENCH_OPENMP
    &openmp_runner,
#endif
#ifdef BENCH_STARPU
    &starpu_runner,
#endif
};

enum {
    RUNNERS = sizeof(runners) / sizeof(*runners)
};

// Graphs ----------------------------------------------------------------------

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct dag make_dag(uint32_t count)
{
    struct dag dag = {.count = count};

    dag.first = calloc(count + (size_t)1, sizeof(uint32_t));
    dag.before = malloc((size_t)count * 3 * sizeof(uint32_t));
    dag.value = calloc(count, sizeof(uint32_t));
    dag.tasks = calloc(count, sizeof(*dag.tasks));
    if (!dag.first || !dag.before || !dag.value || !dag.tasks)
        exit(1);
    return dag;
}

// Tasks keep a pointer to the dag, which so must stay where it is.
static void point_tasks(struct dag *dag)
{
    for (uint32_t i = 0; i < dag->count; i++)
        dag->tasks[i] = (struct dag_task){dag, i};
}

// Each after three different ones of the last thousand.
static struct dag make_random(uint32_t count)
{
    struct dag dag = make_dag(count);
    uint64_t state = UINT64_C(0x2545f4914f6cdd1d);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t window = i < WINDOW ? i : WINDOW;
        uint32_t *mine = &dag.before[dag.edges], got = 0;
        while (got < 3 && got < window) {
            uint32_t one = i - 1 - (uint32_t)(next_random(&state) % window);
            bool known = false;
            for (uint32_t k = 0; k < got; k++)
                known = known || mine[k] == one;
            if (!known)
                mine[got++] = one;
        }
        dag.edges += got;
        dag.first[i + 1] = dag.edges;
    }
    return dag;
}

// Rows of `width`; each after its up to three neighbours in the row before.
static struct dag make_stencil(uint32_t count, uint32_t width)
{
    struct dag dag = make_dag(count);

    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t x = i % width, k = 0; i >= width && k < 3; k++)
            if (x + k >= 1 && x + k <= width)
                dag.before[dag.edges++] = i - width + k - 1;
        dag.first[i + 1] = dag.edges;
    }
    return dag;
}

static void free_dag(struct dag *dag)
{
    free(dag->first);
    free(dag->before);
    free(dag->value);
    free(dag->tasks);
}

// Time ------------------------------------------------------------------------

static double cpu_now(void) // [ms]
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// What just ran has to fall asleep, so that it does not run beside the next.
static void rest(void)
{
    const struct timespec some = {0, 3000000};

    nanosleep(&some, NULL);
}

// Memory of the process [bytes].
static double resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long all, held = 0;

    if (file && fscanf(file, "%ld %ld", &all, &held) != 2)
        held = 0;
    if (file)
        fclose(file);
    return (double)held * (double)sysconf(_SC_PAGESIZE);
}

static void check_result(const struct dag *dag, const struct runner *runner)
{
    static uint32_t expected; // by the floor, which comes first
    uint32_t sum = 0;

    for (uint32_t i = 0; i < dag->count; i++)
        sum = sum * 31 + dag->value[i];
    if (runner == &floor_runner)
        expected = sum;
    if (sum != expected) {
        fprintf(stderr, "bench graph: %s: wrong result\n", runner->name);
        exit(1);
    }
    memset(dag->value, 0, dag->count * sizeof(uint32_t));
}

// Costs of one runner, per task [ns].
struct costs {
    double build, first, again;
    double bytes; // per task
};

struct samples {
    double build[MAX_ROUNDS], first[MAX_ROUNDS], again[MAX_ROUNDS];
    double bytes;
};

static void sample(const struct runner *runner, struct dag *dag,
                   unsigned workers, double (*clock)(void), int round,
                   struct samples *to)
{
    malloc_trim(0); // what others left does not hide what this one takes
    runner->open(workers);
    rest();
    double held = resident();
    double a = clock();
    void *graph = runner->build(dag);
    double b = clock();
    runner->run(graph);
    double c = clock();
    check_result(dag, runner);
    if (round == 0) // memory is fresh
        to->bytes = (resident() - held) / dag->count;
    double d = clock();
    runner->run(graph);
    double e = clock();
    check_result(dag, runner);
    runner->free(graph);
    runner->close();
    rest();
    double scale = 1e6 / dag->count;
    to->build[round] = (b - a) * scale;
    to->first[round] = (c - b) * scale;
    to->again[round] = (e - d) * scale;
}

static void measure(struct dag *dag, unsigned workers, bool cpu, int rounds,
                    struct costs costs[RUNNERS])
{
    struct samples *all = calloc(RUNNERS, sizeof(*all));

    if (!all)
        exit(1);
    point_tasks(dag);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < RUNNERS; i++)
            sample(runners[i], dag, workers, cpu ? cpu_now : figure_now, round,
                   &all[i]);
    for (int i = 0; i < RUNNERS; i++)
        costs[i] =
            (struct costs){figure_median(all[i].build, rounds),
                           figure_median(all[i].first, rounds),
                           figure_median(all[i].again, rounds), all[i].bytes};
    free(all);
}

// Figures ---------------------------------------------------------------------

static bool is_ours(int i)
{
    return runners[i] == &order_runner || runners[i] == &resource_runner;
}

static const char *form(int i)
{
    return runners[i] == &order_runner ? "ordered" : "by resources";
}

// Ours over each peer, with a bar for oneTBB only. `which` picks a cost.
static void compare(const char *name, const char *metric,
                    const double cost[RUNNERS], double bar, double floor_bar)
{
    char text[96];

    for (int i = 0; i < RUNNERS; i++) {
        snprintf(text, sizeof(text), "%s of %s", metric, runners[i]->name);
        graph_figure(name, text, cost[i], "ns", NULL, NULL, 0);
    }
    for (int i = 0; i < RUNNERS; i++)
        for (int k = 0; is_ours(i) && k < RUNNERS; k++) {
            bool tbb = strcmp(runners[k]->name, "tbb") == 0;
            double limit = tbb                           ? bar
                           : runners[k] == &floor_runner ? floor_bar
                                                         : 0;
            // What is built while it runs has no cost of building.
            if (is_ours(k) || cost[k] < 1 ||
                (runners[k] == &floor_runner && floor_bar == 0))
                continue;
            snprintf(text, sizeof(text), "%s over the peer's, %s", metric,
                     form(i));
            graph_figure(name, text, cost[i] / cost[k], "ratio",
                         runners[k]->name, limit > 0 ? "<=" : NULL, limit);
        }
}

enum which {
    BUILD,
    AGAIN,
    ALL
};

static void pick(const struct costs costs[RUNNERS], enum which which,
                 double to[RUNNERS])
{
    for (int i = 0; i < RUNNERS; i++)
        to[i] = which == BUILD   ? costs[i].build
                : which == AGAIN ? costs[i].again
                                 : costs[i].build + costs[i].first;
}

static void measure_shape(const char *shape, struct dag *dag, int rounds)
{
    struct costs costs[RUNNERS];
    double cost[RUNNERS];
    char name[64], metric[64];
    bool random = strcmp(shape, "random") == 0;

    for (unsigned workers = 1; workers <= 2; workers++) {
        snprintf(name, sizeof(name), "%s, %u worker%s", shape, workers,
                 workers > 1 ? "s" : "");
        measure(dag, workers, workers == 1, rounds, costs);
        if (workers == 1 && random) {
            pick(costs, BUILD, cost);
            compare(name, "build", cost, 0.17, 0);
            for (int i = 0; i < RUNNERS; i++) {
                snprintf(metric, sizeof(metric), "memory of %s",
                         runners[i]->name);
                graph_figure(name, metric, costs[i].bytes, "B/task", NULL,
                             is_ours(i) ? "<=" : NULL, 64);
            }
        }
        pick(costs, AGAIN, cost);
        compare(name, "re-run", cost,
                random ? (workers == 1 ? 0.15 : 0.35)
                       : (workers == 1 ? 0.1 : 0.2),
                workers == 1 ? 1.3 : 0);
    }
}

// Build and run once, CPU time of all threads.
static void measure_million(int rounds)
{
    struct dag dag = make_random(1000000);
    struct costs costs[RUNNERS];
    double cost[RUNNERS];

    measure(&dag, 2, true, rounds, costs);
    pick(costs, ALL, cost);
    compare("a million, 2 workers", "CPU time of build and run", cost, 0.2, 0);
    free_dag(&dag);
}

// The smallest task -----------------------------------------------------------

// One round of dag_run_task() [ns].
static double spin_time(void)
{
    uint32_t first[2] = {0, 0}, value;
    struct dag dag = {
        .count = 1, .first = first, .value = &value, .spins = 2000000};
    double best = INFINITY;

    for (int i = 0; i < 5; i++) {
        double begin = cpu_now();
        dag_run_task(&dag, 0);
        best = fmin(best, cpu_now() - begin);
    }
    return best * 1e6 / (double)dag.spins;
}

static double run_grain(const struct runner *runner, struct dag *dag,
                        bool build, double (*clock)(void), int rounds)
{
    double times[MAX_ROUNDS];
    void *graph = build ? NULL : runner->build(dag);

    for (int i = 0; i <= rounds; i++) { // the first warms up
        double begin = clock();
        if (build)
            graph = runner->build(dag);
        runner->run(graph);
        times[i ? i - 1 : 0] = (clock() - begin) * 1e6;
        if (build)
            runner->free(graph);
    }
    if (!build)
        runner->free(graph);
    return figure_median(times, rounds);
}

// The task [ns] at which half of the workers' time goes into tasks: their time
// is a line over the grain for long tasks, so halving an interval finds it.
static double find_metg(const struct runner *runner, struct dag *dag,
                        unsigned workers, bool build, double spin, int rounds)
{
    double low = log(1), high = log(MAX_GRAIN);

    double (*clock)(void) = workers == 1 ? cpu_now : figure_now;

    runner->open(workers);
    for (int i = 0; i < 12; i++) {
        double grain = exp((low + high) / 2);
        dag->spins = (uint64_t)(grain / spin) + 1;
        grain = (double)dag->spins * spin;
        double used = grain * dag->count;
        double had = run_grain(runner, dag, build, clock, rounds) * workers;
        if (used / had >= 0.5)
            high = (low + high) / 2;
        else
            low = (low + high) / 2;
    }
    runner->close();
    rest();
    dag->spins = 0;
    return exp((low + high) / 2);
}

// Whole searches take turns: a search takes milliseconds, and what else runs on
// the machine changes more slowly.
static void measure_metg(int rounds)
{
    static double samples[RUNNERS][MAX_ROUNDS];
    struct dag dag = make_stencil(2000, 8);
    double spin = spin_time();

    point_tasks(&dag);
    for (int build = 0; build < 2; build++)
        for (unsigned workers = 1; workers <= 2; workers++) {
            double metg[RUNNERS];
            char name[64];
            snprintf(name, sizeof(name), "METG(50 %%), %s, %u worker%s",
                     build ? "build and run" : "run only", workers,
                     workers > 1 ? "s" : "");
            for (int round = 0; round < rounds; round++)
                // The floor has one worker: what it took is kept.
                for (int i = workers > 1; i < RUNNERS; i++)
                    samples[i][round] = find_metg(runners[i], &dag, workers,
                                                  build, spin, rounds);
            for (int i = 0; i < RUNNERS; i++)
                metg[i] = figure_median(samples[i], rounds);
            bool found = true;
            for (int i = 0; i < RUNNERS; i++)
                found = found && metg[i] < MAX_GRAIN * 0.99;
            if (found)
                compare(name, "smallest task", metg, 0.75, build ? 2.4 : 1.2);
            else
                graph_skip(name, "smallest task",
                           "not even 30 us kept half of the workers' time for "
                           "tasks: other programs use this machine");
        }
    free_dag(&dag);
}

void graph_measure_dags(bool quick)
{
    int rounds = quick ? 3 : 7;
    struct dag random = make_random(100000);
    struct dag stencil = make_stencil(100000, 8);

    measure_shape("random", &random, rounds);
    measure_shape("stencil", &stencil, rounds);
    free_dag(&random);
    free_dag(&stencil);
    measure_million(quick ? 1 : 3);
    measure_metg(quick ? 3 : 5);
#ifndef BENCH_OPENMP
    graph_skip("random, 1 worker", "re-run over the peer's",
               "the compiler has no OpenMP with iterators in dependences");
#endif
#ifndef BENCH_STARPU
    graph_skip("random, 1 worker", "build over the peer's",
               "StarPU was not found; install libstarpu-dev and configure "
               "again");
#endif
#ifndef BENCH_TBB
    graph_skip("random, 1 worker", "build over the peer's",
               "oneTBB was not found; install libtbb-dev and configure again");
#endif
#ifndef BENCH_TASKFLOW
    graph_skip("random, 1 worker", "build over the peer's",
               "Taskflow was not found; configure again with "
               "-DHEDDLE_TASKFLOW=FOLDER, where taskflow/taskflow.hpp is");
#endif
}
