// Passes over fields: a copy between fields, or a kernel over one, is under way
// while the next pass that does not need it runs; what needs it waits. Started
// by mpirun it is the same.
#include <stdlib.h>
#include <string.h>

#include "heddle/agile.h"
#include "heddle/graph.h"
#include "heddle/runtime.h"
#include "tests/check.h"

enum {
    SIDE = 24,
    FIELDS = 5
};

static struct hd_error error;
static struct hd_runtime *runtime;
static struct hd_cluster *cluster;
static struct hd_map *maps[2];
static const struct hd_shape shape = {"int", 2, {SIDE, SIDE, 1}};
static uint64_t state = 1;

// `slow` takes some milliseconds for a work-item, `stray` writes what is none
// of its task's.
static const char source[] =
    "kernel void more(global int *to, global const int *from)\n"
    "{\n"
    "    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "    to[i] = from[i] + 1;\n"
    "}\n"
    "kernel void slow(global int *to, global const int *from)\n"
    "{\n"
    "    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "    uint x = from[i];\n"
    "    for (int k = 0; k < 1000000; k++) x = x * 1664525u + 1013904223u;\n"
    "    to[i] = from[i] + (x == 1u ? 2 : 1);\n"
    "}\n"
    "kernel void stray(global int *to, global const int *from)\n"
    "{\n"
    "    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);\n"
    "    to[i] = from[i];\n"
    "    if (i == 5) to[300] = 0;\n"
    "}\n";
static struct hd_program *program;

static unsigned below(unsigned bound)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33) % bound;
}

static struct hd_graph *create(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    CHECK_OK(hd_graph_cluster(graph, cluster, &error), error);
    return graph;
}

static hd_resource add_field(struct hd_graph *graph, const char *name,
                             unsigned map)
{
    hd_resource field;

    CHECK_OK(
        hd_graph_field(graph, name, &shape, maps[map], NULL, &field, &error),
        error);
    return field;
}

static unsigned add(struct hd_graph *graph, const struct hd_pass_params *params)
{
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, params, &pass, &error), error);
    return hd_graph_pass_index(graph, pass);
}

static void add_fill(struct hd_graph *graph, hd_resource to, double value)
{
    struct hd_command fill = {
        .is = HD_FILL, .to = to, .pattern = &value, .pattern_count = 1};

    add(graph, &(struct hd_pass_params){.name = "fill",
                                        .overwrites = &to,
                                        .overwrite_count = 1,
                                        .commands = &fill,
                                        .command_count = 1});
}

static unsigned add_copy(struct hd_graph *graph, hd_resource to,
                         hd_resource from, enum hd_priority priority)
{
    struct hd_command copy = {.is = HD_COPY, .to = to, .from = from};

    return add(graph, &(struct hd_pass_params){.name = "copy",
                                               .reads = &from,
                                               .read_count = 1,
                                               .overwrites = &to,
                                               .overwrite_count = 1,
                                               .commands = &copy,
                                               .command_count = 1,
                                               .priority = priority});
}

static hd_status nothing(void *data, struct hd_error *why)
{
    (void)data;
    (void)why;
    return HD_OK;
}

static unsigned add_look(struct hd_graph *graph, hd_resource field)
{
    struct hd_command call = {.is = HD_CALL, .call = nothing};

    return add(graph, &(struct hd_pass_params){.name = "look",
                                               .reads = &field,
                                               .read_count = 1,
                                               .commands = &call,
                                               .command_count = 1,
                                               .priority = HD_PRIORITY_HIGH,
                                               .keep = true});
}

static void add_output(struct hd_graph *graph, const char *name,
                       hd_resource field)
{
    hd_resource out;

    CHECK_OK(hd_graph_resource(graph, name, &shape, NULL, &out, &error), error);
    add_copy(graph, out, field, HD_PRIORITY_NORMAL);
    CHECK_OK(hd_graph_output(graph, name, out, NULL, &error), error);
}

static void output_is(struct hd_graph *graph, unsigned index, int value)
{
    struct hd_graph_result result;
    int elements[SIDE * SIDE];

    CHECK(hd_graph_result(graph, index, &result));
    CHECK_OK(
        hd_buffer_read(result.buffer, 0, elements, sizeof(elements), &error),
        error);
    for (unsigned i = 0; i < SIDE * SIDE; i++)
        CHECK(elements[i] == value);
}

static void run(struct hd_graph *graph)
{
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
}

// There is one worker, which has started the copy: it takes the urgent pass
// before the copy's own work, if the pass may begin at all.
static void a_pass_overlaps_a_copy_that_it_does_not_need(bool needs)
{
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
    hd_resource c = add_field(graph, "c", 0);
    struct hd_pass_info copy, look;

    add_fill(graph, a, 3);
    add_fill(graph, c, 5);
    unsigned copies = add_copy(graph, b, a, HD_PRIORITY_LOW);
    unsigned looks = add_look(graph, needs ? b : c);
    add_output(graph, "copied", b);
    add_output(graph, "other", c);
    for (int i = 0; i < 3; i++) {
        run(graph);
        output_is(graph, 0, 3);
        output_is(graph, 1, 5);
        CHECK(hd_graph_pass_info(graph, copies, &copy));
        CHECK(hd_graph_pass_info(graph, looks, &look));
        CHECK(needs ? look.begin >= copy.end : look.begin < copy.end);
    }
    hd_graph_destroy(graph);
}

static unsigned add_kernel(struct hd_graph *graph, const char *kernel,
                           hd_resource to, hd_resource from,
                           enum hd_priority priority)
{
    struct hd_pass_arg args[] = {{.is = HD_PASS_RESOURCE, .resource = to},
                                 {.is = HD_PASS_RESOURCE, .resource = from}};
    struct hd_command dispatch = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(program, kernel)},
        .range = {.dims = 2, .global = {SIDE, SIDE}},
        .args = args,
        .arg_count = 2};

    return add(graph, &(struct hd_pass_params){.name = kernel,
                                               .reads = &from,
                                               .read_count = 1,
                                               .overwrites = &to,
                                               .overwrite_count = 1,
                                               .commands = &dispatch,
                                               .command_count = 1,
                                               .priority = priority,
                                               .keep = true});
}

// Of two kernels over fields the second one begins before the first one ends,
// unless it needs what that writes, or writes what that needs. Both may read
// the same field.
static void kernels_overlap(void)
{
    enum {
        SAME_INPUT,
        OTHER_INPUT,
        NEEDS,
        OVERWRITES,
        CASES
    };

    for (unsigned i = 0; i < CASES; i++) {
        struct hd_graph *graph = create();
        hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
        hd_resource c = add_field(graph, "c", 0), d = add_field(graph, "d", 1);
        hd_resource from = i == NEEDS ? b : i == OTHER_INPUT ? c : a;
        struct hd_pass_info slow, next;

        add_fill(graph, a, 3);
        add_fill(graph, c, 5);
        unsigned first = add_kernel(graph, "slow", b, a, HD_PRIORITY_LOW);
        unsigned second =
            add_kernel(graph, "more", i == OVERWRITES ? a : d,
                       i == OVERWRITES ? c : from, HD_PRIORITY_HIGH);
        add_output(graph, "first", b);
        add_output(graph, "second", i == OVERWRITES ? a : d);
        for (int k = 0; k < 2; k++) {
            run(graph);
            output_is(graph, 0, 4);
            output_is(graph, 1, i == NEEDS ? 5 : i == SAME_INPUT ? 4 : 6);
            CHECK(hd_graph_pass_info(graph, first, &slow));
            CHECK(hd_graph_pass_info(graph, second, &next));
            CHECK(i < NEEDS ? next.begin < slow.end : next.begin >= slow.end);
        }
        hd_graph_destroy(graph);
    }
}

// One fails while others are under way, here or there before they have begun:
// the run fails everywhere, soon, and the next one goes well.
static void a_kernel_that_fails_stops_all(void)
{
    static const struct hd_program_params checked = {
        .source = source, .path = "fields.cl", .options = "-heddle-check"};
    struct hd_program *plain = program;
    hd_resource f[FIELDS];
    char name[8];

    for (unsigned after = 0; after < 3; after++) {
        struct hd_graph *graph = create();

        for (unsigned i = 0; i < FIELDS; i++) {
            snprintf(name, sizeof(name), "f%u", i);
            f[i] = add_field(graph, name, i % 2);
        }
        add_fill(graph, f[0], 7);
        for (unsigned i = 1; i < FIELDS; i++)
            if (i == 1 + after) {
                CHECK_OK(hd_program_create(runtime, &checked, &program, &error),
                         error);
                add_kernel(graph, "stray", f[i], f[0], HD_PRIORITY_NORMAL);
            } else {
                add_kernel(graph, "more", f[i], f[0],
                           (enum hd_priority)below(3));
            }
        add_output(graph, "last", f[FIELDS - 1]);
        CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_ECHECK, error,
                    "pass 'stray'");
        hd_graph_destroy(graph);
        hd_program_destroy(program);
        program = plain;
    }
}

// The last process fails where the others do not.
static bool fails_here(void)
{
    return hd_cluster_process(cluster) + 1 == hd_cluster_processes(cluster);
}

static hd_status fail_here(void *data, struct hd_error *why)
{
    (void)data;
    if (!fails_here())
        return HD_OK;
    snprintf(why->text, sizeof(why->text), "here alone");
    return why->status = HD_EIO;
}

static unsigned add_failure(struct hd_graph *graph, hd_resource field)
{
    struct hd_command call = {.is = HD_CALL, .call = fail_here};

    return add(graph, &(struct hd_pass_params){.name = "fails",
                                               .reads = &field,
                                               .read_count = 1,
                                               .commands = &call,
                                               .command_count = 1,
                                               .keep = true});
}

// A pass that is not collective fails on one process, with the last use of a
// field: those that it goes well on neither wait for the field to go, nor in
// the next pass, and all say why.
static void a_pass_that_fails_alone_stops_all(void)
{
    for (int i = 0; i < 3; i++) {
        struct hd_graph *graph = create();
        hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
        hd_resource c = add_field(graph, "c", 0);

        add_fill(graph, a, 1);
        add_fill(graph, b, 2);
        add_failure(graph, a);
        for (int k = 0; k < 3; k++) {
            add_copy(graph, c, b, HD_PRIORITY_NORMAL);
            add_copy(graph, b, c, HD_PRIORITY_NORMAL);
        }
        add_output(graph, "out", b);
        for (int k = 0; k < 2; k++)
            CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EIO, error,
                        "here alone");
        hd_graph_destroy(graph);
    }
}

// It is the last of the run: what has gone well elsewhere stays so.
static void a_last_pass_that_fails_keeps_nobody_waiting(void)
{
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);

    add_fill(graph, a, 1);
    add_copy(graph, b, a, HD_PRIORITY_NORMAL);
    add_failure(graph, b);
    for (int k = 0; k < 2; k++)
        CHECK(hd_graph_run(graph, NULL, &error) ==
              (fails_here() ? HD_EIO : HD_OK));
    hd_graph_destroy(graph);
}

// The process that has failed closes the run at once; others go on adding
// passes, which never come there.
static void an_open_run_that_fails_alone_ends(void)
{
    const struct hd_graph_run_params open = {.open = true};
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
    hd_status status = HD_OK;
    hd_event event;

    add_fill(graph, a, 1);
    add_failure(graph, a);
    CHECK_OK(hd_graph_start(graph, NULL, &open, &event, &error), error);
    for (int i = 0; i < 4 && status == HD_OK && !fails_here(); i++) {
        add_copy(graph, i % 2 ? a : b, i % 2 ? b : a, HD_PRIORITY_NORMAL);
        status = hd_graph_extend(graph, &error);
        CHECK(status == HD_OK || status == HD_EIO);
    }
    if (hd_graph_close(graph, &error) != HD_OK)
        CHECK(strstr(error.text, "here alone"));
    CHECK_FAILS(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), HD_EIO,
                error, "here alone");
    hd_event_release(pool, event);
    hd_graph_destroy(graph);
}

// One process cancels its run before it begins.
static void a_run_that_never_begins_is_told(void)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
    hd_event gate, event;

    add_fill(graph, a, 1);
    add_copy(graph, b, a, HD_PRIORITY_NORMAL);
    add_output(graph, "out", b);
    CHECK_OK(hd_event_create(pool, &gate, &error), error);
    const struct hd_start start = {.after = &gate, .after_count = 1};
    CHECK_OK(hd_graph_start(graph, &start, NULL, &event, &error), error);
    if (fails_here())
        hd_event_cancel(pool, event);
    CHECK_OK(hd_event_end(pool, gate, HD_OK, NULL, &error), error);
    CHECK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error) == HD_ECANCELED);
    hd_event_release(pool, gate);
    hd_event_release(pool, event);
    run(graph);
    output_is(graph, 0, 1);
    hd_graph_destroy(graph);
}

// Memory that is none of a field is missing on one process: no address space
// holds it.
static void memory_that_lacks_alone_stops_all(void)
{
    const struct hd_shape huge = {"int", 1, {UINT64_C(1) << 46}};
    const struct hd_shape small = {"int", 1, {16}};
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b = add_field(graph, "b", 1);
    hd_resource memory;

    CHECK_OK(hd_graph_resource(graph, "memory", fails_here() ? &huge : &small,
                               NULL, &memory, &error),
             error);
    add_fill(graph, a, 1);
    struct hd_command clear = {.is = HD_CLEAR, .to = memory};
    const hd_resource writes[] = {memory};
    add(graph, &(struct hd_pass_params){.name = "clear",
                                        .reads = &a,
                                        .read_count = 1,
                                        .overwrites = writes,
                                        .overwrite_count = 1,
                                        .commands = &clear,
                                        .command_count = 1,
                                        .keep = true});
    add_copy(graph, b, a, HD_PRIORITY_NORMAL);
    add_output(graph, "out", b);
    CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_ENOMEM, error, "memory");
    hd_graph_destroy(graph);
}

static void kernels_over_fields_have_no_images(void)
{
    struct hd_graph *graph = create();
    hd_resource a = add_field(graph, "a", 0), b;
    hd_pass pass;

    CHECK_OK(hd_graph_resource(graph, "b", &shape, NULL, &b, &error), error);
    struct hd_pass_arg args[] = {{.is = HD_PASS_RESOURCE, .resource = a},
                                 {.is = HD_PASS_IMAGE, .resource = b}};
    struct hd_command dispatch = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(program, "more")},
        .range = {.dims = 2, .global = {SIDE, SIDE}},
        .args = args,
        .arg_count = 2};
    hd_resource writes[] = {a};
    add(graph, &(struct hd_pass_params){
                   .name = "clear",
                   .overwrites = &b,
                   .overwrite_count = 1,
                   .commands = &(struct hd_command){.is = HD_CLEAR, .to = b},
                   .command_count = 1});
    CHECK_FAILS(hd_graph_pass(graph,
                              &(struct hd_pass_params){.name = "more",
                                                       .reads = &b,
                                                       .read_count = 1,
                                                       .overwrites = writes,
                                                       .overwrite_count = 1,
                                                       .commands = &dispatch,
                                                       .command_count = 1},
                              &pass, &error),
                HD_EINVAL, error, "images");
    hd_graph_destroy(graph);
}

// All elements of a field are equal, so that one number says what is right.
// `joins`: passes join an open run one after the other.
static void random_passes_are_in_order(bool joins)
{
    const struct hd_graph_run_params open = {.open = true};
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_graph *graph = create();
    hd_resource field[FIELDS];
    int value[FIELDS];
    char name[8];
    hd_event event;

    for (unsigned i = 0; i < FIELDS; i++) {
        snprintf(name, sizeof(name), "f%u", i);
        field[i] = add_field(graph, name, i % 2);
        value[i] = (int)i + 1;
        add_fill(graph, field[i], value[i]);
    }
    if (joins)
        CHECK_OK(hd_graph_start(graph, NULL, &open, &event, &error), error);
    for (unsigned i = 0; i < 30; i++) {
        unsigned to = below(FIELDS), from = below(FIELDS);

        if (joins)
            CHECK_OK(hd_graph_extend(graph, &error), error);

        if (to == from) {
            value[to] = (int)i + 100;
            add_fill(graph, field[to], value[to]);
        } else if (program && below(3)) {
            value[to] = value[from] + 1;
            add_kernel(graph, "more", field[to], field[from],
                       (enum hd_priority)below(3));
        } else {
            value[to] = value[from];
            add_copy(graph, field[to], field[from], (enum hd_priority)below(3));
        }
    }
    for (unsigned i = 0; i < FIELDS; i++) {
        snprintf(name, sizeof(name), "o%u", i);
        add_output(graph, name, field[i]);
    }
    if (joins) {
        CHECK_OK(hd_graph_close(graph, &error), error);
        CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
        hd_event_release(pool, event);
    }
    for (int k = 0; k < 2; k++) {
        if (k > 0 || !joins)
            run(graph);
        for (unsigned i = 0; i < FIELDS; i++)
            output_is(graph, i, value[i]);
    }
    hd_graph_destroy(graph);
}

static struct hd_map *parse(const char *words)
{
    char text[64];
    struct hd_map *map;

    snprintf(text, sizeof(text), words, SIDE, SIDE, hd_cluster_nodes(cluster));
    CHECK_OK(hd_map_parse(text, &map, &error), error);
    return map;
}

int main(void)
{
    static const struct hd_program_params kernels = {.source = source,
                                                     .path = "fields.cl"};
    struct hd_cluster_params two = {.nodes = 2};

    CHECK_OK(hd_cluster_join(&two, &cluster, &error), error);
    // Several processes share the cores, and meet for each field.
    int rounds = hd_cluster_processes(cluster) == 1 ? 20 : 3;
    maps[0] = parse("%dx%d tiles 5x24 nodes %u");
    maps[1] = parse("%dx%d tiles 7x5 cyclic nodes %u");
    for (unsigned workers = 1; workers <= 3; workers += 2) {
        struct hd_runtime_params params = {.workers = workers, .device = "cpu"};

        CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
        hd_status status =
            hd_program_create(runtime, &kernels, &program, &error);
        if (status == HD_ENOTSUP) // built without a compiler
            program = NULL;
        else
            CHECK_OK(status, error);
        if (program) {
            kernels_overlap();
            a_kernel_that_fails_stops_all();
            kernels_over_fields_have_no_images();
        }
        a_pass_that_fails_alone_stops_all();
        a_last_pass_that_fails_keeps_nobody_waiting();
        an_open_run_that_fails_alone_ends();
        a_run_that_never_begins_is_told();
        memory_that_lacks_alone_stops_all();
        if (workers == 1 && hd_cluster_processes(cluster) == 1)
            a_pass_overlaps_a_copy_that_it_does_not_need(false);
        a_pass_overlaps_a_copy_that_it_does_not_need(true);
        for (int i = 0; i < rounds; i++)
            random_passes_are_in_order(i % 2);
        hd_program_destroy(program);
        hd_runtime_destroy(runtime);
    }
    hd_map_destroy(maps[0]);
    hd_map_destroy(maps[1]);
    hd_cluster_leave(cluster);
    return 0;
}
