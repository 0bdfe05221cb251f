// Every allocation of ours fails in turn, from opening a runtime over launches
// to a graph that runs: that is an error with a text, or no matter at all, and
// nothing is left behind. (tests/kernel/shortage_test.c does the same for a
// program that has to be compiled.)
#include "tests/shortage.h"

#include <dirent.h>
#include <stdio.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/folder.h"

// Some memory is kept on purpose the first time it is needed (an arena, a table
// that grows); what is lost is lost each time, so a few attempts tell them
// apart.
enum {
    COUNT = 300,
    ATTEMPTS = 4 // runs of one shortage that may each leave more behind
};

// An argument that is too large for the stack of a launch.
struct wide {
    int numbers[300];
};

static const char source[] =
    "struct wide { int numbers[300]; };\n"
    "kernel void add(global int *x, struct wide w, local int *part,\n"
    "                read_only image2d_t image) {\n"
    "    int l = get_local_id(0), i = get_global_id(0);\n"
    "    part[l] = w.numbers[i % 300] + get_image_width(image);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    x[i] += part[get_local_size(0) - 1 - l];\n"
    "}\n";
static const char script[] =
    "local input = input('x', 'int')\n"
    "local sum = resource('sum', 'int', 300)\n"
    "local twice = kernel('shortage.cl', 'twice')\n"
    "local double = pass { name = 'double', read = { 'from' },\n"
    "    write = { 'to' }, run = function(p)\n"
    "    dispatch(twice, { p.from, p.to }, { global = { 300 } }) end }\n"
    "double { from = input, to = sum }\n"
    "output('sum', sum)\n";
static const char doubling[] =
    "kernel void twice(global const int *x, global int *y) {\n"
    "    y[get_global_id(0)] = 2 * x[get_global_id(0)];\n"
    "}\n";

static const char *folder;
static char cache[320], script_path[320], kernel_path[320];
static struct hd_error error;
static long now; // allocations that succeed

// `path` becomes that of the file.
static void write_file(char *path, const char *name, const char *text)
{
    snprintf(path, sizeof(cache), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

// True when the step succeeded. One that did not says so, and why.
static bool done(hd_status status, const char *step)
{
    if (status == HD_OK)
        return true;
    if (status != HD_ENOMEM || !*error.text) {
        fprintf(stderr, "%s, allocation %ld: %s: '%s'\n", step, now,
                hd_status_text(status), error.text);
        exit(1);
    }
    return false;
}
#define DONE(call) done(call, #call)

static bool launch(struct hd_runtime *runtime, const struct hd_program *program,
                   struct hd_buffer *buffer, const struct hd_image *image)
{
    static const struct wide wide = {{1, 2, 3}};
    const struct hd_range range = {.dims = 1, .global = {COUNT}, .local = {50}};
    const struct hd_launch_params params = {.time_limit = 60000000000};
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(wide),
                                  HD_LOCAL(200), HD_IMAGE(image)};
    const struct hd_kernel *kernel = hd_program_find(program, "add");

    CHECK(kernel && !hd_program_find(program, "sub"));
    memset(hd_buffer_host(buffer), 0, COUNT * sizeof(int));
    if (!DONE(
            hd_launch_with(runtime, &params, kernel, &range, args, 4, &error)))
        return false;
    const int *x = hd_buffer_host(buffer);
    for (int i = 0; i < COUNT; i++) {
        int other = i / 50 * 50 + 49 - i % 50;
        CHECK(x[i] == 8 + (other < 3 ? other + 1 : 0));
    }
    return true;
}

static hd_status nothing(struct hd_worker *worker, void *data,
                         struct hd_error *e)
{
    (void)worker, (void)data, (void)e;
    return HD_OK;
}

// The same launch, started after more events than a record has links for, and
// copies round it.
static bool start(struct hd_runtime *runtime, const struct hd_program *program,
                  struct hd_buffer *buffer, const struct hd_image *image)
{
    enum {
        EVENTS = 20
    };
    static const struct wide wide = {{1, 2, 3}};
    const struct hd_range range = {.dims = 1, .global = {COUNT}, .local = {50}};
    const struct hd_extent all = {.bytes = COUNT * sizeof(int)};
    const struct hd_call call = {.function = nothing};
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_buffer *part = NULL;
    hd_event events[EVENTS] = {0}, last[4] = {0};
    int zero = 0, x[COUNT];
    bool ok = true;

    for (int i = 0; i < EVENTS && ok; i++)
        ok = i == 0
                 ? DONE(hd_fill_start(runtime, NULL, buffer, 0, all.bytes,
                                      &zero, sizeof(zero), &events[i], &error))
                 : DONE(hd_call_start(pool, NULL, &call, &events[i], &error));
    const struct hd_arg args[] = {HD_BUFFER(buffer), HD_VALUE(wide),
                                  HD_LOCAL(200), HD_IMAGE(image)};
    struct hd_start after = {.after = events, .after_count = EVENTS};
    ok = ok &&
         DONE(hd_launch_start(runtime, &after, hd_program_find(program, "add"),
                              &range, args, 4, &last[0], &error));
    after = (struct hd_start){.after = &last[0], .after_count = 1};
    ok = ok && DONE(hd_buffer_sub(buffer, 0, 4, &part, &error)) &&
         DONE(hd_read_start(runtime, &after, x, NULL, buffer, NULL, &all,
                            &last[1], &error)) &&
         DONE(hd_event_create(pool, &last[2], &error)) &&
         DONE(hd_event_end(pool, last[2], HD_OK, NULL, &error)) &&
         DONE(hd_event_wait(pool, last, 3, HD_FOREVER, &error));
    for (int i = 0; i < COUNT && ok; i++) {
        int other = i / 50 * 50 + 49 - i % 50;
        CHECK(x[i] == 8 + (other < 3 ? other + 1 : 0));
    }
    // What was started ends, or its memory would be missed.
    if (hd_event_wait(pool, last, 2, HD_FOREVER, &error) == HD_OK)
        hd_event_wait(pool, events, EVENTS, HD_FOREVER, &error);
    for (int i = 0; i < EVENTS; i++)
        hd_event_release(pool, events[i]);
    for (int i = 0; i < 4; i++)
        hd_event_release(pool, last[i]);
    hd_buffer_destroy(part);
    return ok;
}

// What was not made is NULL, which every destroy function takes.
static bool run_kernels(struct hd_runtime *runtime)
{
    const struct hd_program_params params = {
        .path = "shortage.cl", .source = source, .options = "-D A=1"};
    const struct hd_image_params picture = {.kind = HD_IMAGE_2D,
                                            .order = HD_RGBA,
                                            .type = HD_FLOAT,
                                            .width = 8,
                                            .height = 8};
    struct hd_program *program = NULL;
    struct hd_buffer *buffer = NULL;
    struct hd_image *image = NULL;
    int first;
    bool ok =
        DONE(hd_program_create(runtime, &params, &program, &error)) &&
        DONE(hd_buffer_create(runtime, COUNT * sizeof(int), &buffer, &error)) &&
        DONE(hd_image_create(runtime, &picture, &image, &error)) &&
        launch(runtime, program, buffer, image) &&
        start(runtime, program, buffer, image) &&
        DONE(hd_buffer_read(buffer, 0, &first, sizeof(first), &error));

    hd_image_destroy(image);
    hd_buffer_destroy(buffer);
    hd_program_destroy(program);
    return ok;
}

static bool run_graph(struct hd_runtime *runtime)
{
    struct hd_graph *graph = NULL;
    struct hd_buffer *buffer = NULL;
    struct hd_graph_result result;

    if (!DONE(hd_buffer_create(runtime, COUNT * sizeof(int), &buffer, &error)))
        return false;
    const struct hd_graph_source input = {
        .name = "x", .shape = {"int", 1, {COUNT, 1, 1}}, .buffer = buffer};
    const struct hd_graph_program program = {
        .path = script_path, .inputs = &input, .input_count = 1};
    ((int *)hd_buffer_host(buffer))[7] = 21;
    bool ok = DONE(hd_graph_generate(runtime, &program, &graph, &error)) &&
              DONE(hd_graph_prepare(graph, &error)) &&
              DONE(hd_graph_run(graph, NULL, &error));
    if (ok) {
        CHECK(hd_graph_result(graph, 0, &result));
        CHECK(((int *)hd_buffer_host(result.buffer))[7] == 42);
    }
    hd_graph_destroy(graph);
    hd_buffer_destroy(buffer);
    return ok;
}

// From nothing to nothing. True when an allocation failed.
static bool run(bool graph, long successes)
{
    const struct hd_runtime_params params = {.device =
                                                 graph ? "cpu" : "cpu,null",
                                             .workers = 2,
                                             .topology = "pack:1 core:2 pu:1",
                                             .trace = true,
                                             .cache = cache};
    struct hd_runtime *runtime = NULL;

    now = successes;
    shortage_begin(successes);
    bool ok = DONE(hd_runtime_create(&params, &runtime, &error)) &&
              (graph ? run_graph(runtime) : run_kernels(runtime));
    bool failed = shortage_end();
    CHECK(ok || failed);
    hd_runtime_destroy(runtime);
    return failed;
}

// With that of the listing itself, each time.
static size_t open_files(void)
{
    DIR *files = opendir("/proc/self/fd");
    size_t n = 0;

    CHECK(files);
    while (readdir(files))
        n++;
    closedir(files);
    return n;
}

// What could be lost: blocks of memory and open files.
struct held {
    long blocks;
    size_t files;
};

static struct held held(void)
{
    return (struct held){atomic_load(&shortage.held), open_files()};
}

// One allocation fails. What is used once may stay; what grows each time is
// lost. False: there are not so many.
static bool try_one(bool graph, long successes)
{
    struct held before = held(), after = before;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (!run(graph, successes) && i == 0)
            return false;
        after = held();
        if (after.blocks <= before.blocks && after.files <= before.files)
            return true;
        before = after;
    }
    fprintf(stderr, "allocation %ld: %ld blocks and %zu files are held\n",
            successes, after.blocks, after.files);
    exit(1);
}

// The first run has no shortage: what is used once is there after it. `least`
// guards against a test that watches nothing.
static void try_each(bool graph, long least)
{
    long n = 0;

    CHECK(!run(graph, -1));
    while (try_one(graph, n))
        n++;
    CHECK(n > least);
    printf("%s: %ld allocations\n", graph ? "a graph" : "kernels", n);
}

static bool has(const char *what)
{
    struct hd_runtime *runtime;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    CHECK(file);
    CHECK_OK(hd_runtime_create(NULL, &runtime, &error), error);
    CHECK(hd_runtime_describe(runtime, file, false) == HD_OK);
    fclose(file);
    hd_runtime_destroy(runtime);
    bool is_there = strstr(text, what) != NULL;
    free(text);
    return is_there;
}

int main(void)
{
    if (has("no compiler"))
        SKIP("no compiler");
    CHECK(shortage_watch(NULL));
    folder = make_folder();
    snprintf(cache, sizeof(cache), "%s/cache", folder);
    write_file(script_path, "shortage.lua", script);
    write_file(kernel_path, "shortage.cl", doubling);
    try_each(false, 50);
    try_each(true, 100);

    char command[400];
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return 0;
}
