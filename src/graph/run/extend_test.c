// Runs that are open: what joins them, when it begins, and how they end.
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/model/model.h"
#include "graph/run/run.h"
#include "heddle/heddle.h"
#include "tests/check.h"

enum {
    STEPS = 500,
    THREADS = 4,
    RESOURCES = 12,
    CALLS = 600 // of a random run
};

static struct hd_runtime *runtime;
static struct hd_error error;

static struct hd_graph *create(void)
{
    struct hd_graph *graph;

    CHECK_OK(hd_graph_create(runtime, &graph, &error), error);
    return graph;
}

static hd_pass add_call(struct hd_graph *graph,
                        hd_status (*function)(void *data,
                                              struct hd_error *error),
                        void *data, const hd_resource *reads,
                        unsigned read_count, const hd_resource *writes,
                        unsigned write_count)
{
    const struct hd_command command = {
        .is = HD_CALL, .call = function, .data = data};
    const struct hd_pass_params params = {.name = "call",
                                          .reads = reads,
                                          .read_count = read_count,
                                          .writes = writes,
                                          .write_count = write_count,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static hd_event start_open(struct hd_graph *graph, unsigned room)
{
    const struct hd_graph_run_params params = {.open = true, .room = room};
    hd_event event;

    CHECK_OK(hd_graph_start(graph, NULL, &params, &event, &error), error);
    return event;
}

static hd_status wait_and_release(hd_event event, struct hd_error *why)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    hd_status status = hd_event_wait(pool, &event, 1, HD_FOREVER, why);

    hd_event_release(pool, event);
    return status;
}

// Overlap ---------------------------------------------------------------------

struct gate {
    atomic_bool open, reached;
};

static hd_status wait_at(void *data, struct hd_error *failure)
{
    struct gate *gate = data;

    (void)failure;
    atomic_store(&gate->reached, true);
    while (!atomic_load(&gate->open))
        sched_yield();
    return HD_OK;
}

static hd_status open_it(void *data, struct hd_error *failure)
{
    struct gate *gate = data;

    (void)failure;
    atomic_store(&gate->open, true);
    return HD_OK;
}

// What is waited for is only brought about by a pass that joins.
static void passes_join_while_others_run(void)
{
    struct gate gate = {false, false};
    struct hd_graph *graph = create();

    add_call(graph, wait_at, &gate, NULL, 0, NULL, 0);
    hd_event event = start_open(graph, 0);
    while (!atomic_load(&gate.reached))
        sched_yield();
    add_call(graph, open_it, &gate, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_extend(graph, &error), error);
    while (!atomic_load(&gate.open))
        sched_yield();
    CHECK(hd_event_state(hd_runtime_pool(runtime), event) <
          HD_EVENT_ENDED); // still open
    CHECK_OK(hd_graph_close(graph, &error), error);
    CHECK_OK(wait_and_release(event, &error), error);
    CHECK_FAILS(hd_graph_extend(graph, &error), HD_EINVAL, error, "open");
    hd_graph_destroy(graph);
}

// Passes that add the passes after them ---------------------------------------

struct walk {
    struct hd_graph *graph;
    hd_resource trail;
    atomic_int steps;
    int goal;
    atomic_bool here; // one at a time
};

static hd_status walk_on(void *data, struct hd_error *failure)
{
    struct walk *w = data;

    CHECK(!atomic_exchange(&w->here, true));
    if (atomic_fetch_add(&w->steps, 1) + 1 == w->goal) {
        atomic_store(&w->here, false);
        return hd_graph_close(w->graph, failure);
    }
    // They wait for this one, in whose place the next begins: both write it.
    add_call(w->graph, walk_on, w, NULL, 0, &w->trail, 1);
    atomic_store(&w->here, false);
    return hd_graph_extend(w->graph, failure);
}

static void a_pass_adds_the_next(void)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {1}};
    const struct hd_graph_run_params params = {.open = true};
    struct walk w = {.graph = create(), .goal = STEPS};

    CHECK_OK(
        hd_graph_resource(w.graph, "trail", &shape, NULL, &w.trail, &error),
        error);
    add_call(w.graph, walk_on, &w, NULL, 0, &w.trail, 1);
    CHECK_OK(hd_graph_run(w.graph, &params, &error), error);
    CHECK(atomic_load(&w.steps) == STEPS);
    CHECK(hd_graph_pass_count(w.graph) == STEPS);
    hd_graph_destroy(w.graph);
}

// Random passes, added by several threads -------------------------------------

// Of a pass, when it began and ended, on one clock for all.
struct span {
    struct random_run *run;
    atomic_uint begin, end;
    unsigned reads, writes; // sets of resources
};

struct random_run {
    struct hd_graph *graph;
    hd_resource resources[RESOURCES];
    pthread_mutex_t lock; // to add passes
    atomic_uint clock;
    struct span spans[CALLS]; // in program order
    unsigned count, batch;
    unsigned state;
};

static hd_status note_span(void *data, struct hd_error *failure)
{
    struct span *span = data;

    (void)failure;
    atomic_store(&span->begin, atomic_fetch_add(&span->run->clock, 1) + 1);
    for (volatile int i = 0; i < 200; i++)
        ;
    atomic_store(&span->end, atomic_fetch_add(&span->run->clock, 1) + 1);
    return HD_OK;
}

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Under the lock. Resources are written before they are read.
static void add_random(struct random_run *r)
{
    struct span *span = &r->spans[r->count];
    hd_resource reads[RESOURCES], writes[RESOURCES];
    unsigned read_count = 0, write_count = 0;

    span->run = r;
    for (unsigned i = 0; i < 3; i++) {
        unsigned bit = next_random(&r->state) % RESOURCES;
        bool write = r->count < RESOURCES || next_random(&r->state) % 3 == 0;
        if (r->count < RESOURCES)
            bit = r->count; // all are written once
        if ((span->reads | span->writes) >> bit & 1)
            continue;
        if (write) {
            span->writes |= 1u << bit;
            writes[write_count++] = r->resources[bit];
        } else {
            span->reads |= 1u << bit;
            reads[read_count++] = r->resources[bit];
        }
    }
    add_call(r->graph, note_span, span, reads, read_count, writes, write_count);
    r->count++;
}

static void *add_randomly(void *data)
{
    struct random_run *r = data;
    struct hd_error why;

    for (bool more = true; more;) {
        pthread_mutex_lock(&r->lock);
        unsigned batch = 1 + next_random(&r->state) % r->batch;
        for (unsigned i = 0; i < batch && r->count < CALLS; i++)
            add_random(r);
        more = r->count < CALLS;
        CHECK_OK(hd_graph_extend(r->graph, &why), why);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

// A call writes in place what was there, so it comes after all that used it.
static void check_order(const struct random_run *r)
{
    for (unsigned b = 0; b < r->count; b++) {
        const struct span *later = &r->spans[b];
        CHECK(later->begin > 0 && later->end > later->begin);
        for (unsigned a = 0; a < b; a++) {
            const struct span *earlier = &r->spans[a];
            if ((earlier->writes & (later->reads | later->writes)) ||
                (earlier->reads & later->writes))
                CHECK(earlier->end < later->begin);
        }
    }
}

static void random_passes_keep_their_order(unsigned seed, unsigned batch)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {1}};
    struct random_run *r = calloc(1, sizeof(*r));
    pthread_t threads[THREADS];

    CHECK(r && pthread_mutex_init(&r->lock, NULL) == 0);
    r->graph = create();
    r->state = seed;
    r->batch = batch;
    for (unsigned i = 0; i < RESOURCES; i++)
        CHECK_OK(hd_graph_resource(r->graph, "r", &shape, NULL,
                                   &r->resources[i], &error),
                 error);
    for (unsigned i = 0; i < RESOURCES; i++)
        add_random(r);
    hd_event event = start_open(r->graph, 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, add_randomly, r) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_OK(hd_graph_close(r->graph, &error), error);
    CHECK_OK(wait_and_release(event, &error), error);
    CHECK(r->count == CALLS);
    check_order(r);
    // What it has become runs again, as a whole.
    memset(&r->clock, 0, sizeof(r->clock));
    for (unsigned i = 0; i < CALLS; i++)
        r->spans[i].begin = r->spans[i].end = 0;
    CHECK_OK(hd_graph_run(r->graph, NULL, &error), error);
    check_order(r);
    hd_graph_destroy(r->graph);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

// Data ------------------------------------------------------------------------

static hd_pass add_fill(struct hd_graph *graph, hd_resource to, double value)
{
    const struct hd_command command = {
        .is = HD_FILL, .to = to, .pattern = &value, .pattern_count = 1};
    const struct hd_pass_params params = {.name = "fill",
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

static hd_pass add_copy(struct hd_graph *graph, hd_resource from,
                        hd_resource to)
{
    const struct hd_command command = {.is = HD_COPY, .from = from, .to = to};
    const struct hd_pass_params params = {.name = "copy",
                                          .reads = &from,
                                          .read_count = 1,
                                          .writes = &to,
                                          .write_count = 1,
                                          .commands = &command,
                                          .command_count = 1};
    hd_pass pass;

    CHECK_OK(hd_graph_pass(graph, &params, &pass, &error), error);
    return pass;
}

// Versions that come and go, resources and inputs that come later: as a machine
// with as many registers says.
static void values_are_those_of_program_order(unsigned seed)
{
    enum {
        REGISTERS = 6,
        MOVES = 300,
        ELEMENTS = 64
    };
    const struct hd_shape shape = {
        .type = "int", .axes = 1, .extent = {ELEMENTS}};
    struct hd_graph *graph = create();
    hd_resource r[REGISTERS + 1];
    int expected[REGISTERS + 1], seen[ELEMENTS], given[ELEMENTS];
    struct hd_buffer *buffer;
    unsigned state = seed;

    for (int i = 0; i < ELEMENTS; i++)
        given[i] = 77;
    CHECK_OK(hd_buffer_create(runtime, sizeof(given), &buffer, &error), error);
    CHECK_OK(hd_buffer_write(buffer, 0, given, sizeof(given), &error), error);
    for (int i = 0; i < REGISTERS; i++) {
        CHECK_OK(hd_graph_resource(graph, "r", &shape, NULL, &r[i], &error),
                 error);
        add_fill(graph, r[i], expected[i] = i);
    }
    hd_event event = start_open(graph, MOVES + 10);
    int count = REGISTERS;
    for (int move = 0; move < MOVES; move++) {
        if (move == MOVES / 2) { // an input joins
            CHECK_OK(hd_graph_resource(graph, "late", &shape, NULL, &r[count],
                                       &error),
                     error);
            CHECK_OK(hd_graph_input(graph, r[count], buffer, &error), error);
            expected[count++] = 77;
        }
        unsigned a = next_random(&state) % (unsigned)count;
        unsigned b = next_random(&state) % (unsigned)count;
        if (a == b) {
            expected[a] = move;
            add_fill(graph, r[a], move);
        } else {
            expected[a] = expected[b];
            add_copy(graph, r[b], r[a]);
        }
        if (next_random(&state) % 4 == 0)
            CHECK_OK(hd_graph_extend(graph, &error), error);
    }
    for (int i = 0; i < count; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        CHECK_OK(hd_graph_output(graph, name, r[i], NULL, &error), error);
    }
    CHECK_OK(hd_graph_close(graph, &error), error);
    CHECK_OK(wait_and_release(event, &error), error);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < count; i++) {
            CHECK_OK(
                hd_graph_contents(graph, r[i], 0, seen, sizeof(seen), &error),
                error);
            for (int k = 0; k < ELEMENTS; k++)
                CHECK(seen[k] == expected[i]);
        }
        CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    }
    CHECK_OK(hd_buffer_read(buffer, 0, seen, sizeof(seen), &error), error);
    CHECK(seen[0] == 77 && seen[ELEMENTS - 1] == 77);
    hd_graph_destroy(graph);
    hd_buffer_destroy(buffer);
}

// A pass looks at what was written, and adds by what it sees.
struct search {
    struct hd_graph *graph;
    hd_resource value;
    int seen;
};

static hd_status look(void *data, struct hd_error *failure)
{
    struct search *s = data;

    CHECK_OK(hd_graph_contents(s->graph, s->value, 0, &s->seen, sizeof(s->seen),
                               failure),
             *failure);
    if (s->seen >= 40)
        return hd_graph_close(s->graph, failure);
    add_fill(s->graph, s->value, s->seen * 2);
    add_call(s->graph, look, s, &s->value, 1, NULL, 0);
    return hd_graph_extend(s->graph, failure);
}

static void results_steer_what_joins(void)
{
    const struct hd_shape shape = {.type = "int", .axes = 1, .extent = {1}};
    const struct hd_graph_run_params params = {.open = true};
    struct search s = {.graph = create()};

    CHECK_OK(hd_graph_resource(s.graph, "v", &shape, NULL, &s.value, &error),
             error);
    add_fill(s.graph, s.value, 3);
    add_call(s.graph, look, &s, &s.value, 1, NULL, 0);
    CHECK_OK(hd_graph_run(s.graph, &params, &error), error);
    CHECK(s.seen == 48); // 3, 6, 12, 24, 48
    hd_graph_destroy(s.graph);
}

// Ends ------------------------------------------------------------------------

static hd_status fail_at_once(void *data, struct hd_error *failure)
{
    (void)data;
    failure->status = HD_EIO;
    snprintf(failure->text, sizeof(failure->text), "the bridge is out");
    return HD_EIO;
}

static hd_status count_one(void *data, struct hd_error *failure)
{
    (void)failure;
    atomic_fetch_add((atomic_int *)data, 1);
    return HD_OK;
}

// Ask until it is seen; the run is still there.
static void extend_until(struct hd_graph *graph, hd_status status,
                         const char *text)
{
    hd_status got;

    while ((got = hd_graph_extend(graph, &error)) == HD_OK)
        sched_yield();
    CHECK(got == status && strstr(error.text, text));
}

static void a_failure_lets_nothing_join(void)
{
    struct hd_graph *graph = create();
    atomic_int count = 0;

    hd_event event = start_open(graph, 0);
    add_call(graph, fail_at_once, NULL, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_extend(graph, &error), error);
    extend_until(graph, HD_EIO, "the bridge is out");
    add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_FAILS(hd_graph_extend(graph, &error), HD_EIO, error, "bridge");
    CHECK(hd_event_state(hd_runtime_pool(runtime), event) < HD_EVENT_ENDED);
    CHECK_FAILS(hd_graph_close(graph, &error), HD_EIO, error, "bridge");
    CHECK_FAILS(wait_and_release(event, &error), HD_EIO, error, "bridge");
    CHECK(atomic_load(&count) == 0);
    hd_graph_destroy(graph);
}

static void a_cancelled_run_is_closed_too(void)
{
    struct hd_graph *graph = create();
    atomic_int count = 0;

    hd_event event = start_open(graph, 0);
    hd_graph_cancel(graph);
    add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_FAILS(hd_graph_extend(graph, &error), HD_ECANCELED, error,
                "cancelled");
    CHECK_FAILS(hd_graph_close(graph, &error), HD_ECANCELED, error,
                "cancelled");
    CHECK_FAILS(wait_and_release(event, &error), HD_ECANCELED, error,
                "cancelled");
    CHECK(atomic_load(&count) == 0);
    // The graph is good for another run, of what has not joined too.
    CHECK_OK(hd_graph_run(graph, NULL, &error), error);
    CHECK(atomic_load(&count) == 1);
    hd_graph_destroy(graph);
}

static void what_joins_waits_for_the_beginning(bool fails)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    const struct hd_graph_run_params params = {.open = true};
    struct hd_graph *graph = create();
    atomic_int count = 0;
    hd_event before, event;

    CHECK_OK(hd_event_create(pool, &before, &error), error);
    const struct hd_start start = {.after = &before, .after_count = 1};
    add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_start(graph, &start, &params, &event, &error), error);
    add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_extend(graph, &error), error);
    for (int i = 0; i < 100; i++)
        sched_yield();
    CHECK(atomic_load(&count) == 0);
    if (fails) {
        CHECK_OK(hd_event_end(pool, before, HD_EIO, "no weather", &error),
                 error);
        CHECK_FAILS(wait_and_release(event, &error), HD_EIO, error, "weather");
        extend_until(graph, HD_ECANCELED, "never began");
        CHECK_FAILS(hd_graph_close(graph, &error), HD_ECANCELED, error,
                    "never began");
        CHECK(atomic_load(&count) == 0);
    } else {
        CHECK_OK(hd_event_end(pool, before, HD_OK, NULL, &error), error);
        CHECK_OK(hd_graph_close(graph, &error), error);
        CHECK_OK(wait_and_release(event, &error), error);
        CHECK(atomic_load(&count) == 2);
    }
    hd_event_release(pool, before);
    hd_graph_destroy(graph);
}

static atomic_int ran; // of what never begins

static struct hd_graph *start_behind(hd_event before, hd_event *event)
{
    const struct hd_start start = {.after = &before, .after_count = 1};
    const struct hd_graph_run_params params = {.open = true};
    struct hd_graph *graph = create();

    add_call(graph, count_one, &ran, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_start(graph, &start, &params, event, &error), error);
    return graph;
}

static void *wait_for_the_first(void *graph)
{
    struct hd_error why;

    CHECK_FAILS(hdi_open_wait(graph, 0, &why), HD_ECANCELED, why,
                "never began");
    return NULL;
}

static void who_waits_for_a_pass_is_told_that_it_never_begins(void)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    hd_event before, event;
    pthread_t waiter;

    CHECK_OK(hd_event_create(pool, &before, &error), error);
    struct hd_graph *graph = start_behind(before, &event);
    CHECK(pthread_create(&waiter, NULL, wait_for_the_first, graph) == 0);
    while (atomic_load(&graph->tasks[0].followers) == HDI_NONE)
        sched_yield();
    CHECK_OK(hd_event_end(pool, before, HD_EIO, "no weather", &error), error);
    CHECK(pthread_join(waiter, NULL) == 0);
    CHECK_FAILS(hd_graph_close(graph, &error), HD_ECANCELED, error, "never");
    CHECK_FAILS(wait_and_release(event, &error), HD_EIO, error, "weather");
    hd_event_release(pool, before);
    hd_graph_destroy(graph);
}

// They wait for each other, the first of them for one that was there before.
static void *add_a_chain(void *data)
{
    struct hd_graph *graph = data;
    struct hd_error why;
    hd_status status = HD_OK;

    for (int i = 0; i < STEPS && status == HD_OK; i++) {
        hd_pass pass = add_call(graph, count_one, &ran, NULL, 0, NULL, 0);
        CHECK(hd_graph_order(graph, pass - 1, pass, NULL, &why) == HD_OK);
        status = hd_graph_extend(graph, &why);
    }
    CHECK(status == HD_ECANCELED || status == HD_OK);
    hd_graph_close(graph, NULL);
    return NULL;
}

static void passes_join_a_run_that_is_given_up(void)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    hd_event before, event;
    pthread_t adder;

    CHECK_OK(hd_event_create(pool, &before, &error), error);
    struct hd_graph *graph = start_behind(before, &event);
    CHECK(pthread_create(&adder, NULL, add_a_chain, graph) == 0);
    while (atomic_load(&graph->tasks[0].followers) == HDI_NONE)
        sched_yield();
    CHECK_OK(hd_event_end(pool, before, HD_EIO, "no weather", &error), error);
    CHECK(pthread_join(adder, NULL) == 0);
    CHECK_FAILS(wait_and_release(event, &error), HD_EIO, error, "weather");
    while (atomic_load(&graph->running)) // until it has been closed and left
        sched_yield();
    hd_event_release(pool, before);
    hd_graph_destroy(graph);
}

// Bad input -------------------------------------------------------------------

static hd_status nothing(void *data, struct hd_graph *graph,
                         struct hd_error *failure)
{
    (void)data, (void)graph, (void)failure;
    return HD_OK;
}

static void what_cannot_be_is_refused(void)
{
    const struct hd_graph_run_params both = {.open = true, .grow = nothing},
                                     many = {.open = true, .room = UINT_MAX};
    struct hd_graph *graph = create();
    atomic_int count = 0;

    CHECK_FAILS(hd_graph_extend(NULL, &error), HD_EINVAL, error, "open");
    CHECK_FAILS(hd_graph_close(graph, &error), HD_EINVAL, error, "open");
    CHECK_FAILS(hd_graph_run(graph, &both, &error), HD_EINVAL, error,
                "not both");
    CHECK_FAILS(hd_graph_run(graph, &many, &error), HD_ELIMIT, error, "most");

    hd_pass first = add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    hd_event event = start_open(graph, 0);
    CHECK_FAILS(hd_graph_run(graph, NULL, &error), HD_EINVAL, error,
                "is running");
    hd_pass second = add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_order(graph, second, first, "here:1", &error), error);
    CHECK_FAILS(hd_graph_extend(graph, &error), HD_EGRAPH, error,
                "here:1: pass 'call' cannot come before");
    CHECK_FAILS(hd_graph_close(graph, &error), HD_EGRAPH, error, "here:1");
    CHECK_FAILS(wait_and_release(event, &error), HD_EGRAPH, error, "here:1");
    hd_graph_destroy(graph);
}

// A pass that could not join is not among those that the run begins with.
static void what_is_refused_does_not_run_later(void)
{
    struct hd_pool *pool = hd_runtime_pool(runtime);
    const struct hd_graph_run_params params = {.open = true};
    struct hd_graph *graph = create();
    atomic_int count = 0;
    hd_event before, event;
    hd_pass second;

    CHECK_OK(hd_event_create(pool, &before, &error), error);
    const struct hd_start start = {.after = &before, .after_count = 1};
    hd_pass first = add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_start(graph, &start, &params, &event, &error), error);
    for (int i = 0; i < 3; i++)
        second = add_call(graph, count_one, &count, NULL, 0, NULL, 0);
    CHECK_OK(hd_graph_order(graph, second, first, "here:2", &error), error);
    CHECK_FAILS(hd_graph_close(graph, &error), HD_EGRAPH, error, "here:2");
    CHECK_OK(hd_event_end(pool, before, HD_OK, NULL, &error), error);
    CHECK_FAILS(wait_and_release(event, &error), HD_EGRAPH, error, "here:2");
    CHECK(atomic_load(&count) == 0);
    hd_event_release(pool, before);
    hd_graph_destroy(graph);
}

static hd_status take_time(void *data, struct hd_error *why)
{
    (void)why;
    for (uint64_t begin = hdi_now(); hdi_now() - begin < *(uint64_t *)data;)
        ;
    return HD_OK;
}

// What is told of the run is told of the passes that joined it, too, until the
// graph changes.
static void statistics_are_of_all(void)
{
    struct hd_graph *graph = create();
    uint64_t time = 1000000;
    struct hd_graph_statistics s;
    hd_pass last;

    hd_event event = start_open(graph, 0);
    for (int chain = 0; chain < 3; chain++) {
        last = add_call(graph, take_time, &time, NULL, 0, NULL, 0);
        for (int i = 1; i < 4; i++) {
            hd_pass next = add_call(graph, take_time, &time, NULL, 0, NULL, 0);
            CHECK_OK(hd_graph_order(graph, last, next, "", &error), error);
            last = next;
        }
        CHECK_OK(hd_graph_extend(graph, &error), error);
    }
    CHECK_OK(hd_graph_close(graph, &error), error);
    CHECK_OK(wait_and_release(event, &error), error);
    hd_graph_stats(graph, &s);
    CHECK(s.passes == 12 && s.known == 12);
    CHECK(s.edges == 9 && s.barriers == 9);
    CHECK(s.critical_path >= 4 * time && s.makespan >= s.critical_path);
    CHECK(s.area >= 12 * time / hd_pool_workers(hd_runtime_pool(runtime)));
    add_call(graph, take_time, &time, NULL, 0, NULL, 0);
    hd_graph_stats(graph, &s);
    CHECK(s.passes == 13 && s.known == 0 && s.edges == 0 && s.makespan == 0);
    hd_graph_destroy(graph);
}

// More than there is room for: told, and the run ends well.
static void room_is_limited(void)
{
    struct hd_graph *graph = create();
    atomic_int count = 0;
    const struct hd_command command = {
        .is = HD_CALL, .call = count_one, .data = &count};
    const struct hd_pass_params params = {
        .name = "call", .commands = &command, .command_count = 1};
    hd_pass pass;
    hd_status status = HD_OK;
    int added = 0;

    hd_event event = start_open(graph, 5);
    for (; status == HD_OK; added++)
        status = hd_graph_pass(graph, &params, &pass, &error);
    CHECK(status == HD_ELIMIT && strstr(error.text, "room"));
    CHECK_OK(hd_graph_close(graph, &error), error);
    CHECK_OK(wait_and_release(event, &error), error);
    CHECK(atomic_load(&count) == 5 && added == 6);
    hd_graph_destroy(graph);
}

int main(void)
{
    struct hd_runtime_params params = {.device = "cpu", .no_cache = true};

    for (params.workers = 2; params.workers <= 3; params.workers++) {
        CHECK_OK(hd_runtime_create(&params, &runtime, &error), error);
        passes_join_while_others_run();
        a_pass_adds_the_next();
        for (unsigned seed = 1; seed <= 10; seed++) {
            random_passes_keep_their_order(seed, seed % 2 ? 3 : 40);
            values_are_those_of_program_order(seed);
        }
        results_steer_what_joins();
        a_failure_lets_nothing_join();
        a_cancelled_run_is_closed_too();
        what_joins_waits_for_the_beginning(false);
        what_joins_waits_for_the_beginning(true);
        who_waits_for_a_pass_is_told_that_it_never_begins();
        for (int i = 0; i < 50; i++)
            passes_join_a_run_that_is_given_up();
        CHECK(atomic_load(&ran) == 0);
        what_cannot_be_is_refused();
        for (int i = 0; i < 20; i++)
            what_is_refused_does_not_run_later();
        room_is_limited();
        statistics_are_of_all();
        hd_runtime_destroy(runtime);
    }
    return 0;
}
