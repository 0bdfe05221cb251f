// Each call of the driver fails in turn (each_call.h), in all that a program
// can do with a GPU.
//
//     failing_test launches|tiles|kept|list|graph|appends|images|fields|copies
//                  [CALL]
//
// launches: of kernels. tiles: the same on units, which come and go, as a
// program does. kept: the same with what was linked before. list, graph: a kept
// graph runs, which the device schedules from its list, or the driver as a
// graph of its own. appends: one from a list whose kernels append. images:
// kernels write and read one. fields: the GPU is a node beside the CPU. copies:
// a large buffer of the host's goes there and back. CALL: only that one fails.
#include <glob.h>
#include <stdint.h>
#include <string.h>

#include "heddle/agile.h"
#include "heddle/heddle.h"
#include "tests/cuda/each_call.h"
#include "tests/folder.h"

enum {
    N = 200,
    TILES = 2,
    WARP = 32,
    EVEN = N / WARP * WARP, // whole warps of them
    APPENDED = 3,
    LARGE = 300000 // numbers of a buffer that is page-locked
};

static const char source[] =
    "kernel void count(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by * (int)get_global_id(0);\n"
    "    if (get_global_id(0) == 7) printf(\"seven\\n\");\n"
    "}\n"
    "kernel void add(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by;\n"
    "}\n"
    "kernel void paint(write_only image1d_t to) {\n"
    "    int x = get_global_id(0);\n"
    "    write_imagei(to, x, (int4)(3 * x));\n"
    "}\n"
    "kernel void look(global int *to, read_only image1d_t from) {\n"
    "    int x = get_global_id(0);\n"
    "    to[x] = read_imagei(from, x).x;\n"
    "}\n"
    "kernel void begin(global hd_appends *to) {\n"
    "    if (get_global_id(0) == 0)\n"
    "        hd_append(to, 1, (uint3)(0), (uint3)(6, 1, 1));\n"
    "}\n"
    "kernel void again(global int *x, int by, global hd_appends *to) {\n"
    "    x[get_global_id(0)] += by;\n"
    "    if (get_global_id(0) == 0 && x[0] < 3 * by)\n"
    "        hd_append(to, 1, (uint3)(0), (uint3)(6, 1, 1));\n"
    "}\n"
    "kernel void far(global int *x) {\n"
    "    x[x[get_global_id(0)] + 7] += 3;\n"
    "}\n"
    "kernel void twice(global int *to, global const int *from) {\n"
    "    to[get_global_id(0)] = 2 * from[get_global_id(0)];\n"
    "}\n";
static const char other_source[] =
    "kernel void other(global int *x, int by) {\n"
    "    x[get_global_id(0)] += by * (int)get_global_id(0);\n"
    "}\n";

static void keep(void *data, const char *text, size_t size)
{
    (void)text;
    *(size_t *)data += size;
}

static hd_status count(struct hd_runtime *runtime, struct hd_program *program,
                       const char *kernel, struct hd_buffer *buffer,
                       unsigned items, unsigned local, struct hd_error *error)
{
    int by = 3;
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(by)};
    const struct hd_range range = {
        .dims = 1, .global = {items}, .local = {local}};

    return hd_launch(runtime, hd_program_find(program, kernel), &range, args, 2,
                     error);
}

// The first elements, after two of those.
static hd_status check(struct hd_buffer *buffer, int items,
                       struct hd_error *error)
{
    static int seen[N];
    hd_status status = hd_buffer_read(buffer, 0, seen, sizeof(seen), error);

    for (int i = 0; i < items && status == HD_OK; i++)
        CHECK(seen[i] == 6 * i);
    return status;
}

static hd_status launch(struct hd_runtime *runtime, struct hd_program *program,
                        struct hd_buffer *buffer, struct hd_error *error)
{
    hd_status status = HD_OK;

    for (int round = 0; round < 2 && status == HD_OK; round++)
        status = count(runtime, program, "count", buffer, N, 50, error);
    return status == HD_OK ? check(buffer, N, error) : status;
}

// On tiles: one goes and comes back; then another program is linked with them.
static hd_status use_tiles(struct hd_runtime *runtime,
                           struct hd_program *program, struct hd_buffer *buffer,
                           struct hd_error *error)
{
    const struct hd_program_params params = {.path = "other.cl",
                                             .source = other_source};
    struct hd_program *other;
    hd_status status =
        count(runtime, program, "count", buffer, EVEN, WARP, error);

    if (status == HD_OK && hd_runtime_units(runtime) == TILES) {
        status = hd_unit_detach(runtime, 1, error);
        if (status == HD_OK)
            status = hd_unit_attach(runtime, 1, error);
    }
    if (status == HD_OK)
        status = hd_program_create(runtime, &params, &other, error);
    if (status != HD_OK)
        return status;
    status = count(runtime, other, "other", buffer, EVEN, WARP, error);
    hd_program_destroy(other);
    return status == HD_OK ? check(buffer, EVEN, error) : status;
}

// What is tried.
static enum hd_graph_scheduler by = HD_GRAPH_BY_HOST; // who schedules
static bool all_is_well;                              // no call fails

static hd_status add_pass(struct hd_graph *graph, struct hd_program *program,
                          hd_resource x, double number, struct hd_error *error)
{
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = x},
        {.is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1}};
    const struct hd_command command = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(program, "add")},
        .range = {.dims = 1, .global = {EVEN}, .local = {WARP}},
        .args = args,
        .arg_count = 2};
    const struct hd_pass_params params = {.name = "add",
                                          .reads = &x,
                                          .read_count = 1,
                                          .writes = &x,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    return hd_graph_pass(graph, &params, &pass, error);
}

static hd_status add_passes(struct hd_graph *graph, struct hd_program *program,
                            hd_resource x, struct hd_error *error)
{
    hd_status status = HD_OK;

    for (int i = 0; i < 4 && status == HD_OK; i++)
        status = add_pass(graph, program, x, i, error);
    return status;
}

// One pass whose kernels append until 2 was added three times.
static hd_status add_appending(struct hd_graph *graph,
                               struct hd_program *program, hd_resource x,
                               struct hd_error *error)
{
    const double two = 2;
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = x},
        {.is = HD_PASS_NUMBERS, .numbers = &two, .number_count = 1},
        {.is = HD_PASS_APPENDS}};
    const struct hd_command commands[] = {
        {.is = HD_DISPATCH,
         .kernel = {.kernel = hd_program_find(program, "begin")},
         .range = {.dims = 1, .global = {WARP}, .local = {WARP}},
         .args = &args[2],
         .arg_count = 1},
        {.is = HD_DISPATCH,
         .kernel = {.kernel = hd_program_find(program, "again")},
         .range = {.dims = 1, .global = {EVEN}, .local = {WARP}},
         .args = args,
         .arg_count = 3,
         .appended = true}};
    const struct hd_pass_params params = {.name = "grow",
                                          .reads = &x,
                                          .read_count = 1,
                                          .writes = &x,
                                          .write_count = 1,
                                          .commands = commands,
                                          .command_count = 2,
                                          .append_most = APPENDED};
    hd_pass pass;

    return hd_graph_pass(graph, &params, &pass, error);
}

// An input of zeros to which passes add 6, in two runs.
static hd_status run_graph(struct hd_graph *graph, struct hd_program *program,
                           struct hd_buffer *buffer, bool appends,
                           struct hd_error *error)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {N}};
    const struct hd_graph_policy policy = {.by = by};
    struct hd_graph_statistics stats;
    hd_status status;
    hd_resource x;
    int seen[N];

    if ((status = hd_graph_set_policy(graph, &policy, error)) != HD_OK ||
        (status = hd_graph_resource(graph, "x", &shape, NULL, &x, error)) !=
            HD_OK ||
        (status = hd_graph_input(graph, x, buffer, error)) != HD_OK ||
        (status = hd_graph_output(graph, "x", x, NULL, error)) != HD_OK)
        return status;
    status = appends ? add_appending(graph, program, x, error)
                     : add_passes(graph, program, x, error);
    for (int round = 0; round < 2 && status == HD_OK; round++) {
        status = hd_graph_run(graph, NULL, error);
        if (status == HD_OK)
            status = hd_graph_contents(graph, x, 0, seen, sizeof(seen), error);
        for (int i = 0; i < N && status == HD_OK; i++)
            CHECK(seen[i] == (i < EVEN ? 6 : 0));
    }
    hd_graph_stats(graph, &stats);
    CHECK(!all_is_well ||
          (stats.by == by && stats.appended == (appends ? APPENDED : 0)));
    return status;
}

static hd_status try_graph(struct hd_runtime *runtime,
                           struct hd_program *program, struct hd_buffer *buffer,
                           bool appends, struct hd_error *error)
{
    struct hd_graph *graph;
    hd_status status = hd_graph_create(runtime, &graph, error);

    if (status != HD_OK)
        return status;
    status = run_graph(graph, program, buffer, appends, error);
    hd_graph_destroy(graph);
    return status;
}

static hd_status use_graph(struct hd_runtime *runtime,
                           struct hd_program *program, struct hd_buffer *buffer,
                           struct hd_error *error)
{
    return try_graph(runtime, program, buffer, false, error);
}

static hd_status use_appends(struct hd_runtime *runtime,
                             struct hd_program *program,
                             struct hd_buffer *buffer, struct hd_error *error)
{
    return try_graph(runtime, program, buffer, true, error);
}

// On the last device, which images come to.
static hd_status paint(struct hd_runtime *runtime, struct hd_program *program,
                       struct hd_buffer *buffer, struct hd_error *error)
{
    const struct hd_image_params params = {.kind = HD_IMAGE_1D,
                                           .order = HD_R,
                                           .type = HD_SIGNED_INT32,
                                           .width = N};
    const struct hd_range range = {.dims = 1, .global = {N}};
    const struct hd_launch_params how = {
        .devices = UINT64_C(1) << (hd_runtime_device_count(runtime) - 1)};
    struct hd_image *image;
    int seen[N];

    hd_status status = hd_image_create(runtime, &params, &image, error);
    if (status != HD_OK)
        return status;
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_IMAGE(image)};
    status = hd_launch_with(runtime, &how, hd_program_find(program, "paint"),
                            &range, args + 1, 1, error);
    if (status == HD_OK)
        status = hd_launch_with(runtime, &how, hd_program_find(program, "look"),
                                &range, args, 2, error);
    if (status == HD_OK)
        status = hd_buffer_read(buffer, 0, seen, sizeof(seen), error);
    for (int i = 0; i < N && status == HD_OK; i++)
        CHECK(seen[i] == 3 * i);
    hd_image_destroy(image);
    return status;
}

// There, and back five times: waited for and started.
static hd_status copy(struct hd_runtime *runtime, struct hd_program *program,
                      struct hd_buffer *x, struct hd_error *error)
{
    static int seen[LARGE];
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {.dims = 1, .global = {1}};
    const struct hd_launch_params how = {
        .devices = UINT64_C(1) << (hd_runtime_device_count(runtime) - 1)};
    const struct hd_extent all = {.bytes = sizeof(seen)};
    struct hd_pool *pool = hd_runtime_pool(runtime);
    hd_status status = HD_OK;
    hd_event event;

    for (int round = 1; round <= 5 && status == HD_OK; round++) {
        status = hd_launch_with(runtime, &how, hd_program_find(program, "far"),
                                &range, args, 1, error);
        if (status != HD_OK)
            break;
        if (round % 2) {
            status = hd_buffer_read(x, 0, seen, sizeof(seen), error);
        } else {
            status = hd_read_start(runtime, NULL, seen, NULL, x, NULL, &all,
                                   &event, error);
            if (status == HD_OK) {
                status = hd_event_wait(pool, &event, 1, HD_FOREVER, error);
                hd_event_release(pool, event);
            }
        }
        CHECK(status != HD_OK ||
              (seen[6] == 0 && seen[7] == 3 * round && seen[LARGE - 1] == 0));
    }
    CHECK(!all_is_well || fake_cuda()->registered() > 0);
    return status;
}

static hd_status use_copies(struct hd_runtime *runtime,
                            struct hd_program *program,
                            struct hd_buffer *buffer, struct hd_error *error)
{
    struct hd_buffer *x;
    hd_status status =
        hd_buffer_create(runtime, LARGE * sizeof(int), &x, error);

    (void)buffer;
    if (status != HD_OK)
        return status;
    status = copy(runtime, program, x, error);
    hd_buffer_destroy(x);
    return status;
}

static void number(void *data, const int64_t *index, void *value)
{
    (void)data;
    *(int *)value = (int)index[0];
}

static hd_status double_twice(struct hd_runtime *runtime,
                              struct hd_program *program,
                              struct hd_field **fields, struct hd_error *error)
{
    static const struct hd_field_arg args[] = {{.is = HD_FIELD_OUTPUT},
                                               {.is = HD_FIELD_INPUT}};
    hd_status status = HD_OK;
    int seen[N];

    for (int i = 0; i < 2 && status == HD_OK; i++) {
        struct hd_input input = {.view = hd_view_field(fields[i % 2]),
                                 .footprint = true};
        const struct hd_forall forall = {.output = fields[1 - i % 2],
                                         .inputs = &input,
                                         .input_count = 1,
                                         .stay = true};
        status =
            hd_forall_kernel(runtime, &forall,
                             hd_program_find(program, "twice"), args, 2, error);
    }
    if (status == HD_OK)
        status = hd_field_read(fields[0], seen, true, error);
    for (int i = 0; i < N && status == HD_OK; i++)
        CHECK(seen[i] == 4 * i);
    return status;
}

// Over all nodes: the CPU, and the GPU where there is one.
static hd_status use_cluster(struct hd_runtime *runtime,
                             struct hd_program *program,
                             struct hd_cluster *cluster, struct hd_error *error)
{
    struct hd_field *fields[2];
    struct hd_map *map;
    struct hd_view view;
    char words[64];

    snprintf(words, sizeof(words), "%d tiles 25 cyclic nodes %u", N,
             hd_cluster_nodes(cluster));
    hd_status status = hd_map_parse(words, &map, error);
    if (status != HD_OK)
        return status;
    status = hd_view_function(hd_map_grid(map), sizeof(int), number, NULL,
                              &view, error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, map, &fields[0], error);
    if (status == HD_OK) {
        status = hd_field_create(cluster, sizeof(int), map, &fields[1], error);
        if (status == HD_OK) {
            status = double_twice(runtime, program, fields, error);
            hd_field_destroy(fields[1]);
        }
        hd_field_destroy(fields[0]);
    }
    hd_map_destroy(map);
    return status;
}

static hd_status use_fields(struct hd_runtime *runtime,
                            struct hd_program *program,
                            struct hd_buffer *buffer, struct hd_error *error)
{
    struct hd_cluster *cluster;
    const struct hd_cluster_params params = {
        .runtime = runtime,
        .parts = hd_runtime_device_count(runtime) > 1 ? "cpu,gpu" : NULL};

    (void)buffer;
    hd_status status = hd_cluster_join(&params, &cluster, error);
    if (status != HD_OK)
        return status;
    status = use_cluster(runtime, program, cluster, error);
    hd_cluster_leave(cluster);
    return status;
}

static const struct form {
    const char *name, *device;
    hd_status (*use)(struct hd_runtime *runtime, struct hd_program *program,
                     struct hd_buffer *buffer, struct hd_error *error);
    enum hd_graph_scheduler by;
    unsigned units;
    bool begins; // with the runtime; else with a program that others have tried
    bool kept;   // what was linked; else each process links
} forms[] = {
    {"launches", "gpu", launch, HD_GRAPH_BY_HOST, 0, true, false},
    {"tiles", "gpu", use_tiles, HD_GRAPH_BY_HOST, TILES, true, false},
    {"kept", "gpu", use_tiles, HD_GRAPH_BY_HOST, TILES, true, true},
    {"list", "gpu", use_graph, HD_GRAPH_BY_UNITS, TILES, false, false},
    {"graph", "gpu", use_graph, HD_GRAPH_BY_LAUNCHES, 0, false, false},
    {"appends", "gpu", use_appends, HD_GRAPH_BY_UNITS, TILES, false, false},
    {"images", "all", paint, HD_GRAPH_BY_HOST, 0, false, false},
    {"fields", "cpu,gpu", use_fields, HD_GRAPH_BY_HOST, 0, false, false},
    {"copies", "cpu,gpu", use_copies, HD_GRAPH_BY_HOST, 0, false, false}};
static const struct form *form;
static const char *folder; // of the cache

static void remove_linked(void)
{
    char pattern[PATH_ROOM + 16];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/*.made", folder);
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        CHECK(unlink(found.gl_pathv[i]) == 0);
    globfree(&found);
}

// Everything once, on one device. A failure has a text.
static hd_status use(const char *device, uint64_t *first)
{
    bool on_cpu = strcmp(device, "cpu") == 0;
    size_t printed = 0;
    const struct hd_runtime_params params = {
        .device = device,
        .workers = 2,
        .cache = folder,
        .units = on_cpu ? 0 : form->units,
        .unit_cores = on_cpu || form->units == 0 ? 0 : WARP,
        .print = keep,
        .print_data = &printed};
    const struct hd_program_params program_params = {.path = "count.cl",
                                                     .source = source};
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffer;
    struct hd_error error = {0};

    hd_status status = hd_runtime_create(&params, &runtime, &error);
    if (status == HD_OK) {
        status = hd_program_create(runtime, &program_params, &program, &error);
        if (status == HD_OK) {
            if (!form->begins)
                *first = fake_cuda()->calls() + 1;
            status = hd_buffer_create(runtime, N * 4, &buffer, &error);
            if (status == HD_OK) {
                status = form->use(runtime, program, buffer, &error);
                hd_buffer_destroy(buffer);
            }
            hd_program_destroy(program);
        }
        hd_runtime_destroy(runtime);
    }
    CHECK(status == HD_OK || error.text[0] != '\0');
    return status;
}

static bool use_gpu(bool well, uint64_t *first)
{
    all_is_well = well;
    if (!form->kept)
        remove_linked();
    hd_status status = use(form->device, first);
    all_is_well = false;
    return status == HD_OK;
}

static void use_cpu(void)
{
    uint64_t none;

    CHECK(use("cpu", &none) == HD_OK);
}

int main(int argc, char **argv)
{
    const struct fake_cuda *fake = fake_cuda();
    char command[PATH_ROOM + 16];

    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (argc > 1 && strcmp(argv[1], forms[i].name) == 0)
            form = &forms[i];
    CHECK(form);
    by = form->by;
    folder = make_folder();
    const struct each_call what = {use_gpu, use_cpu, fake->report};
    each_call_fails(&what, argc > 2 ? argv[2] : NULL, 10);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    CHECK(system(command) == 0);
    return 0;
}
