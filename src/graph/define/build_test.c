// The builder in C, without running anything.
#include "tests/graph/fake_launch.h"

#include "graph/model/model.h"
#include "tests/check.h"

struct fake_kernel fake_kernels[] = {
    {.name = "one",
     .args = {{"from", "float4*", HD_ARG_GLOBAL, true},
              {"to", "float4*", HD_ARG_GLOBAL, false}}},
    {.name = "values",
     .args = {{"n", "uint", HD_ARG_VALUE, false},
              {"v", "float4", HD_ARG_VALUE, false},
              {"s", "struct thing", HD_ARG_VALUE, false},
              {"l", "float*", HD_ARG_LOCAL, false}}},
    {.name = "any",
     .args = {{"p", "void*", HD_ARG_GLOBAL, false},
              {"c", "unsigned char", HD_ARG_VALUE, false}}},
    {.name = "picture", .args = {{"i", "image2d_t", HD_ARG_IMAGE, false}}},
    {.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;

static struct hd_graph *create(void)
{
    struct hd_graph *graph;
    CHECK_OK(hdi_graph_create(&context, &graph, &error), error);
    return graph;
}

static hd_resource add_typed(struct hd_graph *graph, const char *name,
                             const char *type, uint64_t count)
{
    struct hd_shape shape = {.type = type, .axes = 1, .extent = {count}};
    hd_resource r;
    CHECK_OK(hd_graph_resource(graph, name, &shape, "g.lua:1", &r, &error),
             error);
    return r;
}

static hd_resource add_float4(struct hd_graph *graph, const char *name)
{
    return add_typed(graph, name, "float4", 16);
}

static hd_pass add_pass(struct hd_graph *graph, const char *name,
                        hd_resource read, hd_resource write)
{
    struct hd_pass_params params = {.name = name,
                                    .where = "g.lua:7",
                                    .reads = &read,
                                    .read_count = read != 0,
                                    .writes = &write,
                                    .write_count = write != 0};
    hd_pass pass;
    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static bool has_edge(struct hd_graph *graph, hd_pass from, hd_pass to)
{
    CHECK(hdi_graph_link(graph));
    for (uint32_t i = 0; i < graph->edges.count; i++)
        if (graph->edges.at[i].from == from - 1 &&
            graph->edges.at[i].to == to - 1)
            return true;
    return false;
}

static void types_have_sizes(void)
{
    CHECK(hd_type_size("float") == 4);
    CHECK(hd_type_size("float3") == 16);
    CHECK(hd_type_size("uchar4") == 4);
    CHECK(hd_type_size("ulong16") == 128);
    CHECK(hd_type_size("half") == 2);
    CHECK(hd_type_size("float5") == 0);
    CHECK(hd_type_size("struct x") == 0);
    CHECK(hd_type_size("") == 0);
    CHECK(hd_type_size(NULL) == 0);
}

static void argument_types_are_read_as_c_writes_them(void)
{
    CHECK(hdi_type_of_argument("float4*") == hdi_type_find("float4"));
    CHECK(hdi_type_of_argument("__global const float4 *restrict") ==
          hdi_type_find("float4"));
    CHECK(hdi_type_of_argument("unsigned int") == hdi_type_find("uint"));
    CHECK(hdi_type_of_argument("unsigned") == hdi_type_find("uint"));
    CHECK(hdi_type_of_argument("unsigned long int") == hdi_type_find("ulong"));
    CHECK(hdi_type_of_argument("signed char") == hdi_type_find("char"));
    CHECK(hdi_type_of_argument("void*") == NULL);
    CHECK(hdi_type_of_argument("struct thing*") == NULL);
    CHECK(hdi_type_of_argument("float**") == NULL);
}

static void numbers_become_values_exactly_or_not_at_all(void)
{
    char problem[160];
    union {
        uint8_t u1;
        int16_t i2;
        uint64_t u8;
        float f[4];
        unsigned char bytes[HDI_VALUE_SIZE];
    } v;
    const struct {
        const char *type;
        double number;
        bool fits;
    } cases[] = {{"uchar", 255, true},
                 {"uchar", 256, false},
                 {"uchar", -1, false},
                 {"char", -128, true},
                 {"char", 128, false},
                 {"int", 1.5, false},
                 {"int", 2147483648.0, false},
                 {"uint", 4294967295.0, true},
                 {"uint", 4294967296.0, false},
                 {"long", -0x1p63, true},
                 {"long", 0x1p63, false},
                 {"ulong", 0x1p64, false},
                 {"ulong", 0x1p63, true},
                 {"float", 1e39, false},
                 {"float", 0.1, true},
                 {"float", __builtin_inf(), true},
                 {"int", __builtin_nan(""), false},
                 {"half", 1, false}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        CHECK((hdi_type_convert(hdi_type_find(cases[i].type), &cases[i].number,
                                1, v.bytes, problem) == HD_OK) ==
              cases[i].fits);

    double number = -5, four[4] = {1, 2, 3, 4};
    CHECK(hdi_type_convert(hdi_type_find("short"), &number, 1, v.bytes,
                           problem) == HD_OK);
    CHECK(v.i2 == -5);
    CHECK(hdi_type_convert(hdi_type_find("float4"), four, 4, v.bytes,
                           problem) == HD_OK);
    CHECK(v.f[0] == 1 && v.f[3] == 4);
    CHECK(hdi_type_convert(hdi_type_find("float3"), four, 3, v.bytes,
                           problem) == HD_OK);
    CHECK(v.f[2] == 3 && v.f[3] == 0);
    CHECK(hdi_type_convert(hdi_type_find("float4"), &four[1], 1, v.bytes,
                           problem) == HD_OK);
    CHECK(v.f[0] == 2 && v.f[3] == 2);
    CHECK(hdi_type_convert(hdi_type_find("float4"), four, 3, v.bytes,
                           problem) == HD_EGRAPH);
}

static void shapes_are_checked(void)
{
    struct hd_graph *g = create();
    struct hd_shape shape = {.type = "float5", .axes = 1, .extent = {4}};
    hd_resource r;

    CHECK_FAILS(hd_graph_resource(g, "a", &shape, "g.lua:3", &r, &error),
                HD_EINVAL, error, "g.lua:3: resource 'a': 'float5' is no");
    shape.type = "float4";
    shape.axes = 4;
    CHECK_FAILS(hd_graph_resource(g, "a", &shape, NULL, &r, &error), HD_EINVAL,
                error, "it has 4 axes");
    shape.axes = 2;
    CHECK_FAILS(hd_graph_resource(g, "a", &shape, NULL, &r, &error), HD_EINVAL,
                error, "extent 2 is 0");
    shape.extent[1] = UINT64_C(1) << 60;
    CHECK_FAILS(hd_graph_resource(g, "a", &shape, NULL, &r, &error), HD_ELIMIT,
                error, "larger than 2^48");
    hd_graph_destroy(g);
}

static void program_order_makes_versions_and_edges(void)
{
    struct hd_graph *g = create();
    hd_resource r = add_float4(g, "r"), s = add_float4(g, "s");
    hd_pass w1 = add_pass(g, "w1", 0, r);
    hd_pass r1 = add_pass(g, "r1", r, s);
    hd_pass r2 = add_pass(g, "r2", r, 0);
    hd_pass w2 = add_pass(g, "w2", 0, r);
    hd_pass r3 = add_pass(g, "r3", r, 0);

    CHECK(has_edge(g, w1, r1));
    CHECK(has_edge(g, w1, r2));
    CHECK(!has_edge(g, r1, r2));
    CHECK(has_edge(g, r1, w2));
    CHECK(has_edge(g, r2, w2));
    CHECK(has_edge(g, w2, r3));
    CHECK(!has_edge(g, w1, r3));
    CHECK(g->accesses.at[g->passes.at[r1 - 1].accesses].version == 1);
    CHECK(g->accesses.at[g->passes.at[r3 - 1].accesses].version == 2);
    hd_graph_destroy(g);
}

static void diamond_has_the_edges_of_the_specification(void)
{
    struct hd_graph *g = create();
    hd_resource r[7];
    for (int i = 1; i <= 6; i++)
        r[i] = add_float4(g, "r");
    CHECK_OK(hd_graph_input(g, r[1], NULL, &error), error);
    hd_pass p1 = add_pass(g, "P1", r[1], r[2]);
    hd_pass p2 = add_pass(g, "P2", r[2], r[3]);
    hd_pass p3 = add_pass(g, "P3", r[2], r[4]);
    hd_pass p4 = add_pass(g, "P4", r[2], r[5]);
    struct hd_pass_params params = {.name = "P5",
                                    .reads = r + 3,
                                    .read_count = 3,
                                    .writes = r + 6,
                                    .write_count = 1};
    hd_pass p5;
    CHECK_OK(hd_graph_pass(g, &params, &p5, &error), error);
    CHECK(hdi_graph_link(g) && g->edges.count == 6);
    CHECK(has_edge(g, p1, p2) && has_edge(g, p1, p3) && has_edge(g, p1, p4));
    CHECK(has_edge(g, p2, p5) && has_edge(g, p3, p5) && has_edge(g, p4, p5));
    hd_graph_destroy(g);
}

static void a_read_of_nothing_is_refused(void)
{
    struct hd_graph *g = create();
    hd_resource r = add_float4(g, "ghost");
    struct hd_pass_params params = {
        .name = "p", .where = "g.lua:9", .reads = &r, .read_count = 1};
    hd_pass pass;

    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EGRAPH, error,
                "g.lua:9: pass 'p': it reads resource 'ghost' (g.lua:1), but "
                "no pass before it writes it");
    CHECK(hd_graph_pass_count(g) == 0);
    // The failed call left nothing behind.
    add_pass(g, "w", 0, r);
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    CHECK(hdi_graph_link(g) && g->edges.count == 1);
    hd_graph_destroy(g);
}

static void commands_use_what_the_pass_names(void)
{
    struct hd_graph *g = create();
    hd_resource a = add_float4(g, "a"), b = add_float4(g, "b");
    hd_resource small = add_typed(g, "small", "uchar", 3);
    struct hd_pass_arg arg = {.is = HD_PASS_RESOURCE, .resource = b};
    struct hd_command command = {.is = HD_DISPATCH,
                                 .kernel = {.path = "k.cl", .name = "one"},
                                 .range = {.dims = 1, .global = {4}},
                                 .args = &arg,
                                 .arg_count = 1};
    hd_resource writes[] = {a, small};
    struct hd_pass_params params = {.name = "p",
                                    .writes = writes,
                                    .write_count = 2,
                                    .commands = &command,
                                    .command_count = 1};
    hd_pass pass;

    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "argument 1 is resource 'b', which the pass neither");
    arg = (struct hd_pass_arg){.is = HD_PASS_SCRATCH, .scratch = 0};
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "there is no scratch 0");
    arg = (struct hd_pass_arg){.is = HD_PASS_NUMBERS};
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "0 numbers");
    arg = (struct hd_pass_arg){.is = HD_PASS_BYTES};
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "0 bytes");
    command.args = NULL;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "lists are there");
    command.args = &arg;
    command.range.dims = 0;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "dimensions, not 0");
    command.kernel.name = NULL;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "takes a kernel, or a file");
    command = (struct hd_command){.is = HD_CLEAR, .to = b};
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "it clears resource 'b', which it does not write");
    command = (struct hd_command){.is = HD_COPY, .from = b, .to = a};
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "it copies resource 'b', which it neither reads");
    command.from = small;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EGRAPH, error,
                "'small' (3 bytes) to 'a' (256 bytes)");
    command.from = a;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "to itself");
    writes[0] = 77;
    CHECK_FAILS(hd_graph_pass(g, &params, &pass, &error), HD_EINVAL, error,
                "77 is no resource");
    CHECK(hd_graph_pass_count(g) == 0);
    hd_graph_destroy(g);
}

static void inputs_and_outputs_are_checked(void)
{
    struct hd_graph *g = create();
    hd_resource r = add_float4(g, "r"), s = add_float4(g, "s");
    struct hd_buffer small = {.launcher = &launcher, .size = 8};
    struct hd_buffer foreign = {.launcher = NULL, .size = 256};

    CHECK_FAILS(hd_graph_input(g, r, &small, &error), HD_EINVAL, error,
                "has 8 bytes; 256 are");
    CHECK_FAILS(hd_graph_input(g, r, &foreign, &error), HD_EINVAL, error,
                "another runtime");
    CHECK_FAILS(hd_graph_input(g, 99, &small, &error), HD_EINVAL, error,
                "99 is no resource");
    CHECK_OK(hd_graph_output(g, "out", r, "g.lua:4", &error), error);
    CHECK_FAILS(hd_graph_output(g, "out", s, "g.lua:5", &error), HD_EINVAL,
                error,
                "g.lua:5: there is an output 'out' already, made at "
                "g.lua:4");
    CHECK_FAILS(hd_graph_prepare(g, &error), HD_EGRAPH, error,
                "g.lua:4: output 'out' is resource 'r', which no pass");
    add_pass(g, "w", 0, r);
    CHECK_FAILS(hd_graph_input(g, r, NULL, &error), HD_EINVAL, error,
                "already written by pass 'w'");
    CHECK_OK(hd_graph_prepare(g, &error), error);
    hd_graph_destroy(g);
}

static void a_cycle_names_its_passes(void)
{
    struct hd_graph *g = create();
    hd_resource r = add_float4(g, "r"), s = add_float4(g, "s");
    hd_pass alone = add_pass(g, "alone", 0, s);
    hd_pass a = add_pass(g, "a", 0, r);
    hd_pass b = add_pass(g, "b", r, 0);
    hd_pass behind = add_pass(g, "behind", r, 0);

    CHECK_FAILS(hd_graph_order(g, a, a, "g.lua:8", &error), HD_EINVAL, error,
                "g.lua:8: pass 'a' cannot be ordered before itself");
    CHECK_FAILS(hd_graph_order(g, a, 9, NULL, &error), HD_EINVAL, error,
                "not both passes");
    CHECK_OK(hd_graph_order(g, alone, a, "g.lua:19", &error), error);
    CHECK_OK(hd_graph_order(g, b, behind, "g.lua:20", &error), error);
    CHECK_OK(hd_graph_prepare(g, &error), error);
    CHECK_OK(hd_graph_order(g, b, a, "g.lua:21", &error), error);
    CHECK_FAILS(hd_graph_prepare(g, &error), HD_EGRAPH, error,
                "'b' (g.lua:7) waits for 'a'");
    CHECK(strstr(error.text, "'a' (g.lua:7) waits for 'b'"));
    CHECK(strstr(error.text, "take away an explicit order: g.lua:21"));
    CHECK(!strstr(error.text, "alone") && !strstr(error.text, "behind"));
    hd_graph_destroy(g);
}

// One dispatch of `kernel` in a pass that reads a and writes b.
static hd_status prepare_one(const char *path, const char *kernel,
                             const struct hd_pass_arg *args, unsigned count,
                             struct hd_graph *g, hd_resource a, hd_resource b)
{
    struct hd_command command = {.is = HD_DISPATCH,
                                 .kernel = {.path = path, .name = kernel},
                                 .range = {.dims = 1, .global = {4}},
                                 .args = args,
                                 .arg_count = count};
    struct hd_pass_params params = {.name = "p",
                                    .where = "g.lua:9",
                                    .reads = &a,
                                    .read_count = 1,
                                    .writes = &b,
                                    .write_count = 1,
                                    .commands = &command,
                                    .command_count = 1};
    hd_pass pass;
    CHECK_OK(hd_graph_input(g, a, NULL, &error), error);
    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    return hd_graph_prepare(g, &error);
}

#define PREPARE_FAILS(path, kernel, status, part, ...)                       \
    do {                                                                     \
        struct hd_graph *g_ = create();                                      \
        hd_resource a = add_float4(g_, "a");                                 \
        hd_resource b = add_typed(g_, "b", "uint", 64);                      \
        (void)a, (void)b;                                                    \
        const struct hd_pass_arg args_[] = {__VA_ARGS__};                    \
        CHECK_FAILS(prepare_one(path, kernel, args_,                         \
                                sizeof(args_) / sizeof(args_[0]), g_, a, b), \
                    status, error, part);                                    \
        CHECK(strncmp(error.text, "g.lua:9: pass 'p'", 17) == 0);            \
        hd_graph_destroy(g_);                                                \
    } while (0)

#define RESOURCE(r)                             \
    {                                           \
        .is = HD_PASS_RESOURCE, .resource = (r) \
    }
#define NUMBERS(n, ...)                                                       \
    {                                                                         \
        .is = HD_PASS_NUMBERS, .number_count = n, .numbers = (const double[]) \
        {                                                                     \
            __VA_ARGS__                                                       \
        }                                                                     \
    }
#define LOCAL(n)                       \
    {                                  \
        .is = HD_PASS_LOCAL, .size = n \
    }

static void arguments_are_checked_against_the_kernel(void)
{
    PREPARE_FAILS("missing.cl", "one", HD_ENOENT,
                  "g.lua:9: pass 'p': no file missing.cl", RESOURCE(a));
    PREPARE_FAILS("k.cl", "two", HD_EGRAPH,
                  "k.cl has no kernel 'two'; it has one, values, any, picture",
                  RESOURCE(a));
    PREPARE_FAILS("k.cl", "one", HD_EGRAPH, "takes 2 arguments, not 1",
                  RESOURCE(a));
    PREPARE_FAILS("k.cl", "one", HD_EGRAPH,
                  "kernel 'one', argument 1 'from' ('float4*'): it takes a "
                  "resource or scratch",
                  NUMBERS(1, 3), RESOURCE(b));
    PREPARE_FAILS("k.cl", "one", HD_EGRAPH,
                  "argument 2 'to' ('float4*'): resource 'b' has elements of "
                  "type 'uint'",
                  RESOURCE(a), RESOURCE(b));
    PREPARE_FAILS("k.cl", "one", HD_EGRAPH,
                  "may write through it, but the pass only reads resource 'a'; "
                  "add it to what the pass writes",
                  RESOURCE(a), RESOURCE(a));
    PREPARE_FAILS("k.cl", "any", HD_EGRAPH, "1.5 is no whole number",
                  RESOURCE(b), NUMBERS(1, 1.5));
    PREPARE_FAILS("k.cl", "any", HD_EGRAPH, "256 does not fit in 'uchar'",
                  RESOURCE(b), NUMBERS(1, 256));
    PREPARE_FAILS("k.cl", "values", HD_EGRAPH,
                  "2 numbers for 'float4'; give 1 or 4", NUMBERS(1, 1),
                  NUMBERS(2, 1, 2), LOCAL(4), LOCAL(4));
    PREPARE_FAILS("k.cl", "any", HD_EGRAPH, "2 numbers for 'uchar'; give 1",
                  RESOURCE(b), NUMBERS(2, 1, 2));
    PREPARE_FAILS("k.cl", "values", HD_EGRAPH,
                  "('struct thing'): numbers can only", NUMBERS(1, 1),
                  NUMBERS(1, 1), NUMBERS(1, 1), LOCAL(4));
    PREPARE_FAILS("k.cl", "values", HD_EGRAPH,
                  "argument 4 'l' ('float*'): it takes local memory",
                  NUMBERS(1, 1), NUMBERS(1, 1),
                  {.is = HD_PASS_BYTES, .bytes = "abcd", .size = 4},
                  NUMBERS(1, 1));
    PREPARE_FAILS("k.cl", "picture", HD_EGRAPH,
                  "it takes an image: image(resource)", RESOURCE(a));
}

static void a_program_is_built_once(void)
{
    struct hd_graph *g = create();
    hd_resource a = add_float4(g, "a"), b = add_float4(g, "b");
    const struct hd_pass_arg args[] = {RESOURCE(a), RESOURCE(b)};

    atomic_store(&fake.programs, 0);
    for (int i = 0; i < 10; i++)
        CHECK_OK(prepare_one(i % 2 ? "k.cl" : "l.cl", "one", args, 2, g, a, b),
                 error);
    CHECK(atomic_load(&fake.programs) == 2);
    hd_graph_destroy(g);
    CHECK(atomic_load(&fake.programs_alive) == 0);
}

// However often it is named, with options that are empty or not there, and
// however large the table has grown meanwhile.
static void a_kernel_is_one_use(void)
{
    enum {
        KERNELS = 100
    };
    struct hd_graph *g = create();
    hd_resource r = add_float4(g, "r");

    for (int i = 0; i < 3 * KERNELS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "k%d", i % KERNELS);
        const struct hd_command command = {
            .is = HD_DISPATCH,
            .kernel = {.path = "k.cl",
                       .name = name,
                       .options = i < 2 * KERNELS ? NULL : "",
                       .with = i < 2 * KERNELS ? NULL : ""},
            .range = {.dims = 1, .global = {1}}};
        const struct hd_pass_params params = {.name = "p",
                                              .writes = &r,
                                              .write_count = 1,
                                              .commands = &command,
                                              .command_count = 1};
        hd_pass pass;
        CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    }
    CHECK(g->kernels.count == KERNELS);
    hd_graph_destroy(g);
}

// Of this process: other programs may have the cores as well [ns].
static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void building_is_fast(void)
{
    enum {
        PASSES = 10000
    };
    double best_build = 1e9, best_prepare = 1e9;

    for (int round = 0; round < 5; round++) {
        struct hd_graph *g = create();
        uint64_t begin = used();
        hd_resource before = add_float4(g, "r");
        add_pass(g, "first", 0, before);
        for (int i = 0; i < PASSES; i++) {
            hd_resource r = add_float4(g, "r");
            const struct hd_pass_arg args[] = {RESOURCE(before), RESOURCE(r)};
            struct hd_command command = {
                .is = HD_DISPATCH,
                .kernel = {.path = "k.cl", .name = "one"},
                .range = {.dims = 1, .global = {4}},
                .args = args,
                .arg_count = 2};
            struct hd_pass_params params = {.name = "p",
                                            .where = "g.lua:9",
                                            .reads = &before,
                                            .read_count = 1,
                                            .writes = &r,
                                            .write_count = 1,
                                            .commands = &command,
                                            .command_count = 1};
            hd_pass pass;
            CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
            before = r;
        }
        uint64_t built = used();
        CHECK_OK(hd_graph_prepare(g, &error), error);
        double build = (double)(built - begin) / PASSES;
        double prepare = (double)(used() - built) / PASSES;
        best_build = build < best_build ? build : best_build;
        best_prepare = prepare < best_prepare ? prepare : best_prepare;
        hd_graph_destroy(g);
    }
    printf("per pass: build %.0f ns, prepare %.0f ns\n", best_build,
           best_prepare);
    // A bound that only an algorithm that grows with the graph misses.
    CHECK(best_build < 20000 && best_prepare < 20000);
}

int main(void)
{
    fake_open(&launcher, NULL, &context);
    types_have_sizes();
    argument_types_are_read_as_c_writes_them();
    numbers_become_values_exactly_or_not_at_all();
    shapes_are_checked();
    program_order_makes_versions_and_edges();
    diamond_has_the_edges_of_the_specification();
    a_read_of_nothing_is_refused();
    commands_use_what_the_pass_names();
    inputs_and_outputs_are_checked();
    a_cycle_names_its_passes();
    arguments_are_checked_against_the_kernel();
    a_program_is_built_once();
    a_kernel_is_one_use();
    building_is_fast();
    fake_close(&launcher);
    return 0;
}
