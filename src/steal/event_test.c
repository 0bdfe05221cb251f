// Events end once, after everything they come after, with the first cause of a
// failure; late looks are harmless; nothing waits on a worker's thread.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "heddle/event.h"
#include "heddle/task.h"
#include "tests/check.h"

static struct hd_error error;

static struct hd_pool *make_pool(unsigned workers)
{
    struct hd_pool_params params = {.workers = workers};
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    return pool;
}

static hd_event make_event(struct hd_pool *pool)
{
    hd_event event;

    CHECK_OK(hd_event_create(pool, &event, &error), error);
    CHECK(event != 0);
    return event;
}

static void end_well(struct hd_pool *pool, hd_event event)
{
    CHECK_OK(hd_event_end(pool, event, HD_OK, NULL, &error), error);
}

static hd_event start_call(struct hd_pool *pool, const hd_event *after,
                           unsigned count, bool anyway,
                           hd_status (*function)(struct hd_worker *, void *,
                                                 struct hd_error *),
                           void *data)
{
    struct hd_start start = {
        .after = after, .after_count = count, .anyway = anyway};
    struct hd_call call = {.function = function, .data = data};
    hd_event event;

    CHECK_OK(hd_call_start(pool, &start, &call, &event, &error), error);
    return event;
}

static void wait_for(struct hd_pool *pool, hd_event event)
{
    CHECK_OK(hd_event_wait(pool, &event, 1, HD_FOREVER, &error), error);
}

static hd_status add_one(struct hd_worker *worker, void *data,
                         struct hd_error *e)
{
    (void)worker, (void)e;
    atomic_fetch_add((atomic_int *)data, 1);
    return HD_OK;
}

static void users_events_end_when_told(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event event = make_event(pool);
    atomic_int count = 0;

    hd_event call = start_call(pool, &event, 1, false, add_one, &count);
    CHECK(hd_event_state(pool, event) == HD_EVENT_WAITS);
    CHECK(hd_event_state(pool, call) == HD_EVENT_WAITS);
    CHECK_FAILS(hd_event_wait(pool, &call, 1, 2000000, &error), HD_ETIMEOUT,
                error, "in time");
    CHECK(atomic_load(&count) == 0);
    end_well(pool, event);
    CHECK(hd_event_state(pool, event) == HD_EVENT_ENDED);
    wait_for(pool, call);
    CHECK(atomic_load(&count) == 1);
    CHECK(hd_event_state(pool, call) == HD_EVENT_ENDED);
    CHECK_FAILS(hd_event_end(pool, event, HD_OK, NULL, &error), HD_EINVAL,
                error, "has ended already");
    CHECK_FAILS(hd_event_end(pool, call, HD_OK, NULL, &error), HD_EINVAL, error,
                "hd_event_create");
    hd_event_release(pool, event);
    hd_event_release(pool, call);
    CHECK_FAILS(hd_event_end(pool, event, HD_OK, NULL, &error), HD_EINVAL,
                error, "");
    hd_pool_destroy(pool);
}

static void times_are_in_order(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event event = make_event(pool);
    atomic_int count = 0;
    struct hd_event_info info, before;

    hd_event call = start_call(pool, &event, 1, false, add_one, &count);
    CHECK(hd_event_info(pool, call, &info));
    CHECK(info.state == HD_EVENT_WAITS && info.queued > 0 &&
          info.submitted == 0 && info.started == 0 && info.ended == 0);
    end_well(pool, event);
    wait_for(pool, call);
    CHECK(hd_event_info(pool, event, &before));
    CHECK(hd_event_info(pool, call, &info));
    CHECK(info.state == HD_EVENT_ENDED && info.status == HD_OK);
    CHECK(info.submitted == before.ended);
    CHECK(info.queued < info.submitted && info.submitted <= info.started &&
          info.started <= info.ended);
    hd_event_release(pool, call);
    while (hd_event_info(pool, call, &info)) // who ended it holds it a moment
        usleep(100);
    CHECK(info.state == HD_EVENT_ENDED && info.queued == 0);
    hd_event_release(pool, event);
    hd_pool_destroy(pool);
}

static hd_status fail(struct hd_worker *worker, void *data, struct hd_error *e)
{
    (void)worker;
    snprintf(e->text, sizeof(e->text), "%s", (const char *)data);
    return HD_EIO;
}

static hd_status see_failure(struct hd_worker *worker, void *data,
                             struct hd_error *e)
{
    (void)worker;
    *(struct hd_error *)data = *e;
    return HD_OK;
}

static void the_first_cause_travels(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event gate = make_event(pool);
    atomic_int count = 0;
    char text[] = "the disk is full";
    struct hd_error seen = {0};

    hd_event failed = start_call(pool, &gate, 1, false, fail, text);
    hd_event second = start_call(pool, &failed, 1, false, add_one, &count);
    hd_event both[] = {gate, second};
    hd_event third = start_call(pool, both, 2, false, add_one, &count);
    hd_event anyway = start_call(pool, &third, 1, true, see_failure, &seen);
    hd_event after = start_call(pool, &anyway, 1, false, add_one, &count);
    hd_event last;
    struct hd_start marker = {.after = &third, .after_count = 1};
    CHECK_OK(hd_marker_start(pool, &marker, &last, &error), error);

    end_well(pool, gate);
    wait_for(pool, after);
    CHECK(atomic_load(&count) == 1); // `after` alone
    CHECK(seen.status == HD_EIO && strcmp(seen.text, text) == 0);
    CHECK_FAILS(hd_event_wait(pool, &last, 1, HD_FOREVER, &error), HD_EIO,
                error, text);
    CHECK_FAILS(hd_event_status(pool, second, &error), HD_EIO, error, text);
    CHECK_OK(hd_event_status(pool, anyway, &error), error);

    // Who comes after it when it has ended gets it too.
    hd_event late = start_call(pool, &third, 1, false, add_one, &count);
    CHECK_FAILS(hd_event_wait(pool, &late, 1, HD_FOREVER, &error), HD_EIO,
                error, text);
    marker.anyway = true;
    hd_event well;
    CHECK_OK(hd_marker_start(pool, &marker, &well, &error), error);
    wait_for(pool, well);
    CHECK(atomic_load(&count) == 1);
    hd_event all[] = {gate,  failed, second, third, anyway,
                      after, last,   late,   well};
    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        hd_event_release(pool, all[i]);
    hd_pool_destroy(pool);
}

// What is loose is waited for, and its failure is nobody's.
static void a_loose_event_gives_an_order_alone(void)
{
    enum {
        MANY = 30
    };
    struct hd_pool *pool = make_pool(2);
    hd_event gates[MANY], events[2], last;
    atomic_int count = 0;
    char text[] = "the disk is full";
    hd_event failed = start_call(pool, NULL, 0, false, fail, text);
    const struct hd_call call = {.function = add_one, .data = &count};

    for (int i = 0; i < MANY; i++)
        gates[i] = make_event(pool);
    CHECK_FAILS(hd_event_wait(pool, &failed, 1, HD_FOREVER, &error), HD_EIO,
                error, text);
    for (unsigned i = 0; i < 2; i++) {
        struct hd_start start = {
            .after = gates, .after_count = MANY, .loose = MANY - 1 + i};
        CHECK_OK(hd_call_start(pool, &start, &call, &events[i], &error), error);
    }
    // One that has failed already.
    struct hd_start start = {.after = &failed, .after_count = 1, .loose = 1};
    CHECK_OK(hd_call_start(pool, &start, &call, &last, &error), error);
    wait_for(pool, last);
    CHECK(atomic_load(&count) == 1);
    for (int i = 0; i < MANY; i++) {
        CHECK(hd_event_state(pool, events[1]) == HD_EVENT_WAITS);
        CHECK_OK(hd_event_end(pool, gates[i], HD_EIO, text, &error), error);
    }
    wait_for(pool, events[1]);
    CHECK_FAILS(hd_event_wait(pool, &events[0], 1, HD_FOREVER, &error), HD_EIO,
                error, text);
    CHECK(atomic_load(&count) == 2);
    start.loose = 2;
    hd_event none;
    CHECK_FAILS(hd_call_start(pool, &start, &call, &none, &error), HD_EINVAL,
                error, "2 of the 1 events that it comes after are loose");
    for (int i = 0; i < MANY; i++)
        hd_event_release(pool, gates[i]);
    hd_event_release(pool, failed);
    hd_event_release(pool, events[0]);
    hd_event_release(pool, events[1]);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
}

static void the_users_error_travels(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event event = make_event(pool);
    atomic_int count = 0;
    hd_event call = start_call(pool, &event, 1, false, add_one, &count);

    CHECK_FAILS(hd_event_end(pool, event, (hd_status)1000, "", &error),
                HD_EINVAL, error, "1000 is no status");
    CHECK_OK(hd_event_end(pool, event, HD_EPEER, "rank 3 is gone", &error),
             error);
    CHECK_FAILS(hd_event_wait(pool, &call, 1, HD_FOREVER, &error), HD_EPEER,
                error, "rank 3 is gone");
    CHECK(atomic_load(&count) == 0);
    hd_event_release(pool, event);
    hd_event_release(pool, call);
    hd_pool_destroy(pool);
}

static void many_inputs_are_all_waited_for(void)
{
    enum {
        INPUTS = 100
    };
    struct hd_pool *pool = make_pool(2);
    hd_event inputs[INPUTS];
    atomic_int count = 0;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < INPUTS; i++)
            inputs[i] = i % 7 == 3 ? 0 : make_event(pool);
        hd_event call =
            start_call(pool, inputs, INPUTS, false, add_one, &count);
        for (int i = INPUTS - 1; i >= 0; i--) {
            CHECK(hd_event_state(pool, call) == HD_EVENT_WAITS);
            if (inputs[i])
                end_well(pool, inputs[i]);
            hd_event_release(pool, inputs[i]);
        }
        wait_for(pool, call);
        CHECK(atomic_load(&count) == round + 1);
        hd_event_release(pool, call);
    }
    hd_pool_destroy(pool);
}

static void late_looks_are_harmless(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event old[100];
    atomic_int count = 0;

    for (int i = 0; i < 100; i++) {
        old[i] = start_call(pool, NULL, 0, false, add_one, &count);
        wait_for(pool, old[i]);
        hd_event_release(pool, old[i]);
        while (
            hd_event_retain(pool, old[i])) { // who ended it holds it a moment
            hd_event_release(pool, old[i]);
            usleep(100);
        }
    }
    // The records are used again and wait for ever.
    hd_event gate = make_event(pool);
    hd_event call = start_call(pool, &gate, 1, false, add_one, &count);
    for (int i = 0; i < 100; i++) {
        CHECK(hd_event_state(pool, old[i]) == HD_EVENT_ENDED);
        CHECK(!hd_event_retain(pool, old[i]));
        hd_event_cancel(pool, old[i]);
        CHECK_OK(hd_event_status(pool, old[i], &error), error);
    }
    CHECK_OK(hd_event_wait(pool, old, 100, HD_FOREVER, &error), error);
    hd_event next = start_call(pool, old, 100, false, add_one, &count);
    wait_for(pool, next);
    CHECK(hd_event_state(pool, call) == HD_EVENT_WAITS);
    CHECK(atomic_load(&count) == 101);
    end_well(pool, gate);
    wait_for(pool, call);
    hd_event_release(pool, gate);
    hd_event_release(pool, call);
    hd_event_release(pool, next);

    struct hd_start wrong = {.after = (hd_event[]){0x1ffffff},
                             .after_count = 1};
    CHECK_FAILS(hd_marker_start(pool, &wrong, NULL, &error), HD_EINVAL, error,
                "after[0]");
    hd_pool_destroy(pool);
}

static hd_status spin_until_cancelled(struct hd_worker *worker, void *data,
                                      struct hd_error *e)
{
    (void)e;
    atomic_store((atomic_int *)data, 1);
    while (!hd_cancelled(worker))
        usleep(100);
    return HD_OK;
}

static void what_has_not_begun_is_cancelled_at_once(void)
{
    struct hd_pool *pool = make_pool(1);
    hd_event gate = make_event(pool);
    atomic_int count = 0;
    hd_event call = start_call(pool, &gate, 1, false, add_one, &count);
    hd_event next = start_call(pool, &call, 1, false, add_one, &count);

    hd_event_cancel(pool, call);
    CHECK_FAILS(hd_event_wait(pool, &next, 1, HD_FOREVER, &error), HD_ECANCELED,
                error, "cancelled");
    CHECK(hd_event_state(pool, gate) == HD_EVENT_WAITS);
    end_well(pool, gate);
    hd_event_release(pool, gate);
    hd_event_release(pool, call);
    hd_event_release(pool, next);

    // A user's event can be cancelled too.
    gate = make_event(pool);
    hd_event_cancel(pool, gate);
    CHECK(hd_event_status(pool, gate, &error) == HD_ECANCELED);
    CHECK_FAILS(hd_event_end(pool, gate, HD_OK, NULL, &error), HD_EINVAL, error,
                "has ended already");
    hd_event_release(pool, gate);
    CHECK(atomic_load(&count) == 0);
    hd_pool_destroy(pool);
}

static void what_is_queued_is_cancelled_at_once(void)
{
    struct hd_pool *pool = make_pool(1);
    atomic_int running = 0, count = 0;
    hd_event long_one =
        start_call(pool, NULL, 0, false, spin_until_cancelled, &running);
    while (!atomic_load(&running))
        usleep(100);
    hd_event queued = start_call(pool, NULL, 0, false, add_one, &count);
    CHECK(hd_event_state(pool, queued) == HD_EVENT_READY);
    CHECK(hd_event_state(pool, long_one) == HD_EVENT_RUNS);
    hd_event_cancel(pool, queued);
    CHECK(hd_event_state(pool, queued) == HD_EVENT_ENDED);
    hd_event_cancel(pool, long_one);
    CHECK_FAILS(hd_event_wait(pool, &long_one, 1, HD_FOREVER, &error),
                HD_ECANCELED, error, "while it ran");
    hd_event_release(pool, queued);
    hd_event_release(pool, long_one);
    hd_pool_destroy(pool);
    CHECK(atomic_load(&count) == 0);
}

static void groups_count_and_cancel_events(void)
{
    struct hd_pool *pool = make_pool(2);
    struct hd_group group;
    hd_event gate = make_event(pool);
    atomic_int count = 0;
    struct hd_start start = {.after = &gate, .after_count = 1, .group = &group};
    struct hd_call call = {.function = add_one, .data = &count};

    hd_group_init(&group);
    for (int i = 0; i < 10; i++)
        CHECK_OK(hd_call_start(pool, &start, &call, NULL, &error), error);
    end_well(pool, gate);
    hd_group_wait(pool, &group);
    CHECK(atomic_load(&count) == 10);
    hd_event_release(pool, gate);

    gate = make_event(pool);
    hd_event last;
    CHECK_OK(hd_call_start(pool, &start, &call, &last, &error), error);
    hd_group_cancel(pool, &group);
    end_well(pool, gate);
    hd_group_wait(pool, &group);
    CHECK(hd_event_status(pool, last, &error) == HD_ECANCELED);
    CHECK(atomic_load(&count) == 10);
    hd_event_release(pool, gate);
    hd_event_release(pool, last);
    hd_pool_destroy(pool);
}

static hd_status fail_a_task(struct hd_worker *worker, void *data,
                             struct hd_error *e)
{
    (void)data, (void)e;
    hd_task_fail(worker, HD_ECHECK, "task %d is wrong", 7);
    return HD_OK;
}

static void a_task_that_fails_in_a_call_fails_it(void)
{
    struct hd_pool *pool = make_pool(2);
    hd_event call = start_call(pool, NULL, 0, false, fail_a_task, NULL);

    CHECK_FAILS(hd_event_wait(pool, &call, 1, HD_FOREVER, &error), HD_ECHECK,
                error, "task 7 is wrong");
    hd_event_release(pool, call);
    hd_pool_destroy(pool);
}

struct callback_seen {
    atomic_int calls, status;
};

static void called_back(struct hd_worker *worker, hd_status status, void *data)
{
    struct callback_seen *seen = data;

    CHECK(worker != NULL);
    atomic_store(&seen->status, (int)status);
    atomic_fetch_add(&seen->calls, 1);
}

static void callbacks_come_however_it_ended(void)
{
    struct hd_pool *pool = make_pool(2);
    struct callback_seen before = {0}, late = {0};
    hd_event event = make_event(pool);

    CHECK_OK(hd_event_on_end(pool, event, called_back, &before, &error), error);
    CHECK_OK(hd_event_end(pool, event, HD_EIO, NULL, &error), error);
    CHECK_OK(hd_event_on_end(pool, event, called_back, &late, &error), error);
    hd_event_release(pool, event);
    hd_pool_destroy(pool);
    CHECK(before.calls == 1 && before.status == HD_EIO);
    CHECK(late.calls == 1 && late.status == HD_EIO);
}

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
    users_events_end_when_told();
    times_are_in_order();
    the_first_cause_travels();
    a_loose_event_gives_an_order_alone();
    the_users_error_travels();
    many_inputs_are_all_waited_for();
    late_looks_are_harmless();
    what_has_not_begun_is_cancelled_at_once();
    what_is_queued_is_cancelled_at_once();
    groups_count_and_cancel_events();
    a_task_that_fails_in_a_call_fails_it();
    callbacks_come_however_it_ended();
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
