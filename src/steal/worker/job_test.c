// Every job and task runs exactly once, whoever hands it in and whoever waits.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

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

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x7fb5d329728ea185;
    x = (x ^ x >> 27) * 0x81dadef4bc2dd44d;
    return x ^ x >> 33;
}

// Random trees of jobs and tasks ----------------------------------------------

enum {
    NODES = 6000 // per tree; a node is known by its number
};

struct forest {
    struct hd_pool *pool;
    struct hd_group group;
    uint64_t seed;
    atomic_uint next;
    atomic_uchar ran[NODES];
};

struct node {
    struct hd_job job;
    struct forest *forest;
    unsigned number;
};

static void grow(struct hd_worker *worker, struct forest *forest,
                 unsigned number);

HD_VOID_TASK(grow_task, struct forest *, forest, unsigned, number)
{
    grow(worker, forest, number);
}

static void grow_job(struct hd_worker *worker, struct hd_job *job)
{
    struct node *node = (struct node *)(void *)job;
    struct forest *forest = node->forest;
    unsigned number = node->number;

    free(node);
    grow(worker, forest, number);
}

static void submit(struct forest *forest, struct hd_group *group,
                   unsigned number)
{
    struct node *node = malloc(sizeof(*node));

    CHECK(node);
    *node = (struct node){.job = {.run = grow_job, .group = group},
                          .forest = forest,
                          .number = number};
    hd_submit(forest->pool, &node->job);
}

static unsigned take_number(struct forest *forest)
{
    return atomic_fetch_add(&forest->next, 1);
}

// A node makes children of its own kind or the other, waits for some of them in
// one way or the other, and leaves some to the forest's group.
static void grow(struct hd_worker *worker, struct forest *forest,
                 unsigned number)
{
    uint64_t chance = mix(forest->seed + number);
    unsigned tasks = 0, n;
    struct hd_group own;

    CHECK(atomic_fetch_add(&forest->ran[number], 1) == 0);
    CHECK(hd_pool_worker(forest->pool) == worker);
    hd_group_init(&own);
    for (unsigned i = 0; i < chance % 7; i++) {
        if ((n = take_number(forest)) >= NODES)
            break;
        switch (mix(chance + i) % 5) {
        case 0:
        case 1:
            hd_spawn(worker, grow_task, forest, n);
            tasks++;
            break;
        case 2:
            submit(forest, &own, n);
            break;
        case 3:
            submit(forest, &forest->group, n);
            break;
        case 4:
            hd_call(worker, grow_task, forest, n);
            break;
        }
    }
    if (chance >> 20 & 1)
        hd_publish(worker);
    if (chance >> 21 & 1)
        for (volatile unsigned spin = 0; spin < chance >> 56; spin++)
            ;
    if (chance >> 22 & 1)
        hd_group_wait(forest->pool, &own);
    while (tasks-- > 0)
        hd_join(worker, grow_task);
    hd_group_wait(forest->pool, &own);
}

static void check_forest(struct forest *forest)
{
    unsigned numbers = atomic_load(&forest->next);

    hd_group_wait(forest->pool, &forest->group);
    for (unsigned i = 0; i < NODES; i++)
        CHECK(atomic_load(&forest->ran[i]) == (i < numbers));
}

static void *plant(void *data)
{
    struct hd_pool *pool = data;
    struct forest *forest = malloc(sizeof(*forest));

    CHECK(forest);
    for (uint64_t round = 0; round < 12; round++) {
        memset(forest, 0, sizeof(*forest));
        forest->pool = pool;
        forest->seed = mix(round + (uint64_t)(uintptr_t)pthread_self());
        hd_group_init(&forest->group);
        for (int i = 0; i < 40; i++) {
            unsigned n = take_number(forest);
            if (n < NODES)
                submit(forest, &forest->group, n);
        }
        hd_group_wait(pool, &forest->group);
        if (atomic_load(&forest->next) > NODES)
            atomic_store(&forest->next, NODES);
        check_forest(forest);
    }
    free(forest);
    return NULL;
}

static void every_node_runs_once(unsigned workers, unsigned planters)
{
    struct hd_pool *pool = make_pool(workers);
    pthread_t threads[4];

    for (unsigned i = 0; i < planters; i++)
        CHECK(pthread_create(&threads[i], NULL, plant, pool) == 0);
    for (unsigned i = 0; i < planters; i++)
        pthread_join(threads[i], NULL);
    hd_pool_destroy(pool);
}

// Jobs alone ------------------------------------------------------------------

struct counted {
    struct hd_job job;
    atomic_uint *count;
    struct hd_pool *pool;
    unsigned left; // times to hand itself in again
};

static void count_job(struct hd_worker *worker, struct hd_job *job)
{
    struct counted *c = (struct counted *)(void *)job;

    (void)worker;
    atomic_fetch_add(c->count, 1);
    if (c->left > 0) {
        c->left--;
        hd_submit(c->pool, &c->job);
    }
}

static void destroy_finishes_queued_jobs(unsigned workers)
{
    enum {
        JOBS = 5000
    };
    atomic_uint count = 0;
    struct counted *jobs = calloc(JOBS, sizeof(*jobs));
    struct hd_pool *pool = make_pool(workers);

    CHECK(jobs);
    for (unsigned i = 0; i < JOBS; i++) {
        jobs[i] = (struct counted){.job = {.run = count_job},
                                   .count = &count,
                                   .pool = pool,
                                   .left = i % 3};
        hd_submit(pool, &jobs[i].job);
    }
    hd_pool_destroy(pool);
    unsigned expected = 0;
    for (unsigned i = 0; i < JOBS; i++)
        expected += 1 + i % 3;
    CHECK(atomic_load(&count) == expected);
    free(jobs);
}

// From a worker, so that they all lie in one deque, which must grow.
struct flood {
    struct hd_pool *pool;
    struct counted *jobs;
    unsigned count;
    struct hd_group *group;
};

static void flood(struct hd_worker *worker, void *data)
{
    struct flood *f = data;

    (void)worker;
    for (unsigned i = 0; i < f->count; i++)
        hd_submit(f->pool, &f->jobs[i].job);
    hd_group_wait(f->pool, f->group);
}

static void a_queue_grows(unsigned workers)
{
    enum {
        JOBS = 100000
    };
    atomic_uint count = 0;
    struct hd_group group;
    struct counted *jobs = calloc(JOBS, sizeof(*jobs));
    struct hd_pool *pool = make_pool(workers);

    CHECK(jobs);
    hd_group_init(&group);
    for (unsigned i = 0; i < JOBS; i++)
        jobs[i] = (struct counted){.job = {.run = count_job, .group = &group},
                                   .count = &count};
    struct flood f = {pool, jobs, JOBS, &group};
    hd_pool_run(pool, flood, &f);
    CHECK(atomic_load(&count) == JOBS);
    hd_pool_destroy(pool);
    free(jobs);
}

// A job that hands itself in for ever must not keep others from running.
struct poller {
    struct hd_job job;
    struct hd_pool *pool;
    atomic_bool stop;
};

static void poll(struct hd_worker *worker, struct hd_job *job)
{
    struct poller *p = (struct poller *)(void *)job;

    (void)worker;
    if (!atomic_load(&p->stop))
        hd_submit(p->pool, &p->job);
}

static void stop_poller(struct hd_worker *worker, void *data)
{
    (void)worker;
    atomic_store((atomic_bool *)data, true);
}

static void nothing_waits_for_ever(unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);
    struct hd_group group;
    struct poller pollers[3];

    hd_group_init(&group);
    for (int i = 0; i < 3; i++) {
        pollers[i].job = (struct hd_job){.run = poll, .group = &group};
        pollers[i].pool = pool;
        atomic_init(&pollers[i].stop, false);
        hd_submit(pool, &pollers[i].job);
    }
    for (int i = 0; i < 3; i++)
        hd_pool_run(pool, stop_poller, &pollers[i].stop);
    hd_group_wait(pool, &group);
    hd_pool_destroy(pool);
}

// Groups ----------------------------------------------------------------------

struct level {
    struct hd_job job;
    struct hd_pool *pool;
    atomic_uint *count;
    unsigned depth;
};

static void descend(struct hd_worker *worker, struct hd_job *job)
{
    struct level *level = (struct level *)(void *)job;
    struct level below[3];
    struct hd_group group;

    (void)worker;
    atomic_fetch_add(level->count, 1);
    if (level->depth == 0)
        return;
    hd_group_init(&group);
    for (int round = 0; round < 2; round++) { // a group serves again
        for (int i = 0; i < 3; i++) {
            below[i] = *level;
            below[i].job.group = &group;
            below[i].depth--;
            hd_submit(level->pool, &below[i].job);
        }
        hd_group_wait(level->pool, &group);
    }
}

static void groups_nest(unsigned workers)
{
    struct hd_pool *pool = make_pool(workers);
    struct hd_group group;
    atomic_uint count = 0;
    struct level top = {.job = {.run = descend, .group = &group},
                        .pool = pool,
                        .count = &count,
                        .depth = 5};

    hd_group_init(&group);
    hd_submit(pool, &top.job);
    hd_group_wait(pool, &group);
    CHECK(atomic_load(&count) == (6 * 6 * 6 * 6 * 6 * 6 - 1) / 5);
    hd_pool_destroy(pool);
}

struct waiters {
    struct hd_pool *pool;
    struct hd_group *group;
    atomic_uint *count;
    unsigned jobs;
};

static void *wait_outside(void *data)
{
    struct waiters *w = data;

    hd_group_wait(w->pool, w->group);
    CHECK(atomic_load(w->count) == w->jobs);
    return NULL;
}

static void slow_count(struct hd_worker *worker, struct hd_job *job)
{
    usleep(1000);
    count_job(worker, job);
}

static void many_threads_wait_for_one_group(void)
{
    enum {
        JOBS = 40,
        THREADS = 6
    };
    struct hd_pool *pool = make_pool(2);
    struct hd_group group;
    struct counted jobs[JOBS];
    atomic_uint count = 0;
    struct waiters w = {pool, &group, &count, JOBS};
    pthread_t threads[THREADS];

    hd_group_init(&group);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct counted){.job = {.run = slow_count, .group = &group},
                                   .count = &count};
        hd_submit(pool, &jobs[i].job);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_outside, &w) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    hd_pool_destroy(pool);
}

static void an_empty_group_is_done(void)
{
    struct hd_pool *pool = make_pool(1);
    struct hd_group group;

    hd_group_init(&group);
    hd_group_wait(pool, &group);
    hd_pool_destroy(pool);
}

int main(void)
{
    an_empty_group_is_done();
    for (unsigned workers = 1; workers <= 8; workers = 2 * workers + 1) {
        every_node_runs_once(workers, 3);
        destroy_finishes_queued_jobs(workers);
        a_queue_grows(workers);
        nothing_waits_for_ever(workers);
        groups_nest(workers);
    }
    many_threads_wait_for_one_group();
    return 0;
}
