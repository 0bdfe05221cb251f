// Kernels that append dispatches to their pass: the same results and the same
// errors on the CPU, on the GPU with the host as scheduler, and from a list of
// the GPU's units.
#include <stdint.h>
#include <string.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    GROUP = 32,
    NODES = 16, // of a tree; the first is none
    CELLS = NODES * GROUP,
    MOST = 6
};

static struct hd_error error;

// A tree: each node appends both of its children, until there are none. Then
// turns, the end of which the kernel sees, each with work of its own.
static const char source[] =
    "kernel void root(global uint *cells, global hd_appends *to) {\n"
    "    if (get_global_id(0) == 0)\n"
    "        hd_append(to, 1, (uint3)(1, 0, 0), (uint3)(1));\n"
    "}\n"
    "kernel void node(global uint *cells, global hd_appends *to, uint add) {\n"
    "    uint at = get_group_id(0);\n"
    "    cells[get_global_id(0)] += add + at;\n"
    "    if (get_local_id(0) == 0 && 2 * at < get_num_groups(0))\n"
    "        hd_append(to, 1, (uint3)(2 * at, 0, 0), (uint3)(2, 1, 1));\n"
    "}\n"
    "kernel void sum(global uint *cells) {\n"
    "    uint all = 0;\n"
    "    if (get_global_id(0) != 0) return;\n"
    "    for (uint i = 32; i < 16 * 32; i++) all += cells[i];\n"
    "    cells[0] = all;\n"
    "}\n"
    "kernel void turn(global uint *cells, global hd_appends *to,\n"
    "                 global uint *left) {\n"
    "    if (get_global_id(0) != 0 || left[0]-- == 1) return;\n"
    "    hd_append(to, 1, (uint3)(0), (uint3)(16, 1, 1));\n"
    "    hd_append(to, 0, (uint3)(0), (uint3)(1, 1, 1));\n"
    "}\n"
    "kernel void add(global uint *cells) {\n"
    "    atomic_inc(&cells[get_global_id(0)]);\n"
    "}\n"
    "kernel void set(global uint *left, uint n) {\n"
    "    if (get_global_id(0) == 0) left[0] = n;\n"
    "}\n"
    "kernel void ask(global uint *cells, global hd_appends *to, uint many,\n"
    "                uint command, uint first, uint count) {\n"
    "    if (get_global_id(0) != 0) return;\n"
    "    for (uint i = 0; i < many; i++)\n"
    "        hd_append(to, command, (uint3)(first, 0, 0),\n"
    "                  (uint3)(count, 1, 1));\n"
    "}\n";

// Not for GPUs.
static const char of_processors[] = "kernel void settle(global uint *cells) {\n"
                                    "    hd_grid_barrier();\n"
                                    "}\n";

// Where a graph runs, and who schedules it.
static const struct place {
    const char *device;
    unsigned units;
    enum hd_graph_scheduler by;
} places[] = {{"cpu", 0, HD_GRAPH_BY_HOST},  {"gpu", 3, HD_GRAPH_BY_HOST},
              {"gpu", 0, HD_GRAPH_BY_HOST},  {"gpu", 3, HD_GRAPH_BY_UNITS},
              {"all", 3, HD_GRAPH_BY_UNITS}, {"all", 3, HD_GRAPH_BY_HOST}};

struct setup {
    const struct place *place;
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_graph *graph;
    hd_resource cells; // an input, of zeros
    struct hd_buffer *zeros;
};

static hd_resource resource(struct hd_graph *graph, const char *name,
                            uint64_t width)
{
    const struct hd_shape shape = {
        .type = "uint", .axes = 1, .extent = {width, 1, 1}};
    hd_resource made;

    CHECK_OK(hd_graph_resource(graph, name, &shape, NULL, &made, &error),
             error);
    return made;
}

static struct setup begin(const struct place *place)
{
    const struct hd_runtime_params params = {.device = place->device,
                                             .workers = 2,
                                             .no_cache = true,
                                             .units = place->units,
                                             .unit_cores = GROUP};
    const struct hd_program_params what = {.path = "a.cl", .source = source};
    struct setup s = {.place = place};

    CHECK_OK(hd_runtime_create(&params, &s.runtime, &error), error);
    CHECK_OK(hd_program_create(s.runtime, &what, &s.program, &error), error);
    CHECK_OK(hd_buffer_create(s.runtime, CELLS * 4, &s.zeros, &error), error);
    return s;
}

static void end(struct setup *s)
{
    hd_buffer_destroy(s->zeros);
    hd_program_destroy(s->program);
    hd_runtime_destroy(s->runtime);
}

static void begin_graph(struct setup *s)
{
    const struct hd_graph_policy policy = {.by = s->place->by};

    CHECK_OK(hd_graph_create(s->runtime, &s->graph, &error), error);
    CHECK_OK(hd_graph_set_policy(s->graph, &policy, &error), error);
    s->cells = resource(s->graph, "cells", CELLS);
    CHECK_OK(hd_graph_input(s->graph, s->cells, s->zeros, &error), error);
}

static void end_graph(struct setup *s)
{
    hd_graph_destroy(s->graph);
    s->graph = NULL;
}

static struct hd_command dispatch(const struct setup *s, const char *kernel,
                                  unsigned groups,
                                  const struct hd_pass_arg *args,
                                  unsigned count, bool appended)
{
    return (struct hd_command){
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(s->program, kernel)},
        .range = {.dims = 1,
                  .global = {groups * (uint64_t)GROUP},
                  .local = {GROUP}},
        .args = args,
        .arg_count = count,
        .appended = appended};
}

static hd_status pass(const struct setup *s, const hd_resource *writes,
                      unsigned write_count, const struct hd_command *commands,
                      unsigned count, unsigned most, hd_pass *made)
{
    const struct hd_pass_params params = {.name = "grow",
                                          .where = "a.c:1",
                                          .writes = writes,
                                          .write_count = write_count,
                                          .commands = commands,
                                          .command_count = count,
                                          .append_most = most,
                                          .device = NULL};

    return hd_graph_pass(s->graph, &params, made, &error);
}

static void output(const struct setup *s, const char *name, hd_resource what)
{
    CHECK_OK(hd_graph_output(s->graph, name, what, NULL, &error), error);
}

static void read_back(const struct setup *s, hd_resource from, uint32_t *cells)
{
    CHECK_OK(hd_graph_contents(s->graph, from, 0, cells, CELLS * sizeof(*cells),
                               &error),
             error);
}

static struct hd_graph_statistics look(const struct setup *s)
{
    struct hd_graph_statistics stats;

    hd_graph_stats(s->graph, &stats);
    return stats;
}

// Children run after their parents, the sum after all of them, and what comes
// after the pass after that; with another argument it is run again.
static void trees_grow(struct setup *s)
{
    begin_graph(s);
    double number = 5;
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = s->cells},
        {.is = HD_PASS_APPENDS},
        {.is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1}};
    const struct hd_command commands[] = {
        dispatch(s, "root", 1, args, 2, false),
        dispatch(s, "node", NODES, args, 3, true),
        dispatch(s, "sum", 1, args, 1, false)};
    const struct hd_command add = dispatch(s, "add", 1, args, 1, false);
    static uint32_t cells[CELLS];
    hd_pass grows, after;

    CHECK_OK(pass(s, &s->cells, 1, commands, 3, NODES / 2, &grows), error);
    CHECK_OK(pass(s, &s->cells, 1, &add, 1, 0, &after), error);
    output(s, "cells", s->cells);
    for (unsigned round = 0; round < 3; round++) {
        struct hd_pass_info one, next;
        uint32_t all = 0;
        number = 5 + round;
        CHECK_OK(hd_graph_set_argument(s->graph, grows, 1, 2, &args[2], &error),
                 error);
        CHECK_OK(hd_graph_run(s->graph, NULL, &error), error);
        CHECK(look(s).by == s->place->by && *look(s).not_by_device == '\0');
        CHECK(look(s).appended == NODES / 2);
        read_back(s, s->cells, cells);
        for (uint32_t i = GROUP; i < CELLS; i++) {
            CHECK(cells[i] == 5 + round + i / GROUP);
            all += cells[i];
        }
        CHECK(cells[0] == all + 1);
        CHECK(hd_graph_pass_info(s->graph, 0, &one) &&
              hd_graph_pass_info(s->graph, 1, &next));
        CHECK(one.end > one.begin && next.begin >= one.end);
    }
    end_graph(s);
}

// A dispatch appends itself, and one that does the work, which is there once
// for each turn.
static void turns_end_when_a_kernel_says(struct setup *s)
{
    begin_graph(s);
    enum {
        TURNS = 5
    };
    hd_resource left = resource(s->graph, "left", CELLS);
    const double turns = TURNS;
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = s->cells},
        {.is = HD_PASS_APPENDS},
        {.is = HD_PASS_RESOURCE, .resource = left}};
    const struct hd_pass_arg set[] = {
        args[2], {.is = HD_PASS_NUMBERS, .numbers = &turns, .number_count = 1}};
    const struct hd_command commands[] = {
        dispatch(s, "turn", 1, args, 3, true),
        dispatch(s, "add", NODES, args, 1, true),
        dispatch(s, "turn", 1, args, 3, false)};
    const struct hd_command first = dispatch(s, "set", 1, set, 2, false);
    const hd_resource both[] = {s->cells, left};
    static uint32_t cells[CELLS];
    hd_pass made;

    CHECK_OK(pass(s, &left, 1, &first, 1, 0, &made), error);
    CHECK_OK(pass(s, both, 2, commands, 3, 2 * TURNS, &made), error);
    output(s, "cells", s->cells);
    for (unsigned round = 0; round < 2; round++) {
        CHECK_OK(hd_graph_run(s->graph, NULL, &error), error);
        CHECK(look(s).by == s->place->by);
        CHECK(look(s).appended == 2 * (TURNS - 1));
        read_back(s, s->cells, cells);
        for (uint32_t i = 0; i < CELLS; i++)
            CHECK(cells[i] == TURNS - 1);
    }
    end_graph(s);
}

// What is wrong ends the run, with the same words wherever it ran, and the
// graph is good afterwards.
static void wrong_requests_end_the_run(struct setup *s)
{
    static const struct {
        double many, command, first, count;
        hd_status status;
        const char *text;
    } cases[] = {{1, 0, 0, 1, HD_EINVAL, "or that cannot be appended"},
                 {1, 2, 0, 1, HD_EINVAL, "or that cannot be appended"},
                 {1, 4e9, 0, 1, HD_EINVAL, "or that cannot be appended"},
                 {1, 1, 0, 0, HD_EINVAL, "no work-groups of a command"},
                 {1, 1, NODES - 1, 2, HD_EINVAL, "beyond its range"},
                 {1, 1, 4e9, 1, HD_EINVAL, "beyond its range"},
                 {1, 1, 1, 4294967295.0, HD_EINVAL, "beyond its range"},
                 {MOST + 1, 1, 0, 1, HD_ELIMIT, "more than the 6 dispatches"},
                 {60, 1, 0, 1, HD_ELIMIT, "more than the 6 dispatches"}};
    begin_graph(s);
    double numbers[4] = {1, 1, 0, 1};
    struct hd_pass_arg args[6] = {
        {.is = HD_PASS_RESOURCE, .resource = s->cells},
        {.is = HD_PASS_APPENDS}};
    hd_pass made;

    for (unsigned i = 0; i < 4; i++)
        args[2 + i] = (struct hd_pass_arg){
            .is = HD_PASS_NUMBERS, .numbers = &numbers[i], .number_count = 1};
    const struct hd_command commands[] = {
        dispatch(s, "ask", 1, args, 6, false),
        dispatch(s, "add", NODES, args, 1, true)};
    CHECK_OK(pass(s, &s->cells, 1, commands, 2, MOST, &made), error);
    output(s, "cells", s->cells);
    // Not all, where kernels are interpreted.
    unsigned step = strcmp(s->place->device, "cpu") == 0 ? 1 : 3;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i += step) {
        const double wrong[] = {cases[i].many, cases[i].command, cases[i].first,
                                cases[i].count};
        const double right[] = {MOST, 1, 3, 2};
        for (unsigned good = 0; good < 2; good++) {
            memcpy(numbers, good ? right : wrong, sizeof(numbers));
            for (unsigned k = 2; k < 6; k++)
                CHECK_OK(hd_graph_set_argument(s->graph, made, 0, k, &args[k],
                                               &error),
                         error);
            if (good) {
                CHECK_OK(hd_graph_run(s->graph, NULL, &error), error);
                CHECK(look(s).appended == MOST && look(s).by == s->place->by);
                continue;
            }
            CHECK_FAILS(hd_graph_run(s->graph, NULL, &error), cases[i].status,
                        error, "a.c:1: pass 'grow': kernel 'ask' appends");
            CHECK(strstr(error.text, cases[i].text));
        }
    }
    end_graph(s);
}

static void wrong_passes_are_refused(void)
{
    struct setup s = begin(&places[0]);
    begin_graph(&s);
    const struct hd_program_params what = {.path = "b.cl",
                                           .source = of_processors};
    struct hd_program *other;
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = s.cells}, {.is = HD_PASS_APPENDS}};
    const struct hd_pass_arg twice[] = {args[0], args[0]};
    const struct hd_command root = dispatch(&s, "root", 1, args, 2, false),
                            add = dispatch(&s, "add", NODES, args, 1, true);
    struct hd_command commands[] = {root, add};
    hd_pass made;

    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 2, 0, &made), HD_EINVAL, error,
                "append_most is 0");
    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 1, 3, &made), HD_EINVAL, error,
                "0 of its commands are appended, 1 of the others append");
    CHECK_FAILS(pass(&s, &s.cells, 1, &commands[1], 1, 3, &made), HD_EINVAL,
                error, "0 of the others append");
    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 2, 2000000, &made), HD_ELIMIT,
                error, "at most 1048576");
    commands[0].appended = true;
    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 2, 3, &made), HD_EINVAL, error,
                "0 of the others append");
    commands[0].appended = false;
    commands[1].range.local[0] = 0;
    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 2, 3, &made), HD_EINVAL, error,
                "command 2 is appended by work-groups");
    commands[1] =
        (struct hd_command){.is = HD_CLEAR, .to = s.cells, .appended = true};
    CHECK_FAILS(pass(&s, &s.cells, 1, commands, 2, 3, &made), HD_EINVAL, error,
                "command 2 is appended, but is no dispatch");

    // What only a kernel tells.
    commands[1] = add;
    commands[0].args = twice;
    const struct hd_command all[] = {root, add, commands[0]};
    CHECK_OK(pass(&s, &s.cells, 1, all, 3, 3, &made), error);
    CHECK_FAILS(hd_graph_prepare(s.graph, &error), HD_EGRAPH, error,
                "it takes what appends dispatches");
    CHECK_OK(hd_program_create(s.runtime, &what, &other, &error), error);
    struct hd_command wrong[] = {root, add};
    wrong[1].kernel.kernel = hd_program_find(other, "settle");
    const struct hd_pass_params params = {.name = "grid",
                                          .writes = &s.cells,
                                          .write_count = 1,
                                          .commands = wrong,
                                          .command_count = 2,
                                          .append_most = 1};
    CHECK_OK(hd_graph_replace(s.graph, made, &params, &error), error);
    CHECK_FAILS(hd_graph_prepare(s.graph, &error), HD_ENOTSUP, error,
                "hd_grid_barrier()");
    end_graph(&s);
    end(&s);
    hd_program_destroy(other);
}

// A graph of the driver's cannot: it is left to the host.
static void launches_are_left_to_the_host(void)
{
    const struct place place = {"gpu", 3, HD_GRAPH_BY_LAUNCHES};
    struct setup s = begin(&place);
    begin_graph(&s);
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = s.cells}, {.is = HD_PASS_APPENDS}};
    const struct hd_command commands[] = {
        dispatch(&s, "root", 1, args, 2, false),
        dispatch(&s, "add", NODES, args, 1, true)};
    hd_pass made;

    CHECK_OK(pass(&s, &s.cells, 1, commands, 2, 1, &made), error);
    output(&s, "cells", s.cells);
    CHECK_OK(hd_graph_run(s.graph, NULL, &error), error);
    CHECK(look(&s).by == HD_GRAPH_BY_HOST && look(&s).appended == 1);
    CHECK(strstr(look(&s).not_by_device, "appends"));
    end_graph(&s);
    end(&s);
}

int main(void)
{
    const struct fake_cuda *fake = fake_cuda();
    size_t count = fake ? sizeof(places) / sizeof(places[0]) : 1;

    for (size_t i = 0; i < count; i++) {
        struct setup s = begin(&places[i]);
        trees_grow(&s);
        turns_end_when_a_kernel_says(&s);
        if (places[i].units > 0 || i == 0)
            wrong_requests_end_the_run(&s);
        end(&s);
    }
    wrong_passes_are_refused();
    if (!fake)
        return 0;
    launches_are_left_to_the_host();
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
