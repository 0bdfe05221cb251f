// GPUs as nodes, on the fake driver: kernels over fields run there, what they
// write stays there until it is needed elsewhere, and everything that is done
// with fields sees it.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "field/memory/mirror.h"
#include "heddle/agile.h"
#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"
#include "tests/folder.h"

enum {
    GPU = 1,
    N = 36
};

static const struct fake_cuda *fake;
static struct hd_error error;
static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_cluster *cluster;

static const char source[] =
    "kernel void step(global float *to, global const float *from) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    float s = 2 * from[y * w + x];\n"
    "    if (y > 0) s += from[(y - 1) * w + x];\n"
    "    if (y + 1 < h) s -= from[(y + 1) * w + x];\n"
    "    to[y * w + x] = s;\n"
    "}\n"
    "kernel void bump(global float *to) {\n"
    "    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "    to[i] += 1;\n"
    "}\n"
    "kernel void add(global float *c, global const float *a,\n"
    "                global const float *b) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    int w = get_global_size(0), h = get_global_size(1);\n"
    "    c[y * w + x] = a[y * w + x] + b[x * h + y];\n"
    "}\n";

static void open_all(const char *parts)
{
    const struct hd_runtime_params machine = {
        .device = "cpu,gpu", .workers = 3, .no_cache = true};
    const struct hd_program_params what = {.path = "field.cl",
                                           .source = source};
    struct hd_cluster_params params = {.parts = parts};

    CHECK_OK(hd_runtime_create(&machine, &runtime, &error), error);
    CHECK_OK(hd_program_create(runtime, &what, &program, &error), error);
    params.runtime = runtime;
    CHECK_OK(hd_cluster_join(&params, &cluster, &error), error);
}

static void close_all(void)
{
    struct hd_device_info info;

    hd_cluster_leave(cluster);
    hd_program_destroy(program);
    CHECK_OK(hd_runtime_device_info(runtime, GPU, &info, &error), error);
    CHECK(info.memory == 0);
    hd_runtime_destroy(runtime);
    if (*fake->report())
        fprintf(stderr, "%s\n", fake->report());
    CHECK(*fake->report() == '\0');
}

static uint64_t copied(void)
{
    struct hd_device_info cpu, gpu;

    CHECK_OK(hd_runtime_device_info(runtime, 0, &cpu, &error), error);
    CHECK_OK(hd_runtime_device_info(runtime, GPU, &gpu, &error), error);
    return cpu.copied + gpu.copied;
}

static uint64_t groups_on_gpu(void)
{
    struct hd_device_info gpu;

    CHECK_OK(hd_runtime_device_info(runtime, GPU, &gpu, &error), error);
    return gpu.groups;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(float *)value = (float)(index[0] * N + index[1]);
}

static struct hd_map *parse(const char *words)
{
    char text[128];
    struct hd_map *map;

    snprintf(text, sizeof(text), words, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

static struct hd_field *numbered(const struct hd_map *map)
{
    struct hd_view view;
    struct hd_field *field;

    CHECK_OK(hd_view_function(hd_map_grid(map), sizeof(float), number, NULL,
                              &view, &error),
             error);
    CHECK_OK(hd_agile(cluster, &view, map, &field, &error), error);
    return field;
}

static struct hd_field *empty(const struct hd_map *map)
{
    struct hd_field *field;

    CHECK_OK(hd_field_create(cluster, sizeof(float), map, &field, &error),
             error);
    return field;
}

static void run(const char *kernel, struct hd_field *to, struct hd_field *from,
                bool update, bool stay)
{
    struct hd_input input = {.footprint = from != NULL};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT}};
    struct hd_forall forall = {.output = to,
                               .inputs = &input,
                               .input_count = from != NULL,
                               .update = update,
                               .stay = stay};

    if (from)
        input.view = hd_view_field(from);
    CHECK_OK(hd_forall_kernel(runtime, &forall,
                              hd_program_find(program, kernel), args,
                              from ? 2 : 1, &error),
             error);
}

static void step_here(float *to, const float *from)
{
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++) {
            float s = 2 * from[y * N + x];

            s += y > 0 ? from[(y - 1) * N + x] : 0;
            s -= y + 1 < N ? from[(y + 1) * N + x] : 0;
            to[y * N + x] = s;
        }
}

static void holds(struct hd_field *field, const float *all)
{
    static float read[N * N];

    CHECK_OK(hd_field_read(field, read, true, &error), error);
    for (int i = 0; i < N * N; i++)
        CHECK(read[i] == all[i]);
}

static void fill(float *all)
{
    for (int64_t i = 0; i < N * N; i++)
        number(NULL, (int64_t[]){i / N, i % N}, &all[i]);
}

static void nodes_are_gpus(void)
{
    struct hd_cluster_params params = {.parts = "gpu"};
    struct hd_node_info info;

    open_all("cpu,gpu");
    CHECK(hd_cluster_nodes(cluster) == 2);
    CHECK_OK(hd_cluster_node(cluster, 0, &info, &error), error);
    CHECK(info.part && !info.gpu && info.workers == 3);
    CHECK_OK(hd_cluster_node(cluster, 1, &info, &error), error);
    CHECK(info.part && info.gpu && info.device == GPU && info.workers == 1);
    close_all();

    CHECK_OK(hd_runtime_create(NULL, &runtime, &error), error);
    params.runtime = runtime;
    CHECK_FAILS(hd_cluster_join(&params, &cluster, &error), HD_ENODEV, error,
                "the runtime has none");
    hd_runtime_destroy(runtime);
}

// What one kernel wrote and the next one reads does not leave the device.
static void elements_stay_on_their_device(void)
{
    static float a[N * N], b[N * N];

    open_all("gpu");
    struct hd_map *map = parse("36x36 tiles 12x36 block nodes %u");
    struct hd_field *from = numbered(map), *to = empty(map);

    fill(a);
    run("step", to, from, false, false);
    step_here(b, a);
    CHECK(copied() == sizeof(a)); // what it reads went there
    for (int i = 0; i < 4; i++) {
        run("step", i % 2 ? to : from, i % 2 ? from : to, false, false);
        memcpy(a, b, sizeof(a));
        step_here(b, a);
    }
    CHECK(copied() == sizeof(a));
    CHECK(groups_on_gpu() > 0);
    holds(to, b);
    CHECK(copied() == 2 * sizeof(a));
    holds(to, b); // it is here now
    CHECK(copied() == 2 * sizeof(a));
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
    close_all();
}

// Rows go over the border between the processors and the GPU, both ways.
static void both_compute_one_field(const char *parts, const char *words,
                                   bool stay)
{
    static float a[N * N], b[N * N];

    open_all(parts);
    struct hd_map *map = parse(words);
    struct hd_field *from = numbered(map), *to = empty(map);
    uint64_t before = groups_on_gpu();

    fill(a);
    for (int i = 0; i < 5; i++) {
        run("step", i % 2 ? from : to, i % 2 ? to : from, false, stay);
        step_here(b, a);
        memcpy(a, b, sizeof(a));
    }
    CHECK(!stay || groups_on_gpu() > before);
    for (int i = 0; i < 3; i++) {
        run("bump", to, NULL, true, stay);
        for (int k = 0; k < N * N; k++)
            a[k]++;
    }
    holds(to, a);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
    close_all();
}

static hd_status twice(struct hd_task *task, const struct hd_tile *output,
                       const struct hd_tile *inputs, void *data,
                       struct hd_error *why)
{
    (void)task, (void)data, (void)why;
    for (int64_t y = 0; y < output->grid.extent[0]; y++)
        for (int64_t x = 0; x < output->grid.extent[1]; x++)
            ((float *)output->data)[y * output->step[0] + x * output->step[1]] =
                2 *
                ((float *)
                     inputs->data)[y * inputs->step[0] + x * inputs->step[1]];
    return HD_OK;
}

static void sum(void *value, const void *element, void *data)
{
    (void)data;
    *(float *)value += *(const float *)element;
}

// Everything that reads or writes fields on the host after kernels did on the
// GPU, and kernels again after that.
static void the_host_sees_what_the_gpu_wrote(void)
{
    static float a[N * N], b[N * N];
    char path[PATH_ROOM];
    float none = 0, total, here = 0, one = 1e6f;
    uint64_t check;

    open_all("cpu,gpu");
    struct hd_map *map = parse("36x36 tiles 9x36 cyclic nodes %u");
    struct hd_map *other = parse("36x36 tiles 36x6 cyclic nodes %u");
    struct hd_field *from = numbered(map), *to = empty(map), *turned;
    struct hd_view view;

    fill(a);
    run("step", to, from, false, true);
    step_here(b, a);
    for (int i = 0; i < N * N; i++)
        here += b[i];
    CHECK_OK(hd_field_reduce(to, sum, NULL, &none, &total, &error), error);
    CHECK(fabsf(total - here) < 1e-3f * fabsf(here) + 1);

    // Another map, and back to the GPU by it.
    view = hd_view_field(to);
    CHECK_OK(hd_agile(cluster, &view, other, &turned, &error), error);
    holds(turned, b);
    run("bump", turned, NULL, true, true);
    for (int i = 0; i < N * N; i++)
        b[i]++;
    view = hd_view_field(turned);
    CHECK_FAILS(hd_field_assign(turned, &view, &error), HD_EINVAL, error,
                "of itself"); // and nothing is lost by it
    view = hd_view_field(turned);
    CHECK_OK(hd_field_assign(to, &view, &error), error);
    holds(to, b);

    // A function, which runs on the host.
    struct hd_input input = {.view = hd_view_field(turned)};
    struct hd_forall forall = {
        .output = from, .inputs = &input, .input_count = 1, .function = twice};
    run("bump", turned, NULL, true, true);
    CHECK_OK(hd_forall(&forall, &error), error);
    for (int i = 0; i < N * N; i++)
        a[i] = 2 * (b[i] + 1);
    holds(from, a);
    run("bump", from, NULL, true, true);
    for (int i = 0; i < N * N; i++)
        a[i]++;

    // A file, there and back.
    write_template(path);
    int file = mkstemp(path);
    CHECK(file >= 0);
    close(file);
    CHECK_OK(hd_field_save(from, path, "<f4", &check, &error), error);
    run("bump", from, NULL, true, true);
    CHECK_OK(hd_field_load(from, path, "<f4", &check, &error), error);
    holds(from, a);
    unlink(path);

    // One element, written through a tile.
    run("bump", from, NULL, true, true);
    for (int64_t y = 0; y < N; y += 9) {
        struct hd_tile tile;

        CHECK(hd_field_segment(from, (int64_t[]){y, 0}, &tile));
        CHECK(*(float *)tile.data == a[y * N] + 1);
        *(float *)tile.data = one;
    }
    run("bump", from, NULL, true, true);
    for (int i = 0; i < N * N; i++)
        a[i] = i % N == 0 && i / N % 9 == 0 ? one + 1 : a[i] + 2;
    holds(from, a);
    hd_field_destroy(turned);
    hd_field_destroy(from);
    hd_field_destroy(to);
    hd_map_destroy(map);
    hd_map_destroy(other);
    close_all();
}

// The worked case: the 6 x 6 blocks of C = A + B^T over four nodes of which two
// are GPUs would be the same; with two nodes, what moves is counted.
static void transposed_blocks_move_once(void)
{
    open_all("cpu,gpu");
    struct hd_map *map = parse("36x36 tiles 6x6 cyclic nodes %u");
    struct hd_field *a = numbered(map), *b = numbered(map), *c = empty(map);
    struct hd_input inputs[] = {{.view = hd_view_field(a)},
                                {.view = hd_view_field(b)}};
    struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                  {.is = HD_FIELD_INPUT, .input = 0},
                                  {.is = HD_FIELD_INPUT, .input = 1}};
    struct hd_forall forall = {
        .output = c, .inputs = inputs, .input_count = 2, .stay = true};
    struct hd_cluster_counters counters;
    unsigned moves = 0;
    static float all[N * N];

    CHECK_OK(hd_view_transpose(&inputs[1].view, (unsigned[]){1, 0},
                               &inputs[1].view, &error),
             error);
    for (int64_t i = 0; i < N; i += 6)
        for (int64_t j = 0; j < N; j += 6)
            moves += hd_map_node(map, (int64_t[]){i, j}) !=
                     hd_map_node(map, (int64_t[]){j, i});
    hd_cluster_reset_counters(cluster);
    for (unsigned round = 0; round < 2; round++) {
        CHECK_OK(hd_forall_kernel(runtime, &forall,
                                  hd_program_find(program, "add"), args, 3,
                                  &error),
                 error);
        hd_cluster_counters(cluster, &counters);
        CHECK(counters.blocks == moves); // none of them twice
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            all[i * N + j] = (float)(i * N + j + j * N + i);
    holds(c, all);
    hd_field_destroy(a);
    hd_field_destroy(b);
    hd_field_destroy(c);
    hd_map_destroy(map);
    close_all();
}

static bool brought(struct hd_field *field, const struct hd_grid *part)
{
    static float zeros[N * N];
    struct hdi_window window = {
        .box = *part, .data = (char *)zeros, .step = {N, 1}};
    bool there;

    CHECK_OK(hdi_mirror_expect(field, GPU, part, &there, &error), error);
    if (!there)
        CHECK_OK(hdi_mirror_fill(field, GPU, part, &window, &error), error);
    return !there;
}

// Ever-changing footprints: what is kept of them is bounded, what is read again
// soon is there, and nothing is of an old version.
static void parts_of_others_are_forgotten(void)
{
    open_all("cpu,gpu");
    struct hd_map *map = parse("36x36 tiles 36x36 cyclic nodes %u");
    struct hd_field *field = empty(map);
    struct hd_grid part = {2, {1, 1}, {0}}, first = part;
    unsigned parts = 0;

    for (int64_t y = 0; y < N; y++)
        for (int64_t x = 0; x < N; x++)
            for (part.extent[1] = 1; part.extent[1] <= N - x;
                 part.extent[1]++, parts++) {
                part.offset[0] = y;
                part.offset[1] = x;
                CHECK(brought(field, &part));
            }
    CHECK(parts > 20000);
    part.extent[1] = 1;
    CHECK(!brought(field, &part));
    CHECK(brought(field, &first) && !brought(field, &first));
    field->version++;
    CHECK(brought(field, &first));
    hd_field_destroy(field);
    hd_map_destroy(map);
    close_all();
}

int main(void)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("needs the fake driver");
    nodes_are_gpus();
    elements_stay_on_their_device();
    both_compute_one_field("cpu,gpu", "36x36 tiles 18x36 block nodes %u", true);
    both_compute_one_field("cpu,gpu", "36x36 tiles 4x36 cyclic nodes %u",
                           false);
    both_compute_one_field("gpu,numa", "36x36 tiles 5x7 cyclic nodes %u", true);
    both_compute_one_field("cpu,gpu",
                           "36x36 tiles 12x18 cyclic nodes %u memory 4x9 "
                           "tasks 2x3",
                           false);
    both_compute_one_field("cpu,gpu", "36x36 tiles 6x36 nodes %u weights 1,9",
                           false);
    the_host_sees_what_the_gpu_wrote();
    transposed_blocks_move_once();
    parts_of_others_are_forgotten();
    return 0;
}
