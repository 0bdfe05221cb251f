// OpenCL C kernels written for one node compute fields that lie on several.
#include "heddle/agile.h"
#include "heddle/runtime.h"

#include "field/cluster/cluster.h"
#include "tests/check.h"

static struct hd_error error;
static struct hd_cluster *cluster;
static struct hd_runtime *runtime;

static const char source[] =
    "kernel void add(global float *c, global const float *a,\n"
    "                global const float *b, float by)\n"
    "{\n"
    "    size_t x = get_global_id(0), y = get_global_id(1);\n"
    "    size_t w = get_global_size(0), h = get_global_size(1);\n"
    "    c[y * w + x] = a[y * w + x] + by * b[x * h + y];\n"
    "}\n"
    "kernel void heat(global float *to, global const float *from)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    float s = from[y * w + x];\n"
    "    if (x > 0) s += from[y * w + x - 1];\n"
    "    if (x + 1 < w) s += from[y * w + x + 1];\n"
    "    if (y > 0) s += from[(y - 1) * w + x];\n"
    "    if (y + 1 < h) s += from[(y + 1) * w + x];\n"
    "    to[y * w + x] = s * 0.25f;\n"
    "}\n"
    "kernel void stray(global float *to)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0);\n"
    "    to[y * w + x] = 1;\n"
    "    if (x == 5 && y == 9) to[10 * w + 6] = 0;\n"
    "}\n";

static void ramp(void *data, const int64_t *index, void *value)
{
    *(float *)value = *(float *)data + (float)(index[0] * 100 + index[1] % 7);
}

static struct hd_map *parse(const char *words)
{
    char text[128];
    struct hd_map *map;

    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

static struct hd_field *ramped(const struct hd_map *map, float begin)
{
    struct hd_view view;
    struct hd_field *field;

    CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(float), ramp, &begin,
                              &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    return field;
}

static void sums_of_a_transposed_field(const struct hd_program *program,
                                       const char *words, const char *other)
{
    struct hd_map *map = parse(words), *turned = parse(other);
    struct hd_field *a = ramped(map, 0), *b = ramped(turned, 5), *c;
    float by = 2;
    struct hd_input inputs[] = {{.view = hd_view_field(a)},
                                {.view = hd_view_field(b)}};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT, .input = 0},
                                  {.is = HD_FIELD_INPUT, .input = 1},
                                  {.is = HD_FIELD_ARG, .arg = HD_VALUE(by)}};
    struct hd_view view;

    CHECK_OK(hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                               &inputs[1].view, &error),
             error);
    CHECK_OK(hd_field_create(cluster, sizeof(float), map, &c, &error), error);
    struct hd_forall forall = {.output = c, .inputs = inputs, .input_count = 2};
    CHECK_OK(hd_forall_kernel(runtime, &forall, hd_program_find(program, "add"),
                              args, 4, &error),
             error);
    view = hd_view_field(c);
    for (int64_t y = 0; y < 48; y++)
        for (int64_t x = 0; x < 80; x++) {
            int64_t index[] = {y, x}, back[] = {x, y};
            float is, first, second, zero = 0, five = 5;

            if (!hd_cluster_has(cluster, hd_map_node(map, index)))
                continue;
            CHECK_OK(hd_view_read(&view, index, &is, &error), error);
            ramp(&zero, index, &first);
            ramp(&five, back, &second);
            CHECK(is == first + 2 * second);
        }
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_map_destroy(map);
    hd_map_destroy(turned);
}

static void heat_spreads_over_borders(const struct hd_program *program,
                                      const char *words)
{
    enum {
        H = 30,
        W = 44,
        ROUNDS = 5
    };
    struct hd_map *map = parse(words);
    struct hd_field *from = ramped(map, 1), *to;
    static float a[H][W], b[H][W];
    float one = 1;

    CHECK_OK(hd_field_create(cluster, sizeof(float), map, &to, &error), error);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++)
            ramp(&one, (int64_t[]){y, x}, &a[y][x]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct hd_input input = {
            .view = hd_view_field(from), .before = {1, 1}, .after = {1, 1}};
        struct hd_forall forall = {
            .output = to, .inputs = &input, .input_count = 1};
        struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                      {.is = HD_FIELD_INPUT}};
        struct hd_field *kept = from;

        CHECK_OK(hd_forall_kernel(runtime, &forall,
                                  hd_program_find(program, "heat"), args, 2,
                                  &error),
                 error);
        from = to;
        to = kept;
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++) {
                float s = a[y][x];

                s += x > 0 ? a[y][x - 1] : 0;
                s += x + 1 < W ? a[y][x + 1] : 0;
                s += y > 0 ? a[y - 1][x] : 0;
                s += y + 1 < H ? a[y + 1][x] : 0;
                b[y][x] = s * 0.25f;
            }
        memcpy(a, b, sizeof(a));
    }
    struct hd_view view = hd_view_field(from);
    for (int64_t y = 0; y < H; y++)
        for (int64_t x = 0; x < W; x++) {
            int64_t index[] = {y, x};
            float is;

            if (!hd_cluster_has(cluster, hd_map_node(map, index)))
                continue;
            CHECK_OK(hd_view_read(&view, index, &is, &error), error);
            CHECK(is == a[y][x]);
        }
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
}

static const char cube[] =
    "kernel void blur(global int *to, global const int *from)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = "
    "get_global_id(2);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    int d = get_global_size(2), at = (z * h + y) * w + x, s = from[at];\n"
    "    if (z > 0) s += 3 * from[at - w * h];\n"
    "    if (z + 1 < d) s += 5 * from[at + w * h];\n"
    "    if (y > 0) s += 7 * from[at - w];\n"
    "    if (x + 1 < w) s += 11 * from[at + 1];\n"
    "    to[at] = s;\n"
    "}\n"
    "kernel void turn(global int *to, global const int *from)\n"
    "{\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = "
    "get_global_id(2);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    int d = get_global_size(2), at = (z * h + y) * w + x;\n"
    "    to[at] += from[w * h * d - 1 - at] + from[from[at] % (w * h * d)];\n"
    "}\n";

enum {
    CUBE_X = 11,
    CUBE_Y = 9,
    CUBE_Z = 7,
    CUBE = CUBE_X * CUBE_Y * CUBE_Z
};

static void count(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(int *)value =
        (int)((index[0] * CUBE_Y + index[1]) * CUBE_X + index[2]) * 17 % CUBE;
}

static void blur_here(const int *from, int *to)
{
    for (int at = 0; at < CUBE; at++) {
        int x = at % CUBE_X, y = at / CUBE_X % CUBE_Y;
        int z = at / CUBE_X / CUBE_Y;

        to[at] = from[at];
        to[at] += z > 0 ? 3 * from[at - CUBE_X * CUBE_Y] : 0;
        to[at] += z + 1 < CUBE_Z ? 5 * from[at + CUBE_X * CUBE_Y] : 0;
        to[at] += y > 0 ? 7 * from[at - CUBE_X] : 0;
        to[at] += x + 1 < CUBE_X ? 11 * from[at + 1] : 0;
    }
}

// Nobody says what the kernels read: their footprints do, and where these do
// not know, all is brought.
static void footprints_say_what_is_read(const char *words)
{
    struct hd_program_params params = {.source = cube, .path = "cube.cl"};
    struct hd_program *program;
    struct hd_map *map = parse(words);
    struct hd_field *from, *to;
    struct hd_view view;
    int a[CUBE], b[CUBE], is[CUBE];

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(int), count, NULL, &view,
                              &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &from, &error), error);
    CHECK_OK(hd_field_create(cluster, sizeof(int), map, &to, &error), error);
    struct hd_input input = {.view = hd_view_field(from), .footprint = true};
    struct hd_forall forall = {
        .output = to, .inputs = &input, .input_count = 1, .update = true};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT}};

    hd_cluster_reset_counters(cluster);
    CHECK_OK(hd_forall_kernel(runtime, &forall,
                              hd_program_find(program, "blur"), args, 2,
                              &error),
             error);
    struct hd_cluster_counters counters;
    hd_cluster_counters(cluster, &counters);
    CHECK_OK(hd_field_read(from, a, true, &error), error);
    CHECK_OK(hd_field_read(to, is, true, &error), error);
    blur_here(a, b);
    CHECK(memcmp(is, b, sizeof(b)) == 0);
    if (counters.steals == 0 && strstr(words, "1x9x11 block"))
        CHECK(counters.moved <=
              2 * hd_cluster_nodes(cluster) * CUBE_X * CUBE_Y * sizeof(int));

    CHECK_OK(hd_forall_kernel(runtime, &forall,
                              hd_program_find(program, "turn"), args, 2,
                              &error),
             error);
    CHECK_OK(hd_field_read(to, is, hd_cluster_nodes(cluster) % 2, &error),
             error);
    for (int i = 0; i < CUBE; i++)
        b[i] += a[CUBE - 1 - i] + a[a[i] % CUBE];
    if (hd_cluster_process(cluster) == 0 || hd_cluster_nodes(cluster) % 2)
        CHECK(memcmp(is, b, sizeof(b)) == 0);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
    hd_program_destroy(program);
}

static void bad_kernel_arguments_are_refused(const struct hd_program *program)
{
    struct hd_map *map = parse("8x8 tiles 1x8 cyclic nodes %u");
    struct hd_field *a = ramped(map, 0), *c = ramped(map, 0);
    struct hd_input input = {.view = hd_view_field(a)};
    struct hd_forall forall = {.output = c, .inputs = &input, .input_count = 1};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT, .input = 1}};

    CHECK_FAILS(hd_forall_kernel(runtime, &forall,
                                 hd_program_find(program, "heat"), args, 2,
                                 &error),
                HD_EINVAL, error, "argument 1 is input 1, of 1 inputs");
    args[1].input = 0;
    CHECK_FAILS(hd_forall_kernel(runtime, &forall,
                                 hd_program_find(program, "heat"), args, 1,
                                 &error),
                HD_EINVAL, error, "takes 2 arguments, not 1");
    args[1] = (struct hd_field_arg){.is = HD_FIELD_ARG};
    CHECK_FAILS(hd_forall_kernel(runtime, &forall,
                                 hd_program_find(program, "heat"), args, 2,
                                 &error),
                HD_EINVAL, error, "argument 1, 'from'");
    CHECK_FAILS(hd_forall_kernel(runtime, &forall, NULL, args, 2, &error),
                HD_EINVAL, error, "a launch needs a kernel");
    hd_field_destroy(a);
    hd_field_destroy(c);
    hd_map_destroy(map);
}

// Checked, a write beside a task's elements is told, though another node owns
// what is there; what only writes its own runs as ever.
static unsigned sent;

static hd_status count_and_send(struct hdi_net *net, uint32_t node,
                                uint32_t tag, const void *data, uint64_t size,
                                struct hdi_transfer **transfer)
{
    sent++;
    return net->transport->send(net, node, tag, data, size, transfer);
}

// Where all memory is reached only agreements are messages: one before the
// tasks, one after them, each of as many rounds as there are doublings of
// processes.
static void processes_agree_twice(const struct hd_program *program)
{
    struct hd_map *map = parse("8x8 tiles 1x8 cyclic nodes %u");
    struct hd_field *a = ramped(map, 0), *c = ramped(map, 0);
    struct hd_input input = {.view = hd_view_field(a), .footprint = true};
    struct hd_forall forall = {.output = c, .inputs = &input, .input_count = 1};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT, .input = 0}};
    const struct hdi_transport *transport = cluster->transport;
    struct hdi_transport counting = *transport;
    unsigned rounds = 0;

    while (1u << rounds < hd_cluster_processes(cluster))
        rounds++;
    counting.send = count_and_send;
    cluster->transport = &counting;
    sent = 0;
    CHECK_OK(hd_forall_kernel(runtime, &forall,
                              hd_program_find(program, "heat"), args, 2,
                              &error),
             error);
    cluster->transport = transport;
    CHECK(cluster->messages || sent == 2 * rounds);
    hd_field_destroy(a);
    hd_field_destroy(c);
    hd_map_destroy(map);
}

static void strays_are_found_by_checking(void)
{
    struct hd_program_params params = {
        .source = source, .path = "field.cl", .options = "-heddle-check"};
    struct hd_program *program;
    struct hd_map *map = parse("12x8 tiles 2x8 cyclic nodes %u tasks 2x8");
    struct hd_field *c = ramped(map, 1);
    struct hd_field_arg arg = {.is = HD_FIELD_OUTPUT};
    struct hd_forall forall = {.output = c};
    char text[160];

    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    heat_spreads_over_borders(program,
                              "30x44 tiles 7x9 cyclic nodes %u memory 7x3");
    snprintf(text, sizeof(text),
             "kernel 'stray' writes element (10, 6) of its output, which node "
             "%u owns, in the task that begins at (8, 0)",
             hd_map_node(map, (int64_t[]){10, 6}));
    CHECK_FAILS(hd_forall_kernel(runtime, &forall,
                                 hd_program_find(program, "stray"), &arg, 1,
                                 &error),
                HD_ECHECK, error, text);
    hd_field_destroy(c);
    hd_map_destroy(map);
    hd_program_destroy(program);
}

// On nodes that are parts of a machine, which a task's work-groups do not
// leave.
static void kernels_run_on_parts_of_a_machine(const char *topology,
                                              const char *device,
                                              const char *parts)
{
    struct hd_runtime_params machine = {.topology = topology, .device = device};
    struct hd_program_params params = {.source = source, .path = "field.cl"};
    struct hd_cluster_params of = {.parts = parts};
    struct hd_program *program;

    CHECK_OK(hd_runtime_create(&machine, &runtime, &error), error);
    CHECK_OK(hd_program_create(runtime, &params, &program, &error), error);
    of.runtime = runtime;
    CHECK_OK(hd_cluster_join(&of, &cluster, &error), error);
    sums_of_a_transposed_field(program, "48x80 tiles 8x80 cyclic nodes %u",
                               "80x48 tiles 16x48 block nodes %u");
    sums_of_a_transposed_field(program,
                               "48x80 tiles 16x10 cyclic nodes %u tasks 16x5",
                               "80x48 tiles 7x5 columns cyclic nodes %u");
    heat_spreads_over_borders(program,
                              "30x44 tiles 7x9 cyclic nodes %u memory 7x3");
    bad_kernel_arguments_are_refused(program);
    hd_cluster_leave(cluster);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// Given parts, "cpu,gpu" for instance, it tries these alone.
int main(int argc, char **argv)
{
    static const unsigned counts[] = {1, 3, 4};
    struct hd_program_params params = {.source = source, .path = "field.cl"};
    struct hd_program *program;

    if (argc > 1) {
        kernels_run_on_parts_of_a_machine(NULL, "cpu,gpu", argv[1]);
        return 0;
    }
    CHECK_OK(hd_runtime_create(NULL, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &params, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    for (unsigned i = 0; i < 3; i++) {
        struct hd_cluster_params cluster_params = {.nodes = counts[i],
                                                   .messages = i % 2 == 1};

        CHECK_OK(hd_cluster_join(&cluster_params, &cluster, &error), error);
        bool alone = hd_cluster_processes(cluster) == 1;
        sums_of_a_transposed_field(program, "48x80 tiles 8x80 cyclic nodes %u",
                                   "80x48 tiles 16x48 block nodes %u");
        sums_of_a_transposed_field(
            program, "48x80 tiles 16x10 cyclic nodes %u tasks 16x5",
            "80x48 tiles 7x5 columns cyclic nodes %u");
        heat_spreads_over_borders(program, "30x44 tiles 5x44 cyclic nodes %u");
        heat_spreads_over_borders(program, "30x44 block nodes %u");
        heat_spreads_over_borders(program,
                                  "30x44 tiles 7x9 cyclic nodes %u memory 7x3");
        footprints_say_what_is_read("7x9x11 tiles 1x9x11 block nodes %u");
        footprints_say_what_is_read("7x9x11 tiles 3x2x4 cyclic nodes %u");
        footprints_say_what_is_read("7x9x11 tiles 7x4x11 cyclic nodes %u "
                                    "memory 2x2x11 tasks 1x1x11");
        strays_are_found_by_checking();
        processes_agree_twice(program);
        bad_kernel_arguments_are_refused(program);
        hd_cluster_leave(cluster);
        if (!alone && i == 1)
            break;
    }
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    kernels_run_on_parts_of_a_machine("node:2 core:2 pu:1", NULL, "numa");
    kernels_run_on_parts_of_a_machine("node:3 core:1 pu:1", NULL, "cpu,numa");
    kernels_run_on_parts_of_a_machine(NULL, NULL, "numa");
    return 0;
}
