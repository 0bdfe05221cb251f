// The first error of a group reaches whoever waits for it, nothing of a
// cancelled group begins, and nothing else is lost by it.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "heddle/task.h"
#include "tests/check.h"

static struct hd_pool *pool;
static struct hd_error error;

static void nap(unsigned us)
{
    struct timespec t = {.tv_nsec = us * 1000};
    nanosleep(&t, NULL);
}

// Tasks -----------------------------------------------------------------------

static atomic_uint visits;

HD_TASK(unsigned, visit, unsigned, depth, unsigned, path, unsigned, bad)
{
    atomic_fetch_add_explicit(&visits, 1, memory_order_relaxed);
    if (depth == 0) {
        if (path == bad)
            hd_task_fail(worker, HD_EIO, "leaf %u is bad", path);
        return 1;
    }
    hd_spawn(worker, visit, depth - 1, 2 * path + 1, bad);
    unsigned left = hd_call(worker, visit, depth - 1, 2 * path, bad);
    return left + hd_join(worker, visit);
}

static void the_first_error_reaches_the_end_of_the_scope(
    struct hd_worker *worker, void *data)
{
    struct hd_group group;

    (void)data;
    for (unsigned bad = 0; bad < 2000; bad += 37) {
        hd_group_init(&group);
        hd_group_catch(&group, &error);
        CHECK(hd_scope_begin(worker, &group) == HD_OK);
        hd_call(worker, visit, 10, 0, bad);
        hd_status status = hd_scope_end(worker);
        CHECK(status == (bad < 1024 ? HD_EIO : HD_OK));
        CHECK(hd_group_status(&group) == status);
        char text[64];
        snprintf(text, sizeof(text), "leaf %u is bad", bad);
        if (bad < 1024)
            CHECK(error.status == HD_EIO && strstr(error.text, text));
        // What is outside of the scope is not cancelled.
        CHECK(!hd_cancelled(worker));
        CHECK(hd_call(worker, visit, 6, 0, 9999) == 64);
    }
}

static void a_failure_stops_the_rest(struct hd_worker *worker, void *data)
{
    struct hd_group group;

    (void)data;
    hd_group_init(&group);
    hd_group_catch(&group, &error);
    atomic_store(&visits, 0);
    CHECK(hd_scope_begin(worker, &group) == HD_OK);
    unsigned leaves = hd_call(worker, visit, 20, 0, 0); // the first leaf
    CHECK(hd_cancelled(worker));
    CHECK(hd_scope_end(worker) == HD_EIO);
    CHECK(leaves < 1u << 19);
    CHECK(atomic_load(&visits) < 1u << 19); // of 2^21
}

// A loop's items are not begun either.
HD_FOR(i, fail_at, size_t, bad, atomic_uint *, ran)
{
    nap(20);
    atomic_fetch_add(ran, 1);
    if (i == bad)
        hd_task_fail(worker, HD_EFORMAT, "item %zu", i);
}

static void a_failure_ends_a_loop(struct hd_worker *worker, void *data)
{
    struct hd_group group;
    atomic_uint ran = 0;

    (void)data;
    hd_group_init(&group);
    hd_group_catch(&group, &error);
    CHECK(hd_scope_begin(worker, &group) == HD_OK);
    hd_for(worker, fail_at, 0, 4000, 3, &ran);
    CHECK(hd_scope_end(worker) == HD_EFORMAT);
    CHECK(atomic_load(&ran) < 2000);
}

static void *cancel_soon(void *group)
{
    nap(2000);
    hd_group_cancel(pool, group);
    return NULL;
}

// Endless unless cancelled from outside, wherever its tasks are.
HD_VOID_TASK(forever, unsigned, depth)
{
    while (depth == 0 && !hd_cancelled(worker)) {
        hd_spawn(worker, visit, 4, 0, 9999);
        hd_join(worker, visit);
    }
    if (depth == 0)
        return;
    hd_spawn(worker, forever, depth - 1);
    hd_call(worker, forever, depth - 1);
    hd_join(worker, forever);
}

static void cancelling_reaches_nested_scopes(struct hd_worker *worker,
                                             void *data)
{
    struct hd_group outer, inner;
    pthread_t thread;

    (void)data;
    for (int round = 0; round < 5; round++) {
        hd_group_init(&outer);
        hd_group_init(&inner);
        CHECK(pthread_create(&thread, NULL, cancel_soon, &outer) == 0);
        CHECK(hd_scope_begin(worker, &outer) == HD_OK);
        hd_status status = hd_scope_begin(worker, &inner);
        if (status == HD_OK) {
            hd_call(worker, forever, 3);
            CHECK(hd_scope_end(worker) == HD_ECANCELED);
            CHECK(hd_scope_begin(worker, &inner) == HD_ECANCELED);
        }
        CHECK(hd_scope_end(worker) == HD_ECANCELED);
        pthread_join(thread, NULL);
        CHECK(!hd_cancelled(worker));
        CHECK(hd_call(worker, visit, 6, 0, 9999) == 64);
    }
}

static void a_group_outlives_what_was_around_its_scope(struct hd_worker *worker,
                                                       void *data)
{
    (void)data;
    for (int cancel = 0; cancel < 2; cancel++) {
        struct hd_group *outer = malloc(sizeof(*outer)), inner;

        CHECK(outer);
        hd_group_init(outer);
        hd_group_init(&inner);
        CHECK(hd_scope_begin(worker, outer) == HD_OK);
        CHECK(hd_scope_begin(worker, &inner) == HD_OK);
        if (cancel)
            hd_group_cancel(pool, outer);
        hd_status status = cancel ? HD_ECANCELED : HD_OK;
        CHECK(hd_scope_end(worker) == status);
        CHECK(hd_scope_end(worker) == status);
        memset(outer, 0xff, sizeof(*outer));
        free(outer);
        CHECK(hd_group_status(&inner) == status);
    }
}

// Tasks that never ask are dropped where they lie.
static void cancelling_from_outside_stops_forking(struct hd_worker *worker,
                                                  void *data)
{
    struct hd_group group;
    pthread_t thread;

    (void)data;
    hd_group_init(&group);
    atomic_store(&visits, 0);
    CHECK(pthread_create(&thread, NULL, cancel_soon, &group) == 0);
    if (hd_scope_begin(worker, &group) == HD_OK) {
        hd_call(worker, visit, 25, 0, UINT32_MAX);
        CHECK(hd_scope_end(worker) == HD_ECANCELED);
    }
    pthread_join(thread, NULL);
    CHECK(atomic_load(&visits) < 1u << 25); // of 2^26
}

// A stolen task belongs to the scope in which it was forked, not to the one
// that its thief is in, and not to a newer one of its owner.
HD_VOID_TASK(say_cancelled, atomic_int *, answer)
{
    atomic_store(answer, 1 + hd_cancelled(worker));
}

static void a_stolen_task_keeps_its_scope(struct hd_worker *worker, void *data)
{
    struct hd_group group;

    (void)data;
    for (int round = 0; round < 50; round++) {
        atomic_int answer = 0;
        hd_group_init(&group);
        hd_spawn(worker, say_cancelled, &answer); // outside of the scope
        CHECK(hd_scope_begin(worker, &group) == HD_OK);
        hd_group_cancel(pool, &group);
        hd_publish(worker);
        for (int i = 0; i < 100 && !atomic_load(&answer); i++)
            nap(20);
        CHECK(hd_scope_end(worker) == HD_ECANCELED);
        hd_join(worker, say_cancelled);
        CHECK(atomic_load(&answer) == 1);
    }
}

// Random trees of scopes, with failures: a task in a scope that has not failed
// runs, and a scope's status is that of its tasks.
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

HD_TASK(unsigned, tree, uint64_t, seed, unsigned, depth)
{
    struct hd_group group;
    unsigned sum = 1;

    if (depth == 0) {
        if (seed % 50 == 0)
            hd_task_fail(worker, HD_EIO, "seed %llu", (unsigned long long)seed);
        return 1;
    }
    bool scoped = seed % 3 == 0;
    struct hd_error own;
    hd_group_init(&group);
    hd_group_catch(&group, &own);
    if (scoped && hd_scope_begin(worker, &group) != HD_OK)
        return 0;
    unsigned children = 1 + seed % 5;
    for (unsigned i = 0; i < children; i++)
        hd_spawn(worker, tree, mix(seed + i), depth - 1);
    unsigned empty = 0;
    for (unsigned i = 0; i < children; i++) {
        unsigned n = hd_join(worker, tree);
        empty += n == 0;
        sum += n;
    }
    if (empty)
        CHECK(hd_cancelled(worker));
    if (scoped) {
        hd_status status = hd_scope_end(worker);
        CHECK(status == HD_OK || status == HD_EIO || status == HD_ECANCELED);
        if (empty)
            CHECK(status != HD_OK);
        if (status == HD_EIO)
            CHECK(own.status == HD_EIO && strstr(own.text, "seed"));
    }
    return sum;
}

static void random_scopes_hold(struct hd_worker *worker, void *data)
{
    struct hd_group group;

    (void)data;
    for (uint64_t seed = 1; seed < 150; seed++) {
        hd_group_init(&group);
        hd_group_catch(&group, &error);
        CHECK(hd_scope_begin(worker, &group) == HD_OK);
        hd_call(worker, tree, mix(seed), 8);
        hd_scope_end(worker);
        CHECK(!hd_cancelled(worker));
    }
}

// Jobs ------------------------------------------------------------------------

struct item {
    struct hd_work work;
    unsigned number;
    atomic_int ran, done; // 1 + status
};

static void run_item(struct hd_worker *worker, struct hd_job *job)
{
    struct item *item = (struct item *)(void *)job;

    atomic_fetch_add(&item->ran, 1);
    nap(10);
    if (item->number == 40)
        hd_task_fail(worker, HD_EFORMAT, "item %u", item->number);
}

static void item_is_done(struct hd_worker *worker, struct hd_work *work,
                         hd_status status)
{
    struct item *item = (struct item *)(void *)work;

    CHECK(worker == hd_pool_worker(pool));
    CHECK(atomic_load(&item->done) == 0);
    atomic_store(&item->done, 1 + (int)status);
}

static void jobs_fail_and_are_told(void)
{
    enum {
        ITEMS = 2000
    };
    static struct item items[ITEMS];
    struct hd_group group, around;
    unsigned ran = 0;

    hd_group_init(&around);
    hd_group_init(&group);
    hd_group_within(&group, &around);
    hd_group_catch(&group, &error);
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i] = (struct item){.number = i};
        items[i].work.job.run = run_item;
        items[i].work.job.group = &group;
        items[i].work.done = item_is_done;
        hd_submit_work(pool, &items[i].work);
    }
    hd_group_wait(pool, &group);
    CHECK(hd_group_status(&group) == HD_EFORMAT);
    CHECK(strstr(error.text, "item 40"));
    CHECK(hd_group_status(&around) == HD_OK); // errors stay where they were
    for (unsigned i = 0; i < ITEMS; i++) {
        int n = atomic_load(&items[i].ran);
        CHECK(n <= 1);
        CHECK(atomic_load(&items[i].done) ==
              1 + (int)(n ? HD_OK : HD_ECANCELED));
        ran += (unsigned)n;
    }
    CHECK(ran > 0 && ran < ITEMS / 2);

    // Of a group that is cancelled nothing runs; a new one is not.
    hd_group_init(&group);
    hd_group_within(&group, &around);
    hd_group_cancel(pool, &around);
    struct item late = {.work = {.job = {.run = run_item, .group = &group}}};
    hd_submit(pool, &late.work.job);
    hd_group_wait(pool, &group);
    CHECK(atomic_load(&late.ran) == 0);
    CHECK(hd_group_status(&group) == HD_ECANCELED);
    hd_group_init(&group);
    hd_submit(pool, &late.work.job);
    hd_group_wait(pool, &group);
    CHECK(atomic_load(&late.ran) == 1 && hd_group_status(&group) == HD_OK);
}

// Priorities ------------------------------------------------------------------

struct ranked {
    struct hd_work work;
    unsigned *at;
    unsigned place;
};

static void take_place(struct hd_worker *worker, struct hd_job *job)
{
    struct ranked *r = (struct ranked *)(void *)job;

    (void)worker;
    r->place = (*r->at)++;
}

struct round {
    struct ranked ranked[30];
    unsigned at;
    struct hd_group group;
};

static void submit_round(struct hd_worker *worker, void *data)
{
    static const enum hd_priority order[3] = {
        HD_PRIORITY_LOW, HD_PRIORITY_NORMAL, HD_PRIORITY_HIGH};
    struct round *round = data;

    hd_group_init(&round->group);
    round->at = 0;
    for (unsigned i = 0; i < 30; i++) {
        round->ranked[i] = (struct ranked){.at = &round->at};
        round->ranked[i].work.job.run = take_place;
        round->ranked[i].work.job.group = &round->group;
        round->ranked[i].work.priority = order[i % 3];
        hd_submit_work(hd_worker_pool(worker), &round->ranked[i].work);
    }
    hd_group_wait(hd_worker_pool(worker), &round->group);
}

static void urgent_jobs_go_first(void)
{
    struct hd_pool_params params = {.workers = 1};
    struct hd_pool *one;
    struct round round;
    unsigned strays = 0;

    CHECK_OK(hd_pool_create(&params, &one, &error), error);
    for (unsigned i = 0; i < 20; i++) {
        hd_pool_run(one, submit_round, &round);
        CHECK(round.at == 30);
        for (unsigned k = 0; k < 10; k++) {
            CHECK(round.ranked[3 * k + 2].place == k);
            unsigned normal = round.ranked[3 * k + 1].place;
            unsigned low = round.ranked[3 * k].place;
            strays += normal >= 20 || low < 20;
        }
    }
    CHECK(strays <= 4); // what is old goes first now and then
    hd_pool_destroy(one);
}

int main(void)
{
    void (*const tests[])(struct hd_worker *, void *) = {
        the_first_error_reaches_the_end_of_the_scope,
        a_failure_stops_the_rest,
        a_failure_ends_a_loop,
        a_stolen_task_keeps_its_scope,
        cancelling_from_outside_stops_forking,
        cancelling_reaches_nested_scopes,
        a_group_outlives_what_was_around_its_scope,
        random_scopes_hold,
    };

    for (unsigned workers = 1; workers <= 3; workers++) {
        struct hd_pool_params params = {.workers = workers};
        CHECK_OK(hd_pool_create(&params, &pool, &error), error);
        for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
            hd_pool_run(pool, tests[i], NULL);
        jobs_fail_and_are_told();
        hd_pool_destroy(pool);
    }
    urgent_jobs_go_first();
    return 0;
}
