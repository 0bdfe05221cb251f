// Tiny passes that run in batches.
#include "graph/order/order.h"
#include "tests/graph/run_rig.h"

enum {
    CHAIN = 20
};

static const struct hd_graph_policy one_block = {.goal = HD_GRAPH_MEMORY},
                                    one_by_one = {.single = true};

// As if all passes had taken a microsecond.
static void make_tiny(struct hd_graph *g)
{
    for (uint32_t i = 0; i < g->passes.count; i++)
        g->weights[i] = (struct hdi_weight){.time = 1000,
                                            .work = 1000,
                                            .last_time = 1000,
                                            .last_work = 1000,
                                            .known = true,
                                            .measured = true};
    g->reweigh = true;
}

static uint32_t run_tiny(struct hd_graph *g)
{
    struct hd_graph_statistics stats;

    CHECK_OK(hd_graph_prepare(g, &error), error);
    make_tiny(g);
    run_ok(g);
    hd_graph_stats(g, &stats);
    CHECK(stats.batched >= 2 * stats.batches && stats.batched <= stats.passes);
    return stats.batched;
}

// Each shows, and comes after those that it waits for.
static void check_times(const struct hd_graph *g)
{
    for (uint32_t i = 0; i < g->passes.count; i++)
        CHECK(g->passes.at[i].end > 0);
    for (uint32_t i = 0; i < g->edges.count; i++)
        CHECK(g->passes.at[g->edges.at[i].from].end <=
              g->passes.at[g->edges.at[i].to].begin);
}

static void batches_give_what_single_passes_give(void)
{
    struct hd_buffer *input = new_buffer(COUNT * sizeof(uint64_t));
    uint64_t results[RESOURCES];
    uint32_t batched = 0;

    for (int i = 0; i < COUNT; i++)
        ((uint64_t *)input->address)[i] = 7;
    for (unsigned seed = 1; seed <= 60; seed++) {
        state = seed;
        struct hd_graph *g = random_graph(input, results);
        for (int run = 0; run < 3; run++) {
            batched += run_tiny(g);
            check_results(g, results);
            check_times(g);
            if (run == 1) // the other goal
                CHECK_OK(hd_graph_set_policy(g, &one_block, &error), error);
        }
        CHECK_OK(hd_graph_set_policy(g, &one_by_one, &error), error);
        CHECK(run_tiny(g) == 0);
        check_results(g, results);
        hd_graph_destroy(g);
    }
    CHECK(batched > 2000);
    hd_buffer_destroy(input);
}

// Launches that go on without a worker: a batch goes on after each.
static void a_batch_waits_for_what_it_has_started(void)
{
    struct hd_buffer *input = new_buffer(COUNT * sizeof(uint64_t));
    uint64_t results[RESOURCES];

    for (int i = 0; i < COUNT; i++)
        ((uint64_t *)input->address)[i] = 7;
    for (unsigned seed = 1; seed <= 20; seed++) {
        state = seed;
        struct hd_graph *g = random_graph(input, results);
        CHECK_OK(hd_graph_prepare(g, &error), error);
        make_tiny(g);
        CHECK(hdi_graph_reweigh(g));
        launcher.peers = 2;
        run_ok(g);
        check_results(g, results);
        check_times(g);
        launcher.peers = 0;
        hd_graph_destroy(g);
    }
    hd_buffer_destroy(input);
}

// Each pass writes what the next one reads.
static struct hd_graph *make_chain(void)
{
    struct hd_graph *g = create();
    hd_resource before = 0;

    for (unsigned i = 0; i < CHAIN; i++) {
        hd_resource next = add_resource(g, "r", 1);
        add_look(g, "P", i, &before, before != 0, &next, 1);
        before = next;
    }
    CHECK_OK(hd_graph_output(g, "last", before, NULL, &error), error);
    return g;
}

static void a_pass_that_fails_in_a_batch_fails_as_it_does_alone(void)
{
    struct hd_graph *g = make_chain();

    for (unsigned n = 1; n <= CHAIN; n++) {
        CHECK(run_tiny(g) == CHAIN);
        make_tiny(g);
        look = note;
        atomic_store(&ran, 0);
        atomic_store(&fake.launches, 0);
        atomic_store(&fake.fail_launch, n);
        CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EFAULT, error,
                    "run.lua:5: pass 'P': kernel 'look' touched");
        // Those before it ended well, none of those after it began.
        CHECK(atomic_load(&fake.launches) == n);
        for (unsigned i = 0; i < CHAIN; i++)
            CHECK((g->passes.at[i].end > 0) == (i + 1 < n));
        CHECK(atomic_load(&fake.buffers_alive) == 0);
        look = NULL;
    }
    CHECK(run_tiny(g) == CHAIN);
    hd_graph_destroy(g);
}

static struct hd_graph *to_cancel;

static void cancel_in_the_eighth(uint64_t id)
{
    note(id);
    if (id == 7)
        hd_graph_cancel(to_cancel);
}

static void a_batch_can_be_cancelled(void)
{
    struct hd_graph *g = make_chain();

    CHECK_OK(hd_graph_prepare(g, &error), error);
    make_tiny(g);
    to_cancel = g;
    look = cancel_in_the_eighth;
    atomic_store(&ran, 0);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_ECANCELED, error,
                "of 20 passes had finished");
    CHECK(atomic_load(&ran) == (1U << 8) - 1);
    look = NULL;
    CHECK(atomic_load(&fake.buffers_alive) == 0);
    CHECK(run_tiny(g) == CHAIN);
    hd_graph_destroy(g);
}

static void tell(void *data_, unsigned finished, unsigned total,
                 const char *pass)
{
    unsigned *told = data_;

    CHECK(pass[0] == 'P' && total == CHAIN && finished == *told + 1);
    *told = finished;
}

static void progress_tells_of_each_pass(void)
{
    struct hd_graph *g = make_chain();
    unsigned told = 0;
    const struct hd_graph_run_params params = {.progress = tell, .data = &told};

    CHECK_OK(hd_graph_prepare(g, &error), error);
    make_tiny(g);
    CHECK_OK(hd_graph_run(g, &params, &error), error);
    CHECK(told == CHAIN);
    hd_graph_destroy(g);
}

// A class, a priority, and what was not measured stay alone.
static void what_needs_a_turn_of_its_own_has_one(void)
{
    struct hd_graph *g = make_chain();
    struct hd_graph_statistics stats;

    run_ok(g);
    hd_graph_stats(g, &stats);
    CHECK(stats.batches == 0); // nothing is known
    hd_graph_destroy(g);

    g = make_chain();
    for (uint32_t i = 0; i < CHAIN / 2; i++)
        g->passes.at[i].priority = HD_PRIORITY_HIGH;
    CHECK(run_tiny(g) == CHAIN / 2);
    hd_graph_destroy(g);
}

static void measure(struct hd_graph *g, uint64_t of_the_third)
{
    for (uint32_t i = 0; i < g->passes.count; i++) {
        g->passes.at[i].begin = 100;
        g->passes.at[i].end = 1100;
    }
    g->passes.at[2].end = 100 + of_the_third;
    hdi_graph_learn(g);
}

// A worker that lost its core for a while says nothing about a pass.
static void one_long_time_is_not_believed(void)
{
    struct hd_graph *g = make_chain();

    run_ok(g);
    measure(g, 1000);
    measure(g, 1000);
    CHECK(g->weights[2].time == 1000);
    measure(g, 5000000);
    CHECK(g->weights[2].time == 1000);
    measure(g, 1200);
    CHECK(g->weights[2].time == 1200);
    measure(g, 5000000);
    measure(g, 6000000);
    CHECK(g->weights[2].time == 5000000 && g->reweigh);
    hd_graph_destroy(g);
}

static void run_tests(void)
{
    batches_give_what_single_passes_give();
    a_batch_waits_for_what_it_has_started();
    a_pass_that_fails_in_a_batch_fails_as_it_does_alone();
    a_batch_can_be_cancelled();
    progress_tells_of_each_pass();
    what_needs_a_turn_of_its_own_has_one();
    one_long_time_is_not_believed();
}

int main(void)
{
    on_all_pools(run_tests);
    return 0;
}
