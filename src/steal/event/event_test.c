// Events end once, after everything they come after, with the first cause of a
// failure; late looks are harmless; nothing waits on a worker's thread.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "steal/event.h"
#include "steal/group.h"
#include "tests/steal/events.h"

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

static bool run_nothing(struct hd_worker *worker, struct hdi_event *e,
                        struct hd_error *failure)
{
    (void)worker, (void)failure;
    atomic_store(&e->cost.last, hdi_now());
    return true;
}

struct follower {
    hd_event *before, event;
    atomic_int count;
};

// The event has looked at the clock for its end, and has not ended yet.
static void start_follower(struct hdi_event *e)
{
    struct follower *f = *(struct follower **)e->room;

    f->event = start_call(e->pool, f->before, 1, false, add_one, &f->count);
}

static void what_starts_while_another_ends_is_not_submitted_before(void)
{
    static const struct hdi_event_kind kind = {.run = run_nothing,
                                               .drop = start_follower};
    struct hd_pool *pool = make_pool(1);
    hd_event gate = make_event(pool), first;
    const struct hd_start start = {.after = &gate, .after_count = 1};
    struct follower f = {.before = &first};
    struct hd_event_info info;
    struct hdi_event *record;

    CHECK_OK(hdi_event_take(pool, &kind, &record, &error), error);
    *(struct follower **)hdi_event_room(record, sizeof(void *)) = &f;
    CHECK_OK(hdi_event_start(record, &start, &first, &error), error);
    end_well(pool, gate);
    wait_for(pool, first);
    wait_for(pool, f.event);
    CHECK(hd_event_info(pool, f.event, &info));
    CHECK(info.queued <= info.submitted && info.submitted <= info.started &&
          info.started <= info.ended);
    hd_event_release(pool, gate);
    hd_event_release(pool, first);
    hd_event_release(pool, f.event);
    hd_pool_destroy(pool);
}

static hd_status wait_for_gate(struct hd_worker *worker, void *gate,
                               struct hd_error *e)
{
    (void)worker, (void)e;
    while (!atomic_load((atomic_bool *)gate))
        usleep(100);
    return HD_OK;
}

struct between {
    struct hd_job job;
    struct hd_pool *pool;
    atomic_bool gate; // what follows is queued
    uint64_t ended;
};

static void spend_time(struct hd_worker *worker, struct hd_job *job)
{
    struct between *between = (struct between *)(void *)job;

    (void)worker;
    usleep(2000);
    between->ended = hdi_now();
}

// One worker, one queue: what an event took begins when it begins.
static void what_runs_between_two_events_is_of_neither(void)
{
    struct hd_pool *pool = make_pool(1);
    struct between between = {.job = {.run = spend_time}};
    struct hd_event_info info;
    atomic_bool gate = false;
    atomic_int count = 0;

    hd_event first = start_call(pool, NULL, 0, false, wait_for_gate, &gate);
    hd_submit(pool, &between.job);
    hd_event second = start_call(pool, NULL, 0, false, add_one, &count);
    hd_event third = start_call(pool, NULL, 0, false, add_one, &count);
    atomic_store(&gate, true);
    wait_for(pool, third);
    CHECK(hd_event_info(pool, second, &info));
    CHECK(info.started >= between.ended && info.started <= info.ended);
    uint64_t ended = info.ended;
    CHECK(hd_event_info(pool, third, &info));
    CHECK(info.started >= ended && info.started <= info.ended);
    hd_event_release(pool, first);
    hd_event_release(pool, second);
    hd_event_release(pool, third);
    hd_pool_destroy(pool);
}

static void wait_and_spend_time(struct hd_worker *worker, struct hd_job *job)
{
    struct between *between = (struct between *)(void *)job;
    static atomic_int count;

    struct hd_group group;
    const struct hd_start start = {.group = &group};
    const struct hd_call call = {.function = add_one, .data = &count};

    while (!atomic_load(&between->gate))
        usleep(100);
    hd_group_init(&group);
    CHECK_OK(hd_call_start(between->pool, &start, &call, NULL, &error), error);
    hd_group_wait(between->pool, &group);
    spend_time(worker, job);
}

// An event that a job waited for has ended long before the job does.
static void what_follows_a_wait_is_of_no_event(void)
{
    struct hd_pool *pool = make_pool(1);
    struct between between = {.job = {.run = wait_and_spend_time},
                              .pool = pool};
    struct hd_event_info info;
    atomic_int count = 0;

    hd_submit(pool, &between.job);
    hd_event next = start_call(pool, NULL, 0, false, add_one, &count);
    atomic_store(&between.gate, true);
    wait_for(pool, next);
    CHECK(hd_event_info(pool, next, &info));
    CHECK(info.started >= between.ended && info.started <= info.ended);
    hd_event_release(pool, next);
    hd_pool_destroy(pool);
}

static void a_room_is_the_records_own_or_larger(void)
{
    static const size_t sizes[] = {1, HDI_EVENT_ROOM, HDI_EVENT_ROOM + 1,
                                   100000};
    static const struct hdi_event_kind kind = {.run = run_nothing};
    struct hd_pool *pool = make_pool(1);
    struct hdi_event *e;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 4; i++) {
            CHECK_OK(hdi_event_take(pool, &kind, &e, &error), error);
            char *room = hdi_event_room(e, sizes[i]);
            CHECK(room && (uintptr_t)room % 128 == 0);
            memset(room, 1, sizes[i]);
            CHECK(room == (char *)e->own_room ||
                  (i >= 2 || e->room_size > HDI_EVENT_ROOM));
            CHECK(hdi_event_room(e, 1) == room); // it stays
            hdi_event_give_back(e);
        }
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

// Until the group was seen to end.
struct held {
    struct hd_job job;
    atomic_bool seen, ran;
};

static void hold(struct held *held)
{
    uint64_t end = hdi_now() + UINT64_C(20000000000);

    while (!atomic_load(&held->seen) && hdi_now() < end)
        usleep(100);
    CHECK(atomic_load(&held->seen));
    atomic_store(&held->ran, true);
}

static hd_status hold_call(struct hd_worker *worker, void *data,
                           struct hd_error *e)
{
    (void)worker, (void)e;
    hold(data);
    return HD_OK;
}

static void hold_job(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker;
    hold((struct held *)(void *)job);
}

// Its worker tells the group of several at a time.
static void a_group_ends_before_its_worker_goes_on(void)
{
    struct hd_pool *pool = make_pool(1);
    atomic_int count = 0;

    for (int what = 0; what < 4; what++) {
        struct held held = {.job = {.run = hold_job}};
        hd_event gate = make_event(pool), calls[5], others = 0;
        struct hd_group group, other;
        struct hd_start start = {
            .after = &gate, .after_count = 1, .group = &group};
        struct hd_call call = {.function = add_one, .data = &count};

        hd_group_init(&group);
        hd_group_init(&other);
        for (int i = 0; i < 5; i++)
            CHECK_OK(hd_call_start(pool, &start, &call, &calls[i], &error),
                     error);
        if (what == 0) // in the same chain
            others = start_call(pool, calls, 5, false, hold_call, &held);
        end_well(pool, gate);
        start.after_count = 0;
        start.group = &other;
        call = (struct hd_call){.function = hold_call, .data = &held};
        if (what == 1) // of another group
            CHECK_OK(hd_call_start(pool, &start, &call, &others, &error),
                     error);
        if (what == 2) // no event
            hd_submit(pool, &held.job);
        hd_group_wait(pool, &group);
        atomic_store(&held.seen, true);
        while (what < 3 && !atomic_load(&held.ran))
            usleep(100);
        if (others)
            wait_for(pool, others);
        hd_event_release(pool, others);
        hd_group_wait(pool, &other);
        for (int i = 0; i < 5; i++)
            hd_event_release(pool, calls[i]);
        hd_event_release(pool, gate);
    }
    CHECK(atomic_load(&count) == 20);
    hd_pool_destroy(pool);
}

struct relief {
    struct hd_pool *pool;
    atomic_bool goes_on;     // the worker that blocks
    _Atomic hd_event blocks; // its event
};

static hd_status block(struct hd_worker *worker, void *data, struct hd_error *e)
{
    struct relief *relief = data;

    (void)worker, (void)e;
    while (!atomic_load(&relief->goes_on))
        usleep(100);
    return HD_OK;
}

// On a spare thread: its worker is back before it has ended.
static hd_status outlast(struct hd_worker *worker, void *data,
                         struct hd_error *e)
{
    struct relief *relief = data;

    (void)worker, (void)e;
    atomic_store(&relief->goes_on, true);
    while (hd_event_state(relief->pool, atomic_load(&relief->blocks)) !=
           HD_EVENT_ENDED)
        usleep(100);
    return HD_OK;
}

// A spare thread that is not needed any more tells the group of what it ran.
static void a_group_ends_before_its_spare_thread_stops(void)
{
    struct relief relief = {.pool = make_pool(1)};
    uint64_t end = hdi_now() + UINT64_C(20000000000);
    struct hd_group group;
    struct hd_start start = {.group = &group};
    struct hd_call call = {
        .function = block, .data = &relief, .blocking = true};
    hd_event blocks, outlasts;

    hd_group_init(&group);
    CHECK_OK(hd_call_start(relief.pool, &(struct hd_start){0}, &call, &blocks,
                           &error),
             error);
    atomic_store(&relief.blocks, blocks);
    call = (struct hd_call){.function = outlast, .data = &relief};
    CHECK_OK(hd_call_start(relief.pool, &start, &call, &outlasts, &error),
             error);
    wait_for(relief.pool, outlasts);
    while (!hdi_group_done(&group) && hdi_now() < end)
        usleep(100);
    CHECK(hdi_group_done(&group));
    hd_event_release(relief.pool, blocks);
    hd_event_release(relief.pool, outlasts);
    hd_pool_destroy(relief.pool);
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

int main(void)
{
    users_events_end_when_told();
    times_are_in_order();
    what_starts_while_another_ends_is_not_submitted_before();
    what_runs_between_two_events_is_of_neither();
    what_follows_a_wait_is_of_no_event();
    a_room_is_the_records_own_or_larger();
    the_first_cause_travels();
    a_loose_event_gives_an_order_alone();
    the_users_error_travels();
    many_inputs_are_all_waited_for();
    late_looks_are_harmless();
    what_has_not_begun_is_cancelled_at_once();
    what_is_queued_is_cancelled_at_once();
    groups_count_and_cancel_events();
    a_group_ends_before_its_worker_goes_on();
    a_group_ends_before_its_spare_thread_stops();
    a_task_that_fails_in_a_call_fails_it();
    callbacks_come_however_it_ended();
    return 0;
}
