// Versions of resources, passes nobody needs, orders, graphs that go on.
#include "tests/graph/run_rig.h"

static atomic_uint meeting, came_alone;

// Two passes that must be in here together.
static void meet(uint64_t id)
{
    (void)id;
    atomic_fetch_add(&meeting, 1);
    uint64_t end = hdi_now() + UINT64_C(120000000000);
    while (atomic_load(&meeting) < 2 && hdi_now() < end)
        sched_yield();
    if (atomic_load(&meeting) < 2)
        atomic_fetch_add(&came_alone, 1);
}

// A reader of a version runs beside the pass that overwrites the resource: on a
// serial scheduler, or with one memory for both versions, they never meet.
static void a_reader_does_not_hold_up_who_overwrites(void)
{
    if (hd_pool_workers(launcher.pool) < 2)
        return;
    struct hd_graph *g = create();
    hd_resource r = add_resource(g, "r", 1), s = add_resource(g, "s", 1);
    struct hd_command clear = {.is = HD_CLEAR, .to = r};
    double id = 0;
    struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &id, .number_count = 1};
    struct hd_command commands[2] = {
        clear,
        {.is = HD_DISPATCH,
         .kernel = {.path = "k.cl", .name = "look"},
         .range = {.dims = 1, .global = {1}},
         .args = &arg,
         .arg_count = 1}};
    struct hd_pass_params over = {.name = "over",
                                  .writes = &r,
                                  .write_count = 1,
                                  .commands = commands,
                                  .command_count = 2};
    hd_pass pass;

    add(g, "first", NULL, 0, &r, 1, &clear);
    add_look(g, "reader", 0, &r, 1, &s, 1);
    CHECK_OK(hd_graph_pass(g, &over, &pass, &error), error);
    atomic_store(&meeting, 0);
    look = meet;
    run_ok(g);
    look = NULL;
    CHECK(atomic_load(&meeting) == 2 && atomic_load(&came_alone) == 0);
    hd_graph_destroy(g);
}

static void meet_between(uint64_t id)
{
    if (id == 1 || id == 2)
        meet(id);
}

// Two passes after one and before one, which need nothing of each other.
static void independent_passes_run_at_the_same_time(void)
{
    if (hd_pool_workers(launcher.pool) < 2)
        return;
    struct hd_graph *g = create();
    hd_resource from = add_resource(g, "from", 1), to[2];

    for (unsigned i = 0; i < 2; i++)
        to[i] = add_resource(g, "to", 1);
    add_look(g, "before", 0, NULL, 0, &from, 1);
    add_look(g, "one", 1, &from, 1, &to[0], 1);
    add_look(g, "other", 2, &from, 1, &to[1], 1);
    add_look(g, "after", 3, to, 2, NULL, 0);
    atomic_store(&meeting, 0);
    look = meet_between;
    run_ok(g);
    look = NULL;
    CHECK(atomic_load(&meeting) == 2 && atomic_load(&came_alone) == 0);
    hd_graph_destroy(g);
}

static void passes_that_no_output_needs_are_dropped(void)
{
    struct hd_graph *g = create();
    hd_resource r[4];
    struct hd_pass_info info;

    for (int i = 0; i < 4; i++)
        r[i] = add_resource(g, "r", 1);
    add_look(g, "a", 0, NULL, 0, &r[0], 1);
    add_look(g, "dead", 1, &r[0], 1, &r[1], 1);
    add_look(g, "dead too", 2, &r[1], 1, &r[2], 1);
    add_look(g, "b", 3, &r[0], 1, &r[3], 1);
    add_look(g, "tells", 4, &r[0], 1, NULL, 0);
    // Of what is updated in place, the version before is needed too.
    add_look(g, "update", 5, NULL, 0, &r[3], 1);
    look = note;
    atomic_store(&ran, 0);
    run_ok(g);
    CHECK(atomic_load(&ran) == 0x3f); // no output: all run
    CHECK_OK(hd_graph_output(g, "o", r[3], NULL, &error), error);
    atomic_store(&ran, 0);
    run_ok(g);
    look = NULL;
    CHECK(atomic_load(&ran) == 0x39);
    CHECK(hd_graph_pass_info(g, 1, &info) && info.dropped);
    CHECK(hd_graph_pass_info(g, 3, &info) && !info.dropped);
    hd_graph_destroy(g);
}

static void fills_and_regions_reach_their_elements(void)
{
    struct hd_graph *g = create();
    struct hd_shape shape = {.type = "ulong", .axes = 2, .extent = {5, 4}};
    hd_resource a, b;
    double seven = 7, nine = 9;
    struct hd_graph_result result;

    CHECK_OK(hd_graph_resource(g, "a", &shape, NULL, &a, &error), error);
    CHECK_OK(hd_graph_resource(g, "b", &shape, NULL, &b, &error), error);
    CHECK_OK(hd_graph_output(g, "b", b, NULL, &error), error);
    struct hd_command commands[] = {
        {.is = HD_FILL, .to = a, .pattern = &seven, .pattern_count = 1},
        {.is = HD_FILL,
         .to = a,
         .pattern = &nine,
         .pattern_count = 1,
         .region = {.to = {1, 2}, .count = {3, 2}}},
        {.is = HD_CLEAR, .to = b},
        {.is = HD_COPY,
         .from = a,
         .to = b,
         .region = {.from = {0, 1}, .to = {2, 0}, .count = {3, 3}}},
        {.is = HD_PREFETCH, .to = b},
        {.is = HD_FLUSH, .to = b}};
    hd_resource writes[] = {a, b};
    struct hd_pass_params params = {.name = "fill",
                                    .writes = writes,
                                    .write_count = 2,
                                    .commands = commands,
                                    .command_count = 6};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    run_ok(g);
    CHECK(hd_graph_result(g, 0, &result));
    const uint64_t *got = result.buffer->address;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++) {
            uint64_t want = 0;
            if (x >= 2 && y < 3) {
                int ax = x - 2, ay = y + 1;
                want = ax >= 1 && ax < 4 && ay >= 2 ? 9 : 7;
            }
            CHECK(got[y * 5 + x] == want);
        }
    commands[3].region.count[0] = 4;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EGRAPH, error,
                "it copies 4 elements from 2 on of axis 1 of 'b', which has 5");
    hd_graph_destroy(g);
}

// What a pass copies before it overwrites it is what was there before.
static void a_pass_keeps_what_it_copies_first(void)
{
    struct hd_graph *g = create();
    hd_resource a = add_resource(g, "a", 4), b = add_resource(g, "b", 4);
    double five = 5, six = 6;
    struct hd_command first = {
        .is = HD_FILL, .to = a, .pattern = &five, .pattern_count = 1};
    struct hd_command commands[] = {
        {.is = HD_COPY, .from = a, .to = b},
        {.is = HD_FILL, .to = a, .pattern = &six, .pattern_count = 1}};
    hd_resource writes[] = {a, b};
    struct hd_pass_params params = {.name = "turn over",
                                    .writes = writes,
                                    .write_count = 2,
                                    .commands = commands,
                                    .command_count = 2};
    struct hd_graph_result result;
    hd_pass pass;

    CHECK_OK(hd_graph_output(g, "a", a, NULL, &error), error);
    CHECK_OK(hd_graph_output(g, "b", b, NULL, &error), error);
    add(g, "first", NULL, 0, &a, 1, &first);
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    run_ok(g);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(hd_graph_result(g, i, &result));
        CHECK(*(const uint64_t *)result.buffer->address == (i == 0 ? 6 : 5));
    }
    hd_graph_destroy(g);
}

static _Atomic unsigned order_seen;
static unsigned seen_at[8];

static void note_order(uint64_t id)
{
    seen_at[id] = atomic_fetch_add(&order_seen, 1);
}

static void a_pass_that_synchronises_divides_the_graph(void)
{
    struct hd_graph *g = create();
    struct hd_command sync = {.is = HD_SYNC};

    for (uint64_t i = 0; i < 4; i++)
        add_look(g, "before", i, NULL, 0, NULL, 0);
    add(g, "sync", NULL, 0, NULL, 0, &sync);
    for (uint64_t i = 4; i < 8; i++)
        add_look(g, "after", i, NULL, 0, NULL, 0);
    look = note_order;
    for (int run = 0; run < 20; run++) {
        atomic_store(&order_seen, 0);
        run_ok(g);
        for (int i = 0; i < 8; i++)
            CHECK((seen_at[i] < 4) == (i < 4));
    }
    look = NULL;
    hd_graph_destroy(g);
}

// Advancing ------------------------------------------------------------------

// Doubles a number until it is above 1000, which only its value tells.
static void a_graph_goes_on_by_what_it_has_computed(void)
{
    struct hd_buffer *input = new_buffer(COUNT * 8);
    struct hd_graph *g = create();
    hd_resource in = add_resource(g, "in", COUNT),
                x = add_resource(g, "x", COUNT);
    hd_resource zero = add_resource(g, "zero", COUNT);
    uint64_t got = 0, want, steps = 0;
    struct hd_command copy = {.is = HD_COPY, .from = in, .to = x};
    struct hd_command clear = {.is = HD_CLEAR, .to = zero};
    hd_resource from[3] = {zero, zero, zero};
    struct hd_graph_result result;

    *(uint64_t *)input->address = want = 5;
    CHECK_OK(hd_graph_input(g, in, input, &error), error);
    CHECK_FAILS(hd_graph_contents(g, x, 0, &got, 8, &error), HD_EGRAPH, error,
                "resource 'x' holds nothing now");
    add(g, "copy", &in, 1, &x, 1, &copy);
    add(g, "zero", NULL, 0, &zero, 1, &clear);
    do {
        add_mix(g, x, from, false, true, steps);
        want = mix(mix(mix(mix(want, steps), 0), 0), 0);
        CHECK_OK(hd_graph_advance(g, NULL, &error), error);
        CHECK_OK(hd_graph_contents(g, x, 0, &got, 8, &error), error);
        CHECK(got == want);
        steps++;
    } while (got % 8 != 3 && steps < 100);
    CHECK(steps > 1 && steps < 100);
    // What is left runs once, then all of it again, with another input.
    CHECK_OK(hd_graph_output(g, "x", x, NULL, &error), error);
    for (uint64_t first = 5; first < 8; first++) {
        *(uint64_t *)input->address = first;
        run_ok(g);
        want = first;
        for (uint64_t i = 0; i < steps; i++)
            want = mix(mix(mix(mix(want, i), 0), 0), 0);
        CHECK(hd_graph_result(g, 0, &result));
        CHECK(*(uint64_t *)result.buffer->address == want);
    }
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
    CHECK(atomic_load(&fake.buffers_alive) == 0);
}

// The long chain begins before the short passes, once its time is known.
static void spin(uint64_t id)
{
    uint64_t end = hdi_now() + (id == 7 ? 2000000 : 20000);
    note_order(id);
    while (hdi_now() < end)
        ;
}

static void later_runs_begin_with_what_takes_long(void)
{
    const unsigned workers = hd_pool_workers(launcher.pool);
    struct hd_graph *g = create();

    for (uint64_t i = 0; i < 8; i++)
        add_look(g, "pass", i, NULL, 0, NULL, 0);
    look = spin;
    run_ok(g);
    // A short pass that has lost its core seems long, until it has run again; a
    // worker that has is late to note what it had begun.
    seen_at[7] = 8;
    for (int i = 0; i < 1000 && seen_at[7] >= workers; i++) {
        atomic_store(&order_seen, 0);
        run_ok(g);
    }
    look = NULL;
    CHECK(seen_at[7] < workers);
    CHECK(g->forecast.known == 8);
    CHECK(g->forecast.critical_path >= 1900000);
    CHECK(g->forecast.makespan >= g->forecast.critical_path);
    hd_graph_destroy(g);
}

static void an_argument_of_a_kept_graph_changes(void)
{
    struct hd_graph *g = create();
    hd_pass pass = add_look(g, "P", 1, NULL, 0, NULL, 0);
    double id = 2;
    struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &id, .number_count = 1};

    look = note;
    for (int prepared = 0; prepared < 2; prepared++) {
        for (id = 3; id < 6; id++) {
            CHECK_OK(hd_graph_set_argument(g, pass, 0, 0, &arg, &error), error);
            CHECK(g->prepared == prepared || id > 3);
            atomic_store(&ran, 0);
            run_ok(g);
            CHECK(atomic_load(&ran) == 1U << (unsigned)id);
        }
        if (!prepared) // what was given stays given
            CHECK_OK(hd_graph_set_policy(g, NULL, &error), error);
        CHECK_OK(hd_graph_prepare(g, &error), error);
        atomic_store(&ran, 0);
        run_ok(g);
        CHECK(atomic_load(&ran) == 1U << 5);
    }
    look = NULL;
    id = 1.5;
    CHECK_FAILS(hd_graph_set_argument(g, pass, 0, 0, &arg, &error), HD_EGRAPH,
                error, "run.lua:5: pass 'P', command 1, argument 1: ");
    arg.number_count = 2;
    CHECK_FAILS(hd_graph_set_argument(g, pass, 0, 0, &arg, &error), HD_EINVAL,
                error, "it takes 1 number, not 2");
    arg.is = HD_PASS_BYTES;
    CHECK_FAILS(hd_graph_set_argument(g, pass, 0, 0, &arg, &error), HD_EINVAL,
                error, "only numbers become other numbers");
    CHECK_FAILS(hd_graph_set_argument(g, pass, 0, 1, &arg, &error), HD_EINVAL,
                error, "has 1 argument, no 2");
    CHECK_FAILS(hd_graph_set_argument(g, pass, 1, 0, &arg, &error), HD_EINVAL,
                error, "command 2 is no dispatch");
    CHECK_FAILS(hd_graph_set_argument(g, pass + 1, 0, 0, &arg, &error),
                HD_EINVAL, error, "one of its passes");
    hd_graph_destroy(g);
}

static void an_empty_graph_runs(void)
{
    struct hd_graph *g = create();
    hd_event event;

    run_ok(g);
    CHECK_OK(hd_graph_start(g, NULL, NULL, &event, &error), error);
    CHECK_OK(hd_event_wait(launcher.pool, &event, 1, HD_FOREVER, &error),
             error);
    hd_event_release(launcher.pool, event);
    hd_graph_destroy(g);
}

static void run_tests(void)
{
    independent_passes_run_at_the_same_time();
    a_reader_does_not_hold_up_who_overwrites();
    passes_that_no_output_needs_are_dropped();
    fills_and_regions_reach_their_elements();
    a_pass_keeps_what_it_copies_first();
    a_pass_that_synchronises_divides_the_graph();
    a_graph_goes_on_by_what_it_has_computed();
    later_runs_begin_with_what_takes_long();
    an_empty_graph_runs();
    an_argument_of_a_kept_graph_changes();
}

int main(void)
{
    on_all_pools(run_tests);
    return 0;
}
