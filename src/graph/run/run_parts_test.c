// Passes that run in parts.
#include "tests/graph/run_rig.h"

static const struct hd_graph_policy least_memory = {.goal = HD_GRAPH_MEMORY};

enum {
    ITEMS = 128, // in groups of 8
    FIELDS = 6
};

// With id 0 "around", else "part".
static hd_pass add_around(struct hd_graph *g, hd_resource to, hd_resource from,
                          bool over, uint64_t id)
{
    double number = (double)id;
    struct hd_pass_arg args[3] = {
        {.is = HD_PASS_RESOURCE, .resource = to},
        {.is = HD_PASS_RESOURCE, .resource = from},
        {.is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1}};
    struct hd_command commands[2] = {
        {.is = HD_CLEAR, .to = to},
        {.is = HD_DISPATCH,
         .kernel = {.path = "k.cl", .name = id ? "part" : "around"},
         .range = {.dims = 1, .global = {ITEMS - 3}, .local = {8}},
         .args = args,
         .arg_count = id ? 3 : 2}};
    hd_resource reads[] = {from, to};
    struct hd_pass_params params = {.name = "around",
                                    .where = "run.lua:7",
                                    .reads = reads,
                                    .read_count = over ? 1 : 2,
                                    .writes = &to,
                                    .write_count = 1,
                                    .commands = commands + !over,
                                    .command_count = 1 + over};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    return pass;
}

// As if all passes took long.
static void make_heavy(struct hd_graph *g)
{
    for (uint32_t i = 0; i < g->passes.count; i++)
        g->weights[i] = (struct hdi_weight){
            .time = 1000000, .work = 1000000, .known = true};
    g->reweigh = true;
}

static struct hd_graph *random_fields(hd_resource *fields)
{
    struct hd_graph *g = create();
    char name[2] = "a";

    for (unsigned i = 0; i < FIELDS; i++) {
        struct hd_command fill = {.is = HD_CLEAR};
        double seven = 7;
        fields[i] = add_resource(g, "field", ITEMS);
        fill.to = fields[i];
        fill.is = HD_FILL;
        fill.pattern = &seven;
        fill.pattern_count = 1;
        add(g, "fill", NULL, 0, &fields[i], 1, &fill);
    }
    for (unsigned i = 0; i < 40; i++) {
        unsigned to = roll(FIELDS), from = roll(FIELDS);
        if (to == from)
            continue;
        struct hd_command copy = {.is = HD_COPY,
                                  .from = fields[from],
                                  .to = fields[to],
                                  .region = {.from = {roll(40)},
                                             .to = {roll(40)},
                                             .count = {1 + roll(80)}}};
        if (roll(5) == 0)
            add(g, "copy", &fields[from], 1, &fields[to], 1, &copy);
        else
            add_around(g, fields[to], fields[from], roll(6) == 0, 0);
    }
    for (unsigned i = 0; i < FIELDS; i++, name[0]++)
        CHECK_OK(hd_graph_output(g, name, fields[i], NULL, &error), error);
    return g;
}

static void parts_give_what_whole_passes_give(void)
{
    static uint64_t want[FIELDS][ITEMS];
    struct hd_graph_statistics stats;
    struct hd_graph_result result;
    hd_resource fields[FIELDS];
    uint32_t parts = 0;

    for (unsigned seed = 1; seed <= 60; seed++) {
        state = seed;
        struct hd_graph *g = random_fields(fields);
        run_ok(g);
        hd_graph_stats(g, &stats);
        CHECK(stats.split == 0 && stats.parts == 0);
        for (unsigned i = 0; hd_graph_result(g, i, &result); i++)
            memcpy(want[i], result.buffer->address, sizeof(want[i]));
        make_heavy(g);
        for (int run = 0; run < 3; run++) {
            run_ok(g);
            hd_graph_stats(g, &stats);
            parts += stats.parts;
            for (unsigned i = 0; hd_graph_result(g, i, &result); i++)
                CHECK(memcmp(want[i], result.buffer->address,
                             sizeof(want[i])) == 0);
            if (run == 1) { // in one block too
                CHECK_OK(hd_graph_set_policy(g, &least_memory, &error), error);
                CHECK_OK(hd_graph_prepare(g, &error), error);
                make_heavy(g);
            }
        }
        hd_graph_destroy(g);
        CHECK(atomic_load(&fake.buffers_alive) == 0);
    }
    CHECK(parts > 10000);
}

static atomic_uint second_began, first_ended, in_time;

// The last part of the first pass ends when the second has begun.
static void look_at_parts(uint64_t first, uint64_t id)
{
    if (id == 2)
        atomic_fetch_add(&second_began, 1);
    if (id != 1 || first < ITEMS - 16)
        return;
    uint64_t end = hdi_now() + UINT64_C(120000000000);
    while (atomic_load(&second_began) == 0 && hdi_now() < end)
        sched_yield();
    atomic_store(&in_time, atomic_load(&second_began));
    atomic_store(&first_ended, 1);
}

static struct hd_graph *two_around(void)
{
    struct hd_graph *g = create();
    hd_resource a = add_resource(g, "a", ITEMS),
                b = add_resource(g, "b", ITEMS),
                c = add_resource(g, "c", ITEMS);
    hd_resource all[] = {a, b, c};

    for (int i = 0; i < 3; i++) {
        struct hd_command clear = {.is = HD_CLEAR, .to = all[i]};
        add(g, "clear", NULL, 0, &all[i], 1, &clear);
    }
    add_around(g, b, a, false, 1);
    add_around(g, c, b, false, 2);
    CHECK_OK(hd_graph_output(g, "c", c, NULL, &error), error);
    return g;
}

static void the_second_pass_begins_before_the_first_has_ended(void)
{
    struct hd_graph *g = two_around();
    struct hd_graph_statistics stats;

    CHECK_OK(hd_graph_prepare(g, &error), error);
    make_heavy(g);
    if (hd_pool_workers(launcher.pool) > 1)
        look_part = look_at_parts;
    for (int run = 0; run < 5; run++) {
        atomic_store(&second_began, 0);
        atomic_store(&in_time, look_part == NULL);
        run_ok(g);
        CHECK(atomic_load(&in_time) > 0);
    }
    look_part = NULL;
    hd_graph_stats(g, &stats);
    CHECK(stats.split == 2 && stats.parts == 20);
    CHECK(g->passes.at[3].begin < g->passes.at[4].end);
    hd_graph_destroy(g);
}

static void a_part_that_fails_ends_the_run_cleanly(void)
{
    struct hd_graph *g = two_around();
    const struct hd_graph_policy policy = {.goal = HD_GRAPH_TIME};

    CHECK_OK(hd_graph_set_policy(g, &policy, &error), error);
    CHECK_OK(hd_graph_prepare(g, &error), error);
    make_heavy(g);
    for (unsigned n = 1; n <= 20; n++) {
        atomic_store(&fake.fail_launch, n);
        CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EFAULT, error,
                    "run.lua:7: pass 'around");
        CHECK(atomic_load(&fake.buffers_alive) == 0);
    }
    for (unsigned n = 1; n <= 3; n++) {
        atomic_store(&fake.fail_buffer, n);
        CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_ENOMEM, error,
                    "memory for resource");
        CHECK(atomic_load(&fake.buffers_alive) == 0);
    }
    run_ok(g);
    hd_graph_destroy(g);
}

static void started_parts_give_and_fail_as_others_do(void)
{
    launcher.peers = 2;
    parts_give_what_whole_passes_give();
    a_part_that_fails_ends_the_run_cleanly();
    launcher.peers = 0;
}

static void run_tests(void)
{
    parts_give_what_whole_passes_give();
    the_second_pass_begins_before_the_first_has_ended();
    a_part_that_fails_ends_the_run_cleanly();
    started_parts_give_and_fail_as_others_do();
}

int main(void)
{
    on_all_pools(run_tests);
    return 0;
}
