// Gangs: members that exchange data run at the same time, on the modules that
// were asked for; all or nobody; several gangs at once; failing, cancelling.
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "heddle/task.h"
#include "tests/check.h"

enum {
    MAX = 16
};

static struct hd_pool *make_pool(unsigned workers, const char *topology)
{
    const struct hd_pool_params params = {.workers = workers,
                                          .topology = topology};
    struct hd_error error;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    return pool;
}

// A token goes round the members: each waits for the one before it, so nobody
// gets anywhere unless all run.
struct ring {
    unsigned members, rounds;
    _Atomic unsigned token;
    unsigned modules[MAX], workers[MAX];
    unsigned long sums[MAX];
};

HD_TASK(unsigned long, count_to, unsigned, n)
{
    if (n < 2)
        return n;
    hd_spawn(worker, count_to, n / 2);
    unsigned long rest = hd_call(worker, count_to, n - n / 2);
    return hd_join(worker, count_to) + rest;
}

static void pass_on(struct hd_worker *worker, unsigned rank, void *data)
{
    struct ring *ring = data;

    ring->workers[rank] = hd_worker_index(worker);
    ring->modules[rank] =
        hd_pool_module(hd_worker_pool(worker), ring->workers[rank]);
    for (unsigned i = 0; i < ring->rounds; i++) {
        unsigned mine = i * ring->members + rank;
        while (atomic_load(&ring->token) != mine)
            sched_yield();
        atomic_store(&ring->token, mine + 1);
    }
    ring->sums[rank] = hd_call(worker, count_to, 1000 + rank);
}

static void go_round(struct hd_pool *pool, struct ring *ring,
                     struct hd_gang gang)
{
    struct hd_error error;

    *ring = (struct ring){.members = gang.members, .rounds = 20};
    CHECK_OK(hd_pool_run_gang(pool, &gang, pass_on, ring, &error), error);
    CHECK(ring->token == ring->members * ring->rounds);
    for (unsigned i = 0; i < ring->members; i++) {
        CHECK(ring->sums[i] == 1000 + i);
        for (unsigned j = 0; j < i; j++)
            CHECK(ring->workers[i] != ring->workers[j]);
    }
}

static void members_exchange_data_while_they_run(void)
{
    for (unsigned workers = 1; workers <= 4; workers++) {
        struct hd_pool *pool = make_pool(workers, NULL);
        for (unsigned members = 1; members <= workers; members++)
            for (int i = 0; i < 10; i++) {
                struct ring ring;
                go_round(pool, &ring, (struct hd_gang){.members = members});
            }
        hd_pool_destroy(pool);
    }
}

static void members_are_on_the_modules_asked_for(void)
{
    struct hd_pool *pool = make_pool(8, "pack:2 l3:2 core:2 pu:1");
    struct ring ring;

    for (unsigned near = 0; near < 8; near++) {
        struct hd_gang gang = {
            .members = 2, .place = HD_ON_MODULE_OF, .near = near};
        go_round(pool, &ring, gang);
        CHECK(ring.modules[0] == hd_pool_module(pool, near) &&
              ring.modules[1] == ring.modules[0]);
    }
    for (unsigned members = 1; members <= 4; members++) {
        struct hd_gang gang = {.members = members,
                               .place = HD_ON_DISTINCT_MODULES};
        go_round(pool, &ring, gang);
        for (unsigned i = 0; i < members; i++)
            for (unsigned j = 0; j < i; j++)
                CHECK(ring.modules[i] != ring.modules[j]);
    }
    hd_pool_destroy(pool);
}

static void never(struct hd_worker *worker, unsigned rank, void *data)
{
    (void)worker, (void)rank, (void)data;
    CHECK(!"nobody may start");
}

static void start_inside(struct hd_worker *worker, void *data)
{
    const struct hd_gang gang = {.members = 1};
    struct hd_error error;

    (void)data;
    CHECK_FAILS(
        hd_pool_run_gang(hd_worker_pool(worker), &gang, never, NULL, &error),
        HD_EINVAL, error, "outside");
}

static void what_cannot_be_is_refused(void)
{
    static const struct {
        struct hd_gang gang;
        hd_status status;
        const char *part;
    } wrong[] = {
        {{.members = 0}, HD_EINVAL, "members"},
        {{.members = 5}, HD_ELIMIT, "gang of 5"},
        {{.members = 1, .place = HD_ON_UNIT}, HD_EINVAL, "place"},
        {{.members = 1, .place = HD_ON_MODULE_OF, .near = 4},
         HD_EINVAL,
         "worker 4"},
        {{.members = 3, .place = HD_ON_MODULE_OF, .near = 1},
         HD_ELIMIT,
         "module of worker 1; there are 2"},
        {{.members = 3, .place = HD_ON_DISTINCT_MODULES},
         HD_ELIMIT,
         "as many modules; there are 2"},
    };
    struct hd_pool *pool = make_pool(4, "l3:2 core:2 pu:1");
    struct hd_error error;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK_FAILS(hd_pool_run_gang(pool, &wrong[i].gang, never, NULL, &error),
                    wrong[i].status, error, wrong[i].part);
    hd_pool_run(pool, start_inside, NULL);
    hd_pool_destroy(pool);
}

static void a_pool_of_the_caller_alone_has_one_member(void)
{
    const struct hd_pool_params params = {.caller_only = true};
    const struct hd_gang two = {.members = 2};
    struct hd_error error;
    struct hd_pool *pool;
    struct ring ring;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    go_round(pool, &ring, (struct hd_gang){.members = 1});
    CHECK_FAILS(hd_pool_run_gang(pool, &two, never, NULL, &error), HD_ELIMIT,
                error, "gang of 2");
    hd_pool_destroy(pool);
}

// Several at once, between jobs that fork -------------------------------------

struct crowd {
    struct hd_pool *pool;
    unsigned members;
};

static void *start_gangs(void *data)
{
    const struct crowd *crowd = data;

    for (int i = 0; i < 30; i++) {
        struct ring ring;
        go_round(crowd->pool, &ring,
                 (struct hd_gang){.members = crowd->members});
    }
    return NULL;
}

struct churn {
    struct hd_job job;
    atomic_bool *stop;
};

static void churn(struct hd_worker *worker, struct hd_job *job)
{
    struct churn *c = (struct churn *)(void *)job;

    CHECK(hd_call(worker, count_to, 2000) == 2000);
    if (!atomic_load(c->stop))
        hd_submit(hd_worker_pool(worker), job);
}

static void gangs_that_start_together_all_run(void)
{
    struct hd_pool *pool = make_pool(3, NULL);
    struct crowd crowds[4] = {{pool, 3}, {pool, 2}, {pool, 3}, {pool, 1}};
    struct churn churns[3];
    struct hd_group group;
    atomic_bool stop = false;
    pthread_t threads[4];

    hd_group_init(&group);
    for (int i = 0; i < 3; i++) {
        churns[i] = (struct churn){.job = {.run = churn, .group = &group},
                                   .stop = &stop};
        hd_submit(pool, &churns[i].job);
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, start_gangs, &crowds[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&stop, true);
    hd_group_wait(pool, &group);
    hd_pool_destroy(pool);
}

// A gang that has to wait -----------------------------------------------------

struct blocker {
    struct hd_job job;
    atomic_bool begun, release;
};

static void block(struct hd_worker *worker, struct hd_job *job)
{
    struct blocker *blocker = (struct blocker *)(void *)job;

    (void)worker;
    atomic_store(&blocker->begun, true);
    while (!atomic_load(&blocker->release))
        sched_yield();
}

struct waiting {
    struct hd_pool *pool;
    struct hd_gang gang;
    hd_status expected;
    atomic_uint started;
};

static void start(struct hd_worker *worker, unsigned rank, void *data)
{
    (void)worker, (void)rank;
    atomic_fetch_add(&((struct waiting *)data)->started, 1);
}

static void *run_waiting(void *data)
{
    struct waiting *w = data;
    struct hd_error error;

    CHECK(hd_pool_run_gang(w->pool, &w->gang, start, w, &error) == w->expected);
    return NULL;
}

static void pause_a_little(void)
{
    for (uint64_t begin = hdi_now(); hdi_now() - begin < 20000000;)
        sched_yield();
}

enum outcome {
    STARTS,
    CANCELLED,
    SHRUNK
};

static void all_start_or_nobody(enum outcome outcome)
{
    struct hd_pool *pool = make_pool(2, NULL);
    struct hd_group busy, group;
    struct blocker blocker = {.job = {.run = block, .group = &busy}};
    struct waiting waiting = {.pool = pool,
                              .gang = {.members = 2, .group = &group},
                              .expected = outcome == STARTS      ? HD_OK
                                          : outcome == CANCELLED ? HD_ECANCELED
                                                                 : HD_ELIMIT};
    struct hd_error error;
    pthread_t thread;

    hd_group_init(&busy);
    hd_group_init(&group);
    hd_submit(pool, &blocker.job);
    while (!atomic_load(&blocker.begun))
        sched_yield();
    CHECK(pthread_create(&thread, NULL, run_waiting, &waiting) == 0);
    pause_a_little();
    CHECK(atomic_load(&waiting.started) == 0);
    if (outcome == CANCELLED)
        hd_group_cancel(pool, &group);
    if (outcome == SHRUNK)
        CHECK_OK(hd_pool_resize(pool, 1, &error), error);
    if (outcome != STARTS)
        pthread_join(thread, NULL); // while the worker is still busy
    atomic_store(&blocker.release, true);
    if (outcome == STARTS)
        pthread_join(thread, NULL);
    hd_group_wait(pool, &busy);
    CHECK(atomic_load(&waiting.started) == (outcome == STARTS ? 2 : 0));
    CHECK_OK(hd_pool_resize(pool, 2, &error), error);
    struct ring ring; // whoever was kept is free again
    go_round(pool, &ring, (struct hd_gang){.members = 2});
    hd_pool_destroy(pool);
}

// A gang on one module keeps the gangs behind it waiting, for whom there would
// be workers; when it is given up they start.
static void block_member(struct hd_worker *worker, unsigned rank, void *data)
{
    (void)rank;
    block(worker, data);
}

struct blocking {
    struct hd_pool *pool;
    struct blocker blocker;
};

static void *run_blocking(void *data)
{
    struct blocking *b = data;
    const struct hd_gang one = {.members = 1, .place = HD_ON_MODULE_OF};
    struct hd_error error;

    CHECK_OK(hd_pool_run_gang(b->pool, &one, block_member, &b->blocker, &error),
             error);
    return NULL;
}

static void the_next_in_line_starts(void)
{
    struct hd_pool *pool = make_pool(4, "l3:2 core:2 pu:1");
    struct blocking blocking = {.pool = pool};
    struct hd_group group;
    struct waiting first = {
        pool, {2, HD_ON_MODULE_OF, 0, &group}, HD_ECANCELED, 0};
    struct waiting second = {pool, {2, HD_ON_MODULE_OF, 2, NULL}, HD_OK, 0};
    pthread_t threads[3];

    hd_group_init(&group);
    CHECK(pthread_create(&threads[0], NULL, run_blocking, &blocking) == 0);
    while (!atomic_load(&blocking.blocker.begun))
        sched_yield();
    CHECK(pthread_create(&threads[1], NULL, run_waiting, &first) == 0);
    pause_a_little();
    CHECK(pthread_create(&threads[2], NULL, run_waiting, &second) == 0);
    pause_a_little();
    hd_group_cancel(pool, &group);
    pthread_join(threads[1], NULL);
    pthread_join(threads[2], NULL);
    CHECK(first.started == 0 && second.started == 2);
    atomic_store(&blocking.blocker.release, true);
    pthread_join(threads[0], NULL);
    hd_pool_destroy(pool);
}

// Inside of the pool ----------------------------------------------------------

// Workers that have begun something start no gang: it might need them.
static void check_refused(struct hd_worker *worker)
{
    start_inside(worker, NULL);
}

HD_VOID_TASK(refused_task, atomic_uint *, thieves)
{
    check_refused(worker);
    atomic_fetch_add(thieves, 1);
}

static void refused_job(struct hd_worker *worker, struct hd_job *job)
{
    (void)job;
    hd_blocking_begin(worker); // a spare thread goes on with other jobs
    check_refused(worker);
    hd_blocking_end(worker);
    check_refused(worker);
}

// A member waits for the others between all that it may do: tasks that are
// stolen, jobs that others may have, a blocking region.
struct busy_crowd {
    struct hd_pool *pool;
    unsigned members;
    struct hd_group group;
};

struct busy_gang {
    unsigned members;
    atomic_uint arrived, ran;
};

static void meet(struct hd_worker *worker, struct busy_gang *gang,
                 unsigned round)
{
    atomic_fetch_add(&gang->arrived, 1);
    while (atomic_load(&gang->arrived) < gang->members * round &&
           !hd_cancelled(worker))
        sched_yield();
}

static void be_busy(struct hd_worker *worker, unsigned rank, void *data)
{
    struct busy_gang *gang = data;
    struct hd_pool *pool = hd_worker_pool(worker);
    struct hd_job job = {.run = refused_job};
    struct hd_group group;
    unsigned round = 0;

    (void)rank;
    check_refused(worker);
    for (int i = 0; i < 3; i++) {
        hd_spawn(worker, refused_task, &gang->ran);
        hd_publish(worker);
        meet(worker, gang, ++round);
        hd_join(worker, refused_task);

        hd_group_init(&group);
        job.group = &group;
        hd_submit(pool, &job);
        meet(worker, gang, ++round);
        hd_group_wait(pool, &group);
        meet(worker, gang, ++round);
    }
}

static void *start_busy_gangs(void *data)
{
    struct busy_crowd *crowd = data;

    for (int i = 0; i < 40; i++) {
        struct busy_gang busy = {.members = crowd->members};
        struct hd_gang gang = {.members = crowd->members,
                               .group = &crowd->group};
        struct hd_error error;
        hd_group_init(&crowd->group);
        if (i % 8 == 7)
            hd_group_cancel(crowd->pool, &crowd->group);
        hd_status status =
            hd_pool_run_gang(crowd->pool, &gang, be_busy, &busy, &error);
        CHECK(status == (i % 8 == 7 ? HD_ECANCELED : HD_OK));
        CHECK(atomic_load(&busy.ran) == (i % 8 == 7 ? 0 : 3 * busy.members));
    }
    return NULL;
}

// Several at once, in pools with and without workers to spare, one of which
// comes and goes.
static void members_may_wait_for_each_other_whatever_they_do(void)
{
    for (unsigned workers = 2; workers <= 4; workers++) {
        struct hd_pool *pool = make_pool(workers, NULL);
        struct busy_crowd crowds[3] = {
            {.pool = pool, .members = 2},
            {.pool = pool, .members = workers > 2 ? workers - 1 : 2},
            {.pool = pool, .members = 1}};
        struct churn churned = {.job = {.run = churn}};
        struct hd_group group;
        atomic_bool stop = false;
        pthread_t threads[3];

        hd_group_init(&group);
        churned.job.group = &group;
        churned.stop = &stop;
        hd_submit(pool, &churned.job);
        for (int i = 0; i < 3; i++)
            CHECK(pthread_create(&threads[i], NULL, start_busy_gangs,
                                 &crowds[i]) == 0);
        for (unsigned i = 0; workers > 2 && i < 50; i++) {
            CHECK(hd_pool_resize(pool, workers - i % 2, NULL) == HD_OK);
            sched_yield();
        }
        CHECK(hd_pool_resize(pool, workers, NULL) == HD_OK);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        atomic_store(&stop, true);
        hd_group_wait(pool, &group);
        hd_pool_destroy(pool);
    }
}

// Failing ---------------------------------------------------------------------

static void fail_or_wait(struct hd_worker *worker, unsigned rank, void *data)
{
    (void)data;
    if (rank == 1)
        hd_task_fail(worker, HD_EFORMAT, "member %u found no data", rank);
    while (rank != 1 && !hd_cancelled(worker))
        sched_yield();
}

static void a_member_that_fails_ends_all(void)
{
    struct hd_pool *pool = make_pool(3, NULL);
    const struct hd_gang gang = {.members = 3};
    struct hd_error error;

    for (int i = 0; i < 20; i++)
        CHECK_FAILS(hd_pool_run_gang(pool, &gang, fail_or_wait, NULL, &error),
                    HD_EFORMAT, error, "member 1 found");
    hd_pool_cancel(pool);
    CHECK_FAILS(hd_pool_run_gang(pool, &gang, never, NULL, &error),
                HD_ECANCELED, error, "cancelled");
    hd_pool_destroy(pool);
}

int main(void)
{
    members_exchange_data_while_they_run();
    members_are_on_the_modules_asked_for();
    what_cannot_be_is_refused();
    a_pool_of_the_caller_alone_has_one_member();
    gangs_that_start_together_all_run();
    all_start_or_nobody(STARTS);
    all_start_or_nobody(CANCELLED);
    all_start_or_nobody(SHRUNK);
    the_next_in_line_starts();
    members_may_wait_for_each_other_whatever_they_do();
    a_member_that_fails_ends_all();
    return 0;
}
