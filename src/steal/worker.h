// What other layers may ask of workers beyond heddle/task.h.
#ifndef HDI_STEAL_WORKER_H
#define HDI_STEAL_WORKER_H

#include "base/topology.h"
#include "heddle/task.h"
#include "trace/trace.h"

// As hd_pool_create() in two steps, on a topology that stays the caller's and
// lives longer than the pool; params->topology is not looked at. Create gives
// workers their deques and cores, start their threads: between the two, units
// are made and dealt to workers, so that no worker runs before it has its own.
// A caller-only pool has nothing to start. A pool whose start failed is only
// good for hd_pool_destroy().
hd_status hdi_pool_create(const struct hd_pool_params *params,
                          const struct hdi_topology *topology,
                          struct hd_pool **pool, struct hd_error *error);
hd_status hdi_pool_start(struct hd_pool *pool, struct hd_error *error);

// Record steals and parks from now on: one track per worker, NULL entries and a
// NULL array for none. The tracks must live until the pool is destroyed or
// other ones are set while nothing runs.
void hdi_pool_set_tracks(struct hd_pool *pool, struct hdi_track *const *tracks);

// What the workers are spread over: worker i is on core i modulo their number.
// The pool's.
const struct hdi_topology *hdi_pool_topology(const struct hd_pool *pool);

// So many threads that are no workers have come to live on the workers' cores,
// or have gone again (negative). Workers that wait then leave them the core.
void hdi_pool_host(struct hd_pool *pool, int threads);

// A thread outside is about to submit work, and goes on with its own: if no
// worker looks for work, wake one, of another core than its own if it can be.
void hdi_pool_rouse(struct hd_pool *pool);

// Whether the worker sleeps for want of any work; it may lag.
bool hdi_pool_is_parked(const struct hd_pool *pool, unsigned worker);

// As hd_submit_work(), but if a worker is woken for it, then `near` or one that
// is near it. Any worker may take it.
void hdi_submit_near(struct hd_pool *pool, struct hd_work *work, unsigned near);

// HD_EINVAL in a child of fork(), which has none of the pool's threads.
hd_status hdi_pool_check(const struct hd_pool *pool, struct hd_error *error);

// The `run` of work that does what it does in done(), which comes also when the
// pool was cancelled: somebody waits for it.
void hdi_run_nothing(struct hd_worker *worker, struct hd_job *job);

// False: whoever calls in works, one thread at a time.
bool hdi_pool_has_threads(const struct hd_pool *pool);

// Who is told whenever a group or the pool has been cancelled, on the thread
// that did it: set before anything runs, there as long as the pool.
struct hdi_listener {
    void (*tell)(void *data);
    void *data;
    struct hdi_listener *next; // the pool's
};

void hdi_pool_on_cancel(struct hd_pool *pool, struct hdi_listener *listener);

// Whether work of this group (NULL: of none) is not to be begun any more. Any
// thread.
bool hdi_pool_cancelled(const struct hd_pool *pool,
                        const struct hd_group *group);

// The group around all that the pool runs, which is cancelled with the pool;
// for those who look at it often. The pool's.
const struct hd_group *hdi_pool_all(const struct hd_pool *pool);

// One less to wait for in the group, which may be gone then. Any thread.
void hdi_pool_leave(struct hd_pool *pool, struct hd_group *group);

// The group that what this worker runs belongs to, or NULL. On the worker only.
struct hd_group *hdi_worker_group(const struct hd_worker *worker);

// Run one piece of other work, or pause briefly; for a worker that waits for
// something that no task or job will tell it of. True when something was run.
bool hdi_worker_help(struct hd_worker *worker);

// Count one leaf: its time in the kernel [ns], its work-groups. On the worker
// only.
void hdi_worker_count(struct hd_worker *worker, uint64_t busy, uint64_t groups);

// What forking and joining a task that is public takes, with the clock of a
// leaf [ns]. Measured once per pool. On the worker only.
uint64_t hdi_worker_overhead(struct hd_worker *worker);

#endif
