// Invariant: a job is in the queue of its place only while that has a worker,
// or while somebody is about to take it out of there (hdi_placed_release()).
#include "steal/worker/placed.h"

#include <stdlib.h>

#include "base/error.h"
#include "steal/group.h"
#include "steal/worker/state.h"

static unsigned modules_of(const struct hd_pool *pool)
{
    return hdi_topology_machine(pool->topology)->cache_groups;
}

bool hdi_placed_init(struct hdi_placed *placed, const struct hd_pool *pool)
{
    unsigned count = pool->worker_count + modules_of(pool);

    placed->queues = aligned_alloc(_Alignof(struct hdi_inbox),
                                   count * sizeof(*placed->queues));
    if (!placed->queues)
        return false;
    placed->count = count;
    for (unsigned i = 0; i < count; i++)
        hdi_inbox_init(&placed->queues[i]);
    return true;
}

void hdi_placed_destroy(struct hdi_placed *placed)
{
    for (unsigned i = 0; i < placed->count; i++)
        hdi_inbox_destroy(&placed->queues[i]);
    free(placed->queues);
    *placed = (struct hdi_placed){0};
}

static struct hdi_inbox *of_worker(const struct hd_pool *pool, unsigned worker)
{
    return &pool->placed.queues[worker];
}

static struct hdi_inbox *of_module(const struct hd_pool *pool, unsigned worker)
{
    unsigned module = hd_pool_module(pool, worker);
    return &pool->placed.queues[pool->worker_count + module];
}

// The module's first: its other workers may be asleep, while what is for this
// worker alone waits for nobody else.
struct hd_job *hdi_placed_pop(struct hd_worker *worker)
{
    const struct hd_pool *pool = worker->pool;
    struct hd_job *job =
        hdi_inbox_pop(of_module(pool, hdi_worker_core_of(worker)));
    return job ? job
               : hdi_inbox_pop(of_worker(pool, hdi_worker_core_of(worker)));
}

struct hd_job *hdi_placed_pop_of(struct hd_worker *worker,
                                 const struct hd_group *group)
{
    const struct hd_pool *pool = worker->pool;
    struct hd_job *job =
        hdi_inbox_pop_of(of_module(pool, hdi_worker_core_of(worker)), group);
    return job ? job
               : hdi_inbox_pop_of(of_worker(pool, hdi_worker_core_of(worker)),
                                  group);
}

bool hdi_placed_offers(const struct hd_worker *worker)
{
    const struct hd_pool *pool = worker->pool;
    return hdi_inbox_offers(of_module(pool, hdi_worker_core_of(worker))) ||
           hdi_inbox_offers(of_worker(pool, hdi_worker_core_of(worker)));
}

bool hdi_placed_waiting(const struct hd_pool *pool)
{
    for (unsigned i = 0; i < pool->placed.count; i++)
        if (hdi_inbox_offers(&pool->placed.queues[i]))
            return true;
    return false;
}

// Places without workers ------------------------------------------------------

static bool is_at_place(const struct hd_pool *pool, unsigned worker,
                        unsigned place)
{
    return place < pool->worker_count
               ? worker == place
               : hd_pool_module(pool, worker) == place - pool->worker_count;
}

static bool has_workers(const struct hd_pool *pool, unsigned place)
{
    unsigned size =
        atomic_load_explicit(&pool->size, HDI_BESIDE(memory_order_relaxed));

    for (unsigned i = 0; i < size; i++)
        if (is_at_place(pool, i, place))
            return true;
    return false;
}

// Whoever takes jobs out here owns them until they are in the inbox, where any
// worker may run them.
void hdi_placed_release(struct hd_pool *pool)
{
    hdi_fence(memory_order_seq_cst); // see placed.h
    for (unsigned i = 0; i < pool->placed.count; i++) {
        struct hd_job *job;
        if (!hdi_inbox_offers(&pool->placed.queues[i]) || has_workers(pool, i))
            continue;
        while ((job = hdi_inbox_pop(&pool->placed.queues[i])))
            hdi_inbox_push(&pool->inbox, job);
        hdi_pool_tell(pool, 0);
    }
}

// Submitting ------------------------------------------------------------------

// One worker of the place that sleeps, if any does: those that do not will look
// before they sleep. A spare thread may be on the core of any worker.
// All spare threads are woken, since which core they have is not known here.
static void wake_at(struct hd_pool *pool, unsigned place)
{
    struct hdi_idle *idle = &pool->idle[HDI_ANYTHING];

    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    for (unsigned i = 0; i < pool->worker_count; i++)
        if (is_at_place(pool, i, place) && hdi_idle_wake(idle, i))
            return;
    for (unsigned i = pool->worker_count; i < hdi_pool_slots(pool); i++)
        hdi_idle_wake(idle, i);
}

static hd_status check_place(const struct hd_pool *pool, enum hd_place place,
                             unsigned worker, struct hd_error *error)
{
    if (place != HD_ANYWHERE && place != HD_ON_WORKER &&
        place != HD_ON_MODULE_OF)
        return hdi_fail(error, HD_EINVAL,
                        "%d is no place for a job; give HD_ON_WORKER, "
                        "HD_ON_MODULE_OF or HD_ANYWHERE",
                        (int)place);
    if (place != HD_ANYWHERE && worker >= hdi_pool_slots(pool))
        return hdi_fail(error, HD_EINVAL,
                        "a job was to run at worker %u; there are %u, counted "
                        "from 0",
                        worker, pool->worker_count);
    return HD_OK;
}

// The release comes after the push: a worker that goes home in between either
// is seen to be gone here, or sees the job before it goes.
hd_status hd_submit_at(struct hd_pool *pool, struct hd_work *work,
                       enum hd_place place, unsigned worker,
                       struct hd_error *error)
{
    HDI_TRY(check_place(pool, place, worker, error));
    if (place == HD_ANYWHERE) {
        hd_submit_work(pool, work);
        return HD_OK;
    }

    unsigned core_of = hdi_worker_core_of(&pool->workers[worker]);
    struct hdi_inbox *queue = place == HD_ON_WORKER ? of_worker(pool, core_of)
                                                    : of_module(pool, core_of);
    hdi_work_wrap(pool, work);
    if (work->job.group)
        hdi_group_enter(work->job.group);
    hdi_inbox_push(queue, &work->job);
    // From here on the work may be gone.
    hdi_placed_release(pool);
    wake_at(pool, (unsigned)(queue - pool->placed.queues));
    hdi_pool_ring(pool);
    return HD_OK;
}
