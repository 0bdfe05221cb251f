// Pools: made, started, ended, and asked.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"
#include "steal/pool/seat.h"
#include "steal/worker/state.h"

enum {
    MAX_WORKERS = 4096,
    STACK_RECORDS = 1 << 17 // 8 MiB of addresses, touched when used
};

// In reverse of hdi_worker_init().
void hdi_worker_destroy(struct hd_worker *worker)
{
    hdi_deque_destroy(&worker->jobs);
    hdi_scopes_destroy(&worker->scopes);
    hdi_victims_destroy(&worker->victims);
    hdi_stack_destroy(&worker->stack);
}

// Any number other than 0 will do for `random`; those of two workers differ.
bool hdi_worker_init(struct hd_pool *pool, unsigned index)
{
    struct hd_worker *worker = &pool->workers[index];

    *worker = (struct hd_worker){
        .pool = pool,
        .index = index,
        .core_of = index < pool->worker_count ? index : 0,
        .random = 0x9e3779b9u * (index + 1) | 1,
        .wanted = 1,
    };
    if (!hdi_stack_init(&worker->stack, STACK_RECORDS))
        return false;
    if (!hdi_victims_init(&worker->victims, pool->topology, pool->worker_count,
                          index))
        goto err_stack;
    if (!hdi_scopes_init(&worker->scopes))
        goto err_victims;
    if (!hdi_deque_init(&worker->jobs))
        goto err_scopes;
    return true;

err_scopes:
    hdi_scopes_destroy(&worker->scopes);
err_victims:
    hdi_victims_destroy(&worker->victims);
err_stack:
    hdi_stack_destroy(&worker->stack);
    return false;
}

static hd_status check_params(const struct hd_pool_params *params,
                              struct hd_error *error)
{
    if (params->caller_only && params->workers > 1)
        return hdi_fail(error, HD_EINVAL,
                        "a caller-only pool has one worker, not %u; leave "
                        "caller_only off for more",
                        params->workers);
    if (params->workers > MAX_WORKERS)
        return hdi_fail(error, HD_ELIMIT,
                        "%u workers are too many; at most %d are possible",
                        params->workers, MAX_WORKERS);
    return HD_OK;
}

// Everything but the threads. There is room for the spare threads from the
// start: thieves read `workers` without a lock, so the array never moves.
// `slots` says how many of them are whole.
static struct hd_pool *make_pool(const struct hd_pool_params *params,
                                 const struct hdi_topology *topology)
{
    unsigned cores = hdi_topology_machine(topology)->cores;
    struct hd_pool *pool = aligned_alloc(64, sizeof(*pool));
    if (!pool)
        return NULL;

    *pool = (struct hd_pool){.caller_only = params->caller_only,
                             .topology = topology};
    pool->worker_count = params->caller_only ? 1
                         : params->workers   ? params->workers
                                             : cores;
    pool->pinned = !params->unpinned && !params->caller_only;
    unsigned made = 0, sets = 0;
    unsigned most = pool->worker_count + HD_MAX_SPARE_THREADS;
    pool->threads = calloc(most, sizeof(*pool->threads));
    pool->workers = aligned_alloc(64, most * sizeof(*pool->workers));
    if (!pool->threads || !pool->workers || !hdi_origin_init(&pool->origin))
        goto err_arrays;
    for (; sets < HDI_APPETITES; sets++)
        if (!hdi_idle_init(&pool->idle[sets], most))
            goto err_idle;
    for (; made < pool->worker_count; made++)
        if (!hdi_worker_init(pool, made))
            goto err_workers;
    if (!hdi_placed_init(&pool->placed, pool))
        goto err_workers;
    if (!hdi_events_init(&pool->events, params->events, pool->caller_only))
        goto err_events;
    hdi_inbox_init(&pool->inbox);
    hdi_inbox_init(&pool->urgent);
    hdi_inbox_init(&pool->later);
    pthread_mutex_init(&pool->lock, NULL);
    hdi_gangs_init(&pool->gangs);
    atomic_init(&pool->slots, pool->worker_count);
    atomic_init(&pool->size, pool->worker_count);
    atomic_init(&pool->awake, pool->worker_count);
    return pool;

err_events:
    hdi_events_destroy(&pool->events);
    hdi_placed_destroy(&pool->placed);
err_workers:
    while (made-- > 0)
        hdi_worker_destroy(&pool->workers[made]);
err_idle:
    while (sets-- > 0)
        hdi_idle_destroy(&pool->idle[sets]);
err_arrays:
    hdi_origin_destroy(&pool->origin);
    free(pool->workers);
    free(pool->threads);
    free(pool);
    return NULL;
}

static void free_pool(struct hd_pool *pool)
{
    hdi_events_destroy(&pool->events);
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        hdi_worker_destroy(&pool->workers[i]);
    hdi_placed_destroy(&pool->placed);
    hdi_inbox_destroy(&pool->later);
    hdi_inbox_destroy(&pool->urgent);
    hdi_inbox_destroy(&pool->inbox);
    hdi_gangs_destroy(&pool->gangs);
    for (unsigned i = 0; i < HDI_APPETITES; i++)
        hdi_idle_destroy(&pool->idle[i]);
    hdi_topology_destroy(pool->own_topology);
    pthread_mutex_destroy(&pool->lock);
    hdi_origin_destroy(&pool->origin);
    free(pool->workers);
    free(pool->threads);
    free(pool);
}

static void join_threads(struct hd_pool *pool, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        pthread_join(pool->workers[i].thread, NULL);
}

// Those that are parked and those at home: after something that all have to
// see.
static void wake_all(struct hd_pool *pool)
{
    hdi_fence(memory_order_seq_cst); // against hdi_idle_lie_down()'s
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        hdi_idle_wake(&pool->idle[HDI_ANYTHING], i);
    hdi_pool_call_all(pool);
}

// On failure the pool has no threads, and may be destroyed.
hd_status hdi_pool_start(struct hd_pool *pool, struct hd_error *error)
{
    if (pool->caller_only)
        return HD_OK;

    unsigned cores = hdi_topology_machine(pool->topology)->cores;

    for (unsigned i = 0; i < pool->worker_count; i++) {
        char name[32]; // 15 are shown
        snprintf(name, sizeof(name), "heddle %u", i);
        hd_status status = hdi_thread_start(
            pool->topology, pool->pinned ? i % cores : UINT_MAX, name,
            hdi_worker_main, &pool->workers[i], &pool->workers[i].thread);
        if (status == HD_OK)
            continue;

        // Those that have started look for work already: they go home again.
        atomic_store_explicit(&pool->finished, true, memory_order_seq_cst);
        wake_all(pool);
        join_threads(pool, i);
        return hdi_fail(error, status,
                        "thread %u of %u could not be started; ask for fewer "
                        "workers or raise the limit of threads (ulimit -u)",
                        i + 1, pool->worker_count);
    }
    pool->started = true;
    hdi_debug("started %u workers", pool->worker_count);
    return HD_OK;
}

hd_status hdi_pool_create(const struct hd_pool_params *params,
                          const struct hdi_topology *topology,
                          struct hd_pool **pool, struct hd_error *error)
{
    static const struct hd_pool_params defaults = {0};
    if (!params)
        params = &defaults;

    HDI_TRY(check_params(params, error));
    *pool = make_pool(params, topology);
    if (!*pool)
        return hdi_fail(error, HD_ENOMEM, "no memory for the workers");
    hdi_debug("made %u workers", (*pool)->worker_count);
    return HD_OK;
}

hd_status hd_pool_create(const struct hd_pool_params *params,
                         struct hd_pool **pool, struct hd_error *error)
{
    struct hdi_topology *topology;

    HDI_TRY(hdi_topology_create_part(params ? params->topology : NULL,
                                     params ? params->cores : NULL, &topology,
                                     error));
    hd_status status = hdi_pool_create(params, topology, pool, error);
    if (status != HD_OK) {
        hdi_topology_destroy(topology);
        return status;
    }
    (*pool)->own_topology = topology;
    status = hdi_pool_start(*pool, error);
    if (status != HD_OK)
        hd_pool_destroy(*pool);
    return status;
}

// What was submitted is run before: nothing is lost. Spare threads come last,
// as workers may still make some.
void hd_pool_destroy(struct hd_pool *pool)
{
    if (!pool)
        return;

    if (!hdi_origin_is_here(&pool->origin)) {
        free_pool(pool); // its threads are not here, nor will they be
        return;
    }
    // Without threads whoever destroys the pool does what is left, as its
    // worker.
    if (pool->caller_only) {
        while (!hdi_seat_take(pool))
            hdi_seat_await(pool, NULL);
        hdi_worker_drain(&pool->workers[0]);
    } else if (pool->started) {
        atomic_store_explicit(&pool->stopping, true, memory_order_seq_cst);
        wake_all(pool);
        join_threads(pool, pool->worker_count);
        // Nobody makes spare threads any more.
        for (unsigned i = pool->worker_count; i < hdi_pool_slots(pool); i++)
            pthread_join(pool->workers[i].thread, NULL);
    }
    free_pool(pool);
}

// Asking ----------------------------------------------------------------------

unsigned hd_pool_workers(const struct hd_pool *pool)
{
    return pool->worker_count;
}

const struct hdi_topology *hdi_pool_topology(const struct hd_pool *pool)
{
    return pool->topology;
}

void hdi_pool_host(struct hd_pool *pool, int threads)
{
    atomic_fetch_add_explicit(&pool->guests, (unsigned)threads,
                              memory_order_relaxed);
}

bool hdi_pool_is_parked(const struct hd_pool *pool, unsigned worker)
{
    return hdi_idle_is_parked(&pool->idle[HDI_ANYTHING], worker);
}

bool hdi_pool_has_threads(const struct hd_pool *pool)
{
    return !pool->caller_only;
}

// Linear, but only calls from unknown threads go by here; tasks have their
// worker at hand.
struct hd_worker *hd_pool_worker(const struct hd_pool *pool)
{
    uintptr_t self = (uintptr_t)pthread_self();

    // An entry that is not this thread's may be old; that does no harm, only
    // this thread ever writes its own number.
    for (unsigned i = 0; i < hdi_pool_slots(pool); i++)
        if (atomic_load_explicit(&pool->threads[i], memory_order_relaxed) ==
            self)
            return &pool->workers[i];
    return NULL;
}

void hd_pool_counters(const struct hd_pool *pool, unsigned index,
                      struct hd_worker_counters *counters)
{
    const struct hd_worker *worker = &pool->workers[index];
    const struct hdi_counters *c = &worker->counters;

    *counters = (struct hd_worker_counters){
        .tasks = __atomic_load_n(&worker->stack.hot.tasks_, __ATOMIC_RELAXED),
        .stolen = atomic_load_explicit(&c->stolen, memory_order_relaxed),
        .failed = atomic_load_explicit(&c->failed, memory_order_relaxed),
        .parks = atomic_load_explicit(&c->parks, memory_order_relaxed),
        .parked = atomic_load_explicit(&c->parked, memory_order_relaxed),
        .leaves = atomic_load_explicit(&c->leaves, memory_order_relaxed),
        .groups = atomic_load_explicit(&c->groups, memory_order_relaxed),
        .busy = atomic_load_explicit(&c->busy, memory_order_relaxed),
    };
}

void hdi_pool_set_tracks(struct hd_pool *pool, struct hdi_track *const *tracks)
{
    for (unsigned i = 0; i < pool->worker_count; i++)
        atomic_store_explicit(&pool->workers[i].track,
                              tracks ? tracks[i] : NULL, memory_order_release);
}

void hdi_pool_on_cancel(struct hd_pool *pool, struct hdi_listener *listener)
{
    listener->next = pool->listeners;
    pool->listeners = listener;
}
