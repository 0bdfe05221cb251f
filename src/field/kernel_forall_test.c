// OpenCL C kernels written for one node compute fields that lie on several.
#include "heddle/agile.h"
#include "heddle/runtime.h"

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

int main(void)
{
    static const unsigned counts[] = {1, 3, 4};
    struct hd_program_params params = {.source = source, .path = "field.cl"};
    struct hd_program *program;

    CHECK_OK(hd_runtime_create(NULL, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &params, &program, &error);
    if (status == HD_ENOTSUP) {
        hd_runtime_destroy(runtime);
        SKIP("built without the kernel compiler");
    }
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
        bad_kernel_arguments_are_refused(program);
        hd_cluster_leave(cluster);
        if (!alone && i == 1)
            break;
    }
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return 0;
}
