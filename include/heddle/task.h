// Fork/join tasks and jobs on a pool of work-stealing workers.
//
// Usable alone: a pool knows no kernel, no graph and no GPU.
//
//     HD_TASK(uint64_t, fib, int, n)           // fib(worker, n) is a task
//     {
//         if (n < 2)
//             return (uint64_t)n;
//         hd_spawn(worker, fib, n - 1);        // may run elsewhere
//         uint64_t b = hd_call(worker, fib, n - 2);
//         return hd_join(worker, fib) + b;     // joins the newest spawn
//     }
//
// A task is forked and joined inside another task, strictly nested, without
// allocation. A job is independent work handed in from any thread and counted
// by a group.
#ifndef HEDDLE_TASK_H
#define HEDDLE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_pool;   // workers and what they share
struct hd_worker; // a thread pinned to one core that owns a task stack

struct hd_pool_params {
    unsigned workers;     // 0: one per core this process may use
    bool caller_only;     // no threads: the caller of each function works
    bool unpinned;        // leave the placement of threads to the system
    const char *topology; // hwloc synthetic description; NULL: this machine
};

/// Start the workers. `params` may be NULL for the defaults.
///
/// Errors:  HD_EINVAL (more workers than 1 with caller_only; a topology that
///          does not parse), HD_ENOMEM, HD_ELIMIT (threads)
/// Owner:   the caller; hd_pool_destroy()
/// Threads: any; pools are independent of each other
HD_API hd_status hd_pool_create(const struct hd_pool_params *params,
                                struct hd_pool **pool, struct hd_error *error);

/// Finish all submitted jobs, stop the workers, free the pool. NULL is allowed.
///
/// Threads: one that is no worker of this pool; nobody may use the pool after
HD_API void hd_pool_destroy(struct hd_pool *pool);

HD_API unsigned hd_pool_workers(const struct hd_pool *pool);

/// Return the worker of `pool` that the calling thread is, or NULL.
///
/// Threads: any
HD_API struct hd_worker *hd_pool_worker(const struct hd_pool *pool);

HD_API struct hd_pool *hd_worker_pool(const struct hd_worker *worker);

/// Return the worker's number, 0 to hd_pool_workers() - 1.
HD_API unsigned hd_worker_index(const struct hd_worker *worker);

/// Run `function(worker, data)` on a worker and wait until it has returned.
/// The way into the pool from outside: the function may fork and join. Called
/// from a worker of the pool it is a plain call.
///
/// Threads: any
HD_API void hd_pool_run(struct hd_pool *pool,
                        void (*function)(struct hd_worker *worker, void *data),
                        void *data);

/// Let idle workers take every task that was spawned so far and not joined.
/// Call it before something long that spawns nothing: a big leaf, a call that
/// blocks. It costs a nanosecond or two when there is nothing to let go.
///
/// Threads: the worker's own
HD_API void hd_publish(struct hd_worker *worker);

// Jobs --------------------------------------------------------------------

/// Counts the unfinished jobs that were submitted to it.
struct hd_group {
    struct hd_group_state_ {
        uint64_t word[4];
    } state_; // private; see hd_group_init()
};

/// Work for any worker. The memory is the caller's and must stay until `run`
/// starts; the pool does not touch it afterwards, so `run` may free it.
struct hd_job {
    void (*run)(struct hd_worker *worker, struct hd_job *job);
    struct hd_group *group; // counts the job from submit to return; optional
    struct hd_job *next_;   // private
};

HD_API void hd_group_init(struct hd_group *group);

/// Hand in a job. From a worker of the pool it goes to that worker's own queue,
/// else to the pool's; any worker may take it. In a caller-only pool it waits
/// until the caller waits for a group or destroys the pool.
///
/// Threads: any; never blocks
HD_API void hd_submit(struct hd_pool *pool, struct hd_job *job);

/// Wait until every job of the group has returned. A worker runs other work
/// meanwhile; another thread sleeps. The group may be used again afterwards.
///
/// `pool` is the one its jobs were submitted to. Because a waiting worker runs
/// other jobs on its own stack, a job waits only for jobs that were submitted
/// after it had started (its own, as a rule); two jobs that wait for older ones
/// can end up on top of each other.
///
/// Threads: any number, workers or not
HD_API void hd_group_wait(struct hd_pool *pool, struct hd_group *group);

// Counters ----------------------------------------------------------------

struct hd_worker_counters {
    uint64_t tasks;  // tasks and jobs run that came from a spawn or a submit
    uint64_t stolen; // of these, taken from another worker
    uint64_t failed; // looks at a victim that had nothing
    uint64_t parks;  // times asleep
    uint64_t parked; // time asleep [ns]
    uint64_t busy;   // time in kernels [ns], kept by launch
    uint64_t groups; // work-groups run, kept by launch
};

/// Copy the counters of worker `index`; a running worker's may lag slightly.
///
/// Threads: any
HD_API void hd_pool_counters(const struct hd_pool *pool, unsigned index,
                             struct hd_worker_counters *counters);

#ifdef __cplusplus
}
#endif

#include "heddle/task_macros.h"

#include "heddle/task_loops.h"

#endif
