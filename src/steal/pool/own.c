// Waiting for a group without running anything else: for who holds a lock.
//
// Jobs are not sorted by group, so the waiter looks through the queues. What it
// finds there and must not run it moves to the pool's inbox, for the others. It
// looks into all queues, also those of workers that could run the jobs
// themselves: these may be joining a task that waits for them.
//
// It sleeps on the pool's bell, which is rung for every job that is submitted
// and every group that is done while anybody waits for it. Both sides first
// write and then look, as in idle.h.
#include "base/futex.h"
#include "steal/group.h"
#include "steal/worker/state.h"

enum {
    ROUNDS = 200 // of looking, then sleep
};

// Ends at the first job of the group; those before it are moved.
static struct hd_job *take_from_queue(struct hd_pool *pool,
                                      struct hdi_deque *jobs,
                                      const struct hd_group *group)
{
    struct hd_job *job;
    bool moved = false;

    while ((job = hdi_deque_steal(jobs)) && job->group != group) {
        hdi_inbox_push(&pool->inbox, job);
        moved = true;
    }
    if (moved)
        hdi_pool_tell(pool, 0);
    return job;
}

static struct hd_job *take(struct hd_worker *worker,
                           const struct hd_group *group)
{
    struct hd_pool *pool = worker->pool;
    struct hd_job *job = hdi_inbox_pop_of(&pool->urgent, group);

    if (!job)
        job = hdi_inbox_pop_of(&pool->inbox, group);
    if (!job)
        job = hdi_inbox_pop_of(&pool->later, group);
    if (!job)
        job = hdi_placed_pop_of(worker, group);
    for (unsigned i = 0; !job && i < hdi_pool_slots(pool); i++)
        job = take_from_queue(pool, &pool->workers[i].jobs, group);
    return job;
}

// A job, or NULL after some sleep.
static struct hd_job *sleep_for_bell(struct hd_worker *worker,
                                     struct hd_group *group)
{
    struct hd_pool *pool = worker->pool;

    atomic_fetch_add_explicit(&pool->bell_waiters, 1, memory_order_seq_cst);
    uint32_t bell = atomic_load_explicit(&pool->bell, memory_order_seq_cst);
    bool is_done = hdi_group_mark(group) == 0;
    hdi_fence(memory_order_seq_cst); // against hdi_pool_ring()'s
    struct hd_job *job = is_done ? NULL : take(worker, group);
    if (!job && !is_done)
        hdi_futex_wait(&pool->bell, bell);
    atomic_fetch_sub_explicit(&pool->bell_waiters, 1, memory_order_seq_cst);
    return job;
}

void hd_group_wait_own(struct hd_pool *pool, struct hd_group *group)
{
    struct hd_worker *worker = hd_pool_worker(pool);

    if (!worker) {
        hd_group_wait(pool, group);
        return;
    }
    hdi_pool_check_origin(pool);
    hd_publish(worker);
    for (unsigned round = 0; !hdi_group_done(group); round++) {
        struct hd_job *job = take(worker, group);
        if (!job && round >= ROUNDS)
            job = sleep_for_bell(worker, group);
        if (job) {
            hdi_worker_run(worker, job);
            round = 0;
        } else {
            hdi_pause();
        }
    }
}
