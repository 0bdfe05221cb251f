// What passes that never ran are thought to cost, by what they touch.
#include "graph/model/model.h"
#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    FEW = 16,
    MANY = 1 << 20
};

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_error error;

static const char source[] =
    "kernel void walk(global int *a, int n)\n"
    "{ for (int i = 0; i < n; i++) a[i] = a[i] * 3 + 1; }\n";

static void add_walk(struct hd_graph *graph, double n)
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
         .kernel = {.kernel = hd_program_find(program, "walk")},
         .range = {.dims = 1, .global = {1}, .local = {1}},
         .args = args,
         .arg_count = 2}};
    const struct hd_pass_params params = {.name = "walk",
                                          .overwrites = &r,
                                          .overwrite_count = 1,
                                          .commands = commands,
                                          .command_count = 1};
    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
}

// One work-item each: what they go through tells them apart, and one work-item
// is not divided among workers.
static void what_is_touched_is_estimated(void)
{
    struct hd_graph_statistics s;
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add_walk(graph, FEW);
    add_walk(graph, MANY);
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

int main(void)
{
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = 2, .no_cache = true};
    const struct hd_program_params kernels = {.source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &kernels, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    what_is_touched_is_estimated();
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return 0;
}
