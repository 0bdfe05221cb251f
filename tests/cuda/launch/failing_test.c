// Each call of the driver fails in turn: the program gets a clear error or goes
// on without, nothing is left, nothing hangs, and the CPU carries on.
//
//     failing_test [launches|list|graph|images [CALL]]
//
// launches: of kernels (without a word, too). list, graph: a kept graph runs,
// which the device schedules from its list, or the driver as a graph of its
// own. images: kernels write and read one. CALL: only that one fails.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 200,
    TILES = 2,
    WARP = 32,
    EVEN = N / WARP * WARP, // whole warps of them
    SECONDS = 60,           // after which a process hangs
    TRIES = 400             // at most, of very many calls
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
    "}\n";

static void keep(void *data, const char *text, size_t size)
{
    (void)text;
    *(size_t *)data += size;
}

static hd_status launch(struct hd_runtime *runtime, struct hd_program *program,
                        struct hd_buffer *buffer, struct hd_error *error)
{
    static int seen[N];
    int by = 3;
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(by)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {50}};

    for (int round = 0; round < 2; round++) {
        hd_status status = hd_launch(runtime, hd_program_find(program, "count"),
                                     &range, args, 2, error);
        if (status != HD_OK)
            return status;
    }
    hd_status status = hd_buffer_read(buffer, 0, seen, sizeof(seen), error);
    for (int i = 0; i < N && status == HD_OK; i++)
        CHECK(seen[i] == 6 * i);
    return status;
}

// What is tried.
static enum hd_graph_scheduler by = HD_GRAPH_BY_HOST; // the host: launches
static bool all_is_well;                              // no call fails
static bool paints;                                   // launches have images

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

// An input of zeros to which passes add, one after another, in two runs.
static hd_status run_graph(struct hd_graph *graph, struct hd_program *program,
                           struct hd_buffer *buffer, struct hd_error *error)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {N}};
    const struct hd_graph_policy policy = {.by = by};
    hd_status status;
    hd_resource x;
    int seen[N];

    if ((status = hd_graph_set_policy(graph, &policy, error)) != HD_OK ||
        (status = hd_graph_resource(graph, "x", &shape, NULL, &x, error)) !=
            HD_OK ||
        (status = hd_graph_input(graph, x, buffer, error)) != HD_OK ||
        (status = hd_graph_output(graph, "x", x, NULL, error)) != HD_OK)
        return status;
    for (int i = 0; i < 4 && status == HD_OK; i++)
        status = add_pass(graph, program, x, i, error);
    for (int round = 0; round < 2 && status == HD_OK; round++) {
        status = hd_graph_run(graph, NULL, error);
        if (status == HD_OK)
            status = hd_graph_contents(graph, x, 0, seen, sizeof(seen), error);
        for (int i = 0; i < N && status == HD_OK; i++)
            CHECK(seen[i] == (i < EVEN ? 0 + 1 + 2 + 3 : 0));
    }
    struct hd_graph_statistics stats;
    hd_graph_stats(graph, &stats);
    CHECK(!all_is_well || stats.by == by);
    return status;
}

static hd_status try_graph(struct hd_runtime *runtime,
                           struct hd_program *program, struct hd_buffer *buffer,
                           struct hd_error *error)
{
    struct hd_graph *graph;
    hd_status status = hd_graph_create(runtime, &graph, error);

    if (status != HD_OK)
        return status;
    status = run_graph(graph, program, buffer, error);
    hd_graph_destroy(graph);
    return status;
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

// Everything once, on one device. A failure has a text.
static hd_status use(const char *device)
{
    size_t printed = 0;
    const struct hd_runtime_params params = {
        .device = device,
        .workers = 2,
        .units =
            by == HD_GRAPH_BY_UNITS && strcmp(device, "gpu") == 0 ? TILES : 0,
        .unit_cores = by == HD_GRAPH_BY_UNITS ? WARP : 0,
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
            status = hd_buffer_create(runtime, N * 4, &buffer, &error);
            if (status == HD_OK) {
                status = paints ? paint(runtime, program, buffer, &error)
                         : by == HD_GRAPH_BY_HOST
                             ? launch(runtime, program, buffer, &error)
                             : try_graph(runtime, program, buffer, &error);
                hd_buffer_destroy(buffer);
            }
            hd_program_destroy(program);
        }
        hd_runtime_destroy(runtime);
    }
    CHECK(status == HD_OK || error.text[0] != '\0');
    return status;
}

// In a process of its own, as the driver is opened once. Returns the number of
// calls that were made.
static uint64_t try_without(uint64_t call, bool *failed)
{
    int ends[2], state;
    uint64_t calls = 0;
    const struct fake_cuda *fake = fake_cuda();

    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(SECONDS);
        fake->fail_at(call);
        all_is_well = call == 0;
        hd_status status = use(paints ? "all" : "gpu");
        all_is_well = false;
        calls = fake->calls();
        fake->fail_at(0);
        const char *report = fake->report();
        if (*report)
            fprintf(stderr, "call %llu failed: %s", (unsigned long long)call,
                    report);
        CHECK(*report == '\0');
        CHECK(use("cpu") == HD_OK);
        CHECK(write(ends[1], &calls, sizeof(calls)) == sizeof(calls));
        _exit(status == HD_OK ? 0 : 3);
    }
    close(ends[1]);
    bool told = read(ends[0], &calls, sizeof(calls)) == sizeof(calls);
    close(ends[0]);
    CHECK(waitpid(child, &state, 0) == child);
    if (!told || !WIFEXITED(state))
        fprintf(stderr, "call %llu: the process ended with %#x\n",
                (unsigned long long)call, (unsigned)state);
    CHECK(told && WIFEXITED(state));
    CHECK(WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == 3);
    *failed = WEXITSTATUS(state) == 3;
    return calls;
}

int main(int argc, char **argv)
{
    bool failed;
    unsigned failures = 0;

    if (!fake_cuda())
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    if (argc > 1 && strcmp(argv[1], "list") == 0)
        by = HD_GRAPH_BY_UNITS;
    if (argc > 1 && strcmp(argv[1], "graph") == 0)
        by = HD_GRAPH_BY_LAUNCHES;
    paints = argc > 1 && strcmp(argv[1], "images") == 0;
    if (argc > 2) {
        try_without(strtoull(argv[2], NULL, 10), &failed);
        return 0;
    }
    uint64_t calls = try_without(0, &failed);
    CHECK(!failed);
    // Polling makes some calls more, or fewer, and with sanitizers thousands:
    // then not each of them fails.
    for (uint64_t call = 1; call <= calls; call += calls / TRIES + 1) {
        try_without(call, &failed);
        failures += failed;
    }
    printf("%llu calls, %u of which end what was asked for\n",
           (unsigned long long)calls, failures);
    CHECK(failures > (calls > TRIES ? 0 : 20));
    return 0;
}
