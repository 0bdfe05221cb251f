// Which workers are wanted: fewer or more of them while the pool runs, and
// spare threads that take the cores of blocked ones.
//
// A worker that is not wanted goes home when it has nothing left to finish: it
// leaves its main loop (the wait for the pool's end), lets others have the jobs
// in its queue, and sleeps until it is wanted again. It alone counts itself as
// awake, so the count cannot be wrong however often others change their minds.
//
// Spare threads are workers beyond the pool's own number, made when first
// needed and kept. They are counted in `slots`, which only grows, after
// everything of theirs is ready.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/log.h"
#include "steal/worker/state.h"

static bool is_finished(struct hd_pool *pool)
{
    return atomic_load_explicit(&pool->finished, memory_order_acquire);
}

static bool is_wanted(struct hd_worker *worker)
{
    return atomic_load_explicit(&worker->wanted, memory_order_acquire) != 0;
}

// It leaves when it has finished what it is at; parked, it is woken to see
// that.
static void send_home(struct hd_worker *worker)
{
    atomic_store_explicit(&worker->wanted, 0, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    hdi_idle_wake(&worker->pool->idle[HDI_ANYTHING], worker->index);
}

// Asleep at home. Returns when wanted, or the pool is finished.
// Its own jobs go to the inbox before it counts as away, since nobody looks for
// a worker that sleeps here. `at_home` and `lent` are guarded by the pool's
// lock, so a lender knows whether the thread has left.
static void stay_home(struct hd_worker *worker)
{
    struct hd_pool *pool = worker->pool;
    struct hd_job *job;

    while ((job = hdi_deque_steal(&worker->jobs)))
        hdi_inbox_push(&pool->inbox, job);
    hdi_worker_retire(worker);
    pthread_mutex_lock(&pool->lock);
    worker->at_home = true;
    worker->lent = false;
    while (!is_finished(pool) && !is_wanted(worker)) {
        pthread_mutex_unlock(&pool->lock);
        hdi_futex_wait(&worker->wanted, 0);
        pthread_mutex_lock(&pool->lock);
    }
    worker->at_home = false;
    pthread_mutex_unlock(&pool->lock);
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_seq_cst);
}

void *hdi_worker_main(void *data)
{
    static const struct hdi_goal home = {.kind = HDI_UNTIL_HOME};
    struct hd_worker *worker = data;

    atomic_store_explicit(&worker->pool->threads[worker->index],
                          (uintptr_t)pthread_self(), memory_order_relaxed);
    // Who makes a spare thread has the lock until it is counted: before that,
    // what it runs would take its thread for one from outside.
    pthread_mutex_lock(&worker->pool->lock);
    pthread_mutex_unlock(&worker->pool->lock);
    for (;;) {
        hdi_worker_wait(worker, &home);
        if (is_finished(worker->pool))
            return NULL;
        stay_home(worker);
    }
}

// The last ones go home first, so those who work are always 0 to `workers` - 1.
// What was for them alone is given to all (hdi_placed_release()).
hd_status hd_pool_resize(struct hd_pool *pool, unsigned workers,
                         struct hd_error *error)
{
    if (workers < 1 || workers > pool->worker_count)
        return hdi_fail(error, HD_EINVAL,
                        "%u workers cannot work in a pool that was made for "
                        "1 to %u",
                        workers, pool->worker_count);
    if (pool->caller_only)
        return HD_OK;

    pthread_mutex_lock(&pool->lock);
    atomic_store_explicit(&pool->size, workers, memory_order_seq_cst);
    for (unsigned i = 0; i < pool->worker_count; i++) {
        if (i < workers)
            hdi_worker_want(&pool->workers[i]);
        else
            send_home(&pool->workers[i]);
    }
    pthread_mutex_unlock(&pool->lock);
    hdi_placed_release(pool);
    // What they leave, and what was told to them, is for those who stay.
    hdi_pool_tell(pool, 0);
    hdi_gangs_tell(&pool->gangs);
    return HD_OK;
}

// Spare threads ---------------------------------------------------------------

// A new one, at home; NULL without memory or threads. Under the lock.
static struct hd_worker *make_spare_thread(struct hd_pool *pool)
{
    unsigned index = hdi_pool_slots(pool);
    if (index == pool->worker_count + HD_MAX_SPARE_THREADS)
        return NULL;

    struct hd_worker *worker = &pool->workers[index];
    char name[32];
    if (!hdi_worker_init(pool, index))
        return NULL;
    // Others may lie asleep that did not know whom to ask.
    hdi_stack_ask(&worker->stack);
    snprintf(name, sizeof(name), "heddle %u", index);
    atomic_fetch_add_explicit(&pool->awake, 1, memory_order_seq_cst);
    if (hdi_thread_start(pool->topology, UINT_MAX, name, hdi_worker_main,
                         worker, &worker->thread) != HD_OK) {
        atomic_fetch_sub_explicit(&pool->awake, 1, memory_order_seq_cst);
        hdi_worker_destroy(worker);
        return NULL;
    }
    atomic_store_explicit(&pool->slots, index + 1, memory_order_release);
    return worker;
}

// NULL: none is free, and no more can be made.
static struct hd_worker *lend_spare_thread(struct hd_pool *pool,
                                           unsigned core_of)
{
    struct hd_worker *worker = NULL;

    pthread_mutex_lock(&pool->lock);
    for (unsigned i = pool->worker_count; i < hdi_pool_slots(pool); i++)
        if (!pool->workers[i].lent)
            worker = &pool->workers[i];
    if (!worker)
        worker = make_spare_thread(pool);
    if (worker) {
        worker->lent = true;
        atomic_store_explicit(&worker->core_of, core_of, memory_order_relaxed);
    }
    pthread_mutex_unlock(&pool->lock);
    return worker;
}

// What was forked is made public before: the spare thread, or others, may take
// it. Without a spare thread the core stays idle meanwhile, no more.
void hd_blocking_begin(struct hd_worker *worker)
{
    struct hd_pool *pool = worker->pool;
    cpu_set_t cores;

    if (worker->blocked++ > 0)
        return;
    hd_publish(worker);
    if (pool->caller_only)
        return;
    worker->spare_thread = lend_spare_thread(pool, hdi_worker_core_of(worker));
    if (!worker->spare_thread) {
        hdi_debug("no spare thread for worker %u", worker->index);
        return;
    }
    if (pthread_getaffinity_np(pthread_self(), sizeof(cores), &cores) == 0)
        pthread_setaffinity_np(worker->spare_thread->thread, sizeof(cores),
                               &cores);
    hdi_worker_want(worker->spare_thread);
}

// The spare thread finishes what it is at, so for a while there may be two
// threads on the core.
void hd_blocking_end(struct hd_worker *worker)
{
    if (worker->blocked == 0) {
        hdi_error("a blocking region ended that had not begun");
        abort();
    }
    if (--worker->blocked > 0 || !worker->spare_thread)
        return;
    pthread_mutex_lock(&worker->pool->lock);
    send_home(worker->spare_thread);
    if (worker->spare_thread->at_home)
        worker->spare_thread->lent = false; // it has not even left
    pthread_mutex_unlock(&worker->pool->lock);
    worker->spare_thread = NULL;
}
