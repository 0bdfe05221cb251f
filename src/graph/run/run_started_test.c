// Runs and launches that nobody waits for.
#include "tests/graph/run_rig.h"

static hd_event gate_of(unsigned launches)
{
    CHECK_OK(hd_event_create(launcher.pool, &fake.gate, &error), error);
    fake.hold = launches;
    atomic_store(&fake.held, 0);
    return fake.gate;
}

static void open_gate(void)
{
    hd_event_release(launcher.pool, fake.gate);
    fake.gate = 0;
}

// No launch ends before all of them are under way, and there are many more than
// workers: a worker that waited for one would wait for ever.
static void more_passes_are_under_way_than_workers(void)
{
    enum {
        MANY = 40
    };
    struct hd_graph *g = create();
    hd_resource r[MANY], sum = add_resource(g, "sum", 1);

    for (unsigned i = 0; i < MANY; i++) {
        r[i] = add_resource(g, "r", 1);
        add_look(g, "P", i % 30, NULL, 0, &r[i], 1);
    }
    add_look(g, "last", 31, r, MANY, &sum, 1);
    CHECK_OK(hd_graph_output(g, "sum", sum, NULL, &error), error);
    launcher.peers = 2;
    look = note;
    for (int i = 0; i < 3; i++) {
        gate_of(MANY);
        atomic_store(&ran, 0);
        run_ok(g);
        CHECK(atomic_load(&fake.held) == MANY + 1);
        CHECK(atomic_load(&ran) == 0xbfffffff);
        open_gate();
    }
    look = NULL;
    launcher.peers = 0;
    hd_graph_destroy(g);
}

static hd_status wait_for(hd_event event)
{
    hd_status status =
        hd_event_wait(launcher.pool, &event, 1, HD_FOREVER, &error);
    hd_event_release(launcher.pool, event);
    return status;
}

static void a_run_can_be_started_after_events_and_others_after_it(void)
{
    struct hd_buffer *input = new_buffer(COUNT * 8);
    uint64_t results[RESOURCES];
    hd_event first, event;

    for (int k = 0; k < COUNT; k++)
        ((uint64_t *)input->address)[k] = 0;
    state = 1;
    struct hd_graph *g = random_graph(input, results);
    CHECK_OK(hd_event_create(launcher.pool, &first, &error), error);
    const struct hd_start start = {.after = &first, .after_count = 1};
    CHECK_OK(hd_graph_start(g, &start, NULL, &event, &error), error);
    CHECK_FAILS(hd_graph_run(g, NULL, &error), HD_EINVAL, error,
                "the graph is running");
    CHECK(hd_event_state(launcher.pool, event) == HD_EVENT_WAITS);
    // What it reads comes with the event.
    for (int k = 0; k < COUNT; k++)
        ((uint64_t *)input->address)[k] = 12345;
    state = 1;
    hd_graph_destroy(random_graph(input, results));
    CHECK_OK(hd_event_end(launcher.pool, first, HD_OK, NULL, &error), error);
    hd_event_release(launcher.pool, first);
    CHECK_OK(wait_for(event), error);
    check_results(g, results);
    run_ok(g);
    check_results(g, results);

    // A chain of graphs, of which nobody waits but for the last.
    struct hd_graph *chain[20];
    hd_event before = 0;
    for (unsigned i = 0; i < 20; i++) {
        chain[i] = create();
        add_look(chain[i], "P", i, NULL, 0, NULL, 0);
        const struct hd_start next = {.after = &before, .after_count = i > 0};
        CHECK_OK(hd_graph_start(chain[i], &next, NULL, &event, &error), error);
        hd_event_release(launcher.pool, before);
        before = event;
    }
    CHECK_OK(wait_for(before), error);
    for (unsigned i = 0; i < 20; i++)
        hd_graph_destroy(chain[i]);
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
}

static void the_event_of_a_run_has_its_first_error(void)
{
    struct hd_buffer *input = new_buffer(800);
    struct hd_graph *g = diamond(input), *after = create();
    hd_event event, next;

    add_look(after, "after", 1, NULL, 0, NULL, 0);
    for (unsigned n = 1; n <= 5; n++) {
        atomic_store(&fake.fail_launch, n);
        CHECK_OK(hd_graph_start(g, NULL, NULL, &event, &error), error);
        const struct hd_start start = {.after = &event, .after_count = 1};
        CHECK_OK(hd_graph_start(after, &start, NULL, &next, &error), error);
        CHECK_FAILS(wait_for(event), HD_EFAULT, error, "run.lua:5: pass 'P");
        CHECK_FAILS(wait_for(next), HD_EFAULT, error, "run.lua:5: pass 'P");
        CHECK(atomic_load(&fake.buffers_alive) == 1);
    }
    run_ok(g);
    run_ok(after);
    hd_graph_destroy(after);
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
}

static void cancelling_the_event_of_a_run_cancels_it(void)
{
    struct hd_buffer *input = new_buffer(800);
    struct hd_graph *g = diamond(input);
    hd_event event, first;

    // Before it begins.
    CHECK_OK(hd_event_create(launcher.pool, &first, &error), error);
    const struct hd_start start = {.after = &first, .after_count = 1};
    CHECK_OK(hd_graph_start(g, &start, NULL, &event, &error), error);
    hd_event_cancel(launcher.pool, event);
    CHECK_FAILS(wait_for(event), HD_ECANCELED, error, "");
    CHECK_OK(hd_event_end(launcher.pool, first, HD_OK, NULL, &error), error);
    hd_event_release(launcher.pool, first);
    run_ok(g);

    // While a launch of it is under way.
    launcher.peers = 2;
    first = gate_of(100);
    CHECK_OK(hd_graph_start(g, NULL, NULL, &event, &error), error);
    while (hdi_pool_has_threads(launcher.pool) && atomic_load(&fake.held) == 0)
        sched_yield();
    hd_event_cancel(launcher.pool, event);
    CHECK_OK(hd_event_end(launcher.pool, first, HD_OK, NULL, &error), error);
    CHECK_FAILS(wait_for(event), HD_ECANCELED, error, "");
    open_gate();
    launcher.peers = 0;
    run_ok(g);
    hd_graph_destroy(g);
    hd_buffer_destroy(input);
}

static struct hd_graph *inner;

static void run_inner(uint64_t id)
{
    if (id == 100)
        run_ok(inner);
}

static void run_on_worker(struct hd_worker *worker, void *graph)
{
    (void)worker;
    run_ok(graph);
}

static void a_worker_can_run_a_graph(void)
{
    struct hd_graph *outer = create();
    inner = create();
    for (unsigned i = 0; i < 20; i++)
        add_look(inner, "inner", i, NULL, 0, NULL, 0);
    add_look(outer, "outer", 100, NULL, 0, NULL, 0);
    hd_pool_run(launcher.pool, run_on_worker, inner);
    look = run_inner;
    run_ok(outer);
    look = NULL;
    hd_graph_destroy(inner);
    hd_graph_destroy(outer);
}

static void keep_busy(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker, (void)job;
    while (atomic_load(&fake.held) == 0)
        sched_yield();
}

static void *run_graph(void *data)
{
    struct hd_error failure;

    CHECK(hd_graph_run(data, NULL, &failure) == HD_ECANCELED);
    return NULL;
}

// Its jobs are queued when the pool is cancelled, which then begins none: the
// run must end all the same. (Cancelled too early it ends in any case.)
static void a_cancelled_pool_ends_a_run(void)
{
    const struct hd_pool_params params = {.workers = 1, .unpinned = true};
    struct hd_pool *pool;
    struct hd_job busy = {.run = keep_busy};
    pthread_t thread;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    fake_open(&launcher, pool, &context);
    struct hd_graph *g = create();
    for (unsigned i = 0; i < 20; i++)
        add_look(g, "P", i, NULL, 0, NULL, 0);
    atomic_store(&fake.held, 0);
    atomic_store(&ran, 0);
    look = note;
    hd_submit(pool, &busy);
    CHECK(pthread_create(&thread, NULL, run_graph, g) == 0);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    hd_pool_cancel(pool);
    atomic_store(&fake.held, 1);
    pthread_join(thread, NULL);
    CHECK(atomic_load(&ran) == 0);
    look = NULL;
    hd_graph_destroy(g);
    hd_pool_destroy(pool);
    fake_close(&launcher);
}

static void run_tests(void)
{
    more_passes_are_under_way_than_workers();
    a_run_can_be_started_after_events_and_others_after_it();
    the_event_of_a_run_has_its_first_error();
    cancelling_the_event_of_a_run_cancels_it();
    a_worker_can_run_a_graph();
}

int main(void)
{
    on_all_pools(run_tests);
    a_cancelled_pool_ends_a_run();
    return 0;
}
