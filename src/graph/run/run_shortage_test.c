// Every allocation of ours fails in turn while a graph is run in parts, and
// while passes join an open run: that is an error with a text, or no matter at
// all. The run ends all the same, and nothing is left behind.
#include "tests/shortage.h"

#include <sched.h>
#include <stdio.h>

#include "graph/model/model.h"
#include "graph/run/run.h"
#include "heddle/heddle.h"
#include "steal/event.h"
#include "tests/check.h"

// Some memory is kept on purpose the first time it is needed; what is lost is
// lost each time, so a few attempts tell them apart.
enum {
    COUNT = 1024,
    JOINING = 4,
    ATTEMPTS = 5 // runs of one shortage that may each leave more behind
};

static const char source[] =
    "kernel void around(global int *to, global const int *from)\n"
    "{\n"
    "    int i = get_global_id(0);\n"
    "    to[i] = from[i] + (i > 0 ? from[i - 1] : 0);\n"
    "}\n";

static struct hd_runtime *runtime;
static struct hd_program *program;
static struct hd_error error;
static long now; // allocations that succeed

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

static bool add_resource(struct hd_graph *graph, const char *name,
                         hd_resource *resource)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {COUNT}};

    return DONE(hd_graph_resource(graph, name, &shape, NULL, resource, &error));
}

static bool add_fill(struct hd_graph *graph, hd_resource to, double value)
{
    const struct hd_command fill = {
        .is = HD_FILL, .to = to, .pattern = &value, .pattern_count = 1};
    const struct hd_pass_params params = {.name = "fill",
                                          .overwrites = &to,
                                          .overwrite_count = 1,
                                          .commands = &fill,
                                          .command_count = 1};
    hd_pass pass;

    return DONE(hd_graph_pass(graph, &params, &pass, &error));
}

static bool add_around(struct hd_graph *graph, hd_resource to, hd_resource from)
{
    const struct hd_pass_arg args[] = {
        {.is = HD_PASS_RESOURCE, .resource = to},
        {.is = HD_PASS_RESOURCE, .resource = from}};
    const struct hd_command dispatch = {
        .is = HD_DISPATCH,
        .kernel = {.kernel = hd_program_find(program, "around")},
        .range = {.dims = 1, .global = {COUNT}, .local = {64}},
        .args = args,
        .arg_count = 2};
    const struct hd_pass_params params = {.name = "around",
                                          .reads = &from,
                                          .read_count = 1,
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &dispatch,
                                          .command_count = 1};
    hd_pass pass;

    return DONE(hd_graph_pass(graph, &params, &pass, &error));
}

static int second_of(const struct hd_graph *graph, hd_resource resource)
{
    int value;

    CHECK_OK(hd_graph_contents(graph, resource, sizeof(value), &value,
                               sizeof(value), &error),
             error);
    return value;
}

// Parts -----------------------------------------------------------------------

// As if all passes took long.
static void make_heavy(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->passes.count; i++)
        graph->weights[i] = (struct hdi_weight){
            .time = 1000000, .work = 1000000, .known = true};
    graph->reweigh = true;
}

static bool run_parts(void)
{
    struct hd_graph_statistics s;
    struct hd_graph *graph = NULL;
    hd_resource r[3];
    bool ok = DONE(hd_graph_create(runtime, &graph, &error));

    for (int i = 0; i < 3 && ok; i++)
        ok = add_resource(graph, "r", &r[i]);
    ok = ok && add_fill(graph, r[0], 1) && add_around(graph, r[1], r[0]) &&
         add_around(graph, r[2], r[1]) &&
         DONE(hd_graph_output(graph, "r", r[2], NULL, &error)) &&
         DONE(hd_graph_prepare(graph, &error));
    if (ok)
        make_heavy(graph);
    ok = ok && DONE(hd_graph_run(graph, NULL, &error));
    if (ok) {
        hd_graph_stats(graph, &s);
        // Without memory for a footprint the pass stays whole.
        CHECK(now >= 0 || (s.split == 2 && s.parts > 2));
        CHECK(second_of(graph, r[2]) == 3);
    }
    hd_graph_destroy(graph);
    return ok;
}

// Open runs -------------------------------------------------------------------

// Each pass joins by itself, and waits for the one before it; then the last is
// waited for.
static bool join(struct hd_graph *graph, hd_resource *r)
{
    int seen;

    for (int i = 1; i <= JOINING; i++)
        if (!add_resource(graph, "joins", &r[i]) ||
            !add_around(graph, r[i], r[i - 1]) ||
            !DONE(hd_graph_extend(graph, &error)))
            return false;
    return DONE(hdi_open_wait(graph, graph->passes.count - 1, &error)) &&
           DONE(hd_graph_contents(graph, r[JOINING], 0, &seen, sizeof(seen),
                                  &error));
}

// The run ends, whatever has failed: with that error if it could not go on.
static bool end(struct hd_graph *graph, hd_event event, bool ok)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);

    ok = DONE(hd_graph_close(graph, &error)) && ok;
    hd_event_wait(pool, &event, 1, HD_FOREVER, &error);
    while (hd_event_state(pool, event) < HD_EVENT_ENDED)
        sched_yield(); // there was no memory to wait
    ok = DONE(hd_event_status(pool, event, &error)) && ok;
    hd_event_release(pool, event);
    return ok;
}

static bool run_open(void)
{
    const struct hd_graph_run_params params = {.open = true, .room = 16};
    struct hd_graph *graph = NULL;
    hd_resource r[JOINING + 1];
    hd_event event;
    bool ok = DONE(hd_graph_create(runtime, &graph, &error)) &&
              add_resource(graph, "r", &r[0]) && add_fill(graph, r[0], 1) &&
              DONE(hd_graph_start(graph, NULL, &params, &event, &error));

    if (ok)
        ok = end(graph, event, join(graph, r));
    if (ok)
        CHECK(second_of(graph, r[JOINING]) == JOINING + 1);
    hd_graph_destroy(graph);
    return ok;
}

// A run that comes after more events than there are records for is not begun
// without memory for those; nor is it open then.
static void what_cannot_be_started_is_not_open(void)
{
    enum {
        MANY = 2 * HDI_EVENT_SEGMENT * HDI_EVENT_INPUTS
    };
    static const hd_event none[MANY];
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = 1, .no_cache = true};
    const struct hd_graph_run_params open = {.open = true};
    const struct hd_start start = {.after = none, .after_count = MANY};
    struct hd_runtime *fresh;
    struct hd_graph *graph;
    hd_resource r;
    hd_event event;
    hd_status status = HD_ENOMEM;
    bool lacked_records = false;

    CHECK_OK(hd_runtime_create(&params, &fresh, &error), error);
    for (long n = 0; status != HD_OK; n++) {
        CHECK_OK(hd_graph_create(fresh, &graph, &error), error);
        CHECK(add_resource(graph, "r", &r) && add_fill(graph, r, 1));
        shortage_begin(n);
        status = hd_graph_start(graph, &start, &open, &event, &error);
        shortage_end();
        CHECK(status == HD_OK || status == HD_ENOMEM);
        CHECK(atomic_load(&graph->running) == (status == HD_OK));
        lacked_records |= status != HD_OK && strstr(error.text, "8192 events");
        if (status == HD_OK)
            CHECK_OK(hd_graph_close(graph, &error), error);
        if (status == HD_OK)
            CHECK_OK(hd_event_wait(hd_runtime_pool(fresh), &event, 1,
                                   HD_FOREVER, &error),
                     error);
        hd_graph_destroy(graph);
    }
    CHECK(lacked_records);
    hd_event_release(hd_runtime_pool(fresh), event);
    hd_runtime_destroy(fresh);
}

// All -------------------------------------------------------------------------

// True when an allocation failed.
static bool run(bool (*function)(void), long successes)
{
    now = successes;
    shortage_begin(successes);
    bool ok = function();
    bool failed = shortage_end();
    CHECK(ok || failed);
    return failed;
}

// One allocation fails. What is used once may stay; what grows each time is
// lost. False: there are not so many.
static bool try_one(bool (*function)(void), long successes)
{
    long before = atomic_load(&shortage.held), after = before;

    for (int i = 0; i < ATTEMPTS; i++) {
        if (!run(function, successes) && i == 0)
            return false;
        after = atomic_load(&shortage.held);
        if (after <= before)
            return true;
        before = after;
    }
    fprintf(stderr, "allocation %ld: %ld blocks are held\n", successes, after);
    exit(1);
}

// `least` guards against a test that watches nothing.
static void try_each(bool (*function)(void), const char *what, long least)
{
    long n = 0;

    CHECK(!run(function, -1) && !run(function, -1));
    while (try_one(function, n))
        n++;
    printf("%s: %ld allocations\n", what, n);
    CHECK(n > least);
}

int main(void)
{
    const struct hd_runtime_params params = {
        .device = "cpu", .workers = 2, .no_cache = true};
    const struct hd_program_params kernels = {.source = source};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
    hd_status status = hd_program_create(runtime, &kernels, &program, &error);
    SKIP_UNBUILT(status, error);
    CHECK_OK(status, error);
    CHECK(shortage_watch(NULL));
    try_each(run_parts, "parts", 30);
    try_each(run_open, "an open run", 30);
    what_cannot_be_started_is_not_open();
    hd_program_destroy(program);
    hd_runtime_destroy(runtime);
    return 0;
}
