// What it costs to make a graph of a program in Lua: generating it, and all
// that preparing does (order, waits, which memory is whose), over the program's
// own run, in which the builder is a stub.
//
// The stub is put in the place of the builder by the linker (--wrap).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/figure.h"
#include "bench/graph/graph.h"
#include "heddle/heddle.h"
#include "tests/folder.h"

enum {
    MAX_ROUNDS = 15,
    SCALE_ARGUMENT = 3 // of the kernel
};

static const char program_text[] =
    "local n = setting('passes', 100)\n"
    "local k = kernel('step.cl', 'step')\n"
    "local step = pass { name = 'step', read = { 'a', 'b' },\n"
    "  write = { 'c' }, run = function(p)\n"
    "    dispatch(k, { p.a, p.b, p.c, p.s }, { global = { p.c.width } })\n"
    "  end }\n"
    "local start = resource('start', 'float', 64)\n"
    "write(start) clear(start)\n"
    "local recent = { start, start, start, start, start, start, start, start "
    "}\n"
    "for i = 1, n do\n"
    "  local to = resource('r', 'float', 64)\n"
    "  step { a = recent[1 + i * 5 % 8], b = recent[1 + i * 3 % 8], c = to,\n"
    "         s = setting('scale', 2) }\n"
    "  recent[1 + i % 8] = to\n"
    "end\n"
    "for i = 1, 8 do output('o' .. i, recent[i]) end\n";

static const char kernel_text[] =
    "kernel void step(global const float *a, global const float *b,\n"
    "                 global float *c, float s) {\n"
    "    size_t i = get_global_id(0);\n"
    "    c[i] = a[i] * s + b[i];\n"
    "}\n";

// The builder, or a stub ------------------------------------------------------

static bool stub;
static hd_resource stub_resource; // the first there is, for its size

hd_status __real_hd_graph_resource(struct hd_graph *graph, const char *name,
                                   const struct hd_shape *shape,
                                   const char *where, hd_resource *resource,
                                   struct hd_error *error);
hd_status __wrap_hd_graph_resource(struct hd_graph *graph, const char *name,
                                   const struct hd_shape *shape,
                                   const char *where, hd_resource *resource,
                                   struct hd_error *error);
hd_status __wrap_hd_graph_resource(struct hd_graph *graph, const char *name,
                                   const struct hd_shape *shape,
                                   const char *where, hd_resource *resource,
                                   struct hd_error *error)
{
    if (stub && stub_resource) {
        *resource = stub_resource;
        return HD_OK;
    }
    hd_status status =
        __real_hd_graph_resource(graph, name, shape, where, resource, error);
    if (stub && status == HD_OK)
        stub_resource = *resource;
    return status;
}

hd_status __real_hd_graph_pass(struct hd_graph *graph,
                               const struct hd_pass_params *params,
                               hd_pass *pass, struct hd_error *error);
hd_status __wrap_hd_graph_pass(struct hd_graph *graph,
                               const struct hd_pass_params *params,
                               hd_pass *pass, struct hd_error *error);
hd_status __wrap_hd_graph_pass(struct hd_graph *graph,
                               const struct hd_pass_params *params,
                               hd_pass *pass, struct hd_error *error)
{
    if (!stub)
        return __real_hd_graph_pass(graph, params, pass, error);
    *pass = 1;
    return HD_OK;
}

hd_status __real_hd_graph_output(struct hd_graph *graph, const char *name,
                                 hd_resource resource, const char *where,
                                 struct hd_error *error);
hd_status __wrap_hd_graph_output(struct hd_graph *graph, const char *name,
                                 hd_resource resource, const char *where,
                                 struct hd_error *error);
hd_status __wrap_hd_graph_output(struct hd_graph *graph, const char *name,
                                 hd_resource resource, const char *where,
                                 struct hd_error *error)
{
    return stub ? HD_OK
                : __real_hd_graph_output(graph, name, resource, where, error);
}

// Programs --------------------------------------------------------------------

static struct hd_error error;
static const char *folder;

static void check(hd_status status)
{
    if (status == HD_OK)
        return;
    fprintf(stderr, "bench graph: %s\n", error.text);
    exit(1);
}

static void write_text(const char *name, const char *text, char *path,
                       size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

static struct hd_graph *generate(struct hd_runtime *runtime, const char *path,
                                 const char *passes, const char *scale)
{
    const struct hd_setting settings[] = {{"passes", passes}, {"scale", scale}};
    const struct hd_graph_program program = {
        .path = path, .settings = settings, .setting_count = 2};
    struct hd_graph *graph;

    stub_resource = 0;
    check(hd_graph_generate(runtime, &program, &graph, &error));
    return graph;
}

struct times {
    double own[MAX_ROUNDS], full[MAX_ROUNDS];
    double again[MAX_ROUNDS], changed[MAX_ROUNDS], inserted[MAX_ROUNDS];
};

// With what runs behind it, but no run.
static double prepare(struct hd_runtime *runtime, const char *path,
                      const char *passes, const char *scale,
                      struct hd_graph **keep)
{
    double begin = figure_now();
    struct hd_graph *graph = generate(runtime, path, passes, scale);

    if (!stub)
        check(hd_graph_prepare(graph, &error));
    double time = figure_now() - begin;
    if (keep)
        *keep = graph;
    else
        hd_graph_destroy(graph);
    return time;
}

// Another number for a dispatch in the middle, up to where it could run.
static double change(struct hd_graph *graph, int round)
{
    const double number = round + 3;
    const struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1};
    double begin = figure_now();

    check(hd_graph_set_argument(graph, hd_graph_pass_count(graph) / 2, 0,
                                SCALE_ARGUMENT, &arg, &error));
    check(hd_graph_prepare(graph, &error));
    return figure_now() - begin;
}

// One pass more in the middle: it clears what the next one writes, pass i being
// the one that writes resource i.
static double insert(struct hd_graph *graph)
{
    const hd_resource resource = hd_graph_pass_count(graph) / 2;
    const struct hd_command command = {.is = HD_CLEAR, .to = resource};
    const struct hd_pass_params params = {.name = "clear",
                                          .writes = &resource,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;
    double begin = figure_now();

    check(hd_graph_insert(graph, resource, &params, &pass, &error));
    check(hd_graph_prepare(graph, &error));
    return figure_now() - begin;
}

static void measure_count(struct hd_runtime *runtime, const char *path,
                          int passes, int rounds, double *per_pass)
{
    struct times t;
    struct hd_graph *kept;
    char count[16], name[64], scale[16];

    snprintf(count, sizeof(count), "%d", passes);
    snprintf(name, sizeof(name), "Lua, %d passes", passes);
    for (int i = 0; i < rounds; i++) {
        // Settings that no round before had: no graph comes back.
        snprintf(scale, sizeof(scale), "%d", 1000 + i);
        stub = true;
        t.own[i] = prepare(runtime, path, count, scale, NULL);
        stub = false;
        snprintf(scale, sizeof(scale), "%d", 100 + i);
        t.full[i] = prepare(runtime, path, count, scale, NULL);
        t.again[i] = prepare(runtime, path, count, scale, &kept);
        t.changed[i] = change(kept, i);
        t.inserted[i] = insert(kept);
        hd_graph_destroy(kept);
    }
    double own = figure_median(t.own, rounds);
    double full = figure_median(t.full, rounds);
    bool bars = passes == 10000;
    *per_pass = full / passes * 1e6;
    graph_figure(name, "generate and prepare, per pass", *per_pass, "ns", NULL,
                 NULL, 0);
    graph_figure(name, "time over the program's own", full / own, "ratio",
                 "the program, builder stubbed out", bars ? "<=" : NULL, 2.5);
    if (!bars)
        return;
    graph_figure(name, "the same again, of the first",
                 figure_median(t.again, rounds) / full, "ratio", NULL,
                 "<=", 0.01);
    graph_figure(name, "one argument changed, of the first",
                 figure_median(t.changed, rounds) / full, "ratio", NULL,
                 "<=", 0.01);
    graph_figure(name, "one pass inserted and prepared, of the first",
                 figure_median(t.inserted, rounds) / full, "ratio", NULL, NULL,
                 0);
}

void graph_measure_programs(bool quick)
{
    const struct hd_runtime_params params = {.cache = folder};
    struct hd_runtime *runtime;
    char program[320], kernel[320], remove[320];
    double per_pass[4] = {0};
    int i = 0;

    folder = make_folder();
    write_text("program.lua", program_text, program, sizeof(program));
    write_text("step.cl", kernel_text, kernel, sizeof(kernel));
    hd_status status = hd_runtime_create(&params, &runtime, &error);
    check(status);
    const struct hd_graph_program probe = {.path = program};
    struct hd_graph *graph;
    status = hd_graph_generate(runtime, &probe, &graph, &error);
    if (status == HD_OK) {
        status = hd_graph_prepare(graph, &error); // now in the cache
        hd_graph_destroy(graph);
    }
    if (status == HD_ENOTSUP) {
        graph_skip("Lua", "time over the program's own", error.text);
    } else {
        check(status);
        for (int passes = 100; passes <= 100000; passes *= 10)
            measure_count(runtime, program, passes,
                          passes > 10000 ? 3 : (quick ? 5 : MAX_ROUNDS),
                          &per_pass[i++]);
        graph_figure("Lua, 100 to 100,000 passes",
                     "cost of a pass among many over few",
                     per_pass[3] / per_pass[0], "ratio", NULL, "<=", 1.5);
    }
    hd_runtime_destroy(runtime);
    snprintf(remove, sizeof(remove), "rm -r %s", folder);
    if (system(remove) != 0)
        fprintf(stderr, "bench graph: cannot remove %s\n", folder);
}
