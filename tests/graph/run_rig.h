// For tests that run graphs: kernels that are C functions, small graphs made of
// them, and pools to run them on.
#ifndef HDI_TESTS_GRAPH_RUN_RIG_H
#define HDI_TESTS_GRAPH_RUN_RIG_H

#include "tests/graph/fake_launch.h"

#include <sched.h>

#include "base/clock.h"
#include "graph/model/model.h"
#include "steal/worker.h"
#include "tests/check.h"

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;

// Kernels ---------------------------------------------------------------------

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
    return a ^ (a >> 31);
}

static inline uint64_t value(const struct hd_arg *arg)
{
    uint64_t v;
    memcpy(&v, arg->value, sizeof(v));
    return v;
}

static inline uint64_t *data(const struct hd_arg *arg)
{
    return (uint64_t *)arg->buffer->address;
}

// to = mix of everything: one wrong version changes all that follow.
static inline hd_status run_mix(const struct hd_range *range,
                                const struct hd_arg *args)
{
    uint64_t *to = data(&args[0]);

    for (uint64_t i = 0; i < range->global[0]; i++) {
        to[i] = mix(to[i], value(&args[4]));
        for (int r = 1; r <= 3; r++)
            to[i] = mix(to[i], data(&args[r])[i]);
    }
    return HD_OK;
}

static inline struct hd_footprint of_bytes(int64_t begin, int64_t end,
                                           bool writes)
{
    struct hd_touched t = {.kind = HD_TOUCHES_ROWS,
                           .begin = begin,
                           .bytes = (uint64_t)(end - begin),
                           .count = {1, 1}};

    return writes ? (struct hd_footprint){.read = t, .write = t}
                  : (struct hd_footprint){.read = t};
}

// to[i] = mix of to[i] and what is around a[i].
static inline hd_status run_around(const struct hd_range *range,
                                   const struct hd_arg *args)
{
    uint64_t *to = data(&args[0]), *a = data(&args[1]);
    uint64_t last = args[0].buffer->size / 8 - 1;

    for (uint64_t i = range->offset[0]; i < range->offset[0] + range->global[0];
         i++) {
        to[i] = mix(to[i], a[i > 0 ? i - 1 : 0]);
        if (i % 4 == 0)
            sched_yield();
        to[i] = mix(mix(to[i], a[i]), a[i < last ? i + 1 : last]);
    }
    return HD_OK;
}

static inline void touch_around(const struct hd_range *range,
                                struct hd_footprint *footprints)
{
    int64_t begin = (int64_t)range->offset[0] * 8;
    int64_t end = begin + (int64_t)range->global[0] * 8;

    footprints[0] = of_bytes(begin, end, true);
    footprints[1] = of_bytes(begin - 8, end + 8, false);
}

// What tests want to see from within a part: which, and of what.
static void (*look_part)(uint64_t first, uint64_t id);

static inline hd_status run_part(const struct hd_range *range,
                                 const struct hd_arg *args)
{
    if (look_part)
        look_part(range->offset[0], value(&args[2]));
    return run_around(range, args);
}

// What tests want to see from within a pass.
static void (*look)(uint64_t id);

static inline hd_status run_look(const struct hd_range *range,
                                 const struct hd_arg *args)
{
    (void)range;
    if (look)
        look(value(&args[0]));
    return HD_OK;
}

static inline hd_status run_values(const struct hd_range *range,
                                   const struct hd_arg *args)
{
    float four[4];
    (void)range;
    CHECK(args[0].is == HD_IS_VALUE && args[0].size == 16);
    memcpy(four, args[0].value, 16);
    CHECK(four[0] == 1 && four[1] == 2 && four[2] == 3 && four[3] == 4.5f);
    CHECK(args[1].size == 3 && memcmp(args[1].value, "abc", 3) == 0);
    CHECK(args[2].is == HD_IS_LOCAL && args[2].size == 64);
    CHECK(args[3].is == HD_IS_BUFFER && args[3].buffer->size == 48);
    for (int i = 0; i < 48; i++)
        CHECK(((char *)args[3].buffer->address)[i] == 0);
    memset(args[3].buffer->address, 1, 48);
    return HD_OK;
}

struct fake_kernel fake_kernels[] = {
    {.name = "mix",
     .run = run_mix,
     .args = {{"to", "ulong*", HD_ARG_GLOBAL, false},
              {"a", "ulong*", HD_ARG_GLOBAL, true},
              {"b", "ulong*", HD_ARG_GLOBAL, true},
              {"c", "ulong*", HD_ARG_CONSTANT, true},
              {"id", "ulong", HD_ARG_VALUE, false}}},
    {.name = "look",
     .run = run_look,
     .args = {{"id", "ulong", HD_ARG_VALUE, false}}},
    {.name = "values",
     .run = run_values,
     .args = {{"v", "float4", HD_ARG_VALUE, false},
              {"s", "struct s", HD_ARG_VALUE, false},
              {"l", "float*", HD_ARG_LOCAL, false},
              {"t", "void*", HD_ARG_GLOBAL, false}}},
    {.name = "around",
     .run = run_around,
     .touch = touch_around,
     .args = {{"to", "ulong*", HD_ARG_GLOBAL, false},
              {"a", "ulong*", HD_ARG_GLOBAL, true}}},
    {.name = "part",
     .run = run_part,
     .touch = touch_around,
     .args = {{"to", "ulong*", HD_ARG_GLOBAL, false},
              {"a", "ulong*", HD_ARG_GLOBAL, true},
              {"id", "ulong", HD_ARG_VALUE, false}}},
    {.name = NULL}};

// Building --------------------------------------------------------------------

static inline struct hd_graph *create(void)
{
    struct hd_graph *graph;
    CHECK_OK(hdi_graph_create(&context, &graph, &error), error);
    return graph;
}

static inline hd_resource add_resource(struct hd_graph *g, const char *name,
                                       uint64_t count)
{
    struct hd_shape shape = {.type = "ulong", .axes = 1, .extent = {count}};
    hd_resource r;
    CHECK_OK(hd_graph_resource(g, name, &shape, NULL, &r, &error), error);
    return r;
}

static inline struct hd_buffer *new_buffer(uint64_t size)
{
    struct hd_buffer *buffer;
    CHECK_OK(hdi_buffer_create(&launcher, size, &buffer, &error), error);
    return buffer;
}

static inline hd_pass add(struct hd_graph *g, const char *name,
                          const hd_resource *reads, unsigned read_count,
                          const hd_resource *writes, unsigned write_count,
                          const struct hd_command *command)
{
    struct hd_pass_params params = {.name = name,
                                    .where = "run.lua:5",
                                    .reads = reads,
                                    .read_count = read_count,
                                    .writes = writes,
                                    .write_count = write_count,
                                    .commands = command,
                                    .command_count = command != NULL};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    return pass;
}

static inline hd_pass add_look(struct hd_graph *g, const char *name,
                               uint64_t id, const hd_resource *reads,
                               unsigned read_count, const hd_resource *writes,
                               unsigned write_count)
{
    double number = (double)id;
    struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1};
    struct hd_command command = {.is = HD_DISPATCH,
                                 .kernel = {.path = "k.cl", .name = "look"},
                                 .range = {.dims = 1, .global = {1}},
                                 .args = &arg,
                                 .arg_count = 1};
    return add(g, name, reads, read_count, writes, write_count, &command);
}

static inline void run_ok(struct hd_graph *g)
{
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
}

// Random graphs ---------------------------------------------------------------

enum {
    RESOURCES = 12,
    PASSES = 60,
    COUNT = 8 // elements
};

static uint64_t state;

static inline unsigned roll(unsigned sides)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % sides;
}

// The kernel adds to what is there, so the first pass that writes clears.
static inline void add_mix(struct hd_graph *g, hd_resource to,
                           const hd_resource *from, bool first, bool update,
                           uint64_t id)
{
    hd_resource reads[4] = {from[0], from[1], from[2], to};
    double number = (double)id;
    struct hd_pass_arg args[5] = {
        {.is = HD_PASS_RESOURCE, .resource = to},
        {.is = HD_PASS_RESOURCE, .resource = from[0]},
        {.is = HD_PASS_RESOURCE, .resource = from[1]},
        {.is = HD_PASS_RESOURCE, .resource = from[2]},
        {.is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1}};
    struct hd_command commands[2] = {{.is = HD_CLEAR, .to = to},
                                     {.is = HD_DISPATCH,
                                      .kernel = {.path = "k.cl", .name = "mix"},
                                      .range = {.dims = 1, .global = {COUNT}},
                                      .args = args,
                                      .arg_count = 5}};
    struct hd_pass_params params = {.name = "mix",
                                    .where = "run.lua:5",
                                    .reads = reads,
                                    .read_count = update ? 4 : 3,
                                    .writes = &to,
                                    .write_count = 1,
                                    .commands = commands + !first,
                                    .command_count = 1 + first};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
}

// Builds a graph and computes what it must give, in program order.
static inline struct hd_graph *random_graph(struct hd_buffer *input,
                                            uint64_t results[RESOURCES])
{
    struct hd_graph *g = create();
    hd_resource r[RESOURCES];
    uint64_t values[RESOURCES] = {0};
    unsigned known[RESOURCES], known_count = 0;

    for (unsigned i = 0; i < RESOURCES; i++)
        r[i] = add_resource(g, "r", COUNT);
    CHECK_OK(hd_graph_input(g, r[0], input, &error), error);
    values[0] = *(uint64_t *)input->address;
    known[known_count++] = 0;
    for (unsigned i = 0; i < PASSES; i++) {
        unsigned to = roll(RESOURCES), from[3];
        for (int k = 0; k < 3; k++)
            do
                from[k] = known[roll(known_count)];
            while (from[k] == to && known_count > 1);
        if (from[0] == to || from[1] == to || from[2] == to)
            continue;
        bool is_known = false;
        for (unsigned k = 0; k < known_count; k++)
            is_known |= known[k] == to;
        add_mix(g, r[to], (hd_resource[]){r[from[0]], r[from[1]], r[from[2]]},
                !is_known, is_known && roll(2), i);
        values[to] = mix(values[to], i);
        for (int k = 0; k < 3; k++)
            values[to] = mix(values[to], values[from[k]]);
        if (!is_known)
            known[known_count++] = to;
    }
    for (unsigned i = 0; i < known_count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "o%u", i);
        CHECK_OK(hd_graph_output(g, name, r[known[i]], NULL, &error), error);
        results[i] = values[known[i]];
    }
    return g;
}

static inline void check_results(const struct hd_graph *g,
                                 const uint64_t *results)
{
    struct hd_graph_result result;

    for (unsigned i = 0; hd_graph_result(g, i, &result); i++)
        for (int k = 0; k < COUNT; k++)
            CHECK(((uint64_t *)result.buffer->address)[k] == results[i]);
}

// The diamond -----------------------------------------------------------------

static struct {
    atomic_uint began[6], ended[6], clock;
    unsigned long long bytes_in_p5;
} seen;

static struct hd_graph *watched;

static inline void look_at_diamond(uint64_t id)
{
    atomic_store(&seen.began[id], atomic_fetch_add(&seen.clock, 1) + 1);
    for (int i = 0; i < 100; i++)
        sched_yield();
    if (id == 5)
        seen.bytes_in_p5 = watched->memory.live;
    atomic_store(&seen.ended[id], atomic_fetch_add(&seen.clock, 1) + 1);
}

// P1 reads r1, writes r2; P2, P3, P4 read r2, write r3, r4, r5; P5 reads these,
// writes r6. Resource i has i * 100 elements.
static inline struct hd_graph *diamond(struct hd_buffer *input)
{
    static const char *const names[] = {"", "P1", "P2", "P3", "P4", "P5"};
    struct hd_graph *g = create();
    hd_resource r[7];

    for (unsigned i = 1; i <= 6; i++)
        r[i] = add_resource(g, "r", i * 100);
    CHECK_OK(hd_graph_input(g, r[1], input, &error), error);
    add_look(g, names[1], 1, &r[1], 1, &r[2], 1);
    for (unsigned i = 2; i <= 4; i++)
        add_look(g, names[i], i, &r[2], 1, &r[i + 1], 1);
    add_look(g, names[5], 5, &r[3], 3, &r[6], 1);
    CHECK_OK(hd_graph_output(g, "r6", r[6], NULL, &error), error);
    return g;
}

static atomic_uint ran; // bit by id

static inline void note(uint64_t id)
{
    atomic_fetch_or(&ran, 1U << id);
}

// Run the tests on a pool that has no threads, and on pools of one and of four
// workers; nothing is left of them.
static inline void on_all_pools(void (*tests)(void))
{
    const struct hd_pool_params pools[] = {{.caller_only = true},
                                           {.workers = 1, .unpinned = true},
                                           {.workers = 4, .unpinned = true}};

    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
        struct hd_pool *pool;
        CHECK_OK(hd_pool_create(&pools[i], &pool, &error), error);
        fake_open(&launcher, pool, &context);
        tests();
        CHECK(atomic_load(&fake.buffers_alive) == 0);
        CHECK(atomic_load(&fake.programs_alive) == 0);
        hd_pool_destroy(pool);
        fake_close(&launcher);
    }
}

#endif
