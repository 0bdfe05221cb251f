// Programs that go on while their passes run.
#include "tests/graph/fake_launch.h"

#include <sched.h>
#include <unistd.h>

#include "base/clock.h"
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

static atomic_bool let_go, in_time;

// Ends when the other kernel has run.
static hd_status run_hold(const struct hd_range *range,
                          const struct hd_arg *args)
{
    uint64_t end = hdi_now() + UINT64_C(60000000000);

    (void)range, (void)args;
    while (!atomic_load(&let_go) && hdi_now() < end)
        sched_yield();
    atomic_store(&in_time, atomic_load(&let_go));
    return HD_OK;
}

static hd_status run_release(const struct hd_range *range,
                             const struct hd_arg *args)
{
    (void)range, (void)args;
    atomic_store(&let_go, true);
    return HD_OK;
}

static hd_status run_fail(const struct hd_range *range,
                          const struct hd_arg *args)
{
    (void)range, (void)args;
    return HD_EFAULT;
}

struct fake_kernel fake_kernels[] = {
    {.name = "halve",
     .run = run_halve,
     .args = {{"x", "double*", HD_ARG_GLOBAL, false}}},
    {.name = "hold",
     .run = run_hold,
     .args = {{"x", "double*", HD_ARG_GLOBAL, false}}},
    {.name = "release",
     .run = run_release,
     .args = {{"x", "double*", HD_ARG_GLOBAL, false}}},
    {.name = "fail",
     .run = run_fail,
     .args = {{"x", "double*", HD_ARG_GLOBAL, false}}},
    {.name = NULL}};

static struct hdi_launcher launcher;
static struct hdi_graph_context context;
static struct hd_error error;
static const char *folder;
static char path[320];

static hd_status generate(const char *text, struct hd_graph **graph)
{
    const struct hd_graph_program program = {.path = path};
    FILE *file = fopen(path, "w");

    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
    return hdi_graph_generate(&context, &program, graph, &error);
}

static struct hd_graph *make(const char *text)
{
    struct hd_graph *graph;

    CHECK_OK(generate(text, &graph), error);
    return graph;
}

static void fails(const char *text, hd_status status, const char *part)
{
    struct hd_graph *graph = NULL;

    CHECK_FAILS(generate(text, &graph), status, error, part);
    CHECK(!graph);
    CHECK(atomic_load(&fake.buffers_alive) == 0);
}

static double first_of(struct hd_graph *g, unsigned output)
{
    struct hd_graph_result result;

    CHECK(hd_graph_result(g, output, &result) && result.buffer);
    return *(double *)result.buffer->address;
}

#define WORDS                                                      \
    "local function run(name, x) read(x) write(x)\n"               \
    "  return dispatch(kernel('k.cl', name), {x}, {global = 4})\n" \
    "end\n"                                                        \
    "local function make(value)\n"                                 \
    "  local x = resource('x', 'double', 4)\n"                     \
    "  write(x) fill(x, value) return x\n"                         \
    "end\n"

static void passes_join_while_the_program_goes_on(void)
{
    struct hd_graph *g =
        make(WORDS "local x = make(1000.0)\n"
                   "start()\n"
                   "local steps = 0\n"
                   "repeat run('halve', x) steps = steps + 1\n"
                   "until values(x, 2, 1)[1] < 1\n"
                   "output('x', x) output('steps', make(steps))\n");

    CHECK(hd_graph_pass_count(g) == 12);
    CHECK(g->done == 12); // all have run, and run once
    unsigned launches = atomic_load(&fake.launches);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(atomic_load(&fake.launches) == launches);
    CHECK(first_of(g, 0) == 1000 / 1024.0 && first_of(g, 1) == 10);
    // Kept: the whole again.
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(atomic_load(&fake.launches) == launches + 10);
    CHECK(first_of(g, 0) == 1000 / 1024.0 && first_of(g, 1) == 10);
    hd_graph_destroy(g);
}

// A pass runs that ends only after what the program adds when it has seen the
// values of something else.
static void values_wait_for_what_they_need_alone(void)
{
    atomic_store(&let_go, false);
    struct hd_graph *g =
        make(WORDS "local a, b, c = make(1), make(8), make(0)\n"
                   "run('hold', a)\n"
                   "start()\n"
                   "run('halve', b)\n"
                   "if values(b)[4] ~= 4 then error('b') end\n"
                   "run('halve', b)\n"
                   "if values(b)[1] ~= 2 then error('b again') end\n"
                   "run('release', c)\n"
                   "if values(a)[1] ~= 1 then error('a') end\n"
                   "output('b', b)\n");
    CHECK(atomic_load(&in_time));
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 2);
    hd_graph_destroy(g);
}

// After steps that were run for their results, and with nothing at first.
static void a_run_may_start_anywhere(void)
{
    struct hd_graph *g = make(WORDS "local x, y = make(16), nil\n"
                                    "run('halve', x)\n"
                                    "if values(x)[1] ~= 8 then error('8') end\n"
                                    "start(100)\n"
                                    "if values(x)[1] ~= 8 then error('+') end\n"
                                    "y = make(3)\n"
                                    "run('halve', x) run('halve', y)\n"
                                    "if values(x)[1] ~= 4 then error('4') end\n"
                                    "output('x', x) output('y', y)\n");
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 4 && first_of(g, 1) == 1.5);
    hd_graph_destroy(g);

    g = make("start()\n" WORDS "output('x', make(7))");
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 7);
    hd_graph_destroy(g);
    hd_graph_destroy(make("start()"));
}

// Of all passes there were, though the last run has nothing left to do.
static void what_is_told_is_of_all_that_ran(void)
{
    static const char *const texts[] = {
        WORDS "local x = make(8)\n"
              "start()\n"
              "run('halve', x) run('halve', x)\n"
              "if values(x)[1] ~= 2 then error('2') end\n"
              "output('x', x)",
        WORDS "local x = make(8)\n"
              "run('halve', x)\n"
              "if values(x)[1] ~= 4 then error('4') end\n"
              "run('halve', x)\n"
              "if values(x)[1] ~= 2 then error('2') end\n"
              "output('x', x)"};
    struct hd_graph_statistics before, s;
    struct hd_pass_info info;
    uint64_t end = 0;

    for (int i = 0; i < 2; i++) {
        struct hd_graph *g = make(texts[i]);
        CHECK(hd_graph_pass_count(g) == 3 && g->done == 3);
        CHECK_OK(hd_graph_prepare(g, &error), error);
        hd_graph_stats(g, &before);
        CHECK_OK(hd_graph_run(g, NULL, &error), error);
        hd_graph_stats(g, &s);
        CHECK(s.passes == 3 && s.makespan > before.makespan);
        CHECK(before.makespan > 0 && s.area == before.area && s.area > 0);
        CHECK(s.critical_path >= s.area && s.predicted >= before.predicted);
        CHECK(s.edges >= 1 && s.by == HD_GRAPH_BY_HOST);
        end = 0;
        for (unsigned p = 0; p < 3; p++) {
            CHECK(hd_graph_pass_info(g, p, &info));
            CHECK(info.begin >= end && info.end >= info.begin);
            end = info.end;
        }
        // Once more, from the beginning: nothing is added up.
        CHECK_OK(hd_graph_run(g, NULL, &error), error);
        hd_graph_stats(g, &before);
        CHECK_OK(hd_graph_run(g, NULL, &error), error);
        hd_graph_stats(g, &s);
        CHECK(s.edges == before.edges && s.edges >= 2);
        hd_graph_destroy(g);
    }
}

// A pass that is added after the program's last look runs too, and so does one
// that only hd_graph_run() knows.
static void what_is_added_later_runs_with_the_graph(void)
{
    struct hd_graph *g = make(WORDS "local x = make(8)\n"
                                    "start()\n"
                                    "run('halve', x) run('halve', x)\n"
                                    "output('x', x)");
    const double nine = 9;
    const hd_resource x = 1;
    const struct hd_command fill = {
        .is = HD_FILL, .to = x, .pattern = &nine, .pattern_count = 1};
    const struct hd_pass_params params = {.name = "more",
                                          .writes = &x,
                                          .write_count = 1,
                                          .commands = &fill,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(g, &params, &pass, &error), error);
    CHECK_OK(hd_graph_run(g, NULL, &error), error);
    CHECK(first_of(g, 0) == 9);
    hd_graph_destroy(g);
}

static void errors_have_names_and_leave_nothing_behind(void)
{
    fails("start(0)", HD_EPROGRAM, "start takes for how many passes");
    fails("start('many')", HD_EPROGRAM, "from 1 on, not many");
    fails("start() start()", HD_EPROGRAM, "start: the passes run already");
    fails("pass {name = 'p', run = function() start() end} {}", HD_EPROGRAM,
          "start");
    fails(WORDS "local x = make(1) start() run('halve', x) error('mine')",
          HD_EPROGRAM, "mine");
    fails(WORDS "local x = make(1) start() values(resource('r', 'int', 2))",
          HD_EGRAPH, "resource 'r' holds nothing now");
    fails("start() local x = resource('x', 'double', 4) read(x) write(x)\n"
          "dispatch(kernel('k.cl', 'halve'), {x}, {global = 4})",
          HD_EGRAPH, "program.lua:2: ");
    fails(WORDS "start()\nlocal x = make(1)\nrun('no such', x)", HD_EGRAPH,
          "program.lua:2: ");
}

// More than there is room for ends the program, even an endless one.
static void what_joins_is_bounded(void)
{
    fails(WORDS "local x = make(1) start(5)\n"
                "while true do run('halve', x) end",
          HD_ELIMIT,
          "program.lua:2: the run was opened with room for 5 passes");
}

static void a_pass_that_fails_ends_the_program(void)
{
    fails(WORDS "local x = make(1) start() run('fail', x) values(x)", HD_EFAULT,
          "pass 'fail'");
    fails(WORDS "local x = make(1) start() run('fail', x)", HD_EFAULT,
          "program.lua:2: pass 'fail'");
    fails(WORDS "local x, y = make(1), make(2) start() run('fail', x)\n"
                "while true do run('halve', y) end",
          HD_EFAULT, "pass 'fail'");
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
    passes_join_while_the_program_goes_on();
    values_wait_for_what_they_need_alone();
    a_run_may_start_anywhere();
    what_is_added_later_runs_with_the_graph();
    what_is_told_is_of_all_that_ran();
    errors_have_names_and_leave_nothing_behind();
    what_joins_is_bounded();
    a_pass_that_fails_ends_the_program();
    hd_pool_destroy(pool);
    fake_close(&launcher);
    unlink(path);
    rmdir(folder);
    CHECK(atomic_load(&fake.buffers_alive) == 0);
}
