// Chains of events and calls that wait on workers: in order, however long or
// deep, and at the end of their pool.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "tests/steal/events.h"

// Chains, started everywhere --------------------------------------------------

struct relay {
    struct hd_pool *pool;
    hd_event done;
    atomic_int left;
};

static hd_status pass_on(struct hd_worker *worker, void *data,
                         struct hd_error *e)
{
    struct relay *relay = data;
    struct hd_call call = {.function = pass_on, .data = data};

    (void)worker;
    if (atomic_fetch_sub(&relay->left, 1) == 1)
        return hd_event_end(relay->pool, relay->done, HD_OK, NULL, e);
    return hd_call_start(relay->pool, NULL, &call, NULL, e);
}

static void calls_start_calls(void)
{
    struct hd_pool *pool = make_pool(2);
    struct relay relay = {.pool = pool, .left = 10000};
    relay.done = make_event(pool);

    hd_event first = start_call(pool, NULL, 0, false, pass_on, &relay);
    wait_for(pool, relay.done);
    hd_event_release(pool, relay.done);
    hd_event_release(pool, first);
    hd_pool_destroy(pool);
}

struct order {
    atomic_int next;
    int number;
    atomic_int *wrong;
    struct order *all;
};

static hd_status in_order(struct hd_worker *worker, void *data,
                          struct hd_error *e)
{
    struct order *order = data;

    (void)worker, (void)e;
    if (atomic_fetch_add(&order->all->next, 1) != order->number)
        atomic_fetch_add(order->wrong, 1);
    return HD_OK;
}

static void a_long_chain_runs_in_order(void)
{
    enum {
        LINKS = 40000
    };
    struct hd_pool *pool = make_pool(2);
    struct order *links = calloc(LINKS, sizeof(*links));
    atomic_int wrong = 0;
    hd_event gate = make_event(pool), last = gate;

    CHECK(links);
    for (int i = 0; i < LINKS; i++) {
        links[i] = (struct order){.number = i, .wrong = &wrong, .all = links};
        hd_event next = start_call(pool, &last, 1, false, in_order, &links[i]);
        if (i > 0)
            hd_event_release(pool, last);
        last = next;
    }
    end_well(pool, gate);
    wait_for(pool, last);
    CHECK(atomic_load(&links->next) == LINKS && wrong == 0);
    hd_event_release(pool, gate);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
    free(links);
}

static void a_chain_of_markers_needs_no_stack(void)
{
    struct hd_pool *pool = make_pool(1);
    hd_event gate = make_event(pool), last = gate;

    CHECK(hd_event_retain(pool, gate));
    for (int i = 0; i < 200000; i++) {
        struct hd_start start = {.after = &last, .after_count = 1};
        hd_event next;
        CHECK_OK(hd_marker_start(pool, &start, &next, &error), error);
        hd_event_release(pool, last);
        last = next;
    }
    CHECK_OK(hd_event_end(pool, gate, HD_EIO, "far away", &error), error);
    CHECK_FAILS(hd_event_wait(pool, &last, 1, HD_FOREVER, &error), HD_EIO,
                error, "far away");
    hd_event_release(pool, gate);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
}

// Waiting on workers ----------------------------------------------------------

struct nest {
    struct hd_pool *pool;
    atomic_int ran;
    hd_event first, second;
};

static hd_status start_and_wait(struct hd_worker *worker, void *data,
                                struct hd_error *e)
{
    struct nest *nest = data;
    struct hd_call call = {.function = start_and_wait, .data = data};
    hd_event event = 0;

    (void)worker;
    if (atomic_fetch_add(&nest->ran, 1) >= 300)
        return HD_OK;
    if (hd_call_start(nest->pool, NULL, &call, &event, e) != HD_OK)
        return HD_ENOMEM;
    hd_status status = hd_event_wait(nest->pool, &event, 1, HD_FOREVER, e);
    hd_event_release(nest->pool, event);
    return status;
}

static void calls_wait_for_calls_however_deep(void)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct hd_pool *pool = make_pool(workers);
        struct nest nest = {.pool = pool};
        hd_event call = start_call(pool, NULL, 0, false, start_and_wait, &nest);
        wait_for(pool, call);
        CHECK(atomic_load(&nest.ran) == 301);
        hd_event_release(pool, call);
        hd_pool_destroy(pool);
    }
}

static hd_status wait_for_gate(struct hd_worker *worker, void *data,
                               struct hd_error *e)
{
    struct nest *nest = data;

    (void)worker;
    atomic_fetch_add(&nest->ran, 1);
    return hd_event_wait(nest->pool, &nest->first, 1, HD_FOREVER, e);
}

static hd_status wait_for_older(struct hd_worker *worker, void *data,
                                struct hd_error *e)
{
    struct nest *nest = data;

    (void)worker;
    return hd_event_wait(nest->pool, &nest->second, 1, HD_FOREVER, e);
}

// On one worker: a call waits for a gate, one that was started later waits for
// the first call. Run on top of it, it would never end.
static void a_call_waits_for_an_older_one(void)
{
    struct hd_pool *pool = make_pool(1);
    struct nest nest = {.pool = pool, .first = make_event(pool)};

    nest.second = start_call(pool, NULL, 0, false, wait_for_gate, &nest);
    while (!atomic_load(&nest.ran))
        usleep(100);
    hd_event later[5];
    for (int i = 0; i < 5; i++)
        later[i] = start_call(pool, NULL, 0, false, wait_for_older, &nest);
    usleep(20000);
    CHECK(hd_event_state(pool, later[0]) != HD_EVENT_ENDED);
    end_well(pool, nest.first);
    CHECK_OK(hd_event_wait(pool, later, 5, HD_FOREVER, &error), error);
    for (int i = 0; i < 5; i++)
        hd_event_release(pool, later[i]);
    hd_event_release(pool, nest.first);
    hd_event_release(pool, nest.second);
    hd_pool_destroy(pool);
}

static hd_status wait_for_chain(struct hd_worker *worker, void *data,
                                struct hd_error *e)
{
    struct nest *nest = data;
    struct hd_call call = {.function = add_one, .data = &nest->ran};
    hd_event inputs[20], last = 0;

    // Inputs behind inputs, more than one record's; what comes after the last
    // is not this worker's to run.
    (void)worker;
    for (int i = 0; i < 20; i++) {
        struct hd_start start = {.after = &last, .after_count = 1};
        if (hd_call_start(nest->pool, &start, &call, &inputs[i], e) != HD_OK)
            return HD_ENOMEM;
        last = inputs[i];
    }
    struct hd_start all = {.after = inputs, .after_count = 20};
    hd_event end;
    if (hd_marker_start(nest->pool, &all, &end, e) != HD_OK)
        return HD_ENOMEM;
    hd_status status = hd_event_wait(nest->pool, &end, 1, HD_FOREVER, e);
    for (int i = 0; i < 20; i++)
        hd_event_release(nest->pool, inputs[i]);
    hd_event_release(nest->pool, end);
    return status;
}

static void a_worker_runs_what_it_waits_for(void)
{
    struct hd_pool *pool = make_pool(1);
    struct nest nest = {.pool = pool};

    for (int i = 0; i < 50; i++) {
        hd_event call = start_call(pool, NULL, 0, false, wait_for_chain, &nest);
        wait_for(pool, call);
        hd_event_release(pool, call);
    }
    CHECK(atomic_load(&nest.ran) == 1000);
    hd_pool_destroy(pool);
}

// Bounds ----------------------------------------------------------------------

static void starting_more_than_the_bound_goes_on(void)
{
    struct hd_pool_params params = {.workers = 2, .events = 512};
    struct hd_pool *pool;
    atomic_int count = 0;
    hd_event last = 0;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    for (int i = 0; i < 20000; i++) {
        hd_event_release(pool, last);
        last = start_call(pool, NULL, 0, false, add_one, &count);
    }
    // All of these wait for what is done after all are started.
    hd_event gate = make_event(pool);
    for (int i = 0; i < 5000; i++) {
        hd_event_release(pool, last);
        last = start_call(pool, &gate, 1, false, add_one, &count);
    }
    end_well(pool, gate);
    hd_event_release(pool, gate);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
    CHECK(atomic_load(&count) == 25000);
}

struct fan {
    struct hd_pool *pool;
    atomic_int count;
};

static hd_status start_many(struct hd_worker *worker, void *data,
                            struct hd_error *e)
{
    struct fan *fan = data;
    struct hd_call call = {.function = add_one, .data = &fan->count};

    (void)worker;
    for (int i = 0; i < 5000; i++)
        if (hd_call_start(fan->pool, NULL, &call, NULL, e) != HD_OK)
            return HD_ENOMEM;
    return HD_OK;
}

static void a_worker_that_starts_too_many_helps(void)
{
    struct hd_pool_params params = {.workers = 1, .events = 512};
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    struct fan fan = {.pool = pool};
    hd_event call = start_call(pool, NULL, 0, false, start_many, &fan);
    wait_for(pool, call);
    hd_event_release(pool, call);
    hd_pool_destroy(pool);
    CHECK(atomic_load(&fan.count) == 5000);
}

static void a_pool_without_threads_works_while_somebody_waits(void)
{
    struct hd_pool_params params = {.caller_only = true, .events = 512};
    struct hd_pool *pool;
    atomic_int count = 0;
    hd_event last = 0;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    hd_event gate = make_event(pool);
    CHECK_FAILS(hd_event_wait(pool, &gate, 1, 1000000, &error), HD_ETIMEOUT,
                error, "in time");
    end_well(pool, gate);
    for (int i = 0; i < 2000; i++) {
        hd_event_release(pool, last);
        last = start_call(pool, &gate, 1, false, add_one, &count);
    }
    CHECK_OK(hd_event_wait(pool, &last, 1, 10000000000, &error), error);
    hd_event_release(pool, gate);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
    CHECK(atomic_load(&count) == 2000);
}

// The end of a pool -----------------------------------------------------------

static void a_pool_ends_with_events_that_never_did(void)
{
    struct hd_pool *pool = make_pool(2);
    atomic_int count = 0;
    hd_event gate = make_event(pool);

    for (int i = 0; i < 100; i++)
        start_call(pool, &gate, 1, false, add_one, &count);
    hd_pool_destroy(pool);
    CHECK(atomic_load(&count) == 0);
}

static void a_cancelled_pool_ends_all_events(void)
{
    struct hd_pool *pool = make_pool(2);
    atomic_int count = 0;
    hd_event gate = make_event(pool);
    hd_event call = start_call(pool, &gate, 1, false, add_one, &count);

    hd_pool_cancel(pool);
    end_well(pool, gate);
    CHECK(hd_event_wait(pool, &call, 1, HD_FOREVER, &error) == HD_ECANCELED);
    CHECK(atomic_load(&count) == 0);
    hd_event_release(pool, gate);
    hd_event_release(pool, call);
    hd_pool_destroy(pool);
}

static hd_status block(struct hd_worker *worker, void *data, struct hd_error *e)
{
    (void)worker, (void)e;
    while (atomic_load((atomic_int *)data) == 0)
        usleep(100);
    return HD_OK;
}

static void a_blocking_call_leaves_its_core_to_others(void)
{
    struct hd_pool *pool = make_pool(1);
    atomic_int go = 0;
    struct hd_call call = {.function = block, .data = &go, .blocking = true};
    hd_event blocks;

    CHECK_OK(hd_call_start(pool, NULL, &call, &blocks, &error), error);
    hd_event other = start_call(pool, NULL, 0, false, add_one, &go);
    wait_for(pool, blocks);
    CHECK(atomic_load(&go) == 1);
    hd_event_release(pool, blocks);
    hd_event_release(pool, other);
    hd_pool_destroy(pool);
}

int main(void)
{
    calls_start_calls();
    a_long_chain_runs_in_order();
    a_chain_of_markers_needs_no_stack();
    calls_wait_for_calls_however_deep();
    a_call_waits_for_an_older_one();
    a_worker_runs_what_it_waits_for();
    starting_more_than_the_bound_goes_on();
    a_worker_that_starts_too_many_helps();
    a_pool_without_threads_works_while_somebody_waits();
    a_pool_ends_with_events_that_never_did();
    a_cancelled_pool_ends_all_events();
    a_blocking_call_leaves_its_core_to_others();
    return 0;
}
