// Graphs of nothing but calls, and what makes them graphs of any passes.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    PASSES = 1500,
    RESOURCES = 40,
    MAX_BEFORE = 64
};

static struct hd_runtime *runtime;
static struct hd_error error;

static uint64_t now(void) // [ns]
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

// Random graphs ---------------------------------------------------------------

struct pass {
    struct network *network;
    unsigned before_count, before[MAX_BEFORE]; // that must have ended
    uint64_t spin;                             // it takes at least so long [ns]
    atomic_uint began, ended;                  // runs
};

struct network {
    struct pass passes[PASSES];
    unsigned count;
    // Of each resource: the last to write it, and who has read that.
    int writer[RESOURCES];
    unsigned reader_count[RESOURCES], readers[RESOURCES][PASSES];
};

static hd_status run_pass(void *data, struct hd_error *failure)
{
    struct pass *pass = data;
    unsigned run = atomic_fetch_add(&pass->began, 1) + 1;

    (void)failure;
    for (unsigned i = 0; i < pass->before_count; i++)
        CHECK(atomic_load(&pass->network->passes[pass->before[i]].ended) ==
              run);
    for (uint64_t begin = pass->spin ? now() : 0;
         pass->spin && now() - begin < pass->spin;)
        ;
    atomic_fetch_add(&pass->ended, 1);
    return HD_OK;
}

static bool comes_after(struct pass *pass, unsigned other)
{
    for (unsigned i = 0; i < pass->before_count; i++)
        if (pass->before[i] == other)
            return true;
    if (pass->before_count == MAX_BEFORE)
        return false;
    pass->before[pass->before_count++] = other;
    return true;
}

// What a pass may write has few readers, so that `before` holds them.
static bool may_write(const struct network *n, unsigned resource)
{
    return n->reader_count[resource] < MAX_BEFORE / 8;
}

static void add_random(struct hd_graph *graph, struct network *n,
                       uint64_t *state, bool by_resources, uint64_t spin)
{
    unsigned index = n->count;
    struct pass *pass = &n->passes[index];
    hd_resource reads[4], writes[2], overwrites[2];
    hd_pass after[4], handle;
    unsigned reader = 0;
    struct hd_call_params p = {.call = run_pass,
                               .data = pass,
                               .reads = reads,
                               .writes = writes,
                               .overwrites = overwrites,
                               .after = after};

    pass->network = n;
    pass->spin = spin;
    for (unsigned i = 0; !by_resources && index > 0 && i < 3; i++) {
        unsigned one = (unsigned)(next_random(state) % index);
        CHECK(comes_after(pass, one));
        if (pass->before_count > p.after_count)
            after[p.after_count++] = one + 1;
    }
    for (unsigned i = 0; by_resources && i < 3; i++) {
        unsigned r = (unsigned)(next_random(state) % RESOURCES);
        if (n->writer[r] < 0)
            continue;
        CHECK(comes_after(pass, (unsigned)n->writer[r]));
        reads[p.read_count++] = r + 1;
    }
    reader = p.read_count;
    for (unsigned i = 0; by_resources && i < 2; i++) {
        unsigned r = (unsigned)(next_random(state) % RESOURCES);
        bool whole = i == 1, reads_it = false;
        for (unsigned k = 0; k < reader; k++)
            reads_it = reads_it || reads[k] == r + 1;
        if (!may_write(n, r) || (i == 1 && p.write_count && writes[0] == r + 1))
            continue;
        if (whole)
            overwrites[p.overwrite_count++] = r + 1;
        else
            writes[p.write_count++] = r + 1;
        for (unsigned k = 0; (!whole || reads_it) && k < n->reader_count[r];
             k++)
            CHECK(comes_after(pass, n->readers[r][k]));
        if ((!whole || reads_it) && n->writer[r] >= 0)
            CHECK(comes_after(pass, (unsigned)n->writer[r]));
        n->writer[r] = (int)index;
        n->reader_count[r] = 0;
    }
    for (unsigned k = 0; k < reader; k++)
        if (n->writer[reads[k] - 1] != (int)index)
            n->readers[reads[k] - 1][n->reader_count[reads[k] - 1]++] = index;
    CHECK_OK(hd_graph_call(graph, &p, &handle, &error), error);
    CHECK(handle == index + 1);
    n->count++;
}

static struct hd_graph *create(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    return graph;
}

static struct network *create_network(struct hd_graph *graph)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {1}};
    struct network *n = calloc(1, sizeof(*n));

    CHECK(n);
    for (unsigned i = 0; i < RESOURCES; i++) {
        hd_resource resource;
        n->writer[i] = -1;
        CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &resource, &error),
                 error);
        CHECK(resource == i + 1);
    }
    return n;
}

static void run_and_check(struct hd_graph *graph, struct network *n,
                          unsigned run)
{
    const struct hd_graph_run_params params = {.here = run % 2 == 0};

    CHECK_OK(hd_graph_run(graph, &params, &error), error);
    for (unsigned i = 0; i < n->count; i++)
        CHECK(atomic_load(&n->passes[i].ended) == run &&
              atomic_load(&n->passes[i].began) == run);
}

static unsigned edges_of(struct hd_graph *graph)
{
    struct hd_graph_statistics stats;

    CHECK_OK(hd_graph_prepare(graph, &error), error);
    hd_graph_stats(graph, &stats);
    return stats.edges;
}

// Whether the last run took the time of each pass, as only graphs of any passes
// do.
static bool has_times(struct hd_graph *graph)
{
    struct hd_pass_info info;

    CHECK(hd_graph_pass_info(graph, hd_graph_pass_count(graph) - 1, &info));
    return info.end > 0;
}

// Short passes: one worker runs them; longer ones: others join; both: they join
// later. Then the same as a graph of any passes.
static void passes_come_after_what_they_need(bool by_resources)
{
    uint64_t state = 0x2545f4914f6cdd1d;

    for (int kind = 0; kind < 3; kind++) {
        struct hd_graph *graph = create();
        struct network *n = create_network(graph);

        for (unsigned i = 0; i < PASSES - 300; i++) {
            uint64_t spin = kind == 0             ? 0
                            : kind == 2 && i < 50 ? 0
                                                  : next_random(&state) % 2000;
            add_random(graph, n, &state, by_resources, spin);
        }
        for (unsigned run = 1; run <= 3; run++)
            run_and_check(graph, n, run);
        for (unsigned i = 0; i < 300; i++)
            add_random(graph, n, &state, by_resources, 0);
        for (unsigned i = 0; i < n->count; i++) {
            atomic_store(&n->passes[i].began, 3);
            atomic_store(&n->passes[i].ended, 3);
        }
        run_and_check(graph, n, 4);
        unsigned edges = edges_of(graph);
        CHECK(edges > n->count);

        const struct hd_graph_policy policy = {.times = true};
        CHECK_OK(hd_graph_set_policy(graph, &policy, &error), error);
        CHECK(edges_of(graph) == edges);
        run_and_check(graph, n, 5);
        CHECK(has_times(graph));
        hd_graph_destroy(graph);
        free(n);
    }
}

static void orders_may_be_stated_later(void)
{
    struct hd_graph *graph = create();
    struct network *n = create_network(graph);
    uint64_t state = 99;

    for (unsigned i = 0; i < 600; i++)
        add_random(graph, n, &state, false, i % 3 * 500);
    for (unsigned i = 0; i < 500; i++) {
        CHECK(comes_after(&n->passes[i + 97], i));
        CHECK_OK(hd_graph_order(graph, i + 1, i + 98, i % 2 ? "g.c:5" : NULL,
                                &error),
                 error);
    }
    for (unsigned run = 1; run <= 3; run++)
        run_and_check(graph, n, run);
    hd_graph_destroy(graph);
    free(n);
}

// Workers ---------------------------------------------------------------------

struct meeting {
    pthread_t first;
    atomic_uint came;
    atomic_bool met;
};

// Ends when two threads have come, or late.
static hd_status meet(void *data, struct hd_error *failure)
{
    struct meeting *m = data;
    uint64_t begin = now();

    (void)failure;
    if (atomic_fetch_add(&m->came, 1) == 0)
        m->first = pthread_self();
    else if (!pthread_equal(m->first, pthread_self()))
        atomic_store(&m->met, true);
    while (!atomic_load(&m->met) && now() - begin < 200000000)
        ;
    return HD_OK;
}

static void other_workers_join_where_passes_are_long(void)
{
    struct hd_graph *graph = create();
    struct meeting m = {.met = false};

    for (int i = 0; i < 300; i++) {
        hd_pass pass;
        CHECK_OK(hd_graph_call(
                     graph, &(struct hd_call_params){.call = meet, .data = &m},
                     &pass, &error),
                 error);
    }
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&m.came) == 300);
    CHECK(atomic_load(&m.met));
    hd_graph_destroy(graph);
}

// Counts the calls on a thread.
struct thread {
    pthread_t thread;
    atomic_uint calls;
};

static hd_status look_where(void *data, struct hd_error *failure)
{
    struct thread *t = data;

    (void)failure;
    atomic_fetch_add(&t->calls, pthread_equal(t->thread, pthread_self()) != 0);
    return HD_OK;
}

static void the_calling_thread_runs_passes_if_it_may(void)
{
    const struct hd_graph_run_params params = {.here = true};
    struct thread t = {.thread = pthread_self()};
    struct hd_graph *graph = create();
    hd_pass pass;

    for (int i = 0; i < 300; i++)
        CHECK_OK(hd_graph_call(
                     graph,
                     &(struct hd_call_params){.call = look_where, .data = &t},
                     &pass, &error),
                 error);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&t.calls) == 0);
    CHECK_OK(hd_graph_run(graph, &params, &error), error);
    CHECK(atomic_load(&t.calls) > 0);
    hd_graph_destroy(graph);
}

static hd_status take_long(void *data, struct hd_error *failure)
{
    (void)failure;
    for (uint64_t begin = now(); now() - begin < 5000;)
        ;
    atomic_fetch_add((atomic_uint *)data, 1);
    return HD_OK;
}

static struct hd_graph *make_set(unsigned count,
                                 hd_status (*call)(void *, struct hd_error *),
                                 void *data)
{
    struct hd_graph *graph = create();

    for (unsigned i = 0; i < count; i++) {
        hd_pass pass;
        CHECK_OK(
            hd_graph_call(graph,
                          &(struct hd_call_params){.call = call, .data = data},
                          &pass, &error),
            error);
    }
    return graph;
}

static void times_are_taken_of_passes_that_are_long(void)
{
    atomic_uint ran = 0;
    struct hd_graph *graph = make_set(300, take_long, &ran);

    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(!has_times(graph));
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(has_times(graph));
    CHECK(atomic_load(&ran) == 600);
    hd_graph_destroy(graph);
}

static hd_status count(void *data, struct hd_error *failure)
{
    (void)failure;
    atomic_fetch_add((atomic_uint *)data, 1);
    return HD_OK;
}

static void tell(void *data, unsigned finished, unsigned total,
                 const char *pass)
{
    (void)pass;
    CHECK(finished <= total && total == 300);
    ++*(unsigned *)data;
}

static void progress_is_told_of_every_pass(void)
{
    atomic_uint ran = 0;
    unsigned told = 0;
    struct hd_graph *graph = make_set(300, count, &ran);
    const struct hd_graph_run_params params = {.progress = tell, .data = &told};

    CHECK_OK(hd_graph_run(graph, &params, &error), error);
    CHECK(told == 300 && atomic_load(&ran) == 300);
    hd_graph_destroy(graph);
}

// More than one worker has room for.
static void many_passes_become_ready_at_once(void)
{
    struct hd_graph *graph = create();
    struct network *n = create_network(graph);
    hd_pass pass, hub = 300;

    for (unsigned i = 0; i < PASSES; i++) {
        hd_pass before = i < hub ? i : hub;
        n->passes[i].network = n;
        n->passes[i].spin = i < hub ? 2000 : 300;
        if (i > 0)
            CHECK(comes_after(&n->passes[i], before - 1));
        CHECK_OK(hd_graph_call(graph,
                               &(struct hd_call_params){.call = run_pass,
                                                        .data = &n->passes[i],
                                                        .after = &before,
                                                        .after_count = i > 0},
                               &pass, &error),
                 error);
    }
    n->count = PASSES;
    for (unsigned run = 1; run <= 4; run++)
        run_and_check(graph, n, run);
    hd_graph_destroy(graph);
    free(n);
}

// Other passes among them -----------------------------------------------------

static void other_passes_come_in_the_same_order(void)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {4}};
    struct hd_graph *graph = create();
    struct network *n = create_network(graph);
    uint64_t state = 7;
    hd_resource extra;
    hd_pass clear;

    for (unsigned i = 0; i < 400; i++)
        add_random(graph, n, &state, true, 0);
    unsigned edges = edges_of(graph);
    run_and_check(graph, n, 1);

    CHECK_OK(hd_graph_resource(graph, "extra", &shape, "g.c:3", &extra, &error),
             error);
    CHECK(extra == RESOURCES + 1);
    const struct hd_command command = {.is = HD_CLEAR, .to = extra};
    const struct hd_pass_params params = {.name = "clear",
                                          .writes = &extra,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    CHECK_OK(hd_graph_pass(graph, &params, &clear, &error), error);
    CHECK(clear == 401);
    CHECK(edges_of(graph) == edges);
    n->passes[400].network = n;
    n->passes[400].before_count = 0;
    hd_pass pass;
    CHECK_OK(hd_graph_call(graph,
                           &(struct hd_call_params){.call = run_pass,
                                                    .data = &n->passes[400],
                                                    .after = &clear,
                                                    .after_count = 1,
                                                    .reads = &extra,
                                                    .read_count = 1},
                           &pass, &error),
             error);
    CHECK(pass == 402);
    n->count = 401;
    atomic_store(&n->passes[400].began, 1);
    atomic_store(&n->passes[400].ended, 1);
    run_and_check(graph, n, 2);
    CHECK(has_times(graph));
    hd_graph_destroy(graph);
    free(n);
}

// A resource that is an output has memory, and passes it needs run only.
static void an_output_makes_it_a_graph_of_any_passes(void)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {4}};
    atomic_uint needed = 0, idle = 0;
    struct hd_graph *graph = create();
    hd_resource r[2];
    hd_pass pass;

    for (int i = 0; i < 2; i++)
        CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r[i], &error),
                 error);
    for (int i = 0; i < 300; i++)
        CHECK_OK(hd_graph_call(
                     graph,
                     &(struct hd_call_params){.call = count,
                                              .data = i % 2 ? &needed : &idle,
                                              .writes = &r[i % 2],
                                              .write_count = 1},
                     &pass, &error),
                 error);
    CHECK_OK(hd_graph_output(graph, "out", r[1], NULL, &error), error);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&needed) == 150 && atomic_load(&idle) == 0);

    struct hd_graph_result result;
    CHECK(hd_graph_result(graph, 0, &result) && result.buffer);
    hd_graph_destroy(graph);
}

static void a_graph_of_calls_can_be_printed(void)
{
    atomic_uint ran = 0;
    struct hd_graph *graph = make_set(300, count, &ran);
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    CHECK(file);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(hd_graph_print(graph, HD_GRAPH_JSON, file) == HD_OK);
    fclose(file);
    CHECK(strstr(text, "\"passes\""));
    free(text);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&ran) == 600);
    hd_graph_destroy(graph);
}

// Ends ------------------------------------------------------------------------

struct fall {
    struct hd_graph *graph;
    unsigned at; // call that fails or cancels
    bool cancels;
    uint64_t spin; // [ns]
    atomic_uint ran;
};

static hd_status fall(void *data, struct hd_error *failure)
{
    struct fall *f = data;
    unsigned ran = atomic_fetch_add(&f->ran, 1);

    for (uint64_t begin = now(); now() - begin < f->spin;)
        ;
    if (ran != f->at)
        return HD_OK;
    if (f->cancels) {
        hd_graph_cancel(f->graph);
        return HD_OK;
    }
    failure->status = HD_EIO;
    snprintf(failure->text, sizeof(failure->text), "the disk is full");
    return HD_EIO;
}

// A chain, so that nothing may run beyond.
static void a_run_ends_early(bool cancels, uint64_t spin)
{
    struct fall f = {.at = 400, .cancels = cancels, .spin = spin};

    f.graph = create();
    for (unsigned i = 0; i < 800; i++) {
        hd_pass pass;
        char where[16];
        snprintf(where, sizeof(where), "g.c:%u", i);
        CHECK_OK(hd_graph_call(f.graph,
                               &(struct hd_call_params){.call = fall,
                                                        .data = &f,
                                                        .name = "step",
                                                        .where = where,
                                                        .after = &i,
                                                        .after_count = i > 0},
                               &pass, &error),
                 error);
    }
    for (int run = 0; run < 2; run++) {
        atomic_store(&f.ran, 0);
        CHECK_FAILS(hd_graph_run(f.graph, NULL, &error),
                    cancels ? HD_ECANCELED : HD_EIO, error,
                    cancels ? "401 of 800 passes had finished"
                            : "g.c:400: pass 'step': the disk is full");
        CHECK(atomic_load(&f.ran) == 401);
    }
    f.at = UINT32_MAX;
    atomic_store(&f.ran, 0);
    CHECK_OK(hd_graph_run(f.graph, NULL, &error), error);
    CHECK(atomic_load(&f.ran) == 800);
    hd_graph_destroy(f.graph);
}

static void a_set_ends_early(void)
{
    struct fall f = {.at = 100, .spin = 1000};

    f.graph = make_set(2000, fall, &f);
    CHECK_FAILS(hd_graph_run(f.graph, NULL, &error), HD_EIO, error,
                "the disk is full");
    CHECK(atomic_load(&f.ran) > 100 && atomic_load(&f.ran) < 2000);
    hd_graph_destroy(f.graph);
}

static void a_run_can_be_started(void)
{
    atomic_uint ran = 0;
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_graph *graph = make_set(300, count, &ran);
    struct hd_start after = {.after_count = 1};
    hd_event gate, first, second;

    CHECK_OK(hd_event_create(pool, &gate, &error), error);
    after.after = &gate;
    CHECK_OK(hd_graph_start(graph, &after, NULL, &first, &error), error);
    CHECK(atomic_load(&ran) == 0);
    CHECK_FAILS(hd_graph_start(graph, NULL, NULL, &second, &error), HD_EINVAL,
                error, "is running");
    CHECK_OK(hd_event_end(pool, gate, HD_OK, NULL, &error), error);
    CHECK_OK(hd_event_wait(pool, &first, 1, HD_FOREVER, &error), error);
    CHECK(atomic_load(&ran) == 300);
    hd_event_release(pool, gate);
    hd_event_release(pool, first);
    hd_graph_destroy(graph);
}

static void what_is_wrong_is_told(void)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {1}};
    atomic_uint ran = 0;
    struct hd_graph *graph = make_set(300, count, &ran);
    struct hd_call_params p = {.name = "late", .where = "g.c:9"};
    hd_resource r;
    hd_pass pass = 9999;

    CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r, &error), error);
    CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), HD_EINVAL, error,
                "g.c:9: pass 'late': it calls no function");
    p.call = count;
    p.data = &ran;
    p.after = (hd_pass[]){300, 301};
    p.after_count = 2;
    CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), HD_EINVAL, error,
                "g.c:9: pass 'late': it comes after 301, which is no pass");
    p.after_count = 1;
    p.reads = &r;
    p.read_count = 1;
    CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), HD_EGRAPH, error,
                "it reads resource 'r', but no pass before it writes it");
    p.reads = &(hd_resource){7};
    CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), HD_EINVAL, error,
                "7 is no resource");
    p.reads = NULL;
    CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), HD_EINVAL, error,
                "whose lists are there");
    p.read_count = 0;
    CHECK(hd_graph_pass_count(graph) == 300 && pass == 9999);
    CHECK_OK(hd_graph_call(graph, &p, &pass, &error), error);
    CHECK(pass == 301);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&ran) == 301);
    CHECK_OK(hd_graph_order(graph, 301, 300, "g.c:10", &error), error);
    CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EGRAPH, error, "g.c:10");
    hd_graph_destroy(graph);
}

// Each in a graph of its own, which has been nothing but calls until then.
static void a_use_of_what_is_not_there_is_told(void)
{
    const struct hd_shape shape = {.type = "uint", .axes = 1, .extent = {1}};
    atomic_uint ran = 0;
    const hd_pass next[] = {1, 302, 2}, none[] = {1, 0, 2};
    const struct {
        struct hd_call_params params;
        hd_status status;
        const char *text;
    } cases[] = {
        {{.after = next, .after_count = 3}, HD_EINVAL, "after 302"},
        {{.after = none, .after_count = 3}, HD_EINVAL, "after 0"},
        {{.reads = (hd_resource[]){2, 1}, .read_count = 2},
         HD_EGRAPH,
         "no pass before it writes it"},
        {{.reads = (hd_resource[]){2, 3}, .read_count = 2},
         HD_EINVAL,
         "3 is no resource"},
        {{.writes = (hd_resource[]){3, 1}, .write_count = 2},
         HD_EINVAL,
         "3 is no resource"},
        {{.writes = (hd_resource[]){1, 0}, .write_count = 2},
         HD_EINVAL,
         "0 is no resource"},
        {{.overwrites = (hd_resource[]){1, 3}, .overwrite_count = 2},
         HD_EINVAL,
         "3 is no resource"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct hd_graph *graph = make_set(300, count, &ran);
        struct hd_call_params p = {.call = count,
                                   .data = &ran,
                                   .writes = (hd_resource[]){2},
                                   .write_count = 1};
        hd_resource r;
        hd_pass pass;
        for (int k = 0; k < 2; k++)
            CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r, &error),
                     error);
        CHECK_OK(hd_graph_call(graph, &p, &pass, &error), error);
        p = cases[i].params;
        p.call = count;
        p.data = &ran;
        CHECK_FAILS(hd_graph_call(graph, &p, &pass, &error), cases[i].status,
                    error, cases[i].text);
        CHECK(hd_graph_pass_count(graph) == 301);
        hd_graph_destroy(graph);
    }
}

// Several at a time, on the same workers.
static void graphs_run_beside_each_other(void)
{
    enum {
        GRAPHS = 6
    };
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct hd_graph *graphs[GRAPHS];
    struct network *networks[GRAPHS];
    hd_event events[GRAPHS];
    uint64_t state = 3;

    for (int i = 0; i < GRAPHS; i++) {
        graphs[i] = create();
        networks[i] = create_network(graphs[i]);
        for (unsigned k = 0; k < 500; k++)
            add_random(graphs[i], networks[i], &state, i % 2, 200 * (i % 4));
    }
    for (unsigned run = 1; run <= 5; run++) {
        for (int i = 0; i < GRAPHS; i++)
            CHECK_OK(hd_graph_start(graphs[i], NULL, NULL, &events[i], &error),
                     error);
        for (int i = 0; i < GRAPHS; i++) {
            CHECK_OK(hd_event_wait(pool, &events[i], 1, HD_FOREVER, &error),
                     error);
            hd_event_release(pool, events[i]);
            for (unsigned k = 0; k < 500; k++)
                CHECK(atomic_load(&networks[i]->passes[k].ended) == run);
        }
    }
    for (int i = 0; i < GRAPHS; i++) {
        hd_graph_destroy(graphs[i]);
        free(networks[i]);
    }
}

static void open_runtime(unsigned workers, bool trace)
{
    const struct hd_runtime_params params = {
        .workers = workers, .device = "cpu", .no_cache = true, .trace = trace};

    CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
}

// A trace shows every pass.
static void a_trace_has_every_pass(void)
{
    atomic_uint ran = 0;

    open_runtime(2, true);
    struct hd_graph *graph = make_set(300, count, &ran);
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(has_times(graph));
    hd_graph_destroy(graph);
    hd_runtime_destroy(runtime);
}

// A job that runs until it is told to end.
struct busy {
    struct hd_job job;
    atomic_bool over;
};

static void keep_busy(struct hd_worker *worker, struct hd_job *job)
{
    struct busy *busy = (struct busy *)(void *)job;

    (void)worker;
    while (!atomic_load(&busy->over))
        sched_yield();
}

static void *run_graph(void *data)
{
    struct hd_error failure;

    CHECK(hd_graph_run(data, NULL, &failure) == HD_ECANCELED);
    return NULL;
}

// Its job is queued when the pool is cancelled, which then begins none: the run
// must end all the same. (Cancelled too early it ends in any case.)
static void a_cancelled_pool_ends_a_run(void)
{
    atomic_uint ran = 0;
    pthread_t thread;

    open_runtime(1, false);
    struct hd_pool *pool = hd_runtime_pool(runtime);
    struct busy busy = {.job = {.run = keep_busy}};
    struct hd_graph *graph = make_set(300, count, &ran);
    hd_submit(pool, &busy.job);
    CHECK(pthread_create(&thread, NULL, run_graph, graph) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    hd_pool_cancel(pool);
    atomic_store(&busy.over, true);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&ran) == 0);
    hd_graph_destroy(graph);
    hd_runtime_destroy(runtime);
}

int main(void)
{
    for (unsigned workers = 1; workers <= 4; workers++) {
        open_runtime(workers, false);
        passes_come_after_what_they_need(false);
        passes_come_after_what_they_need(true);
        orders_may_be_stated_later();
        if (workers > 1)
            other_workers_join_where_passes_are_long();
        the_calling_thread_runs_passes_if_it_may();
        many_passes_become_ready_at_once();
        times_are_taken_of_passes_that_are_long();
        progress_is_told_of_every_pass();
        other_passes_come_in_the_same_order();
        an_output_makes_it_a_graph_of_any_passes();
        a_graph_of_calls_can_be_printed();
        for (int spin = 0; spin < 3; spin++) {
            a_run_ends_early(false, (uint64_t)spin * 400);
            a_run_ends_early(true, (uint64_t)spin * 400);
        }
        a_set_ends_early();
        a_run_can_be_started();
        what_is_wrong_is_told();
        a_use_of_what_is_not_there_is_told();
        graphs_run_beside_each_other();
        hd_runtime_destroy(runtime);
    }
    a_trace_has_every_pass();
    a_cancelled_pool_ends_a_run();
    return 0;
}
