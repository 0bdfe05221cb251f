// Kept graphs whose structure is changed: random changes, after each of which
// the graph is one that was built so at once, and runs to the same results.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    REGISTERS = 6,
    ELEMENTS = 8,
    MAX_STEPS = 400,
    CHANGES = 300
};

static struct hd_runtime *runtime;
static struct hd_program *program; // NULL: this build has no compiler
static struct hd_error error;

static const char source[] =
    "kernel void add(global const int *a, global int *b, int c, int d)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    b[i] = a[i] + c + d;\n"
    "}\n";

// A program for a machine with a few registers, as many ints wide.
struct step {
    enum {
        FILL, // to = value
        COPY, // to = from
        ADD   // to = from + value + bytes
    } is;
    int from, to, value, bytes;
    bool out;
    hd_pass pass; // its handle in the graph that is changed
};

struct list {
    struct step steps[MAX_STEPS];
    int count;
};

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static struct step random_step(unsigned *state)
{
    struct step s = {.to = (int)(next_random(state) % REGISTERS),
                     .from = (int)(next_random(state) % REGISTERS),
                     .value = (int)(next_random(state) % 1000),
                     .bytes = (int)(next_random(state) % 1000)};

    s.is = s.from == s.to ? FILL : (int)(next_random(state) % 3);
    if (s.is == ADD && !program)
        s.is = COPY;
    return s;
}

// What a step is as a pass; what it points to lies in `room`.
struct room {
    struct hd_pass_params params;
    struct hd_command command;
    struct hd_pass_arg args[4];
    double number;
    int bytes;
    hd_resource from, to;
};

static const struct hd_pass_params *make_params(const struct step *s,
                                                const hd_resource *registers,
                                                struct room *room)
{
    *room = (struct room){.number = s->value,
                          .bytes = s->bytes,
                          .from = registers[s->from],
                          .to = registers[s->to]};
    room->args[0] =
        (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = room->from};
    room->args[1] =
        (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = room->to};
    room->args[2] = (struct hd_pass_arg){
        .is = HD_PASS_NUMBERS, .numbers = &room->number, .number_count = 1};
    room->args[3] = (struct hd_pass_arg){
        .is = HD_PASS_BYTES, .bytes = &room->bytes, .size = sizeof(int)};
    switch (s->is) {
    case FILL:
        room->command = (struct hd_command){.is = HD_FILL,
                                            .to = room->to,
                                            .pattern = &room->number,
                                            .pattern_count = 1};
        break;
    case COPY:
        room->command = (struct hd_command){
            .is = HD_COPY, .from = room->from, .to = room->to};
        break;
    case ADD:
        room->command = (struct hd_command){
            .is = HD_DISPATCH,
            .kernel = {.kernel = hd_program_find(program, "add")},
            .range = {.dims = 1, .global = {ELEMENTS}},
            .args = room->args,
            .arg_count = 4};
    }
    room->params = (struct hd_pass_params){.name = "step",
                                           .reads = &room->from,
                                           .read_count = s->is != FILL,
                                           .writes = &room->to,
                                           .write_count = 1,
                                           .commands = &room->command,
                                           .command_count = 1};
    return &room->params;
}

static struct hd_graph *create(struct list *list, hd_resource *registers,
                               bool keep_handles)
{
    const struct hd_shape shape = {
        .type = "int", .axes = 1, .extent = {ELEMENTS}};
    struct hd_graph *graph;
    struct room room;
    hd_pass pass;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    for (int i = 0; i < REGISTERS; i++)
        CHECK_OK(
            hd_graph_resource(graph, "r", &shape, NULL, &registers[i], &error),
            error);
    for (int i = 0; i < list->count; i++) {
        if (list->steps[i].out)
            continue;
        CHECK_OK(hd_graph_pass(graph,
                               make_params(&list->steps[i], registers, &room),
                               &pass, &error),
                 error);
        if (keep_handles)
            list->steps[i].pass = pass;
    }
    for (int i = 0; i < REGISTERS; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        CHECK_OK(hd_graph_output(graph, name, registers[i], NULL, &error),
                 error);
    }
    return graph;
}

static void check_results(const struct hd_graph *graph,
                          const hd_resource *registers, const struct list *list)
{
    int expected[REGISTERS] = {0}, seen[ELEMENTS];

    for (int i = 0; i < list->count; i++) {
        const struct step *s = &list->steps[i];
        if (!s->out)
            expected[s->to] = s->is == FILL ? s->value
                              : s->is == COPY
                                  ? expected[s->from]
                                  : expected[s->from] + s->value + s->bytes;
    }
    for (int i = 0; i < REGISTERS; i++) {
        CHECK_OK(hd_graph_contents(graph, registers[i], 0, seen, sizeof(seen),
                                   &error),
                 error);
        for (int k = 0; k < ELEMENTS; k++)
            CHECK(seen[k] == expected[i]);
    }
}

// The graph as it is printed, but for what takes times.
static char *print(const struct hd_graph *graph)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    CHECK(file);
    CHECK_OK(hd_graph_print(graph, HD_GRAPH_DOT, file), error);
    fclose(file);
    return text;
}

static void change(struct hd_graph *graph, struct list *list,
                   const hd_resource *registers, unsigned *state)
{
    // The first steps give each register a value, and stay.
    int at = REGISTERS +
             (int)(next_random(state) % (unsigned)(list->count - REGISTERS));
    struct step *s = &list->steps[at];
    struct room room;

    switch (next_random(state) % 4) {
    case 0: {
        struct step other = random_step(state);
        other.pass = s->pass;
        other.out = s->out;
        *s = other;
        CHECK_OK(hd_graph_replace(graph, s->pass,
                                  make_params(s, registers, &room), &error),
                 error);
        break;
    }
    case 1:
        s->out = !s->out;
        CHECK_OK(hd_graph_leave_out(graph, s->pass, s->out, &error), error);
        break;
    case 2:
        if (list->count == MAX_STEPS)
            break;
        hd_pass before = s->pass;
        memmove(s + 1, s, (size_t)(list->count - at) * sizeof(*s));
        list->count++;
        *s = random_step(state);
        CHECK_OK(hd_graph_insert(graph, before,
                                 make_params(s, registers, &room), &s->pass,
                                 &error),
                 error);
        CHECK(hd_graph_pass_index(graph, s->pass) == (unsigned)at);
        break;
    default:
        if (list->count == MAX_STEPS)
            break;
        s = &list->steps[list->count++];
        *s = random_step(state);
        CHECK_OK(hd_graph_pass(graph, make_params(s, registers, &room),
                               &s->pass, &error),
                 error);
        CHECK(hd_graph_pass_index(graph, s->pass) == (unsigned)list->count - 1);
    }
}

static void changed_graphs_are_as_built_so(unsigned seed)
{
    struct list *list = calloc(1, sizeof(*list));
    hd_resource registers[REGISTERS], others[REGISTERS];
    struct hd_graph_statistics now, then;
    unsigned state = seed;

    CHECK(list);
    for (int i = 0; i < REGISTERS; i++)
        list->steps[list->count++] = (struct step){.is = FILL, .to = i};
    for (int i = 0; i < 40; i++)
        list->steps[list->count++] = random_step(&state);
    struct hd_graph *graph = create(list, registers, true);
    for (int i = 0; i < CHANGES; i++) {
        change(graph, list, registers, &state);
        if (next_random(&state) % 4)
            continue;
        struct hd_graph *other = create(list, others, false);
        CHECK_OK(hd_graph_prepare(graph, &error), error);
        CHECK_OK(hd_graph_prepare(other, &error), error);
        hd_graph_stats(graph, &now);
        hd_graph_stats(other, &then);
        CHECK(now.edges == then.edges && now.barriers == then.barriers);
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
        check_results(graph, registers, list);
        hd_graph_destroy(other);
    }
    hd_graph_destroy(graph);
    free(list);
}

// Passes are found again as they were checked, also when values have moved.
static void only_what_is_new_is_checked(void)
{
    enum {
        PASSES = 300
    };
    struct list *list = calloc(1, sizeof(*list));
    struct hd_graph_statistics stats;
    hd_resource registers[REGISTERS];
    struct room room;
    hd_pass pass;

    CHECK(list);
    for (int i = 0; i < REGISTERS; i++)
        list->steps[list->count++] = (struct step){.is = FILL, .to = i};
    for (int i = 0; i < PASSES; i++)
        list->steps[list->count++] = (struct step){
            .is = ADD, .from = i % 3, .to = 3 + i % 3, .value = i, .bytes = i};
    struct hd_graph *graph = create(list, registers, true);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    check_results(graph, registers, list);
    hd_graph_stats(graph, &stats);
    uint32_t all = stats.checked;
    CHECK(all > 6 && all == stats.passes - stats.dropped);

    struct step *s = &list->steps[list->count - 1];
    s->value = 7000;
    CHECK_OK(hd_graph_replace(graph, s->pass, make_params(s, registers, &room),
                              &error),
             error);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    check_results(graph, registers, list);
    hd_graph_stats(graph, &stats);
    CHECK(stats.checked == 1);

    for (int i = 0; i < 60; i++) {
        s = &list->steps[list->count++];
        *s = (struct step){
            .is = ADD, .from = 3 + i % 3, .to = i % 3, .value = i};
        CHECK_OK(hd_graph_pass(graph, make_params(s, registers, &room), &pass,
                               &error),
                 error);
    }
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    check_results(graph, registers, list);
    // Those that the last ones need, and were not needed before.
    hd_graph_stats(graph, &stats);
    CHECK(stats.checked < all && stats.passes == (unsigned)list->count);
    hd_graph_destroy(graph);
    free(list);
}

static void what_cannot_be_changes_nothing(void)
{
    struct list *list = calloc(1, sizeof(*list));
    hd_resource registers[REGISTERS];
    struct room room;
    hd_pass pass;

    CHECK(list);
    for (int i = 0; i < REGISTERS; i++)
        list->steps[list->count++] =
            (struct step){.is = FILL, .to = i, .value = i};
    list->steps[list->count++] = (struct step){.is = COPY, .from = 1, .to = 2};
    struct hd_graph *graph = create(list, registers, true);
    char *before = print(graph);
    const struct step reads_late = {.is = COPY, .from = 4, .to = 0};

    CHECK_FAILS(hd_graph_replace(graph, 99, NULL, &error), HD_EINVAL, error,
                "one of its passes");
    CHECK_FAILS(hd_graph_replace(graph, list->steps[0].pass, NULL, &error),
                HD_EINVAL, error, "parameters");
    CHECK_FAILS(hd_graph_replace(graph, list->steps[0].pass,
                                 make_params(&reads_late, registers, &room),
                                 &error),
                HD_EGRAPH, error, "would read resource");
    CHECK_FAILS(hd_graph_insert(graph, list->steps[0].pass,
                                make_params(&reads_late, registers, &room),
                                &pass, &error),
                HD_EGRAPH, error, "would read resource");
    CHECK_FAILS(hd_graph_leave_out(graph, list->steps[1].pass, true, &error),
                HD_EGRAPH, error, "would read resource");
    CHECK(hd_graph_pass_index(graph, 99) == UINT_MAX);
    char *after = print(graph);
    CHECK(strcmp(before, after) == 0);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    check_results(graph, registers, list);
    free(before);
    free(after);
    hd_graph_destroy(graph);
    free(list);
}

// Many changes do not make a graph larger for good, and what is moved together
// stays what it is: half of the passes are never replaced.
static void what_was_replaced_is_left_behind(void)
{
    struct list *list = calloc(1, sizeof(*list));
    hd_resource registers[REGISTERS];
    struct room room;

    CHECK(list);
    for (int i = 0; i < REGISTERS; i++)
        list->steps[list->count++] =
            (struct step){.is = FILL, .to = i, .value = i};
    for (int i = 0; i < 20; i++)
        list->steps[list->count++] = (struct step){.is = program ? ADD : COPY,
                                                   .from = i % REGISTERS,
                                                   .to = (i + 1) % REGISTERS,
                                                   .value = 100 + i,
                                                   .bytes = 1000 * i};
    struct hd_graph *graph = create(list, registers, true);
    for (int i = 0; i < 20000; i++) {
        struct step *s = &list->steps[REGISTERS + i % 10 * 2];
        s->value = i;
        CHECK_OK(hd_graph_replace(graph, s->pass,
                                  make_params(s, registers, &room), &error),
                 error);
        if (i % 61 == 0) {
            CHECK_OK(hd_graph_run(graph, NULL, &error), error);
            check_results(graph, registers, list);
        }
    }
    CHECK(hd_graph_pass_count(graph) == (unsigned)list->count);
    hd_graph_destroy(graph);
    free(list);
}

int main(void)
{
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = 2, .no_cache = true};
    const struct hd_program_params text = {.path = "add.cl", .source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &text, &program, &error);
    if (IS_UNBUILT(status, error))
        program = NULL;
    else
        CHECK_OK(status, error);
    for (unsigned seed = 1; seed <= 12; seed++)
        changed_graphs_are_as_built_so(seed);
    if (program)
        only_what_is_new_is_checked();
    what_cannot_be_changes_nothing();
    what_was_replaced_is_left_behind();
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return 0;
}
