#include "launch/run/cutoff.h"

#include "base/error.h"
#include "launch/fault/search.h"
#include "steal/worker.h"

// WORTH: leaves then cost 0.4 % of the time. MIN_TIME: below it the clock
// itself counts. MAX_TIME: longer leaves leave workers without a share at the
// end, and are late to see that the launch is to end. LEAVES_PER_WORKER: so
// many that uneven groups even out.
enum {
    WORTH = 250,           // a leaf takes so many times the overhead,
    MIN_TIME = 10000,      // but this at least [ns]
    MAX_TIME = 1000000,    // and this at most [ns]
    WAKE_TIME = 30000,     // of a worker that sleeps [ns]
    LEAVES_PER_WORKER = 8, // where the time says little
    FIRST_GIVING = 200,    // before any was measured [ns]
    MAX_GIVING = 5000      // more is an interruption [ns]
};

static void measure(struct hd_worker *worker, void *launcher)
{
    ((struct hdi_launcher *)launcher)->division = hdi_worker_overhead(worker);
}

// In a pool of its own, where nothing else runs and nobody counts.
hd_status hdi_cutoff_measure(struct hdi_launcher *launcher,
                             struct hd_error *error)
{
    const struct hd_pool_params params = {.caller_only = true,
                                          .unpinned = true};
    struct hd_pool *pool;

    HDI_TRY(hdi_pool_create(&params, hdi_pool_topology(launcher->pool), &pool,
                            error));
    hd_pool_run(pool, measure, launcher);
    hd_pool_destroy(pool);
    atomic_init(&launcher->giving, FIRST_GIVING);
    return HD_OK;
}

// One sample counts an eighth, and as twice what is known at most: a thread
// that was interrupted must not spoil the model.
void hdi_cutoff_learn(struct hdi_launcher *launcher, uint64_t time)
{
    uint64_t old =
        atomic_load_explicit(&launcher->giving, memory_order_relaxed);
    uint64_t sample = time < MAX_GIVING ? time : MAX_GIVING;

    if (sample > 2 * old)
        sample = 2 * old + 8;
    atomic_store_explicit(&launcher->giving, (7 * old + sample) / 8,
                          memory_order_relaxed);
}

uint64_t hdi_cutoff_hand_over(const struct hdi_launcher *launcher)
{
    // To the unit and back.
    return 2 * atomic_load_explicit(&launcher->giving, memory_order_relaxed);
}

double hdi_cutoff_time(const struct hdi_flight *launch, uint64_t groups)
{
    uint64_t item = atomic_load_explicit(&launch->kernel->learned->item_time,
                                         memory_order_relaxed);

    return (double)item / HDI_TIME_UNIT * (double)launch->group_items *
           (double)groups;
}

static double leaf_time(const struct hdi_flight *launch)
{
    const struct hdi_launcher *launcher = launch->launcher;
    uint64_t overhead = 2 * launcher->division; // two forks per leaf

    if (launcher->ports && launch->place.kind != HD_ON_WORKERS)
        overhead += hdi_cutoff_hand_over(launcher);
    uint64_t time = WORTH * overhead;
    return time < MIN_TIME ? MIN_TIME : time > MAX_TIME ? MAX_TIME : time;
}

// Groups whose work-items are lanes of some vectors: it takes as long to do
// fewer, so the time that was measured of leaves of fewer tells nothing.
static uint64_t groups_together(const struct hdi_flight *launch)
{
    uint64_t groups = launch->kernel->together / launch->group_items;

    return groups > 1 ? groups : 1;
}

// In order: nothing known, so an even share; less than it takes to wake
// anybody, so one leaf; else the leaf time, at least a vector's groups and at
// most a share.
static uint64_t most_groups(const struct hdi_flight *launch)
{
    uint64_t groups = hdi_box_groups(&launch->box);
    uint64_t leaves =
        (uint64_t)hd_pool_workers(launch->launcher->pool) * LEAVES_PER_WORKER;
    uint64_t share = groups / leaves + 1, least = groups_together(launch);
    double group = hdi_cutoff_time(launch, 1);

    if (group == 0)
        return share;
    if (group * (double)groups < WAKE_TIME)
        return groups;
    double wanted = leaf_time(launch) / group;
    if (wanted < (double)least)
        wanted = (double)least;
    return wanted >= (double)share ? share : (uint64_t)wanted;
}

// Grids and searches are one leaf: the one needs all groups at once, the other
// their order.
void hdi_cutoff_set(struct hdi_flight *launch, const struct hdi_terms *terms)
{
    if (terms->search || hdi_leaf_is_grid(launch->kernel)) {
        launch->cutoff = UINT64_MAX;
        return;
    }
    if (terms->tasks) {
        launch->cutoff = 1;
        return;
    }
    launch->is_leaf = terms->is_leaf;
    launch->leaf_data = terms->leaf_data;
    launch->cutoff = most_groups(launch);
    launch->learns = launch->launcher->broker && !launch->launcher->ports &&
                     hdi_cutoff_time(launch, 1) == 0;
}

uint64_t hdi_cutoff_now(const struct hdi_flight *launch)
{
    if (!launch->learns)
        return launch->cutoff;
    return hdi_cutoff_time(launch, 1) == 0 ? 1 : most_groups(launch);
}

bool hdi_cutoff_met(const struct hdi_flight *launch, const struct hdi_box *box)
{
    struct hd_piece piece = {.groups = hdi_box_groups(box)};

    if (piece.groups == 1)
        return true;
    if (!launch->is_leaf)
        return piece.groups <= hdi_cutoff_now(launch);
    for (int d = 0; d < 3; d++) {
        piece.first[d] = box->first[d];
        piece.count[d] = box->count[d];
    }
    piece.items = piece.groups * launch->group_items;
    piece.time = (uint64_t)hdi_cutoff_time(launch, piece.groups);
    return launch->is_leaf(&piece, launch->leaf_data);
}
