// Graphs that grow while they run.
#include <stdatomic.h>

#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    ROUNDS = 200,
    WIDTH = 5
};

static struct hd_runtime *runtime;
static struct hd_error error;

// What a run does: every pass adds one; the run goes on up to a sum.
struct climb {
    atomic_int sum;
    int goal, rounds;
    int fails_at; // a round; 0: never
    struct hd_graph *cancels;
    hd_resource last;
};

static hd_status add_one(void *data, struct hd_error *failure)
{
    struct climb *climb = data;

    (void)failure;
    atomic_fetch_add(&climb->sum, 1);
    return HD_OK;
}

static void add_passes(struct hd_graph *graph, struct climb *climb)
{
    const struct hd_command command = {
        .is = HD_CALL, .call = add_one, .data = climb};
    const struct hd_pass_params params = {
        .name = "step", .commands = &command, .command_count = 1, .keep = true};
    hd_pass pass;

    for (int i = 0; i < WIDTH; i++)
        CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
}

static hd_status climb_on(void *data, struct hd_graph *graph,
                          struct hd_error *failure)
{
    struct climb *climb = data;

    climb->rounds++;
    // All that was there has run, and nothing else does.
    CHECK(atomic_load(&climb->sum) == WIDTH * climb->rounds);
    if (climb->cancels)
        hd_graph_cancel(graph);
    if (climb->rounds == climb->fails_at) {
        failure->status = HD_EIO;
        snprintf(failure->text, sizeof(failure->text), "no more rope");
        return HD_EIO;
    }
    if (atomic_load(&climb->sum) < climb->goal)
        add_passes(graph, climb);
    return HD_OK;
}

static struct hd_graph *create(struct climb *climb)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    add_passes(graph, climb);
    return graph;
}

static void a_run_goes_on_until_nothing_is_added(bool waits)
{
    struct climb climb = {.goal = WIDTH * ROUNDS};
    const struct hd_graph_run_params params = {.data = &climb,
                                               .grow = climb_on};
    struct hd_graph *graph = create(&climb);
    hd_event event;

    if (waits) {
        CHECK_OK(hd_graph_run(graph, &params, &error), error);
    } else {
        CHECK_OK(hd_graph_start(graph, NULL, &params, &event, &error), error);
        CHECK_OK(hd_event_wait(hd_runtime_pool(runtime), &event, 1, HD_FOREVER,
                               &error),
                 error);
        hd_event_release(hd_runtime_pool(runtime), event);
    }
    CHECK(climb.rounds == ROUNDS);
    CHECK(atomic_load(&climb.sum) == WIDTH * ROUNDS);
    CHECK(hd_graph_pass_count(graph) == WIDTH * ROUNDS);
    // What it has become runs again, as a whole.
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&climb.sum) == 2 * WIDTH * ROUNDS);
    hd_graph_destroy(graph);
}

static void a_failure_ends_the_growth(void)
{
    struct climb climb = {.goal = WIDTH * ROUNDS, .fails_at = 3};
    const struct hd_graph_run_params params = {.data = &climb,
                                               .grow = climb_on};
    struct hd_graph *graph = create(&climb);

    CHECK_FAILS(hd_graph_run(graph, &params, &error), HD_EIO, error,
                "no more rope");
    CHECK(climb.rounds == 3);
    // The graph is good for another run.
    atomic_store(&climb.sum, 0);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&climb.sum) == 3 * WIDTH);
    hd_graph_destroy(graph);
}

static hd_status fail_silently(void *data, struct hd_graph *graph,
                               struct hd_error *failure)
{
    (void)data, (void)graph, (void)failure;
    return HD_EIO;
}

static void a_failure_without_a_word_has_a_text(void)
{
    const struct hd_graph_run_params params = {.grow = fail_silently};
    struct climb climb = {.goal = 0};
    struct hd_graph *graph = create(&climb);

    CHECK_FAILS(hd_graph_run(graph, &params, &error), HD_EIO, error,
                hd_status_text(HD_EIO));
    hd_graph_destroy(graph);
}

static void cancelling_ends_the_growth(void)
{
    struct climb climb = {.goal = WIDTH * ROUNDS};
    const struct hd_graph_run_params params = {.data = &climb,
                                               .grow = climb_on};
    struct hd_graph *graph = create(&climb);

    climb.cancels = graph;
    CHECK_FAILS(hd_graph_run(graph, &params, &error), HD_ECANCELED, error,
                "cancelled");
    CHECK(climb.rounds == 1);
    hd_graph_destroy(graph);
}

// Each round reads what the one before has written, and writes the next.
static hd_status add_fill(void *data, struct hd_graph *graph,
                          struct hd_error *failure)
{
    struct climb *climb = data;
    unsigned char seen[2];
    hd_pass pass;

    CHECK_OK(hd_graph_contents(graph, climb->last, 0, seen, 2, failure),
             *failure);
    CHECK(seen[0] == climb->rounds && seen[1] == climb->rounds);
    if (++climb->rounds > climb->goal)
        return HD_OK;
    const double pattern = climb->rounds;
    const struct hd_command command = {.is = HD_FILL,
                                       .to = climb->last,
                                       .pattern = &pattern,
                                       .pattern_count = 1};
    const struct hd_pass_params params = {.name = "fill",
                                          .reads = &climb->last,
                                          .read_count = 1,
                                          .writes = &climb->last,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    return hd_graph_pass(graph, &params, &pass, failure);
}

static void results_steer_the_growth(void)
{
    const struct hd_shape shape = {.type = "uchar", .axes = 1, .extent = {2}};
    struct climb climb = {.goal = 50};
    const struct hd_graph_run_params params = {.data = &climb,
                                               .grow = add_fill};
    struct hd_graph *graph;
    hd_pass pass;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &climb.last, &error),
             error);
    const struct hd_command clear = {.is = HD_CLEAR, .to = climb.last};
    const struct hd_pass_params first = {.name = "clear",
                                         .writes = &climb.last,
                                         .write_count = 1,
                                         .commands = &clear,
                                         .command_count = 1};
    CHECK_OK(hd_graph_pass(graph, &first, &pass, &error), error);
    CHECK_OK(hd_graph_output(graph, "r", climb.last, NULL, &error), error);
    CHECK_OK(hd_graph_run(graph, &params, &error), error);
    CHECK(climb.rounds == 51);
    unsigned char last[2];
    CHECK_OK(hd_graph_contents(graph, climb.last, 0, last, 2, &error), error);
    CHECK(last[0] == 50 && last[1] == 50);
    hd_graph_destroy(graph);
}

int main(void)
{
    struct hd_runtime_params params = {.device = "cpu", .no_cache = true};

    for (params.workers = 1; params.workers <= 3; params.workers++) {
        CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
        a_run_goes_on_until_nothing_is_added(true);
        a_run_goes_on_until_nothing_is_added(false);
        a_failure_ends_the_growth();
        a_failure_without_a_word_has_a_text();
        cancelling_ends_the_growth();
        results_steer_the_growth();
        hd_runtime_destroy(runtime);
    }
    return 0;
}
