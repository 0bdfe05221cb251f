// Invariant: a gang is in line from hd_pool_run_gang() on until it starts, by
// the worker that completes it, or is given up, by the thread that called.
//
//     first -> gang A (3 of 4 kept) -> gang B (0) -> gang C (0) <- last
//                ^ ^ ^
//                workers that have begun nothing, asleep on `changed`
//
// Only A keeps workers. The fourth starts it: it takes A out of the line, wakes
// the three, and calls those who sleep in the pool, who may be what B needs.
#include "steal/worker/gang.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "steal/group.h"
#include "steal/worker/state.h"

struct member {
    struct hd_job job; // first
    struct hdi_waiting_gang *gang;
    unsigned rank;
};

// On the stack of the thread that starts it, which outlives its use: it leaves
// only when no worker is kept and the group is done.
struct hdi_waiting_gang {
    const struct hd_gang *params;
    void (*function)(struct hd_worker *worker, unsigned rank, void *data);
    void *data;
    struct hd_group group;
    struct member *members;
    // Under the lock of the line:
    unsigned *modules; // of the workers kept
    unsigned kept;
    bool started, given_up; // at most one of them, once
    struct hdi_waiting_gang *next;
};

void hdi_gangs_init(struct hdi_gangs *gangs)
{
    *gangs = (struct hdi_gangs){.last = &gangs->first};
    pthread_mutex_init(&gangs->lock, NULL);
    pthread_cond_init(&gangs->changed, NULL);
}

void hdi_gangs_destroy(struct hdi_gangs *gangs)
{
    pthread_cond_destroy(&gangs->changed);
    pthread_mutex_destroy(&gangs->lock);
}

static bool is_any_waiting(struct hdi_gangs *gangs)
{
    return atomic_load_explicit(&gangs->waiting,
                                HDI_BESIDE(memory_order_relaxed)) > 0;
}

void hdi_gangs_tell(struct hdi_gangs *gangs)
{
    hdi_fence(memory_order_seq_cst); // against join_line()'s
    if (!is_any_waiting(gangs))
        return;
    pthread_mutex_lock(&gangs->lock);
    pthread_cond_broadcast(&gangs->changed);
    pthread_mutex_unlock(&gangs->lock);
}

// Where workers are -----------------------------------------------------------

unsigned hd_pool_module(const struct hd_pool *pool, unsigned worker)
{
    unsigned cores = hdi_topology_machine(pool->topology)->cores;
    if (worker >= pool->worker_count) // a spare thread
        worker = hdi_worker_core_of(&pool->workers[worker]);
    return hdi_topology_core(pool->topology, worker % cores)->cache_group;
}

// How many members the first `size` workers have room for.
static unsigned room_for(const struct hd_pool *pool, const struct hd_gang *gang,
                         unsigned size)
{
    unsigned room = 0;

    for (unsigned i = 0; i < size; i++) {
        unsigned module = hd_pool_module(pool, i);
        bool fits = true;
        if (gang->place == HD_ON_MODULE_OF)
            fits = module == hd_pool_module(pool, gang->near);
        for (unsigned j = 0; gang->place == HD_ON_DISTINCT_MODULES && j < i;
             j++)
            fits &= module != hd_pool_module(pool, j);
        room += fits;
    }
    return room;
}

static bool has_place(const struct hd_worker *worker,
                      const struct hdi_waiting_gang *gang)
{
    const struct hd_pool *pool = worker->pool;
    unsigned module = hd_pool_module(pool, worker->index);

    if (gang->params->place == HD_ON_MODULE_OF)
        return module == hd_pool_module(pool, gang->params->near);
    for (unsigned i = 0;
         gang->params->place == HD_ON_DISTINCT_MODULES && i < gang->kept; i++)
        if (gang->modules[i] == module)
            return false;
    return true;
}

// Under the lock. Spare threads share their core with a worker.
static bool is_wanted(const struct hd_worker *worker)
{
    const struct hdi_waiting_gang *first = worker->pool->gangs.first;
    return first && worker->index < worker->pool->worker_count &&
           has_place(worker, first);
}

bool hdi_gangs_want(struct hd_worker *worker)
{
    struct hdi_gangs *gangs = &worker->pool->gangs;

    if (!is_any_waiting(gangs))
        return false;
    pthread_mutex_lock(&gangs->lock);
    bool wanted = is_wanted(worker);
    pthread_mutex_unlock(&gangs->lock);
    return wanted;
}

// The line --------------------------------------------------------------------

// Let those who sleep see the gang that is first now. The fences are those of
// parking: a worker lies down and then looks for a gang, we write the gang and
// then look who lies, so one of both sees the other (tests/models/gang.pml,
// PARK_UNFENCED).
static void call_workers(struct hd_pool *pool)
{
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    for (unsigned i = 0; i < pool->worker_count; i++)
        hdi_idle_wake(&pool->idle[HDI_ANYTHING], i);
}

static void join_line(struct hd_pool *pool, struct hdi_waiting_gang *gang)
{
    struct hdi_gangs *gangs = &pool->gangs;

    *gangs->last = gang;
    gangs->last = &gang->next;
    atomic_fetch_add_explicit(&gangs->waiting, 1, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst); // against hdi_gangs_tell()'s
    if (gangs->first == gang)
        call_workers(pool);
}

static void leave_line(struct hd_pool *pool, struct hdi_waiting_gang *gang)
{
    struct hdi_gangs *gangs = &pool->gangs;
    struct hdi_waiting_gang **at = &gangs->first;

    while (*at != gang)
        at = &(*at)->next;
    *at = gang->next;
    if (!*at)
        gangs->last = at;
    atomic_fetch_sub_explicit(&gangs->waiting, 1, memory_order_seq_cst);
    pthread_cond_broadcast(&gangs->changed);
    if (gangs->first)
        call_workers(pool);
}

static void run_member(struct hd_worker *worker, struct hd_job *job)
{
    struct member *member = (struct member *)(void *)job;
    struct hdi_waiting_gang *gang = member->gang;

    gang->function(worker, member->rank, gang->data);
}

// A worker that has nothing begun offers itself to the first gang. The one that
// completes it starts it: ranks were given in the order of arrival, and each
// worker runs its own member, so none is stolen. If the gang is given up
// instead, the last one to leave tells the thread that waits to free it.
void hdi_gangs_attend(struct hd_worker *worker)
{
    struct hdi_gangs *gangs = &worker->pool->gangs;
    struct member *member = NULL;

    pthread_mutex_lock(&gangs->lock);
    if (is_wanted(worker)) {
        struct hdi_waiting_gang *gang = gangs->first;
        unsigned rank = gang->kept++;
        gang->modules[rank] = hd_pool_module(worker->pool, worker->index);
        if (gang->kept == gang->params->members) {
            gang->started = true;
            leave_line(worker->pool, gang);
        }
        while (!gang->started && !gang->given_up)
            pthread_cond_wait(&gangs->changed, &gangs->lock);
        if (gang->started)
            member = &gang->members[rank];
        else if (--gang->kept == 0)
            pthread_cond_broadcast(&gangs->changed);
    }
    pthread_mutex_unlock(&gangs->lock);
    if (member)
        hdi_worker_run(worker, &member->job);
}

// Starting one ----------------------------------------------------------------

// Why it cannot start, or not any more; HD_OK: it may.
static hd_status check(const struct hd_pool *pool,
                       const struct hdi_waiting_gang *gang,
                       struct hd_error *error)
{
    const struct hd_gang *params = gang->params;
    unsigned size =
        atomic_load_explicit(&pool->size, HDI_BESIDE(memory_order_relaxed));
    unsigned room = room_for(pool, params, size);

    if (hdi_pool_cancelled(pool, &gang->group))
        return hdi_fail(error, HD_ECANCELED,
                        "the gang was cancelled before it began");
    if (params->members <= room)
        return HD_OK;
    if (params->place == HD_ON_MODULE_OF)
        return hdi_fail(error, HD_ELIMIT,
                        "a gang of %u needs as many workers on the module of "
                        "worker %u; there are %u",
                        params->members, params->near, room);
    if (params->place == HD_ON_DISTINCT_MODULES)
        return hdi_fail(error, HD_ELIMIT,
                        "a gang of %u needs workers on as many modules; there "
                        "are %u",
                        params->members, room);
    return hdi_fail(error, HD_ELIMIT,
                    "a gang of %u needs as many workers at the same time; "
                    "there are %u",
                    params->members, room);
}

// HD_OK: it has started. What makes it impossible (cancelled, fewer workers) is
// looked at again after each change of the line; hdi_gangs_tell() says so when
// the cause lies outside.
static hd_status await_start(struct hd_pool *pool,
                             struct hdi_waiting_gang *gang,
                             struct hd_error *error)
{
    struct hdi_gangs *gangs = &pool->gangs;
    hd_status status = HD_OK;

    pthread_mutex_lock(&gangs->lock);
    join_line(pool, gang);
    while (!gang->started && (status = check(pool, gang, error)) == HD_OK)
        pthread_cond_wait(&gangs->changed, &gangs->lock);
    if (status != HD_OK) {
        gang->given_up = true;
        leave_line(pool, gang);
        while (gang->kept > 0)
            pthread_cond_wait(&gangs->changed, &gangs->lock);
    }
    pthread_mutex_unlock(&gangs->lock);
    return status;
}

// The members count in the group before the gang is in line: as soon as it has
// started, any of them may end.
static hd_status run_and_wait(struct hd_pool *pool,
                              struct hdi_waiting_gang *gang,
                              struct hd_error *error)
{
    for (unsigned i = 0; i < gang->params->members; i++) {
        gang->members[i] =
            (struct member){.job = {.run = run_member, .group = &gang->group},
                            .gang = gang,
                            .rank = i};
        hdi_group_enter(&gang->group);
    }
    HDI_TRY(await_start(pool, gang, error));
    hd_group_wait(pool, &gang->group);
    hd_status status = hd_group_status(&gang->group);
    if (status == HD_ECANCELED || hdi_pool_cancelled(pool, NULL))
        return hdi_fail(error, HD_ECANCELED, "the gang was cancelled");
    return status;
}

static hd_status check_params(const struct hd_pool *pool,
                              const struct hd_gang *gang,
                              struct hd_error *error)
{
    if (gang->members == 0)
        return hdi_fail(error, HD_EINVAL, "a gang needs members");
    if (gang->place != HD_ANYWHERE && gang->place != HD_ON_MODULE_OF &&
        gang->place != HD_ON_DISTINCT_MODULES)
        return hdi_fail(error, HD_EINVAL,
                        "%d is no place for a gang of workers; see enum "
                        "hd_place",
                        (int)gang->place);
    if (gang->place == HD_ON_MODULE_OF && gang->near >= pool->worker_count)
        return hdi_fail(
            error, HD_EINVAL, "a gang near worker %u; there %s %u worker%s",
            gang->near, pool->worker_count == 1 ? "is" : "are",
            pool->worker_count, hdi_plural(pool->worker_count, "s"));
    if (hd_pool_worker(pool))
        return hdi_fail(error, HD_EINVAL,
                        "a gang is started by a thread outside of the pool: it "
                        "may need the worker that calls");
    return HD_OK;
}

struct alone {
    struct hdi_waiting_gang *gang;
    hd_status status;
};

// In a caller-only pool, whose one worker is the caller.
static void run_alone(struct hd_worker *worker, void *data)
{
    struct alone *alone = data;
    struct hdi_waiting_gang *gang = alone->gang;

    alone->status = hd_scope_begin(worker, &gang->group);
    if (alone->status == HD_OK) {
        gang->function(worker, 0, gang->data);
        alone->status = hd_scope_end(worker);
    }
}

hd_status hd_pool_run_gang(struct hd_pool *pool, const struct hd_gang *params,
                           void (*function)(struct hd_worker *worker,
                                            unsigned rank, void *data),
                           void *data, struct hd_error *error)
{
    struct hdi_waiting_gang gang = {
        .params = params, .function = function, .data = data};

    hdi_pool_check_origin(pool);
    HDI_TRY(check_params(pool, params, error));
    hd_group_init(&gang.group);
    hd_group_catch(&gang.group, error);
    if (params->group)
        hd_group_within(&gang.group, params->group);
    HDI_TRY(check(pool, &gang, error));
    if (pool->caller_only) {
        struct alone alone = {.gang = &gang};
        hd_pool_run(pool, run_alone, &alone);
        if (alone.status == HD_ECANCELED)
            hdi_fail(error, HD_ECANCELED, "the gang was cancelled");
        return alone.status;
    }

    gang.members = calloc(params->members, sizeof(*gang.members));
    gang.modules = calloc(params->members, sizeof(*gang.modules));
    hd_status status =
        gang.members && gang.modules
            ? run_and_wait(pool, &gang, error)
            : hdi_fail(error, HD_ENOMEM, "no memory for a gang of %u",
                       params->members);
    free(gang.modules);
    free(gang.members);
    return status;
}
