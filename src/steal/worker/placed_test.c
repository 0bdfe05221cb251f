// Jobs that have a place run there and nowhere else, and are never lost.
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "heddle/task.h"
#include "tests/check.h"

enum {
    JOBS = 200
};

static struct hd_error error;

// Two modules of two workers each.
static struct hd_pool *make_pool(void)
{
    struct hd_pool_params params = {.workers = 4,
                                    .topology = "pack:2 l3:1 core:2 pu:1"};
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    return pool;
}

static void nap(void)
{
    struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
}

struct visit {
    struct hd_work work; // first
    unsigned ran_on;
    atomic_uint *arrived; // wait here until `wanted` are; NULL: do not
    unsigned wanted;
    hd_status status;
};

static void visit(struct hd_worker *worker, struct hd_job *job)
{
    struct visit *v = (struct visit *)(void *)job;

    v->ran_on = hd_worker_index(worker);
    if (!v->arrived)
        return;
    atomic_fetch_add(v->arrived, 1);
    while (atomic_load(v->arrived) < v->wanted)
        nap();
}

static void note(struct hd_worker *worker, struct hd_work *work,
                 hd_status status)
{
    (void)worker;
    ((struct visit *)(void *)work)->status = status;
}

static void submit(struct hd_pool *pool, struct visit *v,
                   struct hd_group *group, enum hd_place place, unsigned at)
{
    v->work =
        (struct hd_work){.job = {.run = visit, .group = group}, .done = note};
    v->status = HD_EIO;
    CHECK_OK(hd_submit_at(pool, &v->work, place, at, &error), error);
}

static void jobs_run_on_the_worker_named(void)
{
    struct hd_pool *pool = make_pool();
    struct visit visits[JOBS] = {0};
    struct hd_group group;

    hd_group_init(&group);
    for (int round = 0; round < 20; round++) {
        for (unsigned i = 0; i < JOBS; i++)
            submit(pool, &visits[i], &group, HD_ON_WORKER, i % 4);
        hd_group_wait(pool, &group);
        for (unsigned i = 0; i < JOBS; i++)
            CHECK(visits[i].ran_on == i % 4 && visits[i].status == HD_OK);
    }
    hd_pool_destroy(pool);
}

// Two that wait for each other need both workers of the module.
static void jobs_of_a_module_use_all_its_workers_and_no_other(void)
{
    struct hd_pool *pool = make_pool();
    struct hd_group group;

    hd_group_init(&group);
    for (unsigned round = 0; round < 100; round++) {
        struct visit visits[2] = {0};
        atomic_uint arrived = 0;
        unsigned near = round % 4;

        for (unsigned i = 0; i < 2; i++) {
            visits[i].arrived = &arrived;
            visits[i].wanted = 2;
            submit(pool, &visits[i], &group, HD_ON_MODULE_OF, near);
        }
        hd_group_wait(pool, &group);
        CHECK(visits[0].ran_on != visits[1].ran_on);
        for (unsigned i = 0; i < 2; i++)
            CHECK(hd_pool_module(pool, visits[i].ran_on) ==
                  hd_pool_module(pool, near));
    }
    hd_pool_destroy(pool);
}

struct chain {
    struct hd_work work; // first
    struct hd_group *group;
    unsigned beside, ran_on;
    struct visit next;
};

static void go_on_beside(struct hd_worker *worker, struct hd_job *job)
{
    struct chain *c = (struct chain *)(void *)job;

    c->ran_on = hd_worker_index(worker);
    submit(hd_worker_pool(worker), &c->next, c->group, HD_ON_MODULE_OF,
           c->ran_on);
}

static void a_job_goes_beside_the_one_that_submits_it(void)
{
    struct hd_pool *pool = make_pool();
    struct chain chains[JOBS] = {0};
    struct hd_group group;

    hd_group_init(&group);
    for (unsigned i = 0; i < JOBS; i++) {
        chains[i].group = &group;
        chains[i].work.job =
            (struct hd_job){.run = go_on_beside, .group = &group};
        hd_submit_work(pool, &chains[i].work);
    }
    hd_group_wait(pool, &group);
    for (unsigned i = 0; i < JOBS; i++)
        CHECK(hd_pool_module(pool, chains[i].next.ran_on) ==
              hd_pool_module(pool, chains[i].ran_on));
    hd_pool_destroy(pool);
}

static void start_own(struct hd_worker *worker, void *data)
{
    struct hd_pool *pool = hd_worker_pool(worker);
    struct visit *visits = data;
    struct hd_group group;

    hd_group_init(&group);
    for (unsigned i = 0; i < 8; i++)
        submit(pool, &visits[i], &group, HD_ON_WORKER,
               i < 4 ? hd_worker_index(worker) : i % 4);
    hd_group_wait_own(pool, &group);
    for (unsigned i = 0; i < 4; i++)
        CHECK(visits[i].ran_on == hd_worker_index(worker));
}

static void a_worker_that_waits_for_its_own_runs_those_placed_on_it(void)
{
    struct hd_pool *pool = make_pool();
    struct visit visits[8] = {0};

    for (int round = 0; round < 50; round++)
        hd_pool_run(pool, start_own, visits);
    hd_pool_destroy(pool);
}

static void a_place_without_workers_is_any_place(void)
{
    struct hd_pool *pool = make_pool();
    struct hd_group group;

    hd_group_init(&group);
    for (unsigned round = 0; round < 100; round++) {
        struct visit visits[6] = {0};

        for (unsigned i = 0; i < 3; i++)
            submit(pool, &visits[i], &group, HD_ON_WORKER, 3);
        CHECK_OK(hd_pool_resize(pool, 1 + round % 2, &error), error);
        for (unsigned i = 3; i < 6; i++)
            submit(pool, &visits[i], &group,
                   i % 2 ? HD_ON_WORKER : HD_ON_MODULE_OF, 2);
        hd_group_wait(pool, &group);
        for (unsigned i = 0; i < 6; i++)
            CHECK(visits[i].status == HD_OK);
        CHECK_OK(hd_pool_resize(pool, 4, &error), error);
    }
    hd_pool_destroy(pool);
}

struct blocked {
    struct hd_job job; // first
    struct visit on_it;
};

static void note_late(struct hd_worker *worker, struct hd_work *work,
                      hd_status status)
{
    (void)worker;
    __atomic_store_n(&((struct visit *)(void *)work)->status, status,
                     __ATOMIC_RELEASE);
}

static void wait_blocked(struct hd_worker *worker, struct hd_job *job)
{
    struct blocked *b = (struct blocked *)(void *)job;
    struct hd_pool *pool = hd_worker_pool(worker);

    b->on_it = (struct visit){
        .work = {.job = {.run = visit}, .done = note_late}, .status = HD_EIO};
    CHECK_OK(hd_submit_at(pool, &b->on_it.work, HD_ON_WORKER,
                          hd_worker_index(worker), &error),
             error);
    hd_blocking_begin(worker);
    while (__atomic_load_n(&b->on_it.status, __ATOMIC_ACQUIRE) != HD_OK)
        nap();
    hd_blocking_end(worker);
}

// What lies behind a job that runs when its worker is sent home.
static void nothing_is_left_where_a_worker_goes_home(void)
{
    struct hd_pool *pool = make_pool();
    struct hd_group group;

    hd_group_init(&group);
    for (unsigned round = 0; round < 50; round++) {
        struct visit first = {0}, behind[2] = {0};
        atomic_uint arrived = 0;

        first.arrived = &arrived;
        first.wanted = 2;
        submit(pool, &first, &group, HD_ON_WORKER, 3);
        while (atomic_load(&arrived) == 0)
            nap();
        submit(pool, &behind[0], &group, HD_ON_WORKER, 3);
        submit(pool, &behind[1], &group, HD_ON_WORKER, 3);
        CHECK_OK(hd_pool_resize(pool, 2, &error), error);
        atomic_fetch_add(&arrived, 1);
        hd_group_wait(pool, &group);
        CHECK(behind[0].status == HD_OK && behind[1].status == HD_OK);
        CHECK_OK(hd_pool_resize(pool, 4, &error), error);
    }
    hd_pool_destroy(pool);
}

struct gate {
    struct hd_job job; // first
    atomic_uint blocked, open;
};

static void stand_at(struct hd_worker *worker, struct hd_job *job)
{
    struct gate *gate = (struct gate *)(void *)job;

    hd_blocking_begin(worker);
    atomic_store(&gate->blocked, 1 + hd_worker_index(worker));
    while (!atomic_load(&gate->open))
        nap();
    hd_blocking_end(worker);
}

// It has found nothing to do and sleeps when the job comes. The spare thread of
// a round may take the gate of the next: then no worker is blocked.
static void a_spare_thread_is_woken_for_a_blocked_worker(void)
{
    struct hd_pool *pool = make_pool();
    struct hd_group blocked, placed;

    hd_group_init(&blocked);
    hd_group_init(&placed);
    for (unsigned rounds = 0; rounds < 10;) {
        struct gate gate = {.job = {.run = stand_at, .group = &blocked}};
        struct visit v = {0};

        hd_submit(pool, &gate.job);
        while (!atomic_load(&gate.blocked))
            nap();
        unsigned at = atomic_load(&gate.blocked) - 1;
        for (int i = 0; i < 30; i++)
            nap();
        if (at < hd_pool_workers(pool)) {
            submit(pool, &v, &placed, HD_ON_WORKER, at);
            hd_group_wait(pool, &placed);
            CHECK(v.ran_on >= hd_pool_workers(pool)); // a spare thread
            rounds++;
        }
        atomic_store(&gate.open, 1);
        hd_group_wait(pool, &blocked);
    }
    hd_pool_destroy(pool);
}

static void a_spare_thread_runs_what_is_for_a_blocked_worker(void)
{
    struct hd_pool *pool = make_pool();
    struct blocked blocked[6] = {0};
    struct hd_group group;

    hd_group_init(&group);
    for (int round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 6; i++) {
            blocked[i].job =
                (struct hd_job){.run = wait_blocked, .group = &group};
            hd_submit(pool, &blocked[i].job);
        }
        hd_group_wait(pool, &group);
    }
    hd_pool_destroy(pool);
}

static void the_end_of_a_pool_waits_for_them(void)
{
    for (unsigned round = 0; round < 100; round++) {
        struct hd_pool *pool = make_pool();
        struct visit visits[8] = {0};

        for (unsigned i = 0; i < 8; i++)
            submit(pool, &visits[i], NULL,
                   i < 4 ? HD_ON_WORKER : HD_ON_MODULE_OF, i % 4);
        if (round % 2)
            hd_pool_cancel(pool);
        hd_pool_destroy(pool);
        for (unsigned i = 0; i < 8; i++)
            CHECK(visits[i].status == HD_OK ||
                  (round % 2 && visits[i].status == HD_ECANCELED));
    }
}

static void a_caller_only_pool_has_one_place(void)
{
    struct hd_pool_params params = {.caller_only = true};
    struct visit visits[2] = {0};
    struct hd_group group;
    struct hd_pool *pool;

    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    hd_group_init(&group);
    submit(pool, &visits[0], &group, HD_ON_WORKER, 0);
    submit(pool, &visits[1], &group, HD_ON_MODULE_OF, 0);
    hd_group_wait(pool, &group);
    CHECK(visits[0].status == HD_OK && visits[1].status == HD_OK);
    hd_pool_destroy(pool);
}

static void look_where(struct hd_worker *worker, void *data)
{
    (void)worker;
    CHECK(sched_getaffinity(0, sizeof(cpu_set_t), data) == 0);
}

// The last processor that this process may use.
static void a_pool_runs_on_the_cores_it_is_given(void)
{
    char cores[16];
    struct hd_pool_params params = {.cores = cores};
    struct hd_pool *pool;
    cpu_set_t all, used;
    int last = 0;

    CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all))
            last = i;
    snprintf(cores, sizeof(cores), "%d", last);
    CHECK_OK(hd_pool_create(&params, &pool, &error), error);
    CHECK(hd_pool_workers(pool) == 1);
    hd_pool_run(pool, look_where, &used);
    CHECK(CPU_COUNT(&used) == 1 && CPU_ISSET(last, &used));
    hd_pool_destroy(pool);

    params.cores = "0,99999";
    CHECK_FAILS(hd_pool_create(&params, &pool, &error), HD_EINVAL, error,
                "may use");
}

static void wrong_places_are_refused(void)
{
    struct hd_pool *pool = make_pool();
    struct hd_work work = {.job = {.run = visit}};

    CHECK_FAILS(hd_submit_at(pool, &work, HD_ON_WORKER, 4, &error), HD_EINVAL,
                error, "worker 4; there are 4");
    CHECK_FAILS(hd_submit_at(pool, &work, HD_ON_MODULE_OF, 9, &error),
                HD_EINVAL, error, "worker 9");
    CHECK_FAILS(hd_submit_at(pool, &work, HD_ON_UNIT, 0, &error), HD_EINVAL,
                error, "no place for a job");
    hd_pool_destroy(pool);
}

int main(void)
{
    jobs_run_on_the_worker_named();
    jobs_of_a_module_use_all_its_workers_and_no_other();
    a_job_goes_beside_the_one_that_submits_it();
    a_worker_that_waits_for_its_own_runs_those_placed_on_it();
    a_place_without_workers_is_any_place();
    nothing_is_left_where_a_worker_goes_home();
    a_spare_thread_is_woken_for_a_blocked_worker();
    a_spare_thread_runs_what_is_for_a_blocked_worker();
    the_end_of_a_pool_waits_for_them();
    a_caller_only_pool_has_one_place();
    a_pool_runs_on_the_cores_it_is_given();
    wrong_places_are_refused();
    return 0;
}
