// Which of several passes goes next.
#include "graph/run/ready.h"

#include <sched.h>
#include <stdatomic.h>

#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    PASSES = 40,
    WORKERS = 4
};

static struct hd_runtime *runtime;
static struct hd_error error;

// How many run at the same time.
static struct {
    atomic_int now, most, all;
} crowd;

static hd_status run_in_crowd(void *data, struct hd_error *failure)
{
    int now = atomic_fetch_add(&crowd.now, 1) + 1;
    int most = atomic_load(&crowd.most);

    (void)data, (void)failure;
    while (now > most && !atomic_compare_exchange_weak(&crowd.most, &most, now))
        ;
    for (int i = 0; i < 100; i++)
        sched_yield();
    atomic_fetch_sub(&crowd.now, 1);
    atomic_fetch_add(&crowd.all, 1);
    return HD_OK;
}

static hd_status run_alone(void *data, struct hd_error *failure)
{
    (void)data, (void)failure;
    atomic_fetch_add(&crowd.all, 1);
    return HD_OK;
}

static hd_status fail(void *data, struct hd_error *failure)
{
    (void)data;
    failure->status = HD_EIO;
    snprintf(failure->text, sizeof(failure->text), "no disk");
    return HD_EIO;
}

static struct hd_graph *create(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    return graph;
}

static hd_pass add(struct hd_graph *graph, const char *class,
                   hd_status (*call)(void *data, struct hd_error *failure),
                   const hd_resource *read, const hd_resource *write)
{
    const struct hd_command command = {.is = HD_CALL, .call = call};
    const struct hd_pass_params params = {.name = "P",
                                          .reads = read,
                                          .read_count = read != NULL,
                                          .overwrites = write,
                                          .overwrite_count = write != NULL,
                                          .commands = &command,
                                          .command_count = 1,
                                          .keep = true,
                                          .pass_class = class};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static hd_resource add_resource(struct hd_graph *graph, uint64_t bytes)
{
    const struct hd_shape shape = {
        .type = "uchar", .axes = 1, .extent = {bytes}};
    hd_resource resource;

    CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &resource, &error),
             error);
    return resource;
}

static void run(struct hd_graph *graph)
{
    atomic_store(&crowd.most, 0);
    atomic_store(&crowd.all, 0);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
}

static void no_more_of_a_class_run_than_its_limit(unsigned limit, bool chains)
{
    struct hd_graph *graph = create();

    CHECK_OK(hd_graph_limit(graph, "io", limit, &error), error);
    for (int i = 0; i < PASSES; i++) {
        hd_pass before = add(graph, "other", run_alone, NULL, NULL);
        hd_pass pass = add(graph, "io", run_in_crowd, NULL, NULL);
        if (chains)
            CHECK_OK(hd_graph_order(graph, before, pass, NULL, &error), error);
    }
    for (int i = 0; i < 10; i++) {
        run(graph);
        CHECK(atomic_load(&crowd.all) == 2 * PASSES);
        CHECK(atomic_load(&crowd.most) <= (int)limit);
    }
    // No limit any more: all run, however many there are at a time.
    CHECK_OK(hd_graph_limit(graph, "io", 0, &error), error);
    run(graph);
    CHECK(atomic_load(&crowd.all) == 2 * PASSES);
    hd_graph_destroy(graph);
}

static void a_failure_lets_all_of_a_class_go(void)
{
    struct hd_graph *graph = create();

    CHECK_OK(hd_graph_limit(graph, "io", 1, &error), error);
    for (int i = 0; i < PASSES; i++)
        add(graph, "io", i == PASSES / 2 ? fail : run_in_crowd, NULL, NULL);
    CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EIO, error, "no disk");
    hd_graph_destroy(graph);
}

static void limits_that_are_none_are_refused(void)
{
    struct hd_graph *graph = create();
    const struct hd_command command = {.is = HD_CALL, .call = run_alone};
    const struct hd_pass_params params = {.name = "P",
                                          .commands = &command,
                                          .command_count = 1,
                                          .pass_class = ""};
    hd_pass pass;

    CHECK_FAILS(hd_graph_limit(graph, NULL, 1, &error), HD_EINVAL, error,
                "the name of a class");
    CHECK_FAILS(hd_graph_limit(graph, "", 1, &error), HD_EINVAL, error,
                "has a name");
    CHECK_FAILS(hd_graph_pass(graph, &params, &pass, &error), HD_EINVAL, error,
                "has a name");
    hd_graph_destroy(graph);
}

// Passes 0 and 2 stream, 1 and 3 compute; they become less and less urgent.
static void passes_of_different_bottlenecks_are_paired(void)
{
    struct hd_graph *g = create();

    for (int i = 0; i < 4; i++)
        add(g, "all", run_alone, NULL, NULL);
    run(g);
    hdi_ready_reset(g);
    for (uint32_t i = 0; i < 4; i++) {
        g->weights[i].streams = i % 2 == 0;
        g->rank[i] = 1000 - i;
    }
    for (uint32_t i = 0; i < 4; i++)
        hdi_ready_add(g, i);
    CHECK(hdi_ready_take(g) == 0);
    CHECK(hdi_ready_take(g) == 1); // not 2, which streams too
    // When that has ended, and the first has, the second that streams goes.
    CHECK(hdi_ready_end(g, 0) == HDI_NONE);
    CHECK(hdi_ready_take(g) == 2);
    CHECK(hdi_ready_take(g) == 3);

    // One that is much less urgent does not go before it.
    hdi_ready_reset(g);
    g->rank[1] = 100;
    for (uint32_t i = 0; i < 3; i++)
        hdi_ready_add(g, i);
    CHECK(hdi_ready_take(g) == 0);
    CHECK(hdi_ready_take(g) == 2);
    CHECK(hdi_ready_take(g) == 1);
    hd_graph_destroy(g);
}

// Chains of two passes, the first of which makes what the second uses up.
static uint64_t peak_of_chains(uint64_t working_set)
{
    enum {
        SIZE = 1 << 16
    };
    const struct hd_graph_policy policy = {.goal = HD_GRAPH_TIME,
                                           .working_set = working_set};
    struct hd_graph *graph = create();

    CHECK_OK(hd_graph_set_policy(graph, &policy, &error), error);
    hd_resource made[PASSES];
    for (int i = 0; i < PASSES; i++) {
        made[i] = add_resource(graph, SIZE);
        hd_pass first = add(graph, "chain", run_alone, NULL, &made[i]);
        hd_pass gate = add(graph, "chain", run_alone, NULL, NULL);
        CHECK_OK(hd_graph_order(graph, first, gate, NULL, &error), error);
        hd_pass last = add(graph, "chain", run_alone, &made[i], NULL);
        CHECK_OK(hd_graph_order(graph, gate, last, NULL, &error), error);
    }
    run(graph);
    uint64_t peak = hd_graph_peak_memory(graph);
    hd_graph_destroy(graph);
    return peak / SIZE;
}

int main(void)
{
    struct hd_runtime_params params = {
        .workers = WORKERS, .device = "cpu", .no_cache = true};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    for (unsigned limit = 1; limit <= 3; limit++) {
        no_more_of_a_class_run_than_its_limit(limit, false);
        no_more_of_a_class_run_than_its_limit(limit, true);
    }
    a_failure_lets_all_of_a_class_go();
    limits_that_are_none_are_refused();
    passes_of_different_bottlenecks_are_paired();
    hd_runtime_destroy(runtime);

    params.workers = 1;
    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    uint64_t small = peak_of_chains(1), large = peak_of_chains(0);
    CHECK(small <= 2);
    CHECK(large > 2 * small);
    hd_runtime_destroy(runtime);
    return 0;
}
