// What a pool and its workers are inside; for the rooms of steal only.
#ifndef HDI_STEAL_WORKER_STATE_H
#define HDI_STEAL_WORKER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "heddle/task.h"
#include "steal/event.h"
#include "steal/queue/deque.h"
#include "steal/queue/inbox.h"
#include "steal/queue/stack.h"
#include "steal/worker.h"
#include "steal/worker/gang.h"
#include "steal/worker/idle.h"
#include "steal/worker/origin.h"
#include "steal/worker/placed.h"
#include "steal/worker/scope.h"
#include "steal/worker/victims.h"

// What a worker without work would run. A join runs tasks of any worker, but no
// jobs: those may block for something that waits for the very join, and they
// would lie on top of it. Deep inside joins only what the thief forked is run,
// so that unrelated work does not pile up on the thread's stack.
enum hdi_appetite {
    HDI_ANYTHING,
    HDI_TASKS,
    HDI_THIEF,
    HDI_APPETITES
};

// Written by the worker only, read by anybody (relaxed).
struct hdi_counters {
    _Atomic uint64_t stolen, failed, parks, parked, leaves, groups, busy;
};

struct hd_worker {
    struct hdi_stack stack; // first: the macros use it
    struct hd_pool *pool;
    unsigned index;
    // The worker whose core it works on: itself, or whom it stands in for.
    _Atomic unsigned core_of;
    unsigned depth;  // tasks and jobs running inside waits
    unsigned turn;   // looks for work so far
    uint32_t random; // never 0
    struct hdi_victims victims;
    struct hdi_scopes scopes;
    struct hdi_deque jobs;
    struct hdi_spent spent; // records of events
    struct {
        struct hd_group *group;
        unsigned count;
    } left; // so many events of this group have ended, and it was not told
    uint64_t
        now; // when an event ended here, if nothing has followed [ns]; or 0
    _Alignas(64) struct hdi_counters counters;
    _Atomic(struct hdi_track *) track;
    // Set while parked in hd_group_wait(), and before its bit in `idle`.
    atomic_bool in_group_wait;
    _Atomic uint32_t wanted; // futex: 0 to go home, see home.c
    _Atomic uint32_t guests; // threads outside that sleep on its core
    pthread_t thread;
    // Under the pool's lock; a spare thread is lent until it is home again.
    bool lent, at_home;
    unsigned blocked;               // nested blocking regions
    struct hd_worker *spare_thread; // whoever works while this one is blocked
};

struct hd_pool {
    unsigned worker_count;
    bool caller_only;
    // Threads of others on the workers' cores. Together more than cores: who
    // only looks takes time from those who work.
    _Atomic unsigned guests;
    const struct hdi_topology *topology;
    struct hdi_topology *own_topology; // or NULL
    bool pinned;                       // worker i to core i
    bool started;                      // its threads
    struct hd_worker *workers;         // its own, then spare threads
    _Atomic unsigned slots;            // how many of them there are
    pthread_mutex_t lock;              // who is wanted, who is lent
    _Atomic unsigned size;             // so many of its own are wanted
    struct hdi_gangs gangs;
    struct hdi_origin origin;

    // The thread that each worker is, 0 for none. In a caller-only pool the one
    // entry is also the lock of the worker's seat.
    _Atomic uintptr_t *threads;

    struct hdi_idle idle[HDI_APPETITES]; // by what those in it would run
    struct hdi_inbox inbox, urgent, later;
    struct hdi_placed placed;
    struct hdi_events events;

    // Shutting down: the worker that parks last with nothing to see ends it.
    _Alignas(
        64) _Atomic unsigned awake; // workers not parked in their main loop
    atomic_bool stopping, finished;

    struct hd_group all;            // everything; cancelled or not
    struct hdi_listener *listeners; // told of cancellations

    // Of a fork and a join of a public task [ns]; 0 until it is measured.
    _Atomic uint64_t overhead;

    // Threads that wait for the seat of a caller-only pool, or for jobs of one
    // group only.
    _Alignas(64) _Atomic uint32_t bell; // futex: counts rings
    _Atomic uint32_t bell_waiters;
};

// The worker whose core this worker works on.
static inline unsigned hdi_worker_core_of(const struct hd_worker *worker)
{
    return atomic_load_explicit(&worker->core_of, memory_order_relaxed);
}

// What a worker waits for.
struct hdi_goal {
    enum {
        HDI_UNTIL_HOME,   // the pool is finished, or this worker not wanted
        HDI_UNTIL_JOINED, // `task` was stolen and is done
        HDI_UNTIL_GROUP   // `group` is done
    } kind;
    struct hd_task_ *task;
    struct hd_group *group;
};

static inline unsigned hdi_pool_slots(const struct hd_pool *pool)
{
    return atomic_load_explicit(&pool->slots, memory_order_acquire);
}

// A worker's parts but its thread. False without memory.
bool hdi_worker_init(struct hd_pool *pool, unsigned index);
void hdi_worker_destroy(struct hd_worker *worker);

// What its thread does.
void *hdi_worker_main(void *worker);

// Let a worker that is at home leave it: to work, or for good; or all.
void hdi_worker_want(struct hd_worker *worker);
void hdi_pool_call_all(struct hd_pool *pool);

// Count as awake no more, and see to it that somebody is.
void hdi_worker_retire(struct hd_worker *worker);

// End the program in a child of fork(), which has no workers to wait for.
void hdi_pool_check_origin(const struct hd_pool *pool);

// The job by which hd_pool_run() calls in, and its function. It lies on the
// caller's stack, which waits until it has run.
struct hdi_visit {
    struct hd_job job; // first
    void (*function)(struct hd_worker *worker, void *data);
    void *data;
};

void hdi_run_visit(struct hd_worker *worker, struct hd_job *job);

// Run other work until the goal is reached; parks when there is none.
void hdi_worker_wait(struct hd_worker *worker, const struct hdi_goal *goal);

// Run this job, which was taken from a queue.
void hdi_worker_run(struct hd_worker *worker, struct hd_job *job);

// Tell the group whose events this worker has run.
void hdi_worker_settle(struct hd_worker *worker);

// Run whatever there is until nothing is to be seen; the only worker.
void hdi_worker_drain(struct hd_worker *worker);

// Run one task or job of anybody's; false when there is none.
bool hdi_worker_run_one(struct hd_worker *worker);

// As hd_submit(), by priority.
void hdi_submit_by_priority(struct hd_pool *pool, struct hd_job *job,
                            enum hd_priority priority);

// As hd_group_wait(), but not after `deadline` [ns], UINT64_MAX: none. Whether
// the group is done.
bool hdi_group_wait_until(struct hd_pool *pool, struct hd_group *group,
                          uint64_t deadline);

// Sleep until the group is done, the deadline, or for a moment [ns].
void hdi_group_nap(struct hd_group *group, uint64_t deadline, uint64_t moment);

// Wait for an event, held, on this worker, until it has ended or the deadline;
// whether it has.
bool hdi_worker_await(struct hd_worker *worker, struct hdi_event *e,
                      hd_event event, uint64_t deadline);

// The function of a job inside of a hd_work, which hdi_work_wrap() puts there,
// and what else may become of it.
void hdi_work_wrap(struct hd_pool *pool, struct hd_work *work);
void hdi_run_work(struct hd_worker *worker, struct hd_job *job);
void hdi_drop_work(struct hd_worker *worker, struct hd_job *job);

// Let every worker that is at work look whether it was cancelled.
void hdi_pool_poke(struct hd_pool *pool);

// The innermost frame was entered, left or cancelled.
void hdi_worker_look(struct hd_worker *worker);

// Somebody look at a new job; from any thread.
void hdi_pool_tell(struct hd_pool *pool, unsigned near);

// Something that the threads at the bell wait for may have come.
void hdi_pool_ring(struct hd_pool *pool);

#endif
