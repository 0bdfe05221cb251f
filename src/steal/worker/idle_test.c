// Workers without work sleep, wake when there is some, and are not kept from it
// by a worker that is busy for long.
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "heddle/task.h"
#include "tests/check.h"

static struct hd_pool *make_pool(unsigned workers)
{
    struct hd_pool_params params = {.workers = workers};
    struct hd_error error;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    return pool;
}

static uint64_t cpu_time(void) // of the process [ns]
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

HD_TASK(uint64_t, fib, int, n)
{
    if (n < 2)
        return (uint64_t)n;
    hd_spawn(worker, fib, n - 1);
    uint64_t b = hd_call(worker, fib, n - 2);
    return hd_join(worker, fib) + b;
}

static void run_fib(struct hd_worker *worker, void *data)
{
    *(uint64_t *)data = hd_call(worker, fib, 18);
}

// 5 s would cost less than 1 ms; a busy pool burns as much as it waits. The
// bound lies far from both.
static void an_idle_pool_costs_nothing(void)
{
    struct hd_pool *pool = make_pool(4);
    uint64_t result;

    hd_pool_run(pool, run_fib, &result);
    CHECK(result == 2584);
    usleep(50000); // longer than anybody searches
    uint64_t before = cpu_time();
    usleep(1000000);
    uint64_t burnt = cpu_time() - before;
    CHECK(burnt < 20000000);
    hd_pool_destroy(pool);
}

// The pool sleeps between the calls; each must be answered.
static void a_sleeping_pool_wakes(void)
{
    struct hd_pool *pool = make_pool(3);

    for (int i = 0; i < 300; i++) {
        uint64_t result = 0;
        if (i % 3 == 0)
            usleep(300);
        hd_pool_run(pool, run_fib, &result);
        CHECK(result == 2584);
    }
    hd_pool_destroy(pool);
}

// Around the moment of falling asleep: the calls come at every distance from
// the last.
static void a_pool_that_falls_asleep_wakes(void)
{
    struct hd_pool *pool = make_pool(2);

    for (unsigned i = 0; i < 4000; i++) {
        uint64_t result = 0;
        uint64_t until = hdi_now() + i % 200 * 1000;
        while (hdi_now() < until)
            ;
        hd_pool_run(pool, run_fib, &result);
        CHECK(result == 2584);
    }
    hd_pool_destroy(pool);
}

// Starvation ------------------------------------------------------------------

struct leaf {
    int worker; // who ran it
    bool busy_elsewhere;
};

struct scene {
    struct leaf leaves[4];
    _Bool long_leaf_runs;
};

HD_VOID_TASK(short_leaf, struct scene *, scene, int, i)
{
    scene->leaves[i].worker = (int)hd_worker_index(worker);
    __atomic_store_n(&scene->leaves[i].busy_elsewhere,
                     __atomic_load_n(&scene->long_leaf_runs, __ATOMIC_SEQ_CST),
                     __ATOMIC_SEQ_CST);
}

static bool all_ran(struct scene *scene)
{
    for (int i = 0; i < 4; i++)
        if (!__atomic_load_n(&scene->leaves[i].busy_elsewhere,
                             __ATOMIC_SEQ_CST))
            return false;
    return true;
}

// Four tasks, then a leaf that does not end before all four have run: possible
// only if other workers get at them meanwhile.
static void be_busy(struct hd_worker *worker, void *data)
{
    struct scene *scene = data;

    __atomic_store_n(&scene->long_leaf_runs, true, __ATOMIC_SEQ_CST);
    for (int i = 0; i < 4; i++)
        hd_spawn(worker, short_leaf, scene, i);
    hd_publish(worker);
    while (!all_ran(scene))
        ;
    for (int i = 0; i < 4; i++)
        hd_join(worker, short_leaf);
}

static void a_long_leaf_starves_nobody(unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);

    for (int i = 0; i < 50; i++) {
        struct scene scene = {.long_leaf_runs = false};
        if (i % 4 == 0)
            usleep(500); // the others sleep
        hd_pool_run(pool, be_busy, &scene);
    }
    hd_pool_destroy(pool);
}

// A join and queued jobs ------------------------------------------------------

struct pair {
    _Bool taken, released;
};

HD_VOID_TASK(until_released, struct pair *, pair)
{
    __atomic_store_n(&pair->taken, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&pair->released, __ATOMIC_SEQ_CST))
        usleep(100);
}

struct message {
    struct hd_job job;
    struct pair *pair;
};

static void join_stolen(struct hd_worker *worker, struct hd_job *job)
{
    struct pair *pair = ((struct message *)(void *)job)->pair;

    hd_spawn(worker, until_released, pair);
    hd_publish(worker);
    while (!__atomic_load_n(&pair->taken, __ATOMIC_SEQ_CST))
        ;
    hd_join(worker, until_released); // stolen: asleep until it is released
}

static void release(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker;
    __atomic_store_n(&((struct message *)(void *)job)->pair->released, true,
                     __ATOMIC_SEQ_CST);
}

// A job reaches the third worker though a joining one is idle too, which does
// not run jobs; and the end of its task wakes the joining one.
static void a_sleeping_join_wakes(void)
{
    struct hd_pool *pool = make_pool(3);

    for (int i = 0; i < 60; i++) {
        struct pair pair = {.taken = false};
        struct hd_group group;
        struct message first = {{.run = join_stolen, .group = &group}, &pair};
        struct message second = {{.run = release, .group = &group}, &pair};

        hd_group_init(&group);
        hd_submit(pool, &first.job);
        while (!__atomic_load_n(&pair.taken, __ATOMIC_SEQ_CST))
            usleep(10);
        if (i % 2 == 0)
            usleep(1000); // the join sleeps
        hd_submit(pool, &second.job);
        hd_group_wait(pool, &group);
        CHECK(pair.taken && pair.released);
    }
    hd_pool_destroy(pool);
}

// Jobs that wait for each other -----------------------------------------------

struct partner {
    struct hd_job job;
    _Bool *mine, *other;
};

static void meet(struct hd_worker *worker, struct hd_job *job)
{
    struct partner *p = (struct partner *)(void *)job;

    (void)worker;
    __atomic_store_n(p->mine, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(p->other, __ATOMIC_SEQ_CST))
        usleep(20);
}

// The second is handed in while the first has just woken somebody, who then is
// busy with the first: another one must hear of the second.
static void a_second_job_wakes_a_second_worker(void)
{
    struct hd_pool *pool = make_pool(3);

    for (int i = 0; i < 300; i++) {
        struct hd_group group;
        _Bool here[2] = {false, false};
        struct partner a = {{.run = meet, .group = &group}, &here[0], &here[1]};
        struct partner b = {{.run = meet, .group = &group}, &here[1], &here[0]};

        hd_group_init(&group);
        if (i % 2 == 0)
            usleep(500); // all sleep
        hd_submit(pool, &a.job);
        hd_submit(pool, &b.job);
        hd_group_wait(pool, &group);
    }
    hd_pool_destroy(pool);
}

int main(void)
{
    a_second_job_wakes_a_second_worker();
    an_idle_pool_costs_nothing();
    a_sleeping_pool_wakes();
    a_pool_that_falls_asleep_wakes();
    a_long_leaf_starves_nobody(2);
    a_long_leaf_starves_nobody(4);
    a_sleeping_join_wakes();
    return 0;
}
