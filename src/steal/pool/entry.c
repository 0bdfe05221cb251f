// The ways in from other threads: submitting, waiting, calling in.
//
// A pool with threads takes outside work through its inbox and lets the caller
// sleep. In a caller-only pool the caller takes the seat and works.
#include <limits.h>

#include "base/futex.h"
#include "steal/group.h"
#include "steal/pool/seat.h"
#include "steal/worker/state.h"

enum {
    WATCH_TIME = 10000,  // a thread outside waits awake so long [ns]
    WATCH_LOOKS = 16,    // between two at the clock
    NAP = 100000,        // of a worker with a deadline [ns]
    LONG_NAP = 900000000 // of another thread
};

// The worker whose core this thread is on; UINT_MAX when none has it.
static unsigned worker_here(const struct hd_pool *pool)
{
    unsigned core = pool->pinned ? hdi_topology_here(pool->topology) : UINT_MAX;

    return core < pool->worker_count ? core : UINT_MAX;
}

void hdi_pool_rouse(struct hd_pool *pool)
{
    struct hdi_idle *idle = &pool->idle[HDI_ANYTHING];

    if (hdi_idle_searching(idle) > 0 || !hdi_idle_parked(idle))
        return;
    unsigned here = worker_here(pool);
    hdi_idle_wake_one(idle,
                      here == UINT_MAX ? 0 : (here + 1) % pool->worker_count);
}

static bool is_awake(const struct hd_pool *pool, unsigned worker)
{
    for (unsigned i = 0; i < HDI_APPETITES; i++)
        if (hdi_idle_is_parked(&pool->idle[i], worker))
            return false;
    return true;
}

// A worker's own queue first: near, and without contention. When that is full
// the inbox takes it.
void hd_submit(struct hd_pool *pool, struct hd_job *job)
{
    hdi_pool_check_origin(pool);
    struct hd_worker *worker = hd_pool_worker(pool);

    if (job->group)
        hdi_group_enter(job->group);
    if (!worker || !hdi_deque_push(&worker->jobs, job))
        hdi_inbox_push(&pool->inbox, job);
    hdi_pool_tell(pool, worker ? worker->index : 0);
}

// Others may have the seat, and do the work meanwhile.
static void wait_in_seat(struct hd_pool *pool, const struct hdi_goal *goal)
{
    while (!hdi_group_done(goal->group)) {
        if (!hdi_seat_take(pool)) {
            hdi_seat_await(pool, goal->group);
            continue;
        }
        hdi_worker_wait(&pool->workers[0], goal);
        hdi_seat_leave(pool);
    }
}

// Look at the group for as long as falling asleep and being woken would take.
// Yielding between looks would give the core to a worker that searches, for all
// the time it searches. But a worker that is awake can only have this core, so
// looking keeps it from the work. True: it is done.
static bool watch(const struct hd_pool *pool, struct hd_group *group)
{
    uint64_t begin = hdi_now();
    unsigned here = worker_here(pool);

    if (here != UINT_MAX && is_awake(pool, here))
        return hdi_group_done(group);

    do {
        for (int i = 0; i < WATCH_LOOKS; i++) {
            if (hdi_group_done(group))
                return true;
            hdi_pause();
        }
    } while (hdi_now() - begin < WATCH_TIME);
    return false;
}

// On the core of a worker, which leaves it as soon as another has woken us.
static void sleep_outside(struct hd_pool *pool, struct hd_group *group)
{
    unsigned here = worker_here(pool);
    _Atomic uint32_t *guests =
        here == UINT_MAX ? NULL : &pool->workers[here].guests;

    if (guests)
        atomic_fetch_add_explicit(guests, 1, memory_order_relaxed);
    for (uint64_t word; (word = hdi_group_mark(group)) != 0;)
        hdi_futex_wait(hdi_group_futex(group), (uint32_t)word);
    if (guests)
        atomic_fetch_sub_explicit(guests, 1, memory_order_relaxed);
}

// A worker works; in a caller-only pool this thread becomes one; others watch
// for a moment, then sleep.
void hd_group_wait(struct hd_pool *pool, struct hd_group *group)
{
    const struct hdi_goal goal = {.kind = HDI_UNTIL_GROUP, .group = group};
    struct hd_worker *worker = hd_pool_worker(pool);

    hdi_pool_check_origin(pool);
    if (worker) {
        hdi_worker_wait(worker, &goal);
        return;
    }
    if (pool->caller_only) {
        wait_in_seat(pool, &goal);
        return;
    }
    if (watch(pool, group))
        return;
    sleep_outside(pool, group);
}

static bool is_over(uint64_t deadline)
{
    return hdi_now() >= deadline;
}

// Until it changes, the deadline, or for a moment.
void hdi_group_nap(struct hd_group *group, uint64_t deadline, uint64_t moment)
{
    uint64_t now = hdi_now();
    uint64_t word = now < deadline ? hdi_group_mark(group) : 0;

    if (word == 0)
        return;
    if (deadline - now < moment)
        moment = deadline - now;
    hdi_futex_wait_for(hdi_group_futex(group), (uint32_t)word, (long)moment);
}

static void work_until(struct hd_worker *worker, struct hd_group *group,
                       uint64_t deadline)
{
    hd_publish(worker);
    while (!hdi_group_done(group) && !is_over(deadline))
        if (!hdi_worker_run_one(worker))
            hdi_group_nap(group, deadline, NAP);
}

// A worker sleeps in short naps only, since it may be needed for other work.
bool hdi_group_wait_until(struct hd_pool *pool, struct hd_group *group,
                          uint64_t deadline)
{
    struct hd_worker *worker = hd_pool_worker(pool);

    if (deadline == UINT64_MAX) {
        hd_group_wait(pool, group);
        return true;
    }
    hdi_pool_check_origin(pool);
    if (worker)
        work_until(worker, group, deadline);
    else if (!pool->caller_only && !is_over(deadline))
        watch(pool, group);
    while (!worker && !hdi_group_done(group) && !is_over(deadline)) {
        if (pool->caller_only && hdi_seat_take(pool)) {
            work_until(&pool->workers[0], group, deadline);
            hdi_seat_leave(pool);
        } else {
            hdi_group_nap(group, deadline, pool->caller_only ? NAP : LONG_NAP);
        }
    }
    return hdi_group_done(group);
}

void hd_pool_run(struct hd_pool *pool,
                 void (*function)(struct hd_worker *worker, void *data),
                 void *data)
{
    struct hd_worker *worker = hd_pool_worker(pool);

    if (worker) {
        function(worker, data);
    } else if (pool->caller_only) {
        while (!hdi_seat_take(pool))
            hdi_seat_await(pool, NULL);
        function(&pool->workers[0], data);
        hdi_seat_leave(pool);
    } else {
        struct hd_group group;
        struct hdi_visit visit = {
            .job = {.run = hdi_run_visit, .group = &group},
            .function = function,
            .data = data};
        hd_group_init(&group);
        hdi_pool_check_origin(pool);
        hdi_group_enter(&group);
        hdi_inbox_push(&pool->inbox, &visit.job);
        // This thread is about to sleep: its own core is awake already, which
        // another one takes several times as long to become.
        unsigned here = worker_here(pool);
        hdi_pool_tell(pool, here == UINT_MAX ? 0 : here);
        hd_group_wait(pool, &group);
    }
}
