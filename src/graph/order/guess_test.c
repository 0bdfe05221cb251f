// What passes that never ran are thought to cost, by what they touch and do.
#include <linux/perf_event.h>
#include <string.h>

#include "graph/order/order.h"
#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    FEW = 16,
    MANY = 1 << 20,
    ITEMS = 4096, // of a pass that computes
    TURNS = 20000
};

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_error error;

static const char source[] =
    "kernel void walk(global int *a, int n)\n"
    "{ for (int i = 0; i < n; i++) a[i] = a[i] * 3 + 1; }\n"
    "kernel void think(global int *a, int n)\n"
    "{\n"
    "    int i = get_global_id(0), x = a[i];\n"
    "    for (int k = 0; k < n; k++) x = x * 1664525 + (x >> 7);\n"
    "    a[i] = x;\n"
    "}\n"
    "kernel void rest(global int *a, int n)\n"
    "{\n"
    "    int i = get_global_id(0), x = a[i];\n"
    "    if (i == 7)\n"
    "        for (int k = 0; k < n; k++) x = x * 1664525 + (x >> 7);\n"
    "    a[i] = x;\n"
    "}\n";

// What the kernel does beside the loop is little.
static bool is_times(uint64_t a, uint64_t b, double times)
{
    double ratio = (double)a / ((double)b * times);

    return ratio > 0.98 && ratio < 1.02;
}

static hd_pass add(struct hd_graph *graph, const char *kernel, uint64_t items,
                   double n)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {MANY}};
    hd_resource r;
    hd_pass pass;

    CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r, &error), error);
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = r},
        {.is = HD_PASS_NUMBERS, .numbers = &n, .number_count = 1}};
    const struct hd_command commands[] = {
        {.is = HD_DISPATCH,
         .kernel = {.kernel = hd_program_find(program, kernel)},
         .range = {.dims = 1, .global = {items}, .local = {1}},
         .args = args,
         .arg_count = 2}};
    const struct hd_pass_params params = {.name = kernel,
                                          .overwrites = &r,
                                          .overwrite_count = 1,
                                          .commands = commands,
                                          .command_count = 1};
    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

// One work-item each: what they go through tells them apart, and one work-item
// is not divided among workers.
static void what_is_touched_is_estimated(void)
{
    struct hd_graph_statistics s;
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "walk", 1, FEW);
    add(graph, "walk", 1, MANY);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    CHECK(graph->passes.at[0].bytes == 2 * FEW * sizeof(int));
    CHECK(graph->passes.at[1].bytes == 2 * MANY * sizeof(int));
    CHECK(graph->rank[1] > 10 * graph->rank[0]);
    hd_graph_stats(graph, &s);
    CHECK(s.known == 0);
    CHECK(s.critical_path >= 2 * MANY * sizeof(int) / 8);
    CHECK(s.predicted >= s.critical_path);
    hd_graph_destroy(graph);
}

// The same bytes and work-items: how often loops go round tells passes apart,
// and how many work-items get there. One worker takes the one first that has
// most to do, in the first run already.
static void what_is_done_is_estimated(void)
{
    struct hd_graph_statistics s;
    struct hd_pass_info first, other;
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    for (int i = 0; i < 3; i++)
        add(graph, "think", ITEMS, FEW);
    add(graph, "rest", ITEMS, TURNS);
    add(graph, "think", ITEMS, TURNS);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    const struct hdi_pass *passes = graph->passes.at;
    CHECK(passes[0].bytes == passes[4].bytes);
    CHECK(passes[0].steps >= ITEMS * 3 * FEW);
    CHECK(passes[4].steps >= ITEMS * UINT64_C(3) * TURNS);
    CHECK(passes[4].steps < ITEMS * UINT64_C(10) * TURNS);
    CHECK(graph->rank[4] > 100 * graph->rank[0]);
    CHECK(graph->rank[4] > 100 * graph->rank[3]);
    hd_graph_stats(graph, &s);
    CHECK(s.known == 0 && s.critical_path == graph->rank[4]);
    CHECK(s.predicted >= s.critical_path && s.area >= s.critical_path);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(hd_graph_pass_info(graph, 4, &first));
    for (unsigned i = 0; i < 4; i++) {
        CHECK(hd_graph_pass_info(graph, i, &other));
        CHECK(first.end <= other.begin);
    }
    hd_graph_destroy(graph);
}

// Operations of what never ran take as long as those of what did.
static void what_ran_tells_about_what_did_not(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "think", ITEMS, TURNS);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    // Of a step [ns], in its leaves: a pass that waits for its core takes
    // longer.
    double took =
        (double)graph->passes.at[0].busy / (double)graph->passes.at[0].steps;
    hd_graph_destroy(graph);

    hd_program_destroy(program); // nothing is known of its kernels
    const struct hd_program_params kernels = {.source = source};
    CHECK_OK(hd_program_create(runtime, &kernels, &program, &error), error);
    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "think", 2 * ITEMS, TURNS);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    CHECK(!graph->weights[0].known && !graph->weights[0].measured);
    double thought =
        (double)graph->weights[0].work / (double)graph->passes.at[0].steps;
    printf("a step: %.4f ns, thought %.4f\n", took, thought);
    CHECK(thought > took * 0.98 && thought < took * 1.02);
    hd_graph_destroy(graph);
}

// The same kernel over as many work-items, which go round more often: it is not
// known, but thought to take as much longer as it has more to do.
static void more_turns_are_thought_to_take_longer(void)
{
    static const double turns[] = {TURNS, 8 * TURNS, TURNS / 2.0};
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "think", ITEMS, TURNS);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    hd_graph_destroy(graph);
    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    for (int i = 0; i < 3; i++)
        add(graph, "think", ITEMS, turns[i]);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    const struct hdi_weight *w = graph->weights;
    CHECK(w[0].known && !w[1].known && w[1].measured && !w[2].known);
    CHECK(is_times(w[1].time, w[0].time, 8) &&
          is_times(w[1].work, w[0].work, 8));
    CHECK(is_times(w[2].time, w[0].time, 0.5));
    hd_graph_destroy(graph);
}

// A kept graph is not prepared anew for it.
static void a_changed_argument_changes_the_cost(void)
{
    double turns = 8 * TURNS;
    const struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &turns, .number_count = 1};
    struct hd_graph_statistics s;
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    hd_pass pass = add(graph, "think", ITEMS, TURNS);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    uint64_t time = graph->weights[0].time;
    struct hdi_feedback_key key = graph->keys[0];
    CHECK_OK(hd_graph_set_argument(graph, pass, 0, 1, &arg, &error), error);
    CHECK(is_times(graph->weights[0].time, time, 8));
    CHECK(memcmp(&key, &graph->keys[0], sizeof(key)) != 0);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    hd_graph_stats(graph, &s);
    CHECK(is_times(s.predicted, time, 8));
    // Also what is changed between two preparations.
    add(graph, "think", ITEMS, TURNS);
    time = graph->weights[0].time;
    turns = 2 * TURNS;
    CHECK_OK(hd_graph_set_argument(graph, pass, 0, 1, &arg, &error), error);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    CHECK(is_times(graph->weights[0].time, time, 0.25));
    hd_graph_destroy(graph);
}

// A pass that had next to nothing to do has time only for what is around it.
static void little_that_becomes_much_takes_long(void)
{
    double turns = TURNS;
    const struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &turns, .number_count = 1};
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    hd_pass pass = add(graph, "think", FEW, 1);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    const struct hdi_weight before = graph->weights[0];
    CHECK_OK(hd_graph_set_argument(graph, pass, 0, 1, &arg, &error), error);
    const struct hdi_weight *w = graph->weights;
    uint64_t least = graph->passes.at[0].steps / 10; // [ns]
    CHECK(w->work >= before.work + least && w->time >= before.time + least);
    CHECK(w->last_time >= before.last_time + least);
    hd_graph_destroy(graph);
}

// A pass of few operations took long, as it may where others have its core.
static void short_passes_tell_nothing_of_operations(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "walk", 1, FEW);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    graph->passes.at[0].busy = graph->passes.at[0].end = 1000000000;
    graph->passes.at[0].begin = 0;
    hdi_graph_learn(graph);
    hd_graph_destroy(graph);
    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add(graph, "walk", 1, MANY);
    add(graph, "think", ITEMS, TURNS);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    CHECK(!graph->weights[0].known && graph->weights[0].work < 1000000000);
    CHECK(graph->weights[1].work < UINT64_C(10000000000));
    hd_graph_destroy(graph);
}

// Page faults stand for cache misses, and are far more than arguments tell. The
// memory of the resource is new.
static void what_is_counted_is_learned(void)
{
    const struct hdi_misses_source faults = {
        PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, UINT64_C(1) << 30};
    struct hdi_experience e;
    struct hd_graph *graph;

    if (hdi_misses_try(&faults) != 0) {
        printf("the system lets nothing be counted\n");
        return;
    }
    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    graph->context.launcher->counted = faults;
    add(graph, "walk", 1, MANY);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    const struct hdi_pass *pass = &graph->passes.at[0];
    CHECK(pass->moved >= faults.bytes && !pass->uncounted);
    CHECK(hdi_feedback_find(graph->context.feedback, &graph->keys[0], &e));
    double bandwidth =
        (double)pass->moved * 1e9 / (double)(pass->end - pass->begin);
    CHECK(e.bandwidth > bandwidth * 0.99 && e.bandwidth < bandwidth * 1.01);
    hd_graph_destroy(graph);
}

static void with_workers(unsigned workers, void (*test)(void))
{
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = workers, .no_cache = true};
    const struct hd_program_params kernels = {.source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &kernels, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    test();
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

int main(void)
{
    with_workers(2, what_is_touched_is_estimated);
    with_workers(1, what_is_done_is_estimated);
    with_workers(1, what_ran_tells_about_what_did_not);
    with_workers(1, more_turns_are_thought_to_take_longer);
    with_workers(1, a_changed_argument_changes_the_cost);
    with_workers(1, little_that_becomes_much_takes_long);
    with_workers(1, short_passes_tell_nothing_of_operations);
    with_workers(1, what_is_counted_is_learned);
    return 0;
}
