// Graphs that are kept run on the device without the host, on the fake driver:
// from a list that tiles work off, or as a graph of the driver's.
#include <stdint.h>

#include "heddle/heddle.h"
#include "tests/check.h"
#include "tests/cuda/fake.h"

enum {
    N = 256,
    CHAIN = 60,
    TILES = 3
};

static struct hd_error error;

static const char source[] =
    "kernel void begin(global uint *to, global const uint *from, uint add) {\n"
    "    size_t i = get_global_id(0);\n"
    "    to[i] = from[i] + add;\n"
    "}\n"
    "kernel void change(global uint *cells, uint by) {\n"
    "    size_t i = get_global_id(0);\n"
    "    cells[i] = cells[i] * 3 + by;\n"
    "}\n"
    "kernel void fold(global uint *to, global const uint *a,\n"
    "                 global const uint *b, global uint *sums,\n"
    "                 local uint *cells) {\n"
    "    size_t i = get_global_id(0), l = get_local_id(0);\n"
    "    cells[l] = a[i] ^ b[i];\n"
    "    sums[i] += a[i];\n" // scratch, which is 0
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[i] = cells[31 - l] + sums[i];\n"
    "}\n"
    "kernel void paint(write_only image2d_t to, uint add) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    write_imageui(to, at, (uint4)(at.x + add, at.y, 3, 4));\n"
    "}\n"
    "kernel void look(read_only image2d_t from, global uint4 *to) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    to[at.y * get_global_size(0) + at.x] = read_imageui(from, at) * 2;\n"
    "}\n"
    "kernel void wild(global uint *to) {\n"
    "    to[get_global_id(0) + ((size_t)1 << 40)] = 1;\n"
    "}\n";

struct made {
    struct hd_graph *graph;
    struct hd_buffer *input;
    hd_pass first;
};

static hd_resource resource(struct hd_graph *graph, const char *name)
{
    const struct hd_shape shape = {
        .type = "uint", .axes = 1, .extent = {N, 1, 1}};
    hd_resource made;

    CHECK_OK(hd_graph_resource(graph, name, &shape, NULL, &made, &error),
             error);
    return made;
}

static hd_pass pass(struct hd_graph *graph, const char *device,
                    const struct hd_kernel *kernel, const hd_resource *reads,
                    unsigned read_count, hd_resource write,
                    const struct hd_pass_arg *args, unsigned arg_count,
                    const uint64_t *scratch)
{
    const struct hd_command command = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = kernel},
        .range = {.dims = 1, .global = {N}, .local = {32}},
        .args = args,
        .arg_count = arg_count};
    const struct hd_pass_params params = {.name = "step",
                                          .where = "g.c:1",
                                          .reads = reads,
                                          .read_count = read_count,
                                          .writes = &write,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1,
                                          .scratch_sizes = scratch,
                                          .scratch_count = scratch != NULL,
                                          .device = device};
    hd_pass made;

    CHECK_OK(hd_graph_pass(graph, &params, &made, &error), error);
    return made;
}

// in -> a; the input itself, changed in place; a chain over each; then both
// become one, with scratch and local memory.
static struct made make(struct hd_runtime *runtime, struct hd_program *program,
                        const char *device)
{
    struct made m;
    struct hd_pass_arg args[5];
    double number = 5;
    const uint64_t scratch = N * 4;

    CHECK_OK(hd_graph_create(runtime, &m.graph, &error), error);
    CHECK_OK(hd_buffer_create(runtime, N * 4, &m.input, &error), error);
    hd_resource in = resource(m.graph, "in"), a = resource(m.graph, "a"),
                out = resource(m.graph, "out"), idle = resource(m.graph, "no");
    CHECK_OK(hd_graph_input(m.graph, in, m.input, &error), error);
    args[0] = (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = a};
    args[1] = (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = in};
    args[2] = (struct hd_pass_arg){
        .is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1};
    m.first = pass(m.graph, device, hd_program_find(program, "begin"), &in, 1,
                   a, args, 3, NULL);
    for (int i = 0; i < CHAIN; i++) {
        hd_resource cells = i % 2 ? a : in;
        number = i;
        args[0].resource = cells;
        args[1] = args[2];
        pass(m.graph, device, hd_program_find(program, "change"), &cells, 1,
             cells, args, 2, NULL);
    }
    const hd_resource both[] = {a, in};
    args[0].resource = out;
    args[1] = (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = a};
    args[2] = (struct hd_pass_arg){.is = HD_PASS_RESOURCE, .resource = in};
    args[3] = (struct hd_pass_arg){.is = HD_PASS_SCRATCH};
    args[4] = (struct hd_pass_arg){.is = HD_PASS_LOCAL, .size = 128};
    pass(m.graph, device, hd_program_find(program, "fold"), both, 2, out, args,
         5, &scratch);
    // Nobody needs this one.
    args[0].resource = idle;
    args[1].resource = out;
    args[2] = (struct hd_pass_arg){
        .is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1};
    pass(m.graph, device, hd_program_find(program, "begin"), &out, 1, idle,
         args, 3, NULL);
    CHECK_OK(hd_graph_output(m.graph, "out", out, NULL, &error), error);
    return m;
}

static void compute(const uint32_t *in, uint32_t add, uint32_t *out)
{
    static uint32_t a[N], b[N];

    for (int i = 0; i < N; i++) {
        a[i] = in[i] + add;
        b[i] = in[i];
        for (uint32_t k = 0; k < CHAIN; k++) {
            uint32_t *cell = k % 2 ? &a[i] : &b[i];
            *cell = *cell * 3 + k;
        }
    }
    for (int i = 0; i < N; i++) {
        int other = i / 32 * 32 + 31 - i % 32;
        out[i] = (a[other] ^ b[other]) + a[i];
    }
}

static void run_once(struct made *m, unsigned round)
{
    static uint32_t in[N], right[N], seen[N];
    double number = 100 + round;
    const struct hd_pass_arg arg = {
        .is = HD_PASS_NUMBERS, .numbers = &number, .number_count = 1};
    struct hd_graph_result result;

    for (unsigned i = 0; i < N; i++)
        in[i] = i * 7 + round;
    CHECK_OK(hd_buffer_write(m->input, 0, in, sizeof(in), &error), error);
    CHECK_OK(hd_graph_set_argument(m->graph, m->first, 0, 2, &arg, &error),
             error);
    CHECK_OK(hd_graph_run(m->graph, NULL, &error), error);
    CHECK(hd_graph_result(m->graph, 0, &result));
    CHECK_OK(hd_buffer_read(result.buffer, 0, seen, sizeof(seen), &error),
             error);
    compute(in, 100 + round, right);
    CHECK(memcmp(seen, right, sizeof(seen)) == 0);
    // The caller's stays as it is.
    CHECK_OK(hd_buffer_read(m->input, 0, seen, sizeof(seen), &error), error);
    CHECK(memcmp(seen, in, sizeof(in)) == 0);
}

struct setup {
    struct hd_runtime *runtime;
    struct hd_program *program;
};

static struct setup begin(const char *device, unsigned units)
{
    const struct hd_runtime_params params = {.device = device,
                                             .workers = 2,
                                             .no_cache = true,
                                             .units = units,
                                             .unit_cores = 32};
    const struct hd_program_params what = {.path = "g.cl", .source = source};
    struct setup s;

    CHECK_OK(hd_runtime_create(&params, &s.runtime, &error), error);
    CHECK_OK(hd_program_create(s.runtime, &what, &s.program, &error), error);
    return s;
}

static void end(const struct setup *s)
{
    hd_program_destroy(s->program);
    hd_runtime_destroy(s->runtime);
}

static struct hd_graph_statistics look(const struct made *m)
{
    struct hd_graph_statistics stats;

    hd_graph_stats(m->graph, &stats);
    return stats;
}

static void destroy(struct made *m)
{
    hd_graph_destroy(m->graph);
    hd_buffer_destroy(m->input);
}

// With passes that name the device in a runtime of several, and without.
static void devices_schedule(const char *device, const char *of_passes,
                             unsigned units, enum hd_graph_scheduler by)
{
    struct setup s = begin(device, units);
    struct made m = make(s.runtime, s.program, of_passes);
    const struct hd_graph_policy policy = {.by = by};

    CHECK_OK(hd_graph_set_policy(m.graph, &policy, &error), error);
    for (unsigned round = 0; round < 3; round++) {
        uint64_t launches = fake_cuda()->launches();
        run_once(&m, round);
        launches = fake_cuda()->launches() - launches;
        CHECK(look(&m).by == by && *look(&m).not_by_device == '\0');
        // The executor is started again when memory was allocated.
        CHECK(by == HD_GRAPH_BY_UNITS ? launches <= 1 + (round == 0)
                                      : launches == 1);
    }
    struct hd_pass_info one, next;
    CHECK(hd_graph_pass_info(m.graph, 0, &one));
    CHECK(hd_graph_pass_info(m.graph, 2, &next)); // which comes after it
    if (by == HD_GRAPH_BY_UNITS)
        CHECK(one.end > 0 && next.begin >= one.end && next.end >= next.begin);
    destroy(&m);
    end(&s);
}

// One kernel writes an image that the next one reads; images are made for the
// first run and stay.
static void images_stay(const char *device, unsigned units,
                        enum hd_graph_scheduler by)
{
    enum {
        WIDTH = 32,
        HEIGHT = 6
    };
    struct setup s = begin(device, units);
    const struct hd_graph_policy policy = {.by = by};
    const struct hd_shape shape = {
        .type = "uint4", .axes = 2, .extent = {WIDTH, HEIGHT, 1}};
    static uint32_t seen[WIDTH * HEIGHT][4];
    struct made m = {0};
    hd_resource picture, out;
    double add = 0;
    hd_pass painted, looked;

    CHECK_OK(hd_graph_create(s.runtime, &m.graph, &error), error);
    CHECK_OK(hd_graph_set_policy(m.graph, &policy, &error), error);
    CHECK_OK(
        hd_graph_resource(m.graph, "picture", &shape, NULL, &picture, &error),
        error);
    CHECK_OK(hd_graph_resource(m.graph, "out", &shape, NULL, &out, &error),
             error);
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_IMAGE, .resource = picture},
        {.is = HD_PASS_NUMBERS, .numbers = &add, .number_count = 1}};
    const struct hd_pass_arg looks[] = {
        args[0], {.is = HD_PASS_RESOURCE, .resource = out}};
    struct hd_command command = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(s.program, "paint")},
        .range = {.dims = 2, .global = {WIDTH, HEIGHT}, .local = {WIDTH, 1}},
        .args = args,
        .arg_count = 2};
    struct hd_pass_params params = {.name = "paint",
                                    .writes = &picture,
                                    .write_count = 1,
                                    .commands = &command,
                                    .command_count = 1};
    CHECK_OK(hd_graph_pass(m.graph, &params, &painted, &error), error);
    command.kernel.kernel = hd_program_find(s.program, "look");
    command.args = looks;
    params.name = "look";
    params.reads = &picture;
    params.read_count = 1;
    params.writes = &out;
    CHECK_OK(hd_graph_pass(m.graph, &params, &looked, &error), error);
    CHECK_OK(hd_graph_output(m.graph, "out", out, NULL, &error), error);
    for (unsigned round = 0; round < 4; round++) {
        add = 10 * round;
        CHECK_OK(
            hd_graph_set_argument(m.graph, painted, 0, 1, &args[1], &error),
            error);
        uint64_t launches = fake_cuda()->launches();
        CHECK_OK(hd_graph_run(m.graph, NULL, &error), error);
        launches = fake_cuda()->launches() - launches;
        CHECK(look(&m).by == by && *look(&m).not_by_device == '\0');
        // Later runs take no memory, for which the executor would begin again.
        CHECK(round < 2 || launches <= (by == HD_GRAPH_BY_LAUNCHES));
        CHECK_OK(hd_graph_contents(m.graph, out, 0, seen, sizeof(seen), &error),
                 error);
        for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
            CHECK(seen[i][0] == 2 * (i % WIDTH + 10 * round) &&
                  seen[i][1] == 2 * (i / WIDTH) && seen[i][3] == 8);
    }
    destroy(&m);
    end(&s);
}

// By itself it tries what there is, and goes on with something.
static void schedulers_are_tried(void)
{
    struct setup s = begin("gpu", TILES);
    struct made m = make(s.runtime, s.program, NULL);
    static const enum hd_graph_scheduler order[] = {
        HD_GRAPH_BY_HOST, HD_GRAPH_BY_UNITS, HD_GRAPH_BY_LAUNCHES};

    CHECK(look(&m).by == HD_GRAPH_BY_ANY);
    for (unsigned round = 0; round < 6; round++) {
        run_once(&m, round);
        CHECK(round >= 3 || look(&m).by == order[round]);
        CHECK(look(&m).by != HD_GRAPH_BY_ANY);
    }
    destroy(&m);
    end(&s);
}

static void what_cannot_is_left_to_the_host(void)
{
    const struct hd_graph_policy by_units = {.by = HD_GRAPH_BY_UNITS};
    const struct hd_graph_policy planned = {.goal = HD_GRAPH_MEMORY,
                                            .by = HD_GRAPH_BY_UNITS};
    const struct hd_graph_policy none = {.by = HD_GRAPH_BY_LAUNCHES + 1};
    struct setup s = begin("gpu", 0);
    struct made m = make(s.runtime, s.program, NULL);

    CHECK_FAILS(hd_graph_set_policy(m.graph, &none, &error), HD_EINVAL, error,
                "scheduler");
    CHECK_OK(hd_graph_set_policy(m.graph, &by_units, &error), error);
    run_once(&m, 1);
    CHECK(look(&m).by == HD_GRAPH_BY_HOST);
    CHECK(strstr(look(&m).not_by_device, "without units"));
    destroy(&m);
    end(&s);

    s = begin("gpu", TILES);
    m = make(s.runtime, s.program, NULL);
    CHECK_OK(hd_graph_set_policy(m.graph, &planned, &error), error);
    run_once(&m, 1);
    CHECK(look(&m).by == HD_GRAPH_BY_HOST);
    CHECK(strstr(look(&m).not_by_device, "one block of memory"));
    // A pass that copies.
    hd_resource from = resource(m.graph, "from"), to = resource(m.graph, "to");
    CHECK_OK(hd_graph_input(m.graph, from, m.input, &error), error);
    const struct hd_command copy = {.is = HD_COPY, .from = from, .to = to};
    const struct hd_pass_params params = {.name = "copy",
                                          .where = "g.c:77",
                                          .reads = &from,
                                          .read_count = 1,
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &copy,
                                          .command_count = 1,
                                          .keep = true};
    hd_pass added;
    CHECK_OK(hd_graph_pass(m.graph, &params, &added, &error), error);
    CHECK_OK(hd_graph_set_policy(m.graph, &by_units, &error), error);
    run_once(&m, 2);
    CHECK(look(&m).by == HD_GRAPH_BY_HOST);
    CHECK(strcmp(look(&m).not_by_device,
                 "g.c:77: pass 'copy': command 1 is no dispatch") == 0);
    destroy(&m);
    end(&s);

    s = begin("cpu", 0);
    m = make(s.runtime, s.program, NULL);
    CHECK_OK(hd_graph_set_policy(m.graph, &by_units, &error), error);
    run_once(&m, 3);
    CHECK(look(&m).by == HD_GRAPH_BY_HOST);
    CHECK(strstr(look(&m).not_by_device, "no device"));
    destroy(&m);
    end(&s);
}

// Where the only units that have enough registers are away, a run ends with an
// error, and goes on when they are back.
static void units_that_cannot_take_no_list(void)
{
    const struct hd_graph_policy policy = {.by = HD_GRAPH_BY_UNITS};
    const unsigned fat = TILES - 1;

    fake_cuda()->registers("fold", 100);
    struct setup s = begin("gpu", TILES);
    struct made m = make(s.runtime, s.program, NULL);
    CHECK_OK(hd_graph_set_policy(m.graph, &policy, &error), error);
    run_once(&m, 1);
    CHECK(look(&m).by == HD_GRAPH_BY_UNITS);
    CHECK_OK(hd_unit_detach(s.runtime, fat, &error), error);
    CHECK_FAILS(hd_graph_run(m.graph, NULL, &error), HD_ENODEV, error,
                "no unit that can work all of it off");
    CHECK_OK(hd_unit_attach(s.runtime, fat, &error), error);
    run_once(&m, 2);
    destroy(&m);
    end(&s);
    fake_cuda()->registers("", 0);
}

// A cancelled run, and one whose kernel faults, end with an error; the first
// leaves the graph good.
static void runs_that_fail_end(enum hd_graph_scheduler by)
{
    const struct hd_graph_policy policy = {.by = by};
    struct setup s = begin("gpu", by == HD_GRAPH_BY_UNITS ? TILES : 0);
    struct made m = make(s.runtime, s.program, NULL);

    CHECK_OK(hd_graph_set_policy(m.graph, &policy, &error), error);
    run_once(&m, 1);
    hd_graph_cancel(m.graph);
    CHECK_FAILS(hd_graph_run(m.graph, NULL, &error), HD_ECANCELED, error,
                "of 62 passes");
    run_once(&m, 2);
    CHECK(look(&m).by == by);
    destroy(&m);

    CHECK_OK(hd_graph_create(s.runtime, &m.graph, &error), error);
    hd_resource out = resource(m.graph, "out");
    const struct hd_pass_arg arg = {.is = HD_PASS_RESOURCE, .resource = out};
    pass(m.graph, NULL, hd_program_find(s.program, "wild"), NULL, 0, out, &arg,
         1, NULL);
    CHECK_OK(hd_graph_output(m.graph, "out", out, NULL, &error), error);
    CHECK_OK(hd_graph_set_policy(m.graph, &policy, &error), error);
    CHECK_FAILS(hd_graph_run(m.graph, NULL, &error), HD_EFAULT, error,
                "1 launch");
    hd_graph_destroy(m.graph);
    end(&s);
}

int main(void)
{
    const struct fake_cuda *fake = fake_cuda();

    if (!fake)
        SKIP("the fake driver is not named in HEDDLE_CUDA_DRIVER");
    devices_schedule("gpu", NULL, TILES, HD_GRAPH_BY_UNITS);
    devices_schedule("gpu", NULL, TILES, HD_GRAPH_BY_LAUNCHES);
    devices_schedule("gpu", NULL, 0, HD_GRAPH_BY_LAUNCHES);
    devices_schedule("all", "gpu", 0, HD_GRAPH_BY_LAUNCHES);
    devices_schedule("all", NULL, 0, HD_GRAPH_BY_LAUNCHES);
    images_stay("gpu", TILES, HD_GRAPH_BY_UNITS);
    images_stay("gpu", 0, HD_GRAPH_BY_LAUNCHES);
    images_stay("all", TILES, HD_GRAPH_BY_UNITS);
    schedulers_are_tried();
    units_that_cannot_take_no_list();
    what_cannot_is_left_to_the_host();
    runs_that_fail_end(HD_GRAPH_BY_UNITS);
    runs_that_fail_end(HD_GRAPH_BY_LAUNCHES);
    printf("%s", fake->report());
    CHECK(*fake->report() == '\0');
    return 0;
}
