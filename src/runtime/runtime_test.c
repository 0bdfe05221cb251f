#include "heddle/heddle.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "tests/check.h"

static _Thread_local struct hd_error error;

static struct hd_runtime *start(const struct hd_runtime_params *params)
{
    struct hd_runtime *runtime;
    CHECK_OK(hd_runtime_create(params, &runtime, &error), error);
    return runtime;
}

static const char source[] = "kernel void add(global float *a, float b)\n"
                             "{\n"
                             "    a[get_global_id(0)] += b;\n"
                             "}\n";

// Launch on one runtime and check every element. False without a compiler.
static bool add_everywhere(struct hd_runtime *runtime, float b)
{
    enum {
        COUNT = 10000
    };
    const struct hd_program_params params = {.path = "add.cl",
                                             .source = source};
    struct hd_program *program;
    struct hd_buffer *a;
    hd_status status = hd_program_create(runtime, &params, &program, &error);

    if (IS_UNBUILT(status, error))
        return false;
    CHECK_OK(status, error);
    CHECK_OK(hd_buffer_create(runtime, COUNT * sizeof(float), &a, &error),
             error);
    const struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(b)};
    const struct hd_range range = {.dims = 1, .global = {COUNT}};
    for (int round = 0; round < 20; round++)
        CHECK_OK(hd_launch(runtime, hd_program_find(program, "add"), &range,
                           args, 2, &error),
                 error);
    for (int i = 0; i < COUNT; i++)
        CHECK(((float *)hd_buffer_host(a))[i] == 20 * b);
    hd_buffer_destroy(a);
    hd_program_destroy(program);
    return true;
}

// One thread's life with a runtime of its own.
static void *run_a_runtime(void *data)
{
    float b = *(float *)data;
    struct hd_runtime *runtime = start(NULL);
    add_everywhere(runtime, b);
    hd_runtime_destroy(runtime);
    return NULL;
}

static void two_runtimes_live_in_one_process(void)
{
    float numbers[2] = {1.5f, 2.25f};
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, run_a_runtime, &numbers[i]) ==
              0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void a_caller_only_runtime_has_no_threads(void)
{
    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.caller_only = true});

    CHECK(hd_pool_workers(hd_runtime_pool(runtime)) == 1);
    add_everywhere(runtime, 3);
    hd_runtime_destroy(runtime);
}

// How many leaves a unit has run so far.
static uint64_t leaves_of(const struct hd_runtime *runtime, unsigned unit)
{
    struct hd_unit_counters c;
    uint64_t trips = 0;

    CHECK_OK(hd_unit_counters(runtime, unit, &c, &error), error);
    for (unsigned i = 0; i < HD_TRIP_BUCKETS; i++)
        trips += c.trips[i];
    CHECK(trips == c.leaves && c.groups >= c.leaves);
    CHECK(c.worker == 0 && (c.leaves == 0) == (c.busy == 0));
    return c.leaves;
}

// One launch at a place; the same buffer of one float each time.
static void add_once(struct hd_runtime *runtime, struct hd_program *program,
                     enum hd_place place, unsigned unit, hd_status expected)
{
    const struct hd_launch_params params = {.place = place, .unit = unit};
    const struct hd_range range = {.dims = 1, .global = {64}, .local = {1}};
    const float b = 1;
    struct hd_buffer *a;

    CHECK_OK(hd_buffer_create(runtime, 64 * sizeof(float), &a, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(b)};
    hd_status status =
        hd_launch_with(runtime, &params, hd_program_find(program, "add"),
                       &range, args, 2, &error);
    CHECK(status == expected);
    for (int i = 0; i < 64; i++)
        CHECK(((float *)hd_buffer_host(a))[i] == (status == HD_OK ? 1 : 0));
    hd_buffer_destroy(a);
}

// The rule by which add_in_leaves() ends halving, and how often it was asked.
struct cutoff {
    atomic_uint asked;
    uint64_t groups;
};

static bool is_small(const struct hd_piece *piece, void *data)
{
    struct cutoff *cutoff = data;

    atomic_fetch_add(&cutoff->asked, 1);
    return piece->groups <= cutoff->groups;
}

// In leaves of so many groups; how many leaves the workers ran.
//
// Halving 64 groups down to leaves of `groups` asks once per node of a binary
// tree: twice the leaves, less one.
static uint64_t add_in_leaves(struct hd_runtime *runtime,
                              struct hd_program *program, uint64_t groups)
{
    struct cutoff cutoff = {.groups = groups};
    const struct hd_launch_params params = {
        .place = HD_ON_WORKERS, .is_leaf = is_small, .leaf_data = &cutoff};
    const struct hd_range range = {.dims = 1, .global = {64}, .local = {1}};
    struct hd_worker_counters before, after;
    const float b = 1;
    struct hd_buffer *a;

    CHECK_OK(hd_buffer_create(runtime, 64 * sizeof(float), &a, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(b)};
    hd_pool_counters(hd_runtime_pool(runtime), 0, &before);
    CHECK_OK(hd_launch_with(runtime, &params, hd_program_find(program, "add"),
                            &range, args, 2, &error),
             error);
    hd_pool_counters(hd_runtime_pool(runtime), 0, &after);
    CHECK(after.groups - before.groups == 64);
    CHECK(atomic_load(&cutoff.asked) == 2 * (64 / groups) - 1);
    for (int i = 0; i < 64; i++)
        CHECK(((float *)hd_buffer_host(a))[i] == 1);
    hd_buffer_destroy(a);
    return after.leaves - before.leaves;
}

// Two parts of a gang, on units 1 and 0.
static void add_in_gang(struct hd_runtime *runtime, struct hd_program *program,
                        enum hd_place place, hd_status expected)
{
    const struct hd_launch_params params = {.place = place};
    const struct hd_kernel *kernel = hd_program_find(program, "add");
    const float b = 1;
    struct hd_buffer *a;

    CHECK_OK(hd_buffer_create(runtime, 64 * sizeof(float), &a, &error), error);
    const struct hd_arg args[] = {HD_BUFFER(a), HD_VALUE(b)};
    const struct hd_part parts[] = {
        {kernel, {.dims = 1, .global = {32}}, args, 2, 1},
        {kernel, {.dims = 1, .global = {32}, .offset = {32}}, args, 2, 0},
    };
    uint64_t before[] = {leaves_of(runtime, 0), leaves_of(runtime, 1)};
    CHECK(hd_launch_gang(runtime, &params, parts, 2, &error) == expected);
    for (unsigned unit = 0; unit < 2; unit++)
        CHECK(leaves_of(runtime, unit) - before[unit] ==
              (expected == HD_OK ? 1 : 0));
    for (int i = 0; i < 64; i++)
        CHECK(((float *)hd_buffer_host(a))[i] == (expected == HD_OK ? 1 : 0));
    hd_buffer_destroy(a);
}

// A launch for one unit runs there alone; a unit that was detached takes none
// until it is attached again.
static void units_are_named_and_leave(bool doorbell)
{
    const struct hd_runtime_params params = {.workers = 1,
                                             .units = 2,
                                             .unit_doorbell = doorbell,
                                             .unit_timeout = 60000000000};
    const struct hd_program_params add = {.path = "add.cl", .source = source};
    struct hd_runtime *runtime = start(&params);
    struct hd_unit_counters c;
    struct hd_program *program;

    CHECK(hd_runtime_units(runtime) == 2);
    CHECK((runtime->device->can.in_flight == 1) == doorbell);
    CHECK_FAILS(hd_unit_counters(runtime, 2, &c, &error), HD_ENOENT, error,
                "no unit 2; there are 2");
    CHECK_FAILS(hd_unit_detach(runtime, 2, &error), HD_ENOENT, error, "unit 2");
    hd_status status = hd_program_create(runtime, &add, &program, &error);
    if (IS_UNBUILT(status, error)) {
        hd_runtime_destroy(runtime);
        return;
    }
    CHECK_OK(status, error);
    for (unsigned unit = 0; unit < 2; unit++) {
        uint64_t others = leaves_of(runtime, 1 - unit);
        add_once(runtime, program, HD_ON_UNIT, unit, HD_OK);
        CHECK(leaves_of(runtime, unit) > 0);
        CHECK(leaves_of(runtime, 1 - unit) == others);
    }
    add_in_gang(runtime, program, HD_ON_UNIT, HD_OK);
    add_in_gang(runtime, program, (enum hd_place)9, HD_EINVAL);
    add_in_gang(runtime, program, HD_ON_WORKERS, HD_EINVAL);
    add_once(runtime, program, HD_ON_DISTINCT_MODULES, 0, HD_EINVAL);
    CHECK(add_in_leaves(runtime, program, 16) == 4);
    CHECK(add_in_leaves(runtime, program, 2) == 32);
    CHECK_OK(hd_unit_detach(runtime, 1, &error), error);
    CHECK_OK(hd_unit_detach(runtime, 1, &error), error);
    add_in_gang(runtime, program, HD_ON_UNIT, HD_ENODEV);
    CHECK_OK(hd_unit_counters(runtime, 1, &c, &error), error);
    CHECK(!c.attached);
    add_once(runtime, program, HD_ON_UNIT, 1, HD_ENODEV);
    add_once(runtime, program, HD_ON_MODULE_OF, 2, HD_ENODEV);
    add_once(runtime, program, (enum hd_place)9, 0, HD_EINVAL);
    add_once(runtime, program, HD_ANYWHERE, 0, HD_OK);
    CHECK_OK(hd_unit_attach(runtime, 1, &error), error);
    uint64_t before = leaves_of(runtime, 1);
    add_once(runtime, program, HD_ON_UNIT, 1, HD_OK);
    CHECK(leaves_of(runtime, 1) > before);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);

    runtime = start(NULL);
    CHECK(hd_runtime_units(runtime) == 0);
    hd_runtime_destroy(runtime);
}

// Each with a text that says what could be given instead.
static void bad_parameters_are_refused(void)
{
    struct hd_runtime *runtime;

    CHECK_FAILS(
        hd_runtime_create(&(struct hd_runtime_params){.device = "toaster"},
                          &runtime, &error),
        HD_EINVAL, error, "no device 'toaster'");
    CHECK_FAILS(hd_runtime_create(&(struct hd_runtime_params){.device = "gpu"},
                                  &runtime, &error),
                HD_ENODEV, error, "--device cpu");
    CHECK_FAILS(
        hd_runtime_create(&(struct hd_runtime_params){.topology = "nonsense"},
                          &runtime, &error),
        HD_EINVAL, error, "nonsense");
    CHECK_FAILS(
        hd_runtime_create(
            &(struct hd_runtime_params){.workers = 4, .caller_only = true},
            &runtime, &error),
        HD_EINVAL, error, "");
    hd_runtime_destroy(NULL);
}

// A cache folder that others may write to is not used; work goes on without.
static void a_runtime_works_without_its_cache(void)
{
    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.cache = "/proc/none"});
    add_everywhere(runtime, 1);
    hd_runtime_destroy(runtime);
}

// A macro that breaks the source shows that it was there. What is no option is
// refused with the runtime.
static void build_options_reach_every_program(void)
{
    struct hd_runtime *runtime = start(&(struct hd_runtime_params){
        .build_options = "-D float=no_such_type", .no_cache = true});
    const struct hd_program_params params = {.path = "add.cl",
                                             .source = source};
    struct hd_program *program;

    hd_status status = hd_program_create(runtime, &params, &program, &error);
    CHECK(IS_UNBUILT(status, error) ||
          (status == HD_EBUILD && strstr(error.text, "no_such_type")));
    hd_runtime_destroy(runtime);
    CHECK_FAILS(hd_runtime_create(
                    &(struct hd_runtime_params){.build_options = "-fplugin=x"},
                    &runtime, &error),
                HD_EINVAL, error, "-fplugin=x");
}

// Small constant arguments are read-only, large ones for who asks for guard
// pages or debugs.
//
// The kernel casts the constant away, which is undefined: with read-only pages
// it faults instead of changing what others read.
static void constants_are_read_only(void)
{
    static const char stamp[] = "kernel void stamp(constant int *c)\n"
                                "{\n"
                                "    global int *p = (global int *)(ulong)c;\n"
                                "    p[get_global_id(0)] = 1;\n"
                                "}\n";
    static const struct hd_runtime_params asks[] = {
        {.no_cache = true, .guard = true},
        {.no_cache = true, .build_options = "-w -heddle-debug"},
        {.no_cache = true}};
    const struct hd_program_params params = {.path = "stamp.cl",
                                             .source = stamp};
    const struct hd_range range = {.dims = 1, .global = {4}};

    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
        struct hd_runtime *runtime = start(&asks[i]);
        struct hd_program *program;
        hd_status status =
            hd_program_create(runtime, &params, &program, &error);
        if (IS_UNBUILT(status, error) || HOLDS_SIGNALS) {
            hd_runtime_destroy(runtime);
            return;
        }
        CHECK_OK(status, error);
        for (int large = 0; large < 2; large++) {
            bool sealed = i < 2 || !large;
            struct hd_buffer *c;
            CHECK_OK(
                hd_buffer_create(runtime, large ? 3 << 20 : 16, &c, &error),
                error);
            const struct hd_arg args[] = {HD_BUFFER(c)};
            status = hd_launch(runtime, hd_program_find(program, "stamp"),
                               &range, args, 1, &error);
            CHECK(status == (sealed ? HD_EFAULT : HD_OK));
            CHECK(*(int *)hd_buffer_host(c) == (sealed ? 0 : 1));
            hd_buffer_destroy(c);
        }
        hd_program_destroy(program);
        hd_runtime_destroy(runtime);
    }
}

static char *text_of(struct hd_runtime *runtime, bool json)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK(file && hd_runtime_describe(runtime, file, json) == HD_OK);
    fclose(file);
    return text;
}

// A machine that is made up, so that the numbers are known.
static void the_machine_is_described(void)
{
    struct hd_runtime *runtime = start(&(struct hd_runtime_params){
        .topology = "pack:2 core:3 pu:1", .workers = 2});
    char *text = text_of(runtime, false), *json = text_of(runtime, true);

    CHECK(strstr(text, "6 cores") && strstr(text, "workers    2"));
    CHECK(strstr(json, "\"cores\":6") && strstr(json, "\"workers\":2"));
    if (strstr(json, "\"has_compiler\":true")) {
        CHECK(strstr(text, "\nextensions cl_khr_fp64 ") &&
              strstr(text, "\nfeatures   __opencl_c_images "));
        CHECK(strstr(json, "\"extensions\":[\"cl_khr_fp64\",\""));
    }
    CHECK(json[0] == '{' && strcmp(json + strlen(json) - 2, "}\n") == 0);
    free(text);
    free(json);
    hd_runtime_destroy(runtime);
}

static const char binary[] = "runtime_test.hdb";

static char *contents_of(struct hd_runtime *runtime, bool json)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    CHECK_OK(hd_runtime_describe_binary(runtime, binary, file, json, &error),
             error);
    fclose(file);
    return text;
}

// No processor has the instructions of both.
//
// One of them at least is refused, then: it can be built and saved here, told
// about, but neither launched nor loaded.
static void code_for_others_is_told_and_not_launched(void)
{
    static const char *const cpus[] = {"bdver4", "sapphirerapids"};
    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.no_cache = true});
    struct hd_program_params params = {.path = "add.cl", .source = source};
    struct hd_program *program;
    bool built = false;
    unsigned refused = 0;

    for (int i = 0; i < 2; i++) {
        params.cpus = cpus[i];
        hd_status status =
            hd_program_create(runtime, &params, &program, &error);
        if (IS_UNBUILT(status, error))
            break;
        built = true;
        CHECK_OK(status, error);
        CHECK(hd_program_kernel_count(program) == 1);
        CHECK_OK(hd_program_save(program, binary, &error), error);
        char *text = contents_of(runtime, false);
        char *json = contents_of(runtime, true);
        CHECK(strstr(text, cpus[i]) && strstr(text, "add.cl:"));
        CHECK(strstr(json, "\"kernels\":[{\"name\":\"add\","));
        if (strstr(text, "does not run here")) {
            const struct hd_kernel *kernel = hd_program_kernel(program, 0);
            const struct hd_range range = {.dims = 1, .global = {4}};
            CHECK(strstr(text, "(which needs "));
            CHECK(strstr(json, "\"runs\":false,\"chosen\":false"));
            CHECK_FAILS(hd_launch(runtime, kernel, &range, NULL, 0, &error),
                        HD_ENOTSUP, error, "'add' was built for other");
            hd_program_destroy(program);
            CHECK_FAILS(
                hd_program_create(runtime,
                                  &(struct hd_program_params){.path = binary},
                                  &program, &error),
                HD_ENOTSUP, error, cpus[i]);
            program = NULL;
            refused++;
        }
        free(text);
        free(json);
        hd_program_destroy(program);
    }
    CHECK(!built || refused > 0);
    unlink(binary);
    CHECK_FAILS(
        hd_runtime_describe_binary(runtime, binary, stderr, false, &error),
        HD_ENOENT, error, binary);
    CHECK_FAILS(
        hd_runtime_describe_binary(runtime, "/dev/null", stderr, false, &error),
        HD_EFORMAT, error, "/dev/null");
    hd_runtime_destroy(runtime);
}

static char *calibration_of(struct hd_runtime *runtime, bool again)
{
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK(file);
    CHECK_OK(hd_runtime_calibrate(runtime, file, again, &error), error);
    fclose(file);
    return text;
}

// It is measured, for there is no cache. The dearer resource weighs 1000.
static void a_calibration_is_a_machine_file(void)
{
    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.workers = 2, .no_cache = true});
    char *text = calibration_of(runtime, false);

    CHECK(strstr(text, "\nmodules ") && strstr(text, "\nwaves "));
    CHECK(strstr(text, "\nresource { \"slots\", ") &&
          strstr(text, " energy = 1000 }\n"));
    CHECK(strstr(text, "\ninstruction { \"load\", "));
    free(text);

    FILE *full = fopen("/dev/full", "we");
    if (full) {
        CHECK_FAILS(hd_runtime_calibrate(runtime, full, false, &error), HD_EIO,
                    error, "cannot be written");
        fclose(full);
    }
    hd_runtime_destroy(runtime);
}

// With the worker's track, the launch and the build in it.
static void a_trace_is_written_when_asked_for(void)
{
    struct hd_runtime *quiet = start(NULL);
    CHECK_FAILS(hd_runtime_trace_write(quiet, stderr, &error), HD_EINVAL, error,
                "without a trace");
    hd_runtime_destroy(quiet);

    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.trace = true});
    bool ran = add_everywhere(runtime, 1);
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    CHECK_OK(hd_runtime_trace_write(runtime, file, &error), error);
    fclose(file);
    CHECK(strstr(text, "\"worker 0\""));
    CHECK(!ran || strstr(text, "\"name\":\"add\",\"cat\":\"chunk\""));
    CHECK(!ran || strstr(text, "\"name\":\"add.cl\",\"cat\":\"build\""));
    free(text);
    hd_runtime_destroy(runtime);
}

static void peak_memory_is_kept(void)
{
    struct hd_runtime *runtime = start(NULL);
    struct hd_buffer *a, *b;

    CHECK_OK(hd_buffer_create(runtime, 1000, &a, &error), error);
    CHECK_OK(hd_buffer_create(runtime, 500, &b, &error), error);
    hd_buffer_destroy(a);
    CHECK(hd_runtime_peak_memory(runtime) == 1500);
    hd_runtime_reset_peak_memory(runtime);
    CHECK(hd_runtime_peak_memory(runtime) == 500);
    hd_buffer_destroy(b);
    hd_runtime_destroy(runtime);
}

// NULL without a compiler.
static struct hd_program *build(struct hd_runtime *runtime)
{
    const struct hd_program_params params = {.path = "add.cl",
                                             .source = source};
    struct hd_program *program = NULL;
    hd_status status = hd_program_create(runtime, &params, &program, &error);

    if (!IS_UNBUILT(status, error))
        CHECK_OK(status, error);
    return program;
}

// A gang is refused as a launch is. The error is left for the caller to look
// at.
static hd_status try_launch(struct hd_runtime *runtime,
                            const struct hd_program *program)
{
    const struct hd_range range = {.dims = 1, .global = {1}};
    const float b = 1;
    const struct hd_arg args[] = {HD_BUFFER(NULL), HD_VALUE(b)};
    const struct hd_part part = {hd_program_find(program, "add"), range, args,
                                 2, 0};

    hd_status status = hd_launch(runtime, part.kernel, &range, args, 2, &error);
    CHECK(hd_launch_gang(runtime, NULL, &part, 1, &error) == status);
    return status;
}

// Also where the kernel would be named: by the unit that is not there.
static void a_launch_needs_a_kernel(void)
{
    struct hd_runtime *runtime = start(NULL);
    const struct hd_range range = {.dims = 1, .global = {1}};
    const struct hd_launch_params on_unit = {.place = HD_ON_UNIT, .unit = 7};
    const struct hd_part part = {NULL, range, NULL, 0, 0};

    CHECK_FAILS(hd_launch(runtime, NULL, &range, NULL, 0, &error), HD_EINVAL,
                error, "needs a kernel");
    CHECK_FAILS(
        hd_launch_with(runtime, &on_unit, NULL, &range, NULL, 0, &error),
        HD_EINVAL, error, "needs a kernel");
    CHECK_FAILS(hd_launch_gang(runtime, NULL, &part, 1, &error), HD_EINVAL,
                error, "needs a kernel");
    hd_runtime_destroy(runtime);
}

// Kernels are code of one runtime's devices, even if both have the same.
static void a_program_stays_in_its_runtime(void)
{
    struct hd_runtime *one = start(NULL), *other = start(NULL);
    struct hd_program *program = build(one);

    if (program) {
        CHECK(try_launch(other, program) == HD_EINVAL);
        CHECK(strstr(error.text, "another runtime"));
        hd_program_destroy(program);
    }
    hd_runtime_destroy(other);
    hd_runtime_destroy(one);
}

// What uses the parent's runtime is told so; a new one works.
//
// An alarm ends a child that hangs; _exit() leaves the parent's files alone.
static void a_child_of_fork_is_told(void)
{
    struct hd_runtime *runtime =
        start(&(struct hd_runtime_params){.workers = 2});
    struct hd_program *program = build(runtime);
    struct hd_graph *graph;
    int status;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EINVAL, error,
                    "fork()");
        if (program) {
            CHECK(try_launch(runtime, program) == HD_EINVAL);
            CHECK(strstr(error.text, "fork()"));
        }
        if (!HOLDS_SIGNALS) { // ThreadSanitizer starts no threads there
            struct hd_runtime *own = start(NULL);
            add_everywhere(own, 3);
            hd_runtime_destroy(own);
        }
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    hd_graph_destroy(graph);
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
}

// As what is told of the start says: deques and cores of workers, one region of
// mailboxes, who has which unit, and the workers' threads at the end.
static void nothing_works_before_all_is_there(void)
{
    static const char *const steps[] = {
        "made 2 workers",       "made one region of 5 mailboxes",
        "unit 0 is worker 0's", "unit 1 is worker 1's",
        "unit 2 is worker 0's", "unit 3 is worker 1's",
        "unit 4 is worker 0's", "started 2 workers"};
    char said[65536];
    size_t size = 0;
    int ends[2], status;

    CHECK(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork(); // nothing was logged before, so the level is open
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        setenv("HEDDLE_LOG", "debug", 1);
        dup2(ends[1], STDERR_FILENO);
        const struct hd_runtime_params params = {.workers = 2, .units = 5};
        hd_runtime_destroy(start(&params));
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got;
         (got = read(ends[0], said + size, sizeof(said) - 1 - size)) > 0;)
        size += (size_t)got;
    said[size] = '\0';
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    const char *at = said;
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        const char *step = strstr(at, steps[i]);
        if (!step)
            fprintf(stderr, "'%s' is not, or too early, in:\n%s", steps[i],
                    said);
        CHECK(step);
        at = step;
    }
}

int main(void)
{
    nothing_works_before_all_is_there();
    a_launch_needs_a_kernel();
    a_program_stays_in_its_runtime();
    a_child_of_fork_is_told();
    two_runtimes_live_in_one_process();
    a_caller_only_runtime_has_no_threads();
    units_are_named_and_leave(false);
    units_are_named_and_leave(true);
    bad_parameters_are_refused();
    a_runtime_works_without_its_cache();
    build_options_reach_every_program();
    constants_are_read_only();
    the_machine_is_described();
    code_for_others_is_told_and_not_launched();
    a_calibration_is_a_machine_file();
    a_trace_is_written_when_asked_for();
    peak_memory_is_kept();
    return 0;
}
