// Kept graphs that the GPU schedules by itself: kernels that append to their
// pass, images. The same graph is run by the host first: results are equal.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/figures/figures.h"

enum {
    UNITS = 4,
    CELLS = 4 * GROUP,
    TURNS = 200,
    FEW_TURNS = 6, // on the fake driver
    WIDTH = GROUP,
    HEIGHT = 16
};

struct form {
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_graph *graph;
    hd_resource out;
    double turns;
};

static struct hd_error error;

static hd_resource resource(const struct form *f, const char *name,
                            const char *type, uint64_t width, uint64_t height)
{
    const struct hd_shape shape = {
        .type = type, .axes = 2, .extent = {width, height, 1}};
    hd_resource made;

    CHECK_OK(hd_graph_resource(f->graph, name, &shape, NULL, &made, &error),
             error);
    return made;
}

static struct hd_command dispatch(const struct form *f, const char *kernel,
                                  uint64_t width, uint64_t height,
                                  const struct hd_pass_arg *args,
                                  unsigned count)
{
    const struct hd_kernel *k = hd_program_find(f->program, kernel);

    CHECK(k);
    return (struct hd_command){
        .is = HD_DISPATCH,
        .kernel = {.kernel = k},
        .range = {.dims = 2, .global = {width, height}, .local = {GROUP, 1}},
        .args = args,
        .arg_count = count};
}

static void pass(const struct form *f, const char *name,
                 const hd_resource *writes, unsigned write_count,
                 const struct hd_command *commands, unsigned count,
                 unsigned most)
{
    const struct hd_pass_params params = {.name = name,
                                          .reads = writes,
                                          .writes = writes,
                                          .write_count = write_count,
                                          .commands = commands,
                                          .command_count = count,
                                          .append_most = most,
                                          .keep = true};
    hd_pass made;

    CHECK_OK(hd_graph_pass(f->graph, &params, &made, &error), error);
}

// Turns that end when a kernel says, each with work of its own.
static void make_turns(struct form *f)
{
    hd_resource left = resource(f, "left", "uint", GROUP, 1);
    const hd_resource both[] = {f->out = resource(f, "out", "uint", CELLS, 1),
                                left};
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = both[0]},
        {.is = HD_PASS_RESOURCE, .resource = left},
        {.is = HD_PASS_APPENDS},
        {.is = HD_PASS_NUMBERS, .numbers = &f->turns, .number_count = 1}};
    const struct hd_pass_arg start[] = {args[0], args[1], args[3]};
    struct hd_command commands[] = {dispatch(f, "turn", GROUP, 1, &args[1], 2),
                                    dispatch(f, "step", CELLS, 1, args, 1),
                                    dispatch(f, "turn", GROUP, 1, &args[1], 2)};
    const struct hd_command first = dispatch(f, "start", CELLS, 1, start, 3);

    commands[0].appended = commands[1].appended = true;
    pass(f, "start", both, 2, &first, 1, 0);
    pass(f, "turns", both, 2, commands, 3, 2 * (unsigned)f->turns);
}

static void make_images(struct form *f)
{
    hd_resource picture = resource(f, "picture", "uint4", WIDTH, HEIGHT);

    f->out = resource(f, "out", "uint4", WIDTH, HEIGHT);
    const struct hd_pass_arg paint = {.is = HD_PASS_IMAGE, .resource = picture};
    const struct hd_pass_arg look[] = {
        paint, {.is = HD_PASS_RESOURCE, .resource = f->out}};
    const hd_resource both[] = {picture, f->out};
    const struct hd_command first =
                                dispatch(f, "paint", WIDTH, HEIGHT, &paint, 1),
                            second =
                                dispatch(f, "look", WIDTH, HEIGHT, look, 2);

    pass(f, "paint", &picture, 1, &first, 1, 0);
    pass(f, "look", both, 2, &second, 1, 0);
}

// Words of the output, and the shortest of some runs [ns].
static uint64_t run(struct form *f, void (*make)(struct form *f),
                    enum hd_graph_scheduler by, uint32_t *out, size_t size)
{
    const struct hd_graph_policy policy = {.by = by};
    struct hd_graph_statistics stats;
    uint64_t least = UINT64_MAX;

    CHECK_OK(hd_graph_create(f->runtime, &f->graph, &error), error);
    make(f);
    CHECK_OK(hd_graph_output(f->graph, "out", f->out, NULL, &error), error);
    CHECK_OK(hd_graph_set_policy(f->graph, &policy, &error), error);
    for (int round = 0; round < 3; round++) {
        uint64_t begin = hdi_now();
        CHECK_OK(hd_graph_run(f->graph, NULL, &error), error);
        uint64_t took = hdi_now() - begin;
        least = took < least ? took : least;
        hd_graph_stats(f->graph, &stats);
        if (stats.by != by)
            fprintf(stderr, "%s\n", stats.not_by_device);
        CHECK(stats.by == by);
    }
    CHECK_OK(hd_graph_contents(f->graph, f->out, 0, out, size, &error), error);
    hd_graph_destroy(f->graph);
    return least;
}

static void compare(const struct machine *m, struct form *f, const char *name,
                    void (*make)(struct form *f), unsigned steps, size_t words)
{
    static uint32_t host[4 * WIDTH * HEIGHT], gpu[4 * WIDTH * HEIGHT];
    char text[64];
    double wrong = 0;

    double by_host = (double)run(f, make, HD_GRAPH_BY_HOST, host, 4 * words);
    double by_gpu = (double)run(f, make, HD_GRAPH_BY_UNITS, gpu, 4 * words);
    for (size_t i = 0; i < words; i++)
        wrong += host[i] != gpu[i];
    snprintf(text, sizeof(text), "%s: wrong", name);
    figure(m, text, "count", wrong, "words", "host", 0, true);
    CHECK(wrong == 0);
    snprintf(text, sizeof(text), "%s: a step", name);
    figure(m, text, "time", by_gpu / steps / 1e3, "us", NULL, 0, true);
    snprintf(text, sizeof(text), "%s: host / GPU", name);
    figure(m, text, "ratio", by_host / by_gpu, "ratio", "host", 0, false);
}

void measure_forms(const char *binary)
{
    const struct hd_runtime_params params = {
        .device = "gpu", .units = UNITS, .unit_cores = GROUP};
    const struct hd_program_params program = {.path = binary};
    struct machine m; // only for the table
    struct form f = {0};

    machine_open(&m, binary, 0, false);
    f.turns = m.fake ? FEW_TURNS : TURNS;
    CHECK_OK(hd_runtime_create(&params, &f.runtime, &error), error);
    CHECK_OK(hd_program_create(f.runtime, &program, &f.program, &error), error);
    compare(&m, &f, "appended passes", make_turns, 2 * (unsigned)f.turns,
            CELLS);
    compare(&m, &f, "kept graph with images", make_images, 2,
            4 * WIDTH * HEIGHT);
    hd_program_destroy(f.program);
    hd_runtime_destroy(f.runtime);
    machine_close(&m);
}
