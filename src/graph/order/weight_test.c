// What passes of a kept graph are thought to take, when some are left out and
// come back.
#include "base/clock.h"
#include "graph/model/model.h"
#include "heddle/heddle.h"
#include "tests/check.h"

static struct hd_runtime *runtime;
static struct hd_error error;

static hd_status spin(void *data, struct hd_error *failure)
{
    uint64_t end = hdi_now() + *(uint64_t *)data;

    (void)failure;
    while (hdi_now() < end)
        ;
    return HD_OK;
}

static hd_pass add_spin(struct hd_graph *graph, uint64_t *time)
{
    const struct hd_command command = {
        .is = HD_CALL, .call = spin, .data = time};
    const struct hd_pass_params params = {
        .name = "spin", .commands = &command, .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

// One worker: the prediction is the sum, exactly.
static void a_pass_that_is_left_out_takes_nothing(void)
{
    static uint64_t times[] = {20000, 3000000, 30000}; // [ns]
    const struct hd_graph_policy policy = {.single = true, .times = true};
    struct hd_graph_statistics s;
    struct hd_graph *graph;
    hd_pass passes[3];

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_set_policy(graph, &policy, &error), error);
    for (int i = 0; i < 3; i++)
        passes[i] = add_spin(graph, &times[i]);
    for (int i = 0; i < 2; i++)
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK_OK(hd_graph_leave_out(graph, passes[1], true, &error), error);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    const struct hdi_weight *w = graph->weights;
    uint64_t longest = w[0].time > w[2].time ? w[0].time : w[2].time;
    hd_graph_stats(graph, &s);
    CHECK(s.dropped == 1 && s.known == 2);
    CHECK(s.predicted == w[0].time + w[2].time);
    CHECK(s.area == w[0].work + w[2].work && s.critical_path == longest);
    // Out for a run, too; then it is what it was, and is not measured anew.
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK_OK(hd_graph_leave_out(graph, passes[1], false, &error), error);
    CHECK_OK(hd_graph_prepare(graph, &error), error);
    hd_graph_stats(graph, &s);
    CHECK(s.dropped == 0 && s.known == 3);
    CHECK(s.critical_path >= times[1]);
    CHECK(s.predicted >= times[0] + times[1] + times[2]);
    hd_graph_destroy(graph);
}

int main(void)
{
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = 1, .no_cache = true};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    a_pass_that_is_left_out_takes_nothing();
    hd_runtime_destroy(runtime);
    return 0;
}
