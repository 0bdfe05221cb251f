// A kernel that faults or hangs on the GPU, in every form in which kernels run
// there, or a context that cannot be used any more while one runs: its launch
// fails with an error that names it, the GPU is lost to the runtime, the CPU
// goes on, and everything can be closed. After a kernel that hangs no other
// runtime has the GPU; else the next one has it again.
//
//     lost_test FORM fault|hang|gone
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 64,
    TILES = 3,
    WARP = 32,
    LOG = 16384,   // of messages [bytes]
    PATIENCE = 60, // after which the process hangs [s]
    GPU = 2        // bit of the second device
};

// What does not hang ends before, however busy the machine is [ns].
static const uint64_t timeout = 2000000000;
static const char source[] =
    "kernel void fault(global int *x) {\n"
    "    x[(size_t)(x[0] + 1) << 40] = 1;\n"
    "}\n"
    "kernel void hang(global int *x) {\n"
    "    volatile global int *word = x;\n"
    "    while (word[get_global_id(0)] == 0) ;\n"
    "}\n"
    "kernel void count(global int *x) {\n"
    "    x[get_global_id(0)] += (int)get_global_id(0);\n"
    "}\n";

static struct hd_error error;
static struct hd_runtime *runtime;
static struct hd_program *program;
static const char *kernel;  // that goes wrong
static bool hangs, is_gone; // what is tried
static const struct fake_cuda *fake;

static const struct form {
    const char *name;
    enum hd_graph_scheduler by; // HD_GRAPH_BY_ANY: a launch
    unsigned units;
    bool doorbell;
} forms[] = {{"launch", HD_GRAPH_BY_ANY, 0, false},
             {"tiles", HD_GRAPH_BY_ANY, TILES, false},
             {"doorbell", HD_GRAPH_BY_ANY, TILES, true},
             {"host", HD_GRAPH_BY_HOST, 0, false},
             {"list", HD_GRAPH_BY_UNITS, TILES, false},
             {"graph", HD_GRAPH_BY_LAUNCHES, 0, false}};
static const struct form *form;

static void begin(void)
{
    const struct hd_runtime_params params = {.device = "all",
                                             .workers = 2,
                                             .units = form->units,
                                             .unit_cores = WARP,
                                             .unit_doorbell = form->doorbell,
                                             .unit_timeout =
                                                 hangs ? timeout : 0};
    const struct hd_program_params what = {.path = "lost.cl", .source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    CHECK_OK(hd_program_create(runtime, &what, &program, &error), error);
}

static void end(void)
{
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

static struct hd_buffer *zeros(void)
{
    static const int none[N];
    struct hd_buffer *made;

    CHECK_OK(hd_buffer_create(runtime, sizeof(none), &made, &error), error);
    CHECK_OK(hd_buffer_write(made, 0, none, sizeof(none), &error), error);
    return made;
}

static hd_status launch(const char *name, struct hd_buffer *x, uint64_t devices)
{
    const struct hd_arg args[] = {HD_BUFFER(x)};
    const struct hd_range range = {.dims = 1, .global = {N}, .local = {WARP}};
    const struct hd_launch_params how = {.devices = devices};

    return hd_launch_with(runtime, &how, hd_program_find(program, name), &range,
                          args, 1, &error);
}

// Two passes: what goes wrong is the second.
static hd_status run_graph(struct hd_buffer *x)
{
    static const char *const names[] = {"count", NULL};
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {N}};
    const struct hd_graph_policy policy = {.by = form->by};
    struct hd_graph *graph;
    hd_resource r;
    hd_pass pass;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_set_policy(graph, &policy, &error), error);
    CHECK_OK(hd_graph_resource(graph, "x", &shape, NULL, &r, &error), error);
    CHECK_OK(hd_graph_input(graph, r, x, &error), error);
    CHECK_OK(hd_graph_output(graph, "x", r, NULL, &error), error);
    for (int i = 0; i < 2; i++) {
        const struct hd_pass_arg arg = {.is = HD_PASS_RESOURCE, .resource = r};
        const char *name = names[i] ? names[i] : kernel;
        const struct hd_command command = {
            .is = HD_DISPATCH,
            .kernel = {.kernel = hd_program_find(program, name)},
            .range = {.dims = 1, .global = {N}, .local = {WARP}},
            .args = &arg,
            .arg_count = 1};
        const struct hd_pass_params params = {.name = name,
                                              .device = "gpu",
                                              .reads = &r,
                                              .read_count = 1,
                                              .writes = &r,
                                              .write_count = 1,
                                              .commands = &command,
                                              .command_count = 1};
        CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    }
    hd_status status = hd_graph_run(graph, NULL, &error);
    hd_graph_destroy(graph);
    return status;
}

static void counts(uint64_t devices)
{
    struct hd_buffer *x = zeros();
    int seen[N];

    CHECK_OK(launch("count", x, devices), error);
    CHECK_OK(hd_buffer_read(x, 0, seen, sizeof(seen), &error), error);
    for (int i = 0; i < N; i++)
        CHECK(seen[i] == i);
    hd_buffer_destroy(x);
}

// While the kernel runs: it has time to begin on a busy machine, too. Before,
// the launch fails as well, but units of a list have no kernel to name.
static void *take_context_away(void *data)
{
    usleep(2000000);
    fake->fail_always("cuCtxPushCurrent");
    return data;
}

static void a_kernel_goes_wrong(void)
{
    pthread_t taker;

    begin();
    struct hd_buffer *x = zeros();
    if (is_gone)
        CHECK(pthread_create(&taker, NULL, take_context_away, NULL) == 0);
    hd_status status =
        form->by == HD_GRAPH_BY_ANY ? launch(kernel, x, GPU) : run_graph(x);
    if (is_gone)
        pthread_join(taker, NULL);

    printf("%s\n", error.text);
    CHECK(status == (hangs ? HD_ETIMEOUT : is_gone ? HD_ENODEV : HD_EFAULT));
    CHECK(strstr(error.text, kernel));
    // Units say which kernels they were at.
    CHECK(form->by != HD_GRAPH_BY_UNITS || !strstr(error.text, "'count'"));
    // A second launch is refused, and says so; the CPU goes on, also with what
    // may run anywhere.
    CHECK(launch("count", x, GPU) != HD_OK && error.text[0] != '\0');
    counts(1);
    counts(0);
    hd_buffer_destroy(x);
    end();
}

static void the_next_runtime_knows(void)
{
    if (!hangs) {
        fake->fail_always("");
        begin();
        counts(GPU);
        end();
        return;
    }
    const struct hd_runtime_params params = {.device = "gpu"};
    CHECK_FAILS(hd_runtime_create(&params, &runtime, &error), HD_ENODEV, error,
                "a kernel of this process hangs on it");
    begin(); // "all" is the CPU then
    CHECK(hd_runtime_device_count(runtime) == 1);
    counts(1);
    end();
}

// Warnings, while they are kept, and where they go else.
static FILE *kept;
static int usual;
static char warned[LOG];

static void keep_warnings(void)
{
    kept = tmpfile();
    usual = dup(STDERR_FILENO);
    CHECK(kept && usual >= 0 && dup2(fileno(kept), STDERR_FILENO) >= 0);
}

// Also when a check fails meanwhile.
static void tell_warnings(void)
{
    if (!kept)
        return;
    dup2(usual, STDERR_FILENO);
    close(usual);
    rewind(kept);
    warned[fread(warned, 1, LOG - 1, kept)] = '\0';
    fclose(kept);
    kept = NULL;
    fputs(warned, stderr);
}

// Every unit says what it did last.
static void units_are_told_of(void)
{
    char line[64];

    for (unsigned i = 0; i < form->units; i++) {
        snprintf(line, sizeof(line), "unit %u: task ", i);
        CHECK(strstr(warned, line));
    }
}

int main(int argc, char **argv)
{
    fake = fake_cuda();
    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    alarm(PATIENCE);
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (argc > 2 && strcmp(argv[1], forms[i].name) == 0)
            form = &forms[i];
    CHECK(form);
    hangs = strcmp(argv[2], "hang") == 0;
    is_gone = strcmp(argv[2], "gone") == 0;
    kernel = is_gone ? "hang" : argv[2];
    atexit(tell_warnings);
    keep_warnings();
    a_kernel_goes_wrong();
    tell_warnings();
    if (!is_gone)
        units_are_told_of();
    the_next_runtime_knows();
    if (!hangs && !is_gone) {
        printf("%s", fake->report());
        CHECK(*fake->report() == '\0');
    }
    fflush(stdout);
    _exit(0); // a kernel that hangs has a thread of the fake driver
}
