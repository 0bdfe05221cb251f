// Running graphs: order, failures, progress.
#include "tests/graph/run_rig.h"

static void random_graphs_give_what_program_order_gives(void)
{
    struct hd_buffer *input = new_buffer(COUNT * 8);
    for (int k = 0; k < COUNT; k++)
        ((uint64_t *)input->address)[k] = 12345;

    for (unsigned seed = 1; seed <= 200; seed++) {
        uint64_t results[RESOURCES];
        state = seed;
        struct hd_graph *g = random_graph(input, results);
        for (int run = 0; run < 3; run++) {
            run_ok(g);
            check_results(g, results);
            CHECK(*(uint64_t *)input->address == 12345);
        }
        hd_graph_destroy(g);
        CHECK(atomic_load(&fake.buffers_alive) == 1);
    }
    hd_buffer_destroy(input);
}

// Whether there is a path by edges, without one of them.
static bool leads(const struct hd_graph *g, uint32_t from, uint32_t to,
                  bool all, const struct hdi_edge *without)
{
    if (from == to)
        return true;
    for (uint32_t i = 0; i < g->edges.count; i++) {
        const struct hdi_edge *e = &g->edges.at[i];
        if (e->from == from && e->to <= to && e != without &&
            (all || !e->implied) && leads(g, e->to, to, all, without))
            return true;
    }
    return false;
}

static void only_edges_that_others_imply_are_left_out(void)
{
    struct hd_buffer *input = new_buffer(COUNT * 8);
    struct hd_graph_statistics stats;
    uint32_t implied = 0;

    memset(input->address, 0, COUNT * 8);
    for (unsigned seed = 1; seed <= 40; seed++) {
        uint64_t results[RESOURCES];
        state = seed;
        struct hd_graph *g = random_graph(input, results);
        CHECK_OK(hd_graph_prepare(g, &error), error);
        uint32_t left_out = 0;
        for (uint32_t i = 0; i < g->edges.count; i++) {
            const struct hdi_edge *e = &g->edges.at[i];
            CHECK(leads(g, e->from, e->to, false, NULL));
            left_out += e->implied;
        }
        hd_graph_stats(g, &stats);
        CHECK(stats.edges == g->edges.count);
        CHECK(stats.barriers == stats.edges - left_out);
        implied += left_out;
        hd_graph_destroy(g);
    }
    CHECK(implied > 100);
    hd_buffer_destroy(input);
}

// a writes x, b reads it and writes y, c reads both: c waits for b alone.
static void a_pass_waits_for_the_last_of_a_chain_alone(void)
{
    struct hd_graph *g = create();
    hd_resource x = add_resource(g, "x", 1), y = add_resource(g, "y", 1);
    hd_resource both[] = {x, y};
    struct hd_graph_statistics stats;

    hd_graph_stats(g, &stats);
    CHECK(stats.passes == 0 && stats.barriers == 0);
    add_look(g, "a", 0, NULL, 0, &x, 1);
    add_look(g, "b", 1, &x, 1, &y, 1);
    add_look(g, "c", 2, both, 2, NULL, 0);
    run_ok(g);
    hd_graph_stats(g, &stats);
    CHECK(stats.passes == 3 && stats.edges == 3 && stats.barriers == 2);
    CHECK(stats.makespan >= g->passes.at[2].end && stats.known == 3);
    CHECK(stats.live == 16 && stats.heap >= 16);
    hd_graph_destroy(g);
}

static void independent_passes_run_between_their_neighbours(void)
{
    struct hd_buffer *input = new_buffer(800);
    struct hd_graph *g = diamond(input);

    look = look_at_diamond;
    watched = g;
    for (int run = 0; run < 50; run++) {
        atomic_store(&seen.clock, 0);
        run_ok(g);
        for (int i = 2; i <= 4; i++) {
            CHECK(atomic_load(&seen.began[i]) > atomic_load(&seen.ended[1]));
            CHECK(atomic_load(&seen.ended[i]) < atomic_load(&seen.began[5]));
        }
        // r2 died with the last of P2 to P4: in use are r3 to r6.
        CHECK(seen.bytes_in_p5 == 800 * (3 + 4 + 5 + 6));
        // Then only r6; what the others had is spare, up to twice the peak.
        CHECK(g->memory.live == 800 * 6);
        CHECK(atomic_load(&fake.bytes_alive) <=
              800 * (1 + 2 * (3 + 4 + 5 + 6)));
        CHECK(hd_graph_peak_memory(g) == 800 * (3 + 4 + 5 + 6));
    }
    struct hd_pass_info first, last;
    CHECK(hd_graph_pass_info(g, 0, &first) && hd_graph_pass_info(g, 4, &last));
    CHECK(first.begin <= first.end && first.end <= last.begin &&
          last.begin < last.end);
    look = NULL;
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
}

// Failures --------------------------------------------------------------------

static void a_failure_in_any_pass_ends_the_run_cleanly(void)
{
    struct hd_buffer *input = new_buffer(800);
    struct hd_graph *g = diamond(input);
    struct hd_graph_result result;

    for (unsigned n = 1; n <= 5; n++) {
        run_ok(g);
        atomic_store(&fake.launches, 0);
        atomic_store(&fake.fail_launch, n);
        CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EFAULT, error,
                    "run.lua:5: pass 'P");
        CHECK(strstr(error.text, "': kernel 'look' touched what it may not"));
        CHECK(atomic_load(&fake.launches) >= n);
        CHECK(n == 5 || atomic_load(&fake.launches) < 5);
        CHECK(atomic_load(&fake.buffers_alive) == 1);
        CHECK(hd_graph_result(g, 0, &result) && !result.buffer);
    }
    run_ok(g);
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
}

// Passes that wait for nothing are submitted already; they must not start.
static void no_pass_starts_after_a_failure(void)
{
    struct hd_graph *g = create();

    for (unsigned i = 0; i < 100; i++)
        add_look(g, "P", i, NULL, 0, NULL, 0);
    atomic_store(&fake.launches, 0);
    atomic_store(&fake.fail_launch, 1);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EFAULT, error, "pass 'P'");
    // Other workers may be in a pass at that moment.
    CHECK(hd_pool_workers(launcher.pool) > 1 ||
          atomic_load(&fake.launches) == 1);
    hd_graph_destroy(g);
}

static void urgent_passes_start_first(void)
{
    static const enum hd_priority priorities[] = {
        HD_PRIORITY_LOW, HD_PRIORITY_NORMAL, HD_PRIORITY_HIGH};
    struct hd_graph *g = create();
    uint64_t begin[3];

    for (unsigned i = 0; i < 3; i++) {
        hd_pass pass = add_look(g, "P", i, NULL, 0, NULL, 0);
        g->passes.at[pass - 1].priority = priorities[i];
        atomic_store(&fake.by_priority[i], 0);
    }
    run_ok(g);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(atomic_load(&fake.by_priority[i]) == 1);
        begin[i] = g->passes.at[i].begin;
    }
    // Workers of their own may begin before all are submitted.
    CHECK(hdi_pool_has_threads(launcher.pool) ||
          (begin[2] <= begin[1] && begin[1] <= begin[0]));
    hd_graph_destroy(g);
}

static struct hd_graph *to_cancel;

static void cancel_in_p3(uint64_t id)
{
    if (id == 3)
        hd_graph_cancel(to_cancel);
}

static void a_run_can_be_cancelled(void)
{
    struct hd_buffer *input = new_buffer(800);
    struct hd_graph *g = diamond(input);

    hd_graph_cancel(g);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_ECANCELED, error,
                "cancelled; 0 of 5 passes had finished");
    to_cancel = g;
    look = cancel_in_p3;
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_ECANCELED, error,
                "of 5 passes had finished");
    look = NULL;
    CHECK(atomic_load(&fake.buffers_alive) == 1);
    run_ok(g);
    hd_graph_destroy(g);
    hd_graph_cancel(NULL);
    hd_buffer_destroy(input);
}

static void inputs_are_needed_and_can_change(void)
{
    struct hd_graph *g = create();
    hd_resource a = add_resource(g, "a", 2), b = add_resource(g, "b", 2);
    struct hd_command command = {.is = HD_COPY, .from = a, .to = b};
    struct hd_buffer *one = new_buffer(16), *two = new_buffer(16);
    struct hd_graph_result result;

    CHECK_OK(hd_graph_input(g, a, NULL, &error), error);
    add(g, "copy", &a, 1, &b, 1, &command);
    CHECK_OK(hd_graph_output(g, "b", b, NULL, &error), error);
    CHECK_OK(hd_graph_output(g, "a", a, NULL, &error), error);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EINVAL, error,
                "input 'a' has no buffer");
    *(uint64_t *)one->address = 1;
    *(uint64_t *)two->address = 2;
    CHECK_OK(hd_graph_input(g, a, one, &error), error);
    run_ok(g);
    CHECK(hd_graph_result(g, 0, &result));
    CHECK(*(uint64_t *)result.buffer->address == 1);
    CHECK_OK(hd_graph_input(g, a, two, &error), error);
    run_ok(g);
    CHECK(*(uint64_t *)result.buffer->address == 2); // the same buffer
    CHECK(hd_graph_result(g, 1, &result) && result.buffer == two);
    hd_graph_destroy(g);
    hd_buffer_destroy(one);
    hd_buffer_destroy(two);
}

// A written input is a copy: the caller's buffer stays as it was.
static void transfers_work_with_any_memory(void)
{
    for (int device = 0; device < 2; device++) {
        launcher.device->can.host_memory = !device;
        struct hd_graph *g = create();
        hd_resource a = add_resource(g, "a", 20000), b;
        struct hd_command clear = {.is = HD_CLEAR, .to = a}, copy;
        struct hd_buffer *input = new_buffer(160000);
        struct hd_graph_result result;

        b = add_resource(g, "b", 20000);
        copy = (struct hd_command){.is = HD_COPY, .from = a, .to = b};
        memset(input->address, 7, 160000);
        CHECK_OK(hd_graph_input(g, a, input, &error), error);
        add(g, "copy", &a, 1, &b, 1, &copy);
        add(g, "clear", NULL, 0, &a, 1, &clear);
        CHECK_OK(hd_graph_output(g, "a", a, NULL, &error), error);
        CHECK_OK(hd_graph_output(g, "b", b, NULL, &error), error);
        for (int run = 0; run < 2; run++) {
            run_ok(g);
            CHECK(hd_graph_result(g, 0, &result));
            CHECK(((char *)result.buffer->address)[159999] == 0);
            CHECK(hd_graph_result(g, 1, &result));
            CHECK(((char *)result.buffer->address)[159999] == 7);
            CHECK(((char *)input->address)[0] == 7);
        }
        hd_graph_destroy(g);
        hd_buffer_destroy(input);
    }
    launcher.device->can.host_memory = true;
}

static void values_and_scratch_reach_the_kernel(void)
{
    struct hd_graph *g = create();
    const double four[] = {1, 2, 3, 4.5};
    uint64_t size = 48;
    struct hd_pass_arg args[] = {
        {.is = HD_PASS_NUMBERS, .numbers = four, .number_count = 4},
        {.is = HD_PASS_BYTES, .bytes = "abc", .size = 3},
        {.is = HD_PASS_LOCAL, .size = 64},
        {.is = HD_PASS_SCRATCH, .scratch = 0}};
    struct hd_command command = {.is = HD_DISPATCH,
                                 .kernel = {.path = "k.cl", .name = "values"},
                                 .range = {.dims = 1, .global = {1}},
                                 .args = args,
                                 .arg_count = 4};
    struct hd_pass_params params = {.name = "p",
                                    .commands = &command,
                                    .command_count = 1,
                                    .scratch_sizes = &size,
                                    .scratch_count = 1};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    CHECK_OK(hd_graph_order(g, 1, 2, NULL, &error), error);
    run_ok(g);
    run_ok(g);
    CHECK(hd_graph_peak_memory(g) == 48);
    const struct hd_graph_policy policy = {.goal = HD_GRAPH_TIME};
    CHECK_OK(hd_graph_set_policy(g, &policy, &error), error);
    hdi_memory_drop(&g->memory);
    atomic_store(&fake.fail_buffer, 1);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_ENOMEM, error,
                "pass 'p': scratch memory (48 bytes)");
    CHECK(atomic_load(&fake.buffers_alive) == 0);
    hd_graph_destroy(g);
}

// Watching --------------------------------------------------------------------

struct progress {
    unsigned last, total;
    bool inside;
};

static void watch(void *data_, unsigned finished, unsigned total,
                  const char *pass)
{
    struct progress *p = data_;
    CHECK(!p->inside);
    p->inside = true;
    CHECK(pass[0] == 'P');
    CHECK(finished == p->last + 1);
    p->last = finished;
    p->total = total;
    sched_yield();
    p->inside = false;
}

static void progress_is_told_one_pass_at_a_time(void)
{
    struct hd_graph *g = create();
    struct progress p = {0};
    struct hd_graph_run_params params = {.progress = watch, .data = &p};

    for (unsigned i = 0; i < 200; i++)
        add_look(g, "P", i, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_run(g, &params, &error), error);
    CHECK(p.last == 200 && p.total == 200);
    hd_graph_destroy(g);
}

static void passes_are_spans_on_the_track_of_their_worker(void)
{
    struct hdi_trace *trace;
    struct hd_graph *g = create();
    char *text = NULL;
    size_t size;
    CHECK(hdi_trace_create(&trace) == HD_OK);
    launcher.trace = trace;
    for (unsigned i = 0; i < hd_pool_workers(launcher.pool); i++)
        launcher.tracks[i] = hdi_track_create(trace, "worker");
    add_look(g, "seen in the trace", 1, NULL, 0, NULL, 0);
    run_ok(g);
    FILE *file = open_memstream(&text, &size);
    CHECK(hdi_trace_write(trace, NULL, file) == HD_OK);
    CHECK(fclose(file) == 0);
    CHECK(strstr(text, "seen in the trace"));
    free(text);
    for (unsigned i = 0; i < hd_pool_workers(launcher.pool); i++)
        launcher.tracks[i] = NULL;
    launcher.trace = NULL;
    hd_graph_destroy(g);
    hdi_trace_destroy(trace);
}

// Any order, but a pass after what it comes after; also when it fails.
static void tiny_passes_run_in_any_order_that_is_allowed(void)
{
    enum {
        MANY = 500
    };
    struct hd_graph *g = create();
    uint64_t want = 0;
    hd_resource r[4];

    for (unsigned i = 0; i < 4; i++) {
        struct hd_command clear = {.is = HD_CLEAR};
        r[i] = add_resource(g, "r", COUNT);
        clear.to = r[i];
        add(g, "clear", NULL, 0, &r[i], 1, &clear);
    }
    for (unsigned i = 0; i < MANY; i++) {
        hd_resource from[3] = {r[i % 3], r[i % 3], r[i % 3]};
        add_mix(g, r[3], from, false, true, i);
        want = mix(mix(mix(mix(want, i), 0), 0), 0);
        add(g, "nothing", NULL, 0, NULL, 0, NULL);
    }
    CHECK_OK(hd_graph_output(g, "o", r[3], NULL, &error), error);
    for (int run = 0; run < 20; run++) {
        CHECK_OK(hd_graph_prepare(g, &error), error);
        g->flat = true; // whatever they took, on a machine that is busy
        g->reweigh = false;
        if (run % 4 == 3) {
            atomic_store(&fake.fail_launch, 1 + (unsigned)run * 20);
            CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EFAULT, error,
                        "pass 'mix'");
            CHECK(atomic_load(&fake.buffers_alive) == 0);
            continue;
        }
        run_ok(g);
        check_results(g, &want);
    }
    hd_graph_destroy(g);
}

static void a_pass_costs_little(void)
{
    enum {
        MANY = 20000
    };
    for (int chain = 0; chain < 2; chain++) {
        struct hd_graph *g = create();
        double best = 1e9;
        for (unsigned i = 0; i < MANY; i++) {
            hd_pass pass = add(g, "p", NULL, 0, NULL, 0, NULL);
            if (chain && i > 0)
                CHECK_OK(hd_graph_order(g, pass - 1, pass, NULL, &error),
                         error);
        }
        CHECK_OK(hd_graph_prepare(g, &error), error);
        for (int round = 0; round < 5; round++) {
            uint64_t begin = hdi_now();
            run_ok(g);
            double each = (double)(hdi_now() - begin) / MANY;
            best = each < best ? each : best;
        }
        printf("%s of empty passes: %.0f ns per pass\n",
               chain ? "chain" : "set", best);
        hd_graph_destroy(g);
    }
}

static void started_launches_give_and_fail_as_others_do(void)
{
    launcher.peers = 2;
    random_graphs_give_what_program_order_gives();
    independent_passes_run_between_their_neighbours();
    a_failure_in_any_pass_ends_the_run_cleanly();
    a_run_can_be_cancelled();
    urgent_passes_start_first();
    values_and_scratch_reach_the_kernel();
    launcher.peers = 0;
}

static void run_tests(void)
{
    random_graphs_give_what_program_order_gives();
    only_edges_that_others_imply_are_left_out();
    a_pass_waits_for_the_last_of_a_chain_alone();
    independent_passes_run_between_their_neighbours();
    a_failure_in_any_pass_ends_the_run_cleanly();
    no_pass_starts_after_a_failure();
    urgent_passes_start_first();
    a_run_can_be_cancelled();
    inputs_are_needed_and_can_change();
    transfers_work_with_any_memory();
    values_and_scratch_reach_the_kernel();
    progress_is_told_one_pass_at_a_time();
    passes_are_spans_on_the_track_of_their_worker();
    tiny_passes_run_in_any_order_that_is_allowed();
    a_pass_costs_little();
    started_launches_give_and_fail_as_others_do();
}

int main(void)
{
    on_all_pools(run_tests);
    return 0;
}
