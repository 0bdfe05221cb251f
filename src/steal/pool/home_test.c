// Workers come and go: spare threads take the cores of blocked ones, fewer or
// more of them work, a pool stops at once or finishes, and a child of fork() is
// told.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

static void nap(unsigned us)
{
    struct timespec t = {.tv_sec = us / 1000000,
                         .tv_nsec = us % 1000000 * 1000L};
    nanosleep(&t, NULL);
}

HD_TASK(unsigned, count, unsigned, depth)
{
    if (depth == 0)
        return 1;
    hd_spawn(worker, count, depth - 1);
    unsigned n = hd_call(worker, count, depth - 1);
    return n + hd_join(worker, count);
}

// Blocking --------------------------------------------------------------------

struct meeting {
    struct hd_job job;
    atomic_uint *arrived;
    unsigned wanted;
    atomic_uint *most;
};

// Comes to its end only when all of them run at the same time.
static void meet(struct hd_worker *worker, struct hd_job *job)
{
    struct meeting *m = (struct meeting *)(void *)job;

    atomic_fetch_add(m->arrived, 1);
    hd_spawn(worker, count, 3); // whoever takes it
    hd_blocking_begin(worker);
    hd_blocking_begin(worker);
    while (atomic_load(m->arrived) < m->wanted)
        nap(50);
    hd_blocking_end(worker);
    hd_blocking_end(worker);
    CHECK(hd_join(worker, count) == 8);
    unsigned index = hd_worker_index(worker);
    CHECK(index <
          hd_pool_workers(hd_worker_pool(worker)) + HD_MAX_SPARE_THREADS);
    CHECK(hd_pool_worker(hd_worker_pool(worker)) == worker);
}

static void blocked_workers_do_not_cost_their_cores(unsigned workers)
{
    enum {
        JOBS = 10
    };
    struct hd_pool *pool = make_pool(workers);

    for (int round = 0; round < 20; round++) {
        struct meeting meetings[JOBS];
        atomic_uint arrived = 0;
        struct hd_group group;

        hd_group_init(&group);
        for (unsigned i = 0; i < JOBS; i++) {
            meetings[i] =
                (struct meeting){.job = {.run = meet, .group = &group},
                                 .arrived = &arrived,
                                 .wanted = JOBS};
            hd_submit(pool, &meetings[i].job);
        }
        hd_group_wait(pool, &group);
    }
    hd_pool_destroy(pool);
}

static atomic_int running, most;

static void work_a_little(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker;
    (void)job;
    int now = atomic_fetch_add(&running, 1) + 1;
    for (int m = atomic_load(&most); m < now;)
        if (atomic_compare_exchange_weak(&most, &m, now))
            break;
    nap(300);
    atomic_fetch_sub(&running, 1);
}

static int most_at_once(struct hd_pool *pool, unsigned jobs)
{
    struct hd_job *list = calloc(jobs, sizeof(*list));
    struct hd_group group;

    atomic_store(&most, 0);
    hd_group_init(&group);
    for (unsigned i = 0; i < jobs; i++) {
        list[i] = (struct hd_job){.run = work_a_little, .group = &group};
        hd_submit(pool, &list[i]);
    }
    hd_group_wait(pool, &group);
    free(list);
    return atomic_load(&most);
}

// Those that are wanted no more finish what they have begun, which may take a
// while; then one works.
static void one_works_at_last(struct hd_pool *pool)
{
    while (most_at_once(pool, 10) != 1)
        nap(1000);
}

static void block_once(struct hd_worker *worker, void *data)
{
    (void)data;
    hd_blocking_begin(worker);
    nap(2000);
    hd_blocking_end(worker);
}

static void the_core_is_given_back(void)
{
    struct hd_pool *pool = make_pool(1);

    for (int i = 0; i < 20; i++) {
        hd_pool_run(pool, block_once, NULL);
        one_works_at_last(pool); // the spare thread goes home
    }
    hd_pool_destroy(pool);
}

// What a new spare thread runs first finds itself among the workers: a wait of
// its runs what it waits for.
struct first {
    struct hd_job job;
    atomic_bool done;
};

static void run_first(struct hd_worker *worker, struct hd_job *job)
{
    struct first *first = (struct first *)(void *)job;

    CHECK(hd_pool_worker(hd_worker_pool(worker)) == worker);
    atomic_store(&first->done, true);
}

static void wait_for_first(struct hd_worker *worker, void *data)
{
    struct first *first = data;

    hd_submit(hd_worker_pool(worker), &first->job);
    hd_blocking_begin(worker);
    while (!atomic_load(&first->done))
        sched_yield();
    hd_blocking_end(worker);
}

static void a_new_spare_thread_is_a_worker(void)
{
    for (int i = 0; i < 200; i++) {
        struct hd_pool *pool = make_pool(1);
        struct first first = {.job = {.run = run_first}};
        hd_pool_run(pool, wait_for_first, &first);
        hd_pool_destroy(pool);
    }
}

// Fewer and more --------------------------------------------------------------

static void a_pool_shrinks_and_grows(void)
{
    struct hd_pool *pool = make_pool(4);

    CHECK_FAILS(hd_pool_resize(pool, 0, &error), HD_EINVAL, error, "1 to 4");
    CHECK_FAILS(hd_pool_resize(pool, 5, &error), HD_EINVAL, error, "1 to 4");
    for (int i = 0; i < 5; i++) {
        CHECK_OK(hd_pool_resize(pool, 1, &error), error);
        one_works_at_last(pool);
        CHECK_OK(hd_pool_resize(pool, 3, &error), error);
        nap(1000);
        int at_once = most_at_once(pool, 100);
        CHECK(at_once == 2 || at_once == 3);
        CHECK_OK(hd_pool_resize(pool, 4, &error), error);
    }
    CHECK_OK(hd_pool_resize(pool, 1, &error), error);
    hd_pool_destroy(pool);
}

static void run_count(struct hd_worker *worker, void *result)
{
    *(unsigned *)result = hd_call(worker, count, 14);
}

static void *resize_wildly(void *data)
{
    struct hd_pool *pool = ((void **)data)[0];
    atomic_bool *stop = ((void **)data)[1];

    for (unsigned i = 0; !atomic_load(stop); i++) {
        CHECK(hd_pool_resize(pool, 1 + i * 7 % 4, NULL) == HD_OK);
        if (i % 8 == 0)
            nap(30);
    }
    return NULL;
}

struct heap {
    struct hd_group group;
    struct hd_job jobs[40];
};

static void count_job(struct hd_worker *worker, struct hd_job *job)
{
    (void)job;
    CHECK(hd_call(worker, count, 4) == 16);
}

// Leaves jobs in the queue of its worker, which may go home now.
static void leave_jobs(struct hd_worker *worker, void *data)
{
    struct heap *heap = data;

    for (int i = 0; i < 40; i++) {
        heap->jobs[i] =
            (struct hd_job){.run = count_job, .group = &heap->group};
        hd_submit(hd_worker_pool(worker), &heap->jobs[i]);
    }
}

static void jobs_of_one_who_goes_home_are_done_by_others(void)
{
    struct hd_pool *pool = make_pool(2);

    for (int i = 0; i < 2000; i++) {
        struct heap heap;
        hd_group_init(&heap.group);
        CHECK(hd_pool_resize(pool, 2, NULL) == HD_OK);
        hd_pool_run(pool, leave_jobs, &heap);
        CHECK(hd_pool_resize(pool, 1, NULL) == HD_OK);
        hd_group_wait(pool, &heap.group);
    }
    hd_pool_destroy(pool);
}

static void nothing_is_lost_meanwhile(void)
{
    struct hd_pool *pool = make_pool(4);
    atomic_bool stop = false;
    void *data[] = {pool, &stop};
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, resize_wildly, data) == 0);
    for (int i = 0; i < 100; i++) {
        unsigned result = 0;
        hd_pool_run(pool, run_count, &result);
        CHECK(result == 1 << 14);
        CHECK(most_at_once(pool, 3) <= 3);
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    hd_pool_destroy(pool);
}

// The end ---------------------------------------------------------------------

struct told {
    struct hd_work work;
    atomic_uint *ran, *dropped;
};

static void run_told(struct hd_worker *worker, struct hd_job *job)
{
    (void)worker;
    atomic_fetch_add(((struct told *)(void *)job)->ran, 1);
    nap(100);
}

static void hear(struct hd_worker *worker, struct hd_work *work,
                 hd_status status)
{
    (void)worker;
    if (status == HD_ECANCELED)
        atomic_fetch_add(((struct told *)(void *)work)->dropped, 1);
    free(work);
}

static void a_pool_finishes_or_cancels(bool cancel)
{
    enum {
        JOBS = 1000
    };
    struct hd_pool *pool = make_pool(2);
    atomic_uint ran = 0, dropped = 0;

    for (int i = 0; i < JOBS; i++) {
        struct told *told = calloc(1, sizeof(*told));
        told->work.job.run = run_told;
        told->work.done = hear;
        told->work.priority = (enum hd_priority)(i % 3);
        told->ran = &ran;
        told->dropped = &dropped;
        hd_submit_work(pool, &told->work);
    }
    if (cancel) {
        unsigned result = 0;
        hd_pool_cancel(pool);
        hd_pool_run(pool, run_count, &result); // called, though it forks less
        CHECK(result > 0);
    }
    hd_pool_destroy(pool);
    CHECK(atomic_load(&ran) + atomic_load(&dropped) == JOBS);
    CHECK(cancel ? atomic_load(&dropped) > JOBS / 2
                 : atomic_load(&dropped) == 0);
}

// Unrelated work --------------------------------------------------------------

struct locked {
    pthread_mutex_t lock;
    struct hd_pool *pool;
    atomic_uint done;
};

struct locking {
    struct hd_job job;
    struct locked *locked;
    struct hd_group own;
    struct hd_job inner[3];
};

static void count_inner(struct hd_worker *worker, struct hd_job *job)
{
    (void)job;
    CHECK(hd_call(worker, count, 5) == 32);
}

// Holds the lock that every other job wants, and waits for jobs of its own.
static void hold_and_wait(struct hd_worker *worker, struct hd_job *job)
{
    struct locking *l = (struct locking *)(void *)job;

    (void)worker;
    CHECK(pthread_mutex_lock(&l->locked->lock) == 0); // refuses a second time
    hd_group_init(&l->own);
    for (int i = 0; i < 3; i++) {
        l->inner[i] = (struct hd_job){.run = count_inner, .group = &l->own};
        hd_submit(l->locked->pool, &l->inner[i]);
    }
    hd_group_wait_own(l->locked->pool, &l->own);
    atomic_fetch_add(&l->locked->done, 1);
    pthread_mutex_unlock(&l->locked->lock);
}

static void a_waiter_may_refuse_other_work(unsigned workers)
{
    enum {
        JOBS = 300
    };
    static struct locking jobs[JOBS];
    struct locked locked = {.pool = make_pool(workers)};
    pthread_mutexattr_t checked;
    struct hd_group group;

    pthread_mutexattr_init(&checked);
    pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&locked.lock, &checked);
    hd_group_init(&group);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct locking){
            .job = {.run = hold_and_wait, .group = &group}, .locked = &locked};
        hd_submit(locked.pool, &jobs[i].job);
    }
    hd_group_wait(locked.pool, &group);
    CHECK(atomic_load(&locked.done) == JOBS);
    hd_pool_destroy(locked.pool);
    pthread_mutex_destroy(&locked.lock);
    pthread_mutexattr_destroy(&checked);
}

// fork() ----------------------------------------------------------------------

static void a_child_is_told(void)
{
    struct hd_pool *pool = make_pool(2);
    unsigned result;

    hd_pool_run(pool, run_count, &result);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        alarm(20);
        hd_pool_run(pool, run_count, &result);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);

    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(20);
        hd_pool_destroy(pool);
        _exit(7);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);

    hd_pool_run(pool, run_count, &result); // here nothing has changed
    CHECK(result == 1 << 14);
    hd_pool_destroy(pool);
}

int main(void)
{
    for (unsigned workers = 1; workers <= 3; workers++) {
        blocked_workers_do_not_cost_their_cores(workers);
        a_waiter_may_refuse_other_work(workers);
    }
    the_core_is_given_back();
    a_new_spare_thread_is_a_worker();
    a_pool_shrinks_and_grows();
    jobs_of_one_who_goes_home_are_done_by_others();
    nothing_is_lost_meanwhile();
    a_pool_finishes_or_cancels(false);
    a_pool_finishes_or_cancels(true);
    a_child_is_told();
    return 0;
}
