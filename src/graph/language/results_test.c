// Programs that go on by what they have computed, and the words of the language
// that need a run to be seen.
#include "tests/graph/fake_launch.h"

#include "graph/arena/shelf.h"

#include <sys/stat.h>
#include <unistd.h>

#include "graph/model/model.h"
#include "tests/check.h"
#include "tests/folder.h"

static hd_status run_halve(const struct hd_range *range,
                           const struct hd_arg *args)
{
    double *x = args[0].buffer->address;

    for (uint64_t i = 0; i < range->global[0]; i++)
        x[i] /= 2;
    return HD_OK;
}

struct fake_kernel fake_kernels[] = {
    {.name = "halve",
     .run = run_halve,
     .args = {{"x", "double*", HD_ARG_GLOBAL, false}}},
    {.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;
static const char *folder;
static char path[320];

static hd_status generate(const char *text, struct hd_graph_program program,
                          struct hd_graph **graph)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    program.path = path;
    return hdi_graph_generate(&context, &program, graph, &error);
}

#define WITH(...) ((struct hd_graph_program){__VA_ARGS__})

static struct hd_graph *make(const char *text, struct hd_graph_program program)
{
    struct hd_graph *graph;
    CHECK_OK(generate(text, program, &graph), error);
    return graph;
}

static void fails(const char *text, hd_status status, const char *part)
{
    struct hd_graph *graph = NULL;
    CHECK_FAILS(generate(text, WITH(0), &graph), status, error, part);
    CHECK(!graph);
}

static double first_of(struct hd_graph *g, unsigned output)
{
    struct hd_graph_result result;
    CHECK(hd_graph_result(g, output, &result) && result.buffer);
    return *(double *)result.buffer->address;
}

#define HALVE                                                   \
    "local function halve(x) read(x) write(x) return dispatch(" \
    "kernel('k.cl', 'halve'), {x}, {global = 4}) end\n"

// 1000 is halved 10 times until it is below 1: only its value tells.
static void a_loop_ends_when_its_result_says_so(void)
{
    static const char text[] =
        "local x = resource('x', 'double', 4)\n" HALVE
        "write(x) fill(x, setting('start', 1000.0))\n"
        "local steps = 0\n"
        "repeat halve(x) steps = steps + 1 until values(x, 2, 1)[1] < 1\n"
        "local y = resource('y', 'double', 1)\n"
        "write(y) fill(y, steps)\n"
        "output('x', x) output('steps', y)\n";
    struct hd_graph *g = make(text, WITH(0));
    CHECK(hd_graph_pass_count(g) == 12);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 1000 / 1024.0 && first_of(g, 1) == 10);
    // Kept: the whole again.
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 1000 / 1024.0 && first_of(g, 1) == 10);
    hd_graph_destroy(g);

    struct hd_setting start = {"start", "3"};
    g = make(text, WITH(.settings = &start, .setting_count = 1));
    CHECK(hd_graph_pass_count(g) == 4);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 0.75 && first_of(g, 1) == 2);
    hd_graph_destroy(g);
}

static void values_are_read_as_their_type_says(void)
{
    static const char text[] =
        "local function check(type, given, want)\n"
        "  local r = resource('r', type, 2)\n"
        "  write(r) fill(r, given)\n"
        "  local got = values(r, 2)\n"
        "  for i = 1, #want do if got[i] ~= want[i] then\n"
        "    error(type .. ' gives ' .. got[i]) end end\n"
        "  if #got ~= #want then error(type .. ': ' .. #got) end\n"
        "end\n"
        "check('char', -3, {-3}) check('uchar', 200, {200})\n"
        "check('short', -300, {-300}) check('ushort', 60000, {60000})\n"
        "check('int', -70000, {-70000}) check('uint', 4000000000, "
        "{4000000000})\n"
        "check('long', -5, {-5}) check('ulong', 5, {5})\n"
        "check('float', 0.25, {0.25})\n"
        "check('double', 1e300, {1e300})\n"
        "check('float4', {1, 2, 3, 4}, {1, 2, 3, 4})\n"
        "check('int3', {1, 2, 3}, {1, 2, 3})\n";
    hd_graph_destroy(make(text, WITH(0)));
}

static void values_need_something_to_read(void)
{
    fails("local r = resource('r', 'int', 2)\nvalues(r)", HD_EGRAPH,
          "program.lua:2: resource 'r' holds nothing now");
    fails("values(3)", HD_EPROGRAM, "values takes a resource");
    fails("local r = resource('r', 'int', 2) values(r, 3)", HD_EPROGRAM,
          "resource 'r' has 2 elements");
    fails("local r = resource('r', 'int', 2) values(r, 1, 3)", HD_EPROGRAM,
          "more than resource 'r' has");
}

// What fails in the passes is the error of the program.
static void a_failing_pass_ends_the_program(void)
{
    atomic_store(&fake.fail_launch, 2);
    fails("local x = resource('x', 'double', 4)\n" HALVE
          "write(x) fill(x, 1) halve(x) halve(x) values(x)",
          HD_EFAULT, "touched what it may not");
    CHECK(atomic_load(&fake.buffers_alive) == 0);
}

static void inputs_can_be_read_too(void)
{
    struct hd_buffer *buffer;
    CHECK_OK(hdi_buffer_create(&launcher, 16, &buffer, &error), error);
    ((double *)buffer->address)[1] = 5;
    struct hd_graph_source in = {
        .name = "in",
        .shape = {.type = "double", .axes = 1, .extent = {2, 1, 1}},
        .buffer = buffer};
    struct hd_graph *g =
        make("local a = input('in') local n = values(a)[2]\n"
             "local x = resource('x', 'double', 4) " HALVE
             "write(x) fill(x, n) for i = 1, n do halve(x) end output('x', x)",
             WITH(.inputs = &in, .input_count = 1));
    CHECK(hd_graph_pass_count(g) == 6);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 5 / 32.0);
    hd_graph_destroy(g);
    hd_buffer_destroy(buffer);
}

static void blocks_of_the_stream_have_handles(void)
{
    struct hd_graph *g = make(
        "local x, y = resource('x', 'double', 4), resource('y', 'double', 4)\n"
        "write(x) local a = fill(x, 1)\n"
        "write(y) local b = clear(y)\n"
        "order(b, a)\n"
        "block(2) write(x) if fill(x, 2) then error('too early') end\n"
        "local c = fill(x, 3)\n"
        "block(function(n) return n == 3 end) write(y) fill(y, 1)\n"
        "order(c, finish())\n",
        WITH(0));
    CHECK(g->orders.count == 2);
    CHECK(g->orders.at[0].from == 1 && g->orders.at[0].to == 0);
    CHECK(g->orders.at[1].from == 2 && g->orders.at[1].to == 3);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    hd_graph_destroy(g);
}

static void regions_are_filled_and_copied(void)
{
    hd_graph_destroy(
        make("local a = resource('a', 'int', 4, 3)\n"
             "local b = resource('b', 'int', 4, 3)\n"
             "write(a, b) block(4) fill(a, 7) clear(b)\n"
             "fill(a, 9, {to = {1, 1}, size = {2, 1}})\n"
             "copy(a, b, {from = {1, 0}, to = {0, 1}, size = {3, 2}})\n"
             "local want = {0,0,0,0, 7,7,7,0, 9,9,7,0}\n"
             "for i, v in ipairs(values(b)) do\n"
             "  if v ~= want[i] then error(i .. ': ' .. v) end end\n",
             WITH(0)));
    fails("local a = resource('a', 'int', 4) write(a)\n"
          "fill(a, 1, {to = 3, size = 2})",
          HD_EGRAPH, "it fills 2 elements from 3 on of axis 1 of 'a'");
    fails("local a = resource('a', 'uchar', 4) write(a) fill(a, 300)",
          HD_EGRAPH, "it fills 'a': ");
    fails("local a = resource('a', 'int', 4) fill(a, 1, {at = 3})", HD_EPROGRAM,
          "a region has no field 'at'");
    fails("local a = resource('a', 'int', 4) fill(a, 1, {to = 3})", HD_EPROGRAM,
          "a region has a size");
}

static void tables_come_in_as_json(void)
{
    struct hd_setting given = {
        "s", "{\"sizes\": [1, 2.5, -3e2, 0, 0.5E-1], \"name\": \"\\u00e9\\n\", "
             "\"on\": true, \"none\": null, \"deep\": {\"x\": [[1]]}}"};
    hd_graph_destroy(make("local s = setting('s', {})\n"
                          "if s.sizes[3] ~= -300 or s.sizes[5] ~= 0.05 or "
                          "#s.sizes ~= 5 or not s.on "
                          "or s.none ~= nil or s.deep.x[1][1] ~= 1 or "
                          "s.name ~= '\\u{e9}\\n' then error('wrong') end",
                          WITH(.settings = &given, .setting_count = 1)));
    static const char *const bad[][2] = {
        {"[1, 2", "',' or ']' is missing"},
        {"{\"a\" 1}", "':' is missing"},
        {"[1] 2", "something is left over"},
        {"[01]", "a value is missing"},
        {"[1.]", "a value is missing"},
        {"[-]", "a value is missing"},
        {"[1.e2]", "a value is missing"},
        {"[1e]", "a value is missing"},
        {"[.5]", "a value is missing"},
        {"[1.5.2]", "a value is missing"},
        {"[\"a", "a string that does not end"},
        {"[\"\\ud800\"]", "half of a surrogate pair"},
        {"[nan]", "a value is missing"},
        {"[-1e999]", "a number that is too large"},
        {"3", "an array or object in JSON"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct hd_graph *graph = NULL;
        given.value = bad[i][0];
        CHECK_FAILS(generate("setting('s', {})",
                             WITH(.settings = &given, .setting_count = 1),
                             &graph),
                    HD_EPROGRAM, error, bad[i][1]);
    }
    // A default stays what it is.
    hd_graph_destroy(
        make("if setting('s', {4})[1] ~= 4 then error('no') end", WITH(0)));
}

static void write_kernel(const char *text)
{
    char file_path[320];
    snprintf(file_path, sizeof(file_path), "%s/k.cl", folder);
    FILE *file = fopen(file_path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

#define KEPT                                 \
    "local x = input('x', 'double')\n" HALVE \
    "for i = 1, setting('times', 1) do halve(x) end output('x', x)\n"

static double run_kept(const char *text, const char *times, double value,
                       struct hd_graph **graph)
{
    struct hd_setting given = {"times", times};
    struct hd_graph_source source = {
        .name = "x", .shape = {.type = "double", .axes = 1, .extent = {4}}};

    CHECK_OK(hdi_buffer_create(&launcher, 32, &source.buffer, &error), error);
    for (int i = 0; i < 4; i++)
        ((double *)source.buffer->address)[i] = value;
    source.shape.extent[1] = source.shape.extent[2] = 1;
    *graph = make(text, WITH(.settings = &given, .setting_count = 1,
                             .inputs = &source, .input_count = 1));
    CHECK_OK(hd_graph_run(*graph, NULL, &error), error);
    double result = first_of(*graph, 0);
    hd_graph_destroy(*graph);
    hd_buffer_destroy(source.buffer);
    return result;
}

// The same program and settings: the graph that was, with other inputs.
static void a_program_that_comes_again_is_not_generated(void)
{
    struct hdi_shelf shelf;
    struct hd_graph *first, *again;
    char file_path[320];

    CHECK(hdi_shelf_init(&shelf));
    context.shelf = &shelf;
    write_kernel("kernel void halve(global double *x) {}");
    unsigned built = atomic_load(&fake.programs);
    CHECK(run_kept(KEPT, "2", 8, &first) == 2);
    CHECK(atomic_load(&fake.programs) == built + 1);
    for (int i = 0; i < 3; i++) {
        CHECK(run_kept(KEPT, "2", 16, &again) == 4 && again == first);
        CHECK(atomic_load(&fake.programs) == built + 1);
        CHECK(atomic_load(&fake.buffers_alive) == 0);
    }
    // Another setting, another text.
    CHECK(run_kept(KEPT, "3", 16, &again) == 2 && again != first);
    CHECK(run_kept(KEPT "-- the same", "2", 16, &again) == 4 && again != first);
    CHECK(run_kept(KEPT, "2", 4, &again) == 1 && again == first);
    // These are other graphs, but their kernels are those that were built.
    CHECK(atomic_load(&fake.programs) == built + 1);
    CHECK(atomic_load(&fake.programs_alive) == 1);
    // Another kernel, and one that may be made of other files.
    built = atomic_load(&fake.programs);
    write_kernel("kernel void halve(global double *x) { }");
    CHECK(run_kept(KEPT, "2", 4, &again) == 1 && again == first);
    CHECK(atomic_load(&fake.programs) == built + 1);
    write_kernel("#include \"other.h\"");
    CHECK(run_kept(KEPT, "2", 4, &again) == 1);
    CHECK(run_kept(KEPT, "2", 4, &again) == 1 && again == first);
    CHECK(atomic_load(&fake.programs) == built + 3);
    // What results steer is generated each time.
    CHECK(run_kept(KEPT "if values(x, 1, 1)[1] > 2 then halve(x) end", "1", 8,
                   &again) == 2);
    CHECK(run_kept(KEPT "if values(x, 1, 1)[1] > 2 then halve(x) end", "1", 4,
                   &again) == 2);
    // The oldest goes.
    for (int i = 0; i < 2 * HDI_SHELF_MAX; i++) {
        char times[2] = {(char)('1' + i), 0};
        CHECK(run_kept(KEPT, times, 1, &again) == 1.0 / (2 << i));
    }
    CHECK(atomic_load(&fake.programs_alive) == HDI_SHELF_MAX);
    hdi_shelf_destroy(&shelf);
    context.shelf = NULL;
    CHECK(atomic_load(&fake.programs_alive) == 0);
    snprintf(file_path, sizeof(file_path), "%s/k.cl", folder);
    unlink(file_path);
}

// The next owner finds neither the policy of the one before nor its inputs, and
// is told what is wrong with its own.
static void a_graph_that_comes_again_is_as_new(void)
{
    struct hd_graph_source source = {
        .name = "x",
        .shape = {.type = "double", .axes = 1, .extent = {4, 1, 1}}};
    const struct hd_graph_policy policy = {.single = true, .times = true};
    struct hd_graph *first, *again = NULL;
    struct hdi_shelf shelf;

    CHECK(hdi_shelf_init(&shelf));
    context.shelf = &shelf;
    CHECK_OK(hdi_buffer_create(&launcher, 32, &source.buffer, &error), error);
    first = make(KEPT, WITH(.inputs = &source, .input_count = 1));
    CHECK_OK(hd_graph_set_policy(first, &policy, &error), error);
    hd_graph_destroy(first);
    again = make(KEPT, WITH(.inputs = &source, .input_count = 1));
    CHECK(again == first && !again->policy.single && !again->policy.times);
    hd_graph_destroy(again);
    hd_buffer_destroy(source.buffer);

    CHECK_OK(hdi_buffer_create(&launcher, 16, &source.buffer, &error), error);
    again = NULL;
    CHECK_FAILS(
        generate(KEPT, WITH(.inputs = &source, .input_count = 1), &again),
        HD_EINVAL, error, "has 16 bytes; 32 are needed");
    CHECK(!again);
    hd_buffer_destroy(source.buffer);
    hdi_shelf_destroy(&shelf);
    context.shelf = NULL;
}

int main(void)
{
    struct hd_pool *pool;

    folder = make_folder();
    snprintf(path, sizeof(path), "%s/program.lua", folder);
    CHECK_OK(
        hd_pool_create(&(struct hd_pool_params){.workers = 2}, &pool, &error),
        error);
    fake_open(&launcher, pool, &context);
    a_loop_ends_when_its_result_says_so();
    values_are_read_as_their_type_says();
    values_need_something_to_read();
    a_failing_pass_ends_the_program();
    inputs_can_be_read_too();
    blocks_of_the_stream_have_handles();
    regions_are_filled_and_copied();
    tables_come_in_as_json();
    a_program_that_comes_again_is_not_generated();
    a_graph_that_comes_again_is_as_new();
    hd_pool_destroy(pool);
    fake_close(&launcher);
    unlink(path);
    rmdir(folder);
    CHECK(atomic_load(&fake.buffers_alive) == 0);
}
