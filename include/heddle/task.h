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

#include "heddle/place.h"
#include "heddle/priority.h"
#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_pool;   // workers and what they share
struct hd_worker; // a thread pinned to one core that owns a task stack

/// How a pool is made. All zero: the defaults.
///
/// Owner: the caller; nothing is kept of it
struct hd_pool_params {
    unsigned workers;     // 0: one per core this process may use
    bool caller_only;     // no threads: the caller of each function works
    bool unpinned;        // leave the placement of threads to the system
    const char *topology; // hwloc synthetic description; NULL: this machine
    // The part of the machine it is given: processors as the system numbers
    // them, "0-3,8"; NULL: all that this process may use.
    const char *cores;
    unsigned events; // so many are under way (see heddle/event.h) before a
                     // start waits for one to end; 0: 16,384
};

/// Start the workers. `params` may be NULL for the defaults.
///
/// Errors:  HD_EINVAL (more workers than 1 with caller_only; a topology that
///          does not parse; cores that are not there), HD_ENOMEM, HD_ELIMIT
///          (threads)
/// Owner:   the caller; hd_pool_destroy()
/// Threads: any; pools are independent of each other
HD_API hd_status hd_pool_create(const struct hd_pool_params *params,
                                struct hd_pool **pool, struct hd_error *error);

/// Finish all submitted jobs, stop the workers, free the pool. NULL is allowed.
///
/// Threads: one that is no worker of this pool; nobody may use the pool after
HD_API void hd_pool_destroy(struct hd_pool *pool);

/// Begin nothing any more: submitted jobs that have not started are not run,
/// forked tasks are dropped, and what runs is told by hd_cancelled(). Jobs that
/// are submitted later are not run either; what hd_pool_run() calls is. Before
/// hd_pool_destroy(), which otherwise finishes everything.
///
/// Threads: any
HD_API void hd_pool_cancel(struct hd_pool *pool);

/// Let `workers` of the workers work, the first ones; the others finish what
/// they have begun and sleep until they are wanted again. What they had not
/// begun goes to the ones that stay. hd_pool_workers() remains the same.
///
/// Errors:  HD_EINVAL (not 1 to hd_pool_workers())
/// Threads: any; does not wait
HD_API hd_status hd_pool_resize(struct hd_pool *pool, unsigned workers,
                                struct hd_error *error);

/// Return how many workers the pool was made with, spare threads not counted.
///
/// Threads: any
HD_API unsigned hd_pool_workers(const struct hd_pool *pool);

/// Return the worker of `pool` that the calling thread is, or NULL.
///
/// Threads: any
HD_API struct hd_worker *hd_pool_worker(const struct hd_pool *pool);

/// Return the pool of a worker.
///
/// Threads: any
HD_API struct hd_pool *hd_worker_pool(const struct hd_worker *worker);

enum {
    HD_MAX_SPARE_THREADS = 16 // of one pool
};

/// Return the worker's number, 0 to hd_pool_workers() - 1; above these are
/// spare threads, HD_MAX_SPARE_THREADS at most, in a pool that uses
/// hd_blocking_begin().
///
/// Threads: any
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

/// From here to hd_blocking_end() the worker waits for something that is none
/// of the pool's: a file, a lock, another device. Meanwhile a spare thread, one
/// more worker with its own thread, works on this core. At the end the caller
/// goes on at once, and the spare thread stops as soon as what it runs has
/// returned. Regions nest; only the outermost counts. Nothing may be forked,
/// joined or waited for inside.
///
/// With HD_MAX_SPARE_THREADS at work, or no memory or threads for one more, the
/// core is idle until the end. In a caller-only pool it is in any case.
///
/// Threads: the worker's own
HD_API void hd_blocking_begin(struct hd_worker *worker);
HD_API void hd_blocking_end(struct hd_worker *worker);

// Jobs --------------------------------------------------------------------

/// Counts the unfinished jobs that were submitted to it.
struct hd_group {
    struct hd_group_state_ {
        uint64_t word[4];
    } state_; // private; see hd_group_init()
};

/// Work for any worker.
///
/// Owner: the caller; it must stay until `run` starts. The pool does not touch
/// it afterwards, so `run` may free it
struct hd_job {
    void (*run)(struct hd_worker *worker, struct hd_job *job);
    struct hd_group *group; // counts the job from submit to return; optional
    struct hd_job *next_;   // private
};

/// Make a group that counts nothing and has no error.
///
/// Threads: one, before the group is used
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

/// As hd_group_wait(), but run nothing meanwhile except jobs of this group: for
/// a worker that holds what other work may want, a lock for instance. It sleeps
/// when there are none, and its core with it.
///
/// Threads: any number, workers or not
HD_API void hd_group_wait_own(struct hd_pool *pool, struct hd_group *group);

// Errors and cancellation -------------------------------------------------
//
// A group is also what fails and what is cancelled as one: its jobs, or a scope
// of tasks, and everything forked inside. Nothing of a cancelled group begins
// any more: its jobs are not run, forked tasks that have not started are
// dropped and their joins give zeros. What runs already goes on, and can ask
// hd_cancelled(). Tasks that nobody took are dropped by their worker from its
// next fork on that finds anything to do for others, so this costs no time when
// nothing is cancelled.

/// Where the text of the group's first error goes; NULL, as after
/// hd_group_init(): to the log. Before the group is used.
///
/// Owner:   the caller; it must live as long as the group is used
/// Threads: one, before the group is used
HD_API void hd_group_catch(struct hd_group *group, struct hd_error *error);

/// Make `group` a part of `parent`, which must live longer: what cancels the
/// parent cancels it too. Its errors stay its own. Before the group is used.
///
/// Threads: one, before the group is used
HD_API void hd_group_within(struct hd_group *group, struct hd_group *parent);

/// Cancel all work of the group and of the groups within it. Wait as always.
///
/// Threads: any
HD_API void hd_group_cancel(struct hd_pool *pool, struct hd_group *group);

/// How the group fares. Ask after hd_group_wait() for the final word.
/// hd_group_init() makes it new.
///
/// It looks at the groups around this one, too. Another thread that asks about
/// the group of a scope must therefore keep that scope from ending meanwhile,
/// unless nothing surrounds it.
///
/// Errors:  the first of the group's jobs and tasks, or HD_ECANCELED
/// Threads: any
HD_API hd_status hd_group_status(const struct hd_group *group);

/// What this worker runs from here to hd_scope_end(), and what is forked from
/// it, belongs to `group`, which becomes a part of the one that it is in now,
/// if any.
///
///     hd_group_init(&group);
///     if (hd_scope_begin(worker, &group) == HD_OK) {
///         hd_spawn(worker, part, 0);
///         hd_call(worker, part, 1);
///         hd_join(worker, part);
///         status = hd_scope_end(worker);
///     }
///
/// Errors:  HD_ECANCELED (what surrounds it is), HD_ELIMIT (nested too deep);
///          nothing has begun then
/// Threads: the worker's own, inside a task, a job or hd_pool_run()
HD_API hd_status hd_scope_begin(struct hd_worker *worker,
                                struct hd_group *group);

/// End the newest scope, in the function that began it and after everything
/// forked in it is joined; return its hd_group_status().
///
/// Errors:  the first in the scope, or HD_ECANCELED
/// Threads: the worker's own
HD_API hd_status hd_scope_end(struct hd_worker *worker);

/// Fail: the group that runs here (the innermost scope's, or the job's) gets
/// this error, unless it has one already, and is cancelled. Outside of any
/// group the text goes to the log.
///
/// Errors:  `status`, always
/// Threads: the worker's own
HD_API hd_status hd_task_fail(struct hd_worker *worker, hd_status status,
                              const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Whether what runs here is cancelled; for loops that want to stop early.
///
/// Threads: the worker's own
HD_API bool hd_cancelled(struct hd_worker *worker);

// Jobs with more to them --------------------------------------------------

/// A job that has a priority, and something to do when it is over.
///
/// Owner: the caller; see hd_submit_work()
struct hd_work {
    struct hd_job job; // `run` and `group`, as for hd_submit()

    // Called once, on a worker, before the group counts the job as finished:
    // HD_OK when it has run, HD_ECANCELED when it has not and will not. It may
    // free the work; `job.run` may not. Optional.
    void (*done)(struct hd_worker *worker, struct hd_work *work,
                 hd_status status);

    enum hd_priority priority;
    void (*run_)(struct hd_worker *worker, struct hd_job *job); // private
};

/// As hd_submit(). A job that runs is not interrupted by one of higher
/// priority.
///
/// Owner:   the caller; the memory must stay until `done` starts, or `run` has
///          returned
/// Threads: any; never blocks
HD_API void hd_submit_work(struct hd_pool *pool, struct hd_work *work);

/// As hd_submit_work(), but where it runs is said: HD_ON_WORKER `worker`, or
/// HD_ON_MODULE_OF `worker`, on any worker that shares its last-level cache;
/// HD_ANYWHERE otherwise. To run beside another task, for what that left in the
/// cache, give hd_worker_index() of the worker that ran it. Jobs of one place
/// go in the order of submission, before other jobs; the priority is not looked
/// at. What the job forks may be stolen by anybody. Work that must run at the
/// same time is a gang.
///
/// While the worker is in a blocking region its spare thread runs them. When
/// hd_pool_resize() leaves no worker at the place, any worker runs them.
/// Nothing that this worker joins may wait for a job on it alone.
///
/// Errors:  HD_EINVAL (no place for a job, no such worker): not submitted
/// Owner:   as for hd_submit_work()
/// Threads: any; never blocks
HD_API hd_status hd_submit_at(struct hd_pool *pool, struct hd_work *work,
                              enum hd_place place, unsigned worker,
                              struct hd_error *error);

// Gangs --------------------------------------------------------------------
//
// Work that runs at the same time because its parts exchange data while they
// run, such as a producer and a consumer. The members of a gang start together,
// each on a worker of its own, and none starts before there is one for each.

/// How many run at the same time, and where.
///
/// Owner: the caller; it must stay until hd_pool_run_gang() has returned
struct hd_gang {
    unsigned members;

    // HD_ANYWHERE, HD_ON_MODULE_OF (the module of worker `near`: the members
    // share its cache) or HD_ON_DISTINCT_MODULES.
    enum hd_place place;
    unsigned near;

    struct hd_group *group; // cancelling this cancels the gang; optional
};

/// Run `function(worker, rank, data)` for the ranks 0 to `members` - 1 at the
/// same time and wait until all have returned. Workers that have nothing begun
/// are kept for the gang, before any other work, until there are enough; of
/// several gangs the oldest is served first.
///
/// A member that fails (hd_task_fail()) ends the gang: hd_cancelled() tells the
/// others. Whoever waits for another member in a loop of its own asks that in
/// the loop. A member may fork, join and submit; it starts no gang.
///
/// Errors:  HD_EINVAL (no members, a place that is none; called on a worker of
///          the pool, which the gang may need), HD_ELIMIT (there are not that
///          many workers there, or not any more since hd_pool_resize()),
///          HD_ECANCELED, HD_ENOMEM: nothing has run, except when it was
///          cancelled later; or a member's error
/// Threads: any that is no worker of the pool
HD_API hd_status hd_pool_run_gang(struct hd_pool *pool,
                                  const struct hd_gang *gang,
                                  void (*function)(struct hd_worker *worker,
                                                   unsigned rank, void *data),
                                  void *data, struct hd_error *error);

/// The module of a worker (hd_worker_index()); workers of the same one share a
/// last-level cache.
///
/// Threads: any
HD_API unsigned hd_pool_module(const struct hd_pool *pool, unsigned worker);

// Counters ----------------------------------------------------------------

/// What a worker did since its start; nothing is ever reset.
struct hd_worker_counters {
    uint64_t tasks; // tasks and jobs run that came from a spawn or a submit; of
                    // tasks that the worker itself spawned only those of files
                    // that define HD_COUNT_TASKS before they include this one
    uint64_t stolen; // of these, taken from another worker
    uint64_t failed; // looks at a victim that had nothing
    uint64_t parks;  // times asleep
    uint64_t parked; // time asleep [ns]
    uint64_t leaves; // pieces of launches run here, kept by launch
    uint64_t groups; // work-groups in them
    uint64_t busy;   // time in them [ns]
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
