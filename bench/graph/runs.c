// What the scheduler makes of graphs: memory, learned order, split passes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/graph/graph.h"
#include "heddle/heddle.h"
#include "tests/folder.h"

enum {
    MAX_ROUNDS = 15
};

static struct hd_error error;
static const char *folder;
static unsigned folders; // made in it

static void check(hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench graph: %s\n", error.text);
    exit(1);
}

// A runtime that knows nothing yet: its cache is a folder of its own.
static struct hd_runtime *open_fresh(unsigned workers)
{
    char cache[320];
    struct hd_runtime *runtime;

    snprintf(cache, sizeof(cache), "%s/%u", folder, folders++);
    const struct hd_runtime_params params = {
        .workers = workers, .device = "cpu", .cache = cache};
    check(hd_runtime_create(&params, &runtime, &error));
    return runtime;
}

static hd_resource add_resource(struct hd_graph *graph, const char *name,
                                uint64_t floats)
{
    const struct hd_shape shape = {
        .type = "float", .axes = 1, .extent = {floats}};
    hd_resource resource;

    check(hd_graph_resource(graph, name, &shape, NULL, &resource, &error));
    return resource;
}

static double run(struct hd_graph *graph) // [ms]
{
    double begin = figure_now();

    check(hd_graph_run(graph, NULL, &error));
    return figure_now() - begin;
}

// Memory ----------------------------------------------------------------------

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// A thousand passes that each make one resource, of any size, out of up to
// three of the last sixteen.
static void generate(struct hd_graph *graph, uint64_t seed)
{
    enum {
        PASSES = 1000,
        RECENT = 16
    };
    const double zero = 0;
    hd_resource recent[RECENT], to = 0;
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    hd_pass pass;

    for (int i = 0; i < PASSES; i++) {
        uint64_t floats = 256 << next_random(&state) % 9;
        floats += next_random(&state) % floats;
        hd_resource reads[3];
        unsigned count = 0;
        to = add_resource(graph, "r", floats);
        for (int k = 0; k < 3 && i >= RECENT; k++)
            reads[count++] = recent[next_random(&state) % RECENT];
        const struct hd_command fill = {
            .is = HD_FILL, .to = to, .pattern = &zero, .pattern_count = 1};
        const struct hd_pass_params params = {.name = "make",
                                              .reads = reads,
                                              .read_count = count,
                                              .writes = &to,
                                              .write_count = 1,
                                              .keep = true,
                                              .commands = &fill,
                                              .command_count = 1};
        check(hd_graph_pass(graph, &params, &pass, &error));
        recent[i < RECENT ? (unsigned)i : next_random(&state) % RECENT] = to;
    }
    check(hd_graph_output(graph, "last", to, NULL, &error));
}

static double measure_heap(enum hd_graph_goal goal, uint64_t seed)
{
    struct hd_runtime *runtime = open_fresh(2);
    const struct hd_graph_policy policy = {.goal = goal};
    struct hd_graph_statistics statistics;
    struct hd_graph *graph;

    check(hd_graph_create(runtime, &graph, &error));
    generate(graph, seed);
    check(hd_graph_set_policy(graph, &policy, &error));
    run(graph);
    hd_graph_stats(graph, &statistics);
    hd_graph_destroy(graph);
    hd_runtime_destroy(runtime);
    return (double)statistics.heap / (double)statistics.live;
}

static void measure_memory(bool quick)
{
    static const char name[] = "generated programs of 1,000 passes";
    int programs = quick ? 3 : 10;
    double worst = 0, sum = 0, free_sum = 0;

    for (int i = 0; i < programs; i++) {
        double ratio = measure_heap(HD_GRAPH_MEMORY, (uint64_t)i + 1);
        worst = ratio > worst ? ratio : worst;
        sum += ratio;
        free_sum += measure_heap(HD_GRAPH_TIME, (uint64_t)i + 1);
    }
    graph_figure(name, "heap over largest live size, goal time",
                 free_sum / programs, "ratio", NULL, NULL, 0);
    graph_figure(name, "heap over largest live size, goal memory, mean",
                 sum / programs, "ratio", NULL, NULL, 0);
    graph_figure(name, "heap over largest live size, goal memory, worst", worst,
                 "ratio", NULL, "<=", 1.02);
}

// Order -----------------------------------------------------------------------

// One group of one work-item: a pass keeps one worker busy.
static const char uneven_text[] =
    "#define SPIN(name, rounds) \\\n"
    "    kernel void name(global float *a) { \\\n"
    "        float x = a[0]; \\\n"
    "        for (int i = 0; i < rounds; i++) x = x * 0.9999f + 0.5f; \\\n"
    "        a[0] = x; \\\n"
    "    }\n"
    "SPIN(k1, 100000)\n"
    "SPIN(k2, 200000)\n"
    "SPIN(k3, 300000)\n"
    "SPIN(k4, 500000)\n"
    "SPIN(k5, 2600000)\n";

// Passes in the order a program may name them: what takes longest comes last.
static struct hd_graph *make_uneven(struct hd_runtime *runtime,
                                    const struct hd_program *program)
{
    static const char *const names[] = {"k1", "k2", "k3", "k4", "k5"};
    static const int order[] = {0, 1, 2, 3, 1, 0, 3, 2, 1, 0, 2, 4};
    const double zero = 0;
    struct hd_graph *graph;
    hd_pass pass;

    check(hd_graph_create(runtime, &graph, &error));
    for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++) {
        hd_resource to = add_resource(graph, "r", 64);
        const struct hd_pass_arg arg = {.is = HD_PASS_RESOURCE, .resource = to};
        const struct hd_command commands[] = {
            {.is = HD_FILL, .to = to, .pattern = &zero, .pattern_count = 1},
            {.is = HD_DISPATCH,
             .kernel = {.kernel = hd_program_find(program, names[order[i]])},
             .range = {.dims = 1, .global = {1}, .local = {1}},
             .args = &arg,
             .arg_count = 1}};
        const struct hd_pass_params params = {.name = names[order[i]],
                                              .writes = &to,
                                              .write_count = 1,
                                              .commands = commands,
                                              .command_count = 2};
        check(hd_graph_pass(graph, &params, &pass, &error));
    }
    check(hd_graph_prepare(graph, &error));
    return graph;
}

static void measure_order(int rounds)
{
    double ratios[MAX_ROUNDS], again[MAX_ROUNDS];
    const struct hd_program_params params = {.source = uneven_text};

    for (int i = 0; i < rounds; i++) {
        struct hd_runtime *runtime = open_fresh(2);
        struct hd_program *program;
        check(hd_program_create(runtime, &params, &program, &error));
        struct hd_graph *graph = make_uneven(runtime, program);
        double first = run(graph), second = run(graph);
        hd_graph_destroy(graph);
        // Another graph of the program, which has the times from the store.
        graph = make_uneven(runtime, program);
        double other = run(graph);
        hd_graph_destroy(graph);
        hd_program_destroy(program);
        hd_runtime_destroy(runtime);
        ratios[i] = first / second;
        again[i] = first / other;
    }
    graph_figure("uneven passes, 2 workers", "first run over the second",
                 figure_median(ratios, rounds), "ratio", NULL, ">=", 1.15);
    graph_figure("uneven passes, 2 workers",
                 "first run over that of a new graph of the same",
                 figure_median(again, rounds), "ratio", NULL, ">=", 1.15);
}

// Splitting -------------------------------------------------------------------

enum {
    ROWS = 16, // of a group
    WIDTH = 64,
    CHAIN = 40
};

// Every work-item reads its neighbours above and below. Work-items of the group
// `heavy` do more.
static const char stencil_text[] =
    "kernel void step(global const float *a, global float *b, int heavy) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    float sum = a[y * w + x];\n"
    "    if (y > 0) sum += a[(y - 1) * w + x];\n"
    "    if (y < h - 1) sum += a[(y + 1) * w + x];\n"
    "    int rounds = get_group_id(1) == heavy ? 40000 : 4000;\n"
    "    for (int i = 0; i < rounds; i++) sum = sum * 0.999f + 0.1f;\n"
    "    b[y * w + x] = sum;\n"
    "}\n";

// Chains of passes over a few groups.
struct chain {
    const char *name;
    int groups;
    bool uneven; // the first group of a pass is heavy, the last of the next one
    double bar;  // 0: none
};

static void add_step(struct hd_graph *graph, const struct hd_program *program,
                     const struct chain *chain, const hd_resource two[2], int i)
{
    const double heavy = !chain->uneven ? -1
                         : i % 2 == 0   ? 0
                                        : chain->groups - 1;
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = two[i % 2]},
        {.is = HD_PASS_RESOURCE, .resource = two[1 - i % 2]},
        {.is = HD_PASS_NUMBERS, .numbers = &heavy, .number_count = 1}};
    const struct hd_command command = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(program, "step")},
        .range = {.dims = 2,
                  .global = {WIDTH, (uint64_t)chain->groups * ROWS},
                  .local = {WIDTH, ROWS}},
        .args = args,
        .arg_count = 3};
    const struct hd_pass_params params = {.name = "step",
                                          .reads = &two[i % 2],
                                          .read_count = 1,
                                          .overwrites = &two[1 - i % 2],
                                          .overwrite_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    check(hd_graph_pass(graph, &params, &pass, &error));
}

static struct hd_graph *make_chain(struct hd_runtime *runtime,
                                   const struct hd_program *program,
                                   const struct chain *chain, bool whole)
{
    const struct hd_graph_policy policy = {.whole = whole};
    const double zero = 0;
    hd_resource two[2];
    struct hd_graph *graph;
    hd_pass pass;

    check(hd_graph_create(runtime, &graph, &error));
    for (int i = 0; i < 2; i++)
        two[i] = add_resource(graph, i ? "b" : "a",
                              (uint64_t)chain->groups * ROWS * WIDTH);
    const struct hd_command fill = {
        .is = HD_FILL, .to = two[0], .pattern = &zero, .pattern_count = 1};
    const struct hd_pass_params start = {.name = "fill",
                                         .writes = two,
                                         .write_count = 1,
                                         .commands = &fill,
                                         .command_count = 1};
    check(hd_graph_pass(graph, &start, &pass, &error));
    for (int i = 0; i < CHAIN; i++)
        add_step(graph, program, chain, two, i);
    check(hd_graph_output(graph, "result", two[CHAIN % 2], NULL, &error));
    check(hd_graph_set_policy(graph, &policy, &error));
    check(hd_graph_prepare(graph, &error));
    return graph;
}

static void measure_chain(const struct chain *chain, int rounds)
{
    double ratios[MAX_ROUNDS];
    const struct hd_program_params params = {.source = stencil_text};
    struct hd_runtime *runtime = open_fresh(2);
    struct hd_graph_statistics statistics;
    struct hd_program *program;

    check(hd_program_create(runtime, &params, &program, &error));
    struct hd_graph *split = make_chain(runtime, program, chain, false);
    struct hd_graph *whole = make_chain(runtime, program, chain, true);
    for (int i = 0; i < 3; i++) // it learns
        run(split), run(whole);
    for (int i = 0; i < rounds; i++)
        ratios[i] = run(whole) / run(split);
    hd_graph_stats(split, &statistics);
    hd_graph_destroy(split);
    hd_graph_destroy(whole);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    graph_figure(chain->name, "passes in parts, of 40", statistics.split,
                 "passes", NULL, NULL, 0);
    graph_figure(chain->name, "whole passes over split ones",
                 figure_median(ratios, rounds), "ratio", "whole passes",
                 chain->bar > 0 ? ">=" : NULL, chain->bar);
}

// Three equal groups: whole passes leave a worker idle in every second round,
// so that split ones can be a third faster at the most, on cores that do not
// slow each other down. Of uneven ones a whole pass waits for its heavy group,
// beside which there is little to do; the heavy groups of two passes in a row
// need nothing of each other.
static void measure_chains(int rounds)
{
    static const struct chain chains[] = {
        {"chain of stencil passes of 3 groups, 2 workers", 3, false, 1.3},
        {"chain of stencil passes of 6 uneven groups, 2 workers", 6, true,
         1.3}};

    for (size_t i = 0; i < sizeof(chains) / sizeof(*chains); i++)
        measure_chain(&chains[i], rounds);
}

// Tiny passes ----------------------------------------------------------------

enum {
    LINES = 8,
    LINE = 64, // floats
    STEPS = 250
};

static const char tiny_text[] =
    "kernel void mix(global const float *a, global const float *b,\n"
    "                global const float *c, global float *to) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = 0.25f * a[i] + 0.5f * b[i] + 0.25f * c[i];\n"
    "}\n";

// Lines that each step makes of its neighbours of the step before.
static struct hd_graph *make_tiny(struct hd_runtime *runtime,
                                  const struct hd_program *program, bool single)
{
    const struct hd_graph_policy policy = {.single = single};
    const double one = 1;
    hd_resource lines[2][LINES];
    struct hd_graph *graph;
    hd_pass pass;

    check(hd_graph_create(runtime, &graph, &error));
    for (int i = 0; i < LINES; i++) {
        lines[0][i] = add_resource(graph, "line", LINE);
        lines[1][i] = add_resource(graph, "line", LINE);
        const struct hd_command fill = {.is = HD_FILL,
                                        .to = lines[0][i],
                                        .pattern = &one,
                                        .pattern_count = 1};
        const struct hd_pass_params params = {.name = "fill",
                                              .overwrites = &lines[0][i],
                                              .overwrite_count = 1,
                                              .commands = &fill,
                                              .command_count = 1};
        check(hd_graph_pass(graph, &params, &pass, &error));
    }
    for (int s = 0; s < STEPS; s++)
        for (int i = 0; i < LINES; i++) {
            const hd_resource *from = lines[s % 2];
            const hd_resource reads[] = {from[i > 0 ? i - 1 : LINES - 1],
                                         from[i], from[(i + 1) % LINES]};
            const hd_resource to = lines[1 - s % 2][i];
            const struct hd_pass_arg args[] = {
                {.is = HD_PASS_RESOURCE, .resource = reads[0]},
                {.is = HD_PASS_RESOURCE, .resource = reads[1]},
                {.is = HD_PASS_RESOURCE, .resource = reads[2]},
                {.is = HD_PASS_RESOURCE, .resource = to}};
            const struct hd_command command = {
                .is = HD_DISPATCH,
                .kernel = {.kernel = hd_program_find(program, "mix")},
                .range = {.dims = 1, .global = {LINE}},
                .args = args,
                .arg_count = 4};
            const struct hd_pass_params params = {.name = "mix",
                                                  .reads = reads,
                                                  .read_count = 3,
                                                  .overwrites = &to,
                                                  .overwrite_count = 1,
                                                  .commands = &command,
                                                  .command_count = 1};
            check(hd_graph_pass(graph, &params, &pass, &error));
        }
    for (int i = 0; i < LINES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "line %d", i);
        check(hd_graph_output(graph, name, lines[STEPS % 2][i], NULL, &error));
    }
    check(hd_graph_set_policy(graph, &policy, &error));
    return graph;
}

// With one worker the clock is processor time.
static double run_tiny(struct hd_graph *graph, unsigned workers) // [ms]
{
    struct timespec a, b;

    if (workers > 1)
        return run(graph);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
    run(graph);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    return (double)(b.tv_sec - a.tv_sec) * 1e3 +
           (double)(b.tv_nsec - a.tv_nsec) / 1e6;
}

// The same runtime with it off takes turns with it, who is first too.
static void measure_tiny(unsigned workers, int rounds)
{
    double ratios[MAX_ROUNDS], each[MAX_ROUNDS];
    const struct hd_program_params params = {.source = tiny_text};
    struct hd_runtime *runtime = open_fresh(workers);
    struct hd_graph_statistics statistics;
    struct hd_program *program;
    char name[64];

    snprintf(name, sizeof(name), "2,000 passes of 64 work-items, %u worker%s",
             workers, workers > 1 ? "s" : "");
    check(hd_program_create(runtime, &params, &program, &error));
    struct hd_graph *batches = make_tiny(runtime, program, false);
    struct hd_graph *single = make_tiny(runtime, program, true);
    for (int i = 0; i < 3; i++) // it learns
        run(batches), run(single);
    for (int i = 0; i < rounds; i++) {
        double times[2];
        for (int k = 0; k < 2; k++) {
            bool first = (k + i) % 2 == 0;
            times[!first] = run_tiny(first ? batches : single, workers);
        }
        ratios[i] = times[1] / times[0];
        each[i] = times[0] * 1e6 / (LINES * STEPS);
    }
    hd_graph_stats(batches, &statistics);
    hd_graph_destroy(batches);
    hd_graph_destroy(single);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    graph_figure(name, "batches", statistics.batches, "batches", NULL, NULL, 0);
    graph_figure(name, "run again, in batches, per pass",
                 figure_median(each, rounds), "ns", NULL, NULL, 0);
    graph_figure(name, "single passes over batches",
                 figure_median(ratios, rounds), "ratio", "single passes",
                 ">=", 1.1);
}

void graph_measure_runs(bool quick)
{
    int rounds = quick ? 5 : MAX_ROUNDS;
    char remove[320];

    folder = make_folder();
    measure_memory(quick);
    measure_order(rounds);
    measure_chains(rounds);
    for (unsigned workers = 1; workers <= 2; workers++)
        measure_tiny(workers, rounds);
    snprintf(remove, sizeof(remove), "rm -r %s", folder);
    if (system(remove) != 0)
        fprintf(stderr, "bench graph: cannot remove %s\n", folder);
}
