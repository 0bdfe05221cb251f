// Pools: what they refuse, who is whose worker, the caller as the only worker,
// several pools at once, more workers than cores.
#define HD_COUNT_TASKS

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "heddle/task.h"
#include "steal/worker.h"
#include "tests/check.h"

static struct hd_pool *make_pool(const struct hd_pool_params *params)
{
    struct hd_error error;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(params, &pool, &error), error);
    return pool;
}

HD_TASK(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    hd_spawn(worker, fib, n - 1);
    uint64_t b = hd_call(worker, fib, n - 2);
    return hd_join(worker, fib) + b;
}

struct fib {
    int n;
    uint64_t result;
};

static void run_fib(struct hd_worker *worker, void *data)
{
    struct fib *f = data;
    f->result = hd_call(worker, fib, f->n);
}

static uint64_t fib_on(struct hd_pool *pool, int n)
{
    struct fib f = {.n = n};

    hd_pool_run(pool, run_fib, &f);
    return f.result;
}

static void bad_parameters_are_refused(void)
{
    struct hd_error error;
    struct hd_pool *pool = NULL;
    struct hd_pool_params two = {.workers = 2, .caller_only = true};
    struct hd_pool_params many = {.workers = 1u << 20};
    struct hd_pool_params odd = {.topology = "eight cores"};

    CHECK_FAILS(hd_pool_create(&two, &pool, &error), HD_EINVAL, error,
                "caller-only");
    CHECK_FAILS(hd_pool_create(&many, &pool, &error), HD_ELIMIT, error,
                "1048576");
    CHECK_FAILS(hd_pool_create(&odd, &pool, &error), HD_EINVAL, error,
                "eight cores");
    CHECK(pool == NULL);
    hd_pool_destroy(NULL);
}

// Who is who ------------------------------------------------------------------

struct identity {
    struct hd_pool *pool, *other;
    atomic_uint wrong;
};

static void look_around(struct hd_worker *worker, void *data)
{
    struct identity *id = data;

    if (hd_pool_worker(id->pool) != worker ||
        hd_worker_pool(worker) != id->pool ||
        hd_worker_index(worker) >= hd_pool_workers(id->pool) ||
        hd_pool_worker(id->other) != NULL)
        atomic_fetch_add(&id->wrong, 1);
}

static void a_thread_finds_its_worker(const struct hd_pool_params *params)
{
    struct hd_pool *pool = make_pool(params);
    struct hd_pool *other = make_pool(params);
    struct identity id = {.pool = pool, .other = other};

    CHECK(hd_pool_worker(pool) == NULL);
    for (int i = 0; i < 50; i++) {
        hd_pool_run(pool, look_around, &id);
        CHECK(hd_pool_worker(pool) == NULL);
    }
    CHECK(atomic_load(&id.wrong) == 0);
    hd_pool_destroy(pool);
    hd_pool_destroy(other);
}

static void see_affinity(struct hd_worker *worker, void *data)
{
    (void)worker;
    CPU_ZERO((cpu_set_t *)data);
    sched_getaffinity(0, sizeof(cpu_set_t), data);
}

static void threads_are_pinned_unless_told(void)
{
    struct hd_pool_params pinned = {.workers = 3};
    struct hd_pool_params unpinned = {.workers = 1, .unpinned = true};
    cpu_set_t all, set;

    sched_getaffinity(0, sizeof(all), &all);
    struct hd_pool *pool = make_pool(&pinned);
    hd_pool_run(pool, see_affinity, &set);
    CHECK(CPU_COUNT(&set) == 1);
    hd_pool_destroy(pool);

    pool = make_pool(&unpinned);
    hd_pool_run(pool, see_affinity, &set);
    CHECK(CPU_EQUAL(&set, &all));
    hd_pool_destroy(pool);
}

static void a_pool_has_a_worker_per_core(void)
{
    struct hd_pool_params synthetic = {.topology = "pack:2 core:3 pu:1"};
    struct hd_pool *pool = make_pool(&synthetic);

    CHECK(hd_pool_workers(pool) == 6);
    CHECK(fib_on(pool, 20) == 6765);
    hd_pool_destroy(pool);
}

// The caller is the worker ----------------------------------------------------

struct tally {
    struct hd_job job;
    atomic_uint *count;
    atomic_uint *inside;
    struct hd_pool *pool;
};

static void tally(struct hd_worker *worker, struct hd_job *job)
{
    struct tally *t = (struct tally *)(void *)job;

    CHECK(atomic_fetch_add(t->inside, 1) == 0); // one worker at a time
    CHECK(hd_worker_index(worker) == 0);
    CHECK(hd_pool_worker(t->pool) == worker);
    atomic_fetch_add(t->count, 1);
    atomic_fetch_sub(t->inside, 1);
}

struct caller {
    struct hd_pool *pool;
    atomic_uint *count, *inside;
};

static void *call_in(void *data)
{
    enum {
        JOBS = 20
    };
    struct caller *c = data;
    struct tally jobs[JOBS];

    for (int round = 0; round < 60; round++) {
        struct hd_group group;
        hd_group_init(&group);
        for (int i = 0; i < JOBS; i++) {
            jobs[i] = (struct tally){.job = {.run = tally, .group = &group},
                                     .count = c->count,
                                     .inside = c->inside,
                                     .pool = c->pool};
            hd_submit(c->pool, &jobs[i].job);
        }
        CHECK(fib_on(c->pool, 10) == 55);
        hd_group_wait(c->pool, &group);
        CHECK(hd_pool_worker(c->pool) == NULL);
    }
    return NULL;
}

static void callers_take_turns(void)
{
    struct hd_pool_params params = {.caller_only = true};
    struct hd_pool *pool = make_pool(&params);
    atomic_uint count = 0, inside = 0;
    struct caller c = {pool, &count, &inside};
    pthread_t threads[5];

    CHECK(hd_pool_workers(pool) == 1);
    for (int i = 0; i < 5; i++)
        CHECK(pthread_create(&threads[i], NULL, call_in, &c) == 0);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&count) == 5 * 60 * 20);
    hd_pool_destroy(pool);
}

static void the_caller_runs_everything(void)
{
    struct hd_pool_params params = {.caller_only = true};
    struct hd_pool *pool = make_pool(&params);
    atomic_uint count = 0, inside = 0;
    struct hd_group group;
    struct tally jobs[4];

    hd_group_init(&group);
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct tally){.job = {.run = tally, .group = &group},
                                 .count = &count,
                                 .inside = &inside,
                                 .pool = pool};
        hd_submit(pool, &jobs[i].job);
    }
    CHECK(atomic_load(&count) == 0);
    CHECK(fib_on(pool, 20) == 6765);
    hd_group_wait(pool, &group);
    CHECK(atomic_load(&count) == 4);

    for (int i = 0; i < 4; i++)
        hd_submit(pool, &jobs[i].job);
    hd_pool_destroy(pool); // runs them
    CHECK(atomic_load(&count) == 8);
}

// Two pools -------------------------------------------------------------------

struct there {
    struct hd_pool *here, *there;
    int depth;
    uint64_t result;
};

static void go_there(struct hd_worker *worker, void *data)
{
    struct there *t = data;
    struct there next = {t->there, t->here, t->depth - 1, 0};

    CHECK(hd_pool_worker(t->here) == worker);
    if (t->depth == 0) {
        t->result = hd_call(worker, fib, 15);
        return;
    }
    uint64_t own = hd_call(worker, fib, 12);
    hd_pool_run(t->there, go_there, &next);
    t->result = next.result + own;
}

struct traveller {
    struct hd_job job;
    struct there there;
};

static void travel(struct hd_worker *worker, struct hd_job *job)
{
    go_there(worker, &((struct traveller *)(void *)job)->there);
}

static void *cross(void *data)
{
    struct there *start = data;

    for (int i = 0; i < 200; i++) {
        struct there t = *start;
        hd_pool_run(t.here, go_there, &t);
        CHECK(t.result == 610 + 144);
    }
    return NULL;
}

// Each pool is entered from the other's workers, by two threads at once; a pool
// keeps a worker free for what comes back.
static void pools_call_each_other(const struct hd_pool_params *first,
                                  const struct hd_pool_params *second)
{
    struct hd_pool *a = make_pool(first), *b = make_pool(second);
    struct there ab = {a, b, 1, 0}, ba = {b, a, 1, 0};
    pthread_t threads[2];

    CHECK(pthread_create(&threads[0], NULL, cross, &ab) == 0);
    CHECK(pthread_create(&threads[1], NULL, cross, &ba) == 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);

    // A worker that waits for a group of the other pool.
    struct hd_group group;
    struct traveller travellers[20];
    hd_group_init(&group);
    for (int i = 0; i < 20; i++) {
        travellers[i] = (struct traveller){
            .job = {.run = travel, .group = &group}, .there = {a, b, 1, 0}};
        hd_submit(a, &travellers[i].job);
    }
    hd_group_wait(a, &group);
    for (int i = 0; i < 20; i++)
        CHECK(travellers[i].there.result == 610 + 144);
    hd_pool_destroy(a);
    hd_pool_destroy(b);
}

static void crowds_get_there(void)
{
    struct hd_pool_params params = {.workers = 8};
    struct hd_pool *pool = make_pool(&params);

    for (int i = 0; i < 20; i++)
        CHECK(fib_on(pool, 22) == 17711);
    hd_pool_destroy(pool);
}

static void pools_come_and_go(void)
{
    struct hd_pool_params params = {.workers = 3};

    for (int i = 0; i < 100; i++) {
        struct hd_pool *pool = make_pool(&params);
        if (i & 1)
            CHECK(fib_on(pool, 10) == 55);
        hd_pool_destroy(pool);
    }
}

static void note(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker;
    job->next_ = job;
}

// The workers are just lying down, while the last job and the end come.
static void what_was_submitted_before_the_end_runs(void)
{
    struct hd_pool_params params = {.workers = 2, .unpinned = true};

    for (int i = 0; i < 400; i++) {
        struct hd_pool *pool = make_pool(&params);
        struct hd_job jobs[2] = {{.run = note}, {.run = note}};
        uint64_t end = hdi_now() + (uint64_t)i % 100 * 1000;
        while (hdi_now() < end)
            ;
        hd_submit(pool, &jobs[0]);
        hd_submit(pool, &jobs[1]);
        hd_pool_destroy(pool);
        CHECK(jobs[0].next_ == &jobs[0] && jobs[1].next_ == &jobs[1]);
    }
}

static void do_count(struct hd_worker *worker, void *data)
{
    (void)data;
    hdi_worker_count(worker, 1000, 7);
    hdi_worker_count(worker, 500, 1);
}

static void launch_counts_into_the_worker(void)
{
    struct hd_pool_params params = {.caller_only = true};
    struct hd_pool *pool = make_pool(&params);
    struct hd_worker_counters c;

    hd_pool_run(pool, do_count, NULL);
    CHECK(fib_on(pool, 10) == 55);
    hd_pool_counters(pool, 0, &c);
    CHECK(c.busy == 1500 && c.groups == 8);
    CHECK(c.tasks == 88); // spawns of fib(10)
    CHECK(c.leaves == 2);
    CHECK(c.stolen == 0 && c.parks == 0);
    hd_pool_destroy(pool);
}

struct place {
    cpu_set_t cores;
    unsigned worker;
};

static void see_place(struct hd_worker *worker, void *data)
{
    struct place *place = data;

    see_affinity(worker, &place->cores);
    place->worker = hd_worker_index(worker);
}

// The thread that has called in is awake again before the worker of its core
// has searched in vain and sleeps, which it would do after every call, or, with
// another worker that may have had the work, after every twentieth.
static void a_caller_shares_the_core_of_a_worker(unsigned workers)
{
    enum {
        CALLS = 1000,
        ROUNDS = 50
    };
    struct hd_pool_params params = {.workers = workers};
    const uint64_t few = workers == 1 ? CALLS / 4 : CALLS / 50;
    struct hd_worker_counters c;
    struct place mine, seen;
    struct hd_pool *pool;
    uint64_t parks = CALLS, before = 0;
    cpu_set_t cores;

    CHECK(hd_pool_create(&params, &pool, NULL) == HD_OK);
    CHECK(pthread_getaffinity_np(pthread_self(), sizeof(cores), &cores) == 0);
    hd_pool_run(pool, see_place, &mine);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(mine.cores),
                                 &mine.cores) == 0);
    // Load beside makes workers sleep; a round without is enough.
    for (int round = 0; round < ROUNDS && parks >= few; round++) {
        for (int i = 0; i < CALLS; i++) {
            uint64_t now = hdi_now(); // who has just slept is preferred
            while (hdi_now() - now < 20000)
                ;
            hd_pool_run(pool, see_place, &seen);
            CHECK(seen.worker != mine.worker ||
                  CPU_EQUAL(&seen.cores, &mine.cores));
        }
        hd_pool_counters(pool, mine.worker, &c);
        if (c.parks - before < parks)
            parks = c.parks - before;
        before = c.parks;
    }
    CHECK(parks < few);
    CHECK(pthread_setaffinity_np(pthread_self(), sizeof(cores), &cores) == 0);
    hd_pool_destroy(pool);
}

int main(void)
{
    struct hd_pool_params two = {.workers = 2}, three = {.workers = 3};
    struct hd_pool_params caller = {.caller_only = true};

    bad_parameters_are_refused();
    a_thread_finds_its_worker(&three);
    a_thread_finds_its_worker(&caller);
    threads_are_pinned_unless_told();
    a_pool_has_a_worker_per_core();
    the_caller_runs_everything();
    callers_take_turns();
    pools_call_each_other(&two, &three);
    pools_call_each_other(&three, &caller);
    crowds_get_there();
    pools_come_and_go();
    what_was_submitted_before_the_end_runs();
    launch_counts_into_the_worker();
    a_caller_shares_the_core_of_a_worker(1);
    a_caller_shares_the_core_of_a_worker(2);
    return 0;
}
