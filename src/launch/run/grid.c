// Launches whose work-groups wait for each other, on several workers.
//
// All groups are there at once, shared out among the members: the worker that
// has the launch, and those that come in time when it asks. Nobody is waited
// for who might not come, and a member waits for members only, which all run:
// so nothing that the other workers do, nor another such launch, can hold them
// up for ever.
#define HD_COUNT_TASKS // workers that attend show in the counters

#include <sched.h>

#include "backend/meeting.h"
#include "base/clock.h"
#include "launch/run/cutoff.h"
#include "launch/run/flight.h"
#include "steal/worker.h"

enum {
    SHARE_TIME = 250000, // of work that is worth a member [ns]
    PATIENCE = 200000,   // longer than a worker takes to get up [ns]
    LONG = 50000000,     // too long to try it on one worker only [ns]
    // What is not chosen is tried again after so many launches, later if it
    // took twice the time.
    AGAIN = 16,
    LATER = 256
};

static const uint32_t BEGUN = UINT32_C(1) << 31;

// On the stack of hdi_grid_run(), which waits for all that were spawned. BEGUN
// in `members` closes the door: who comes later has no share, and none is
// waited for.
struct grid {
    struct hdi_flight *launch;
    struct hdi_meeting meeting;
    _Atomic uint32_t members; // that have come, and BEGUN
};

static void run_share(struct hd_worker *worker, struct grid *grid,
                      unsigned rank)
{
    unsigned members = atomic_load(&grid->members) & ~BEGUN;
    uint64_t groups = hdi_box_groups(&grid->launch->box);
    struct hdi_share share = {.meeting = &grid->meeting,
                              .rank = rank,
                              .members = members,
                              .first = groups * rank / members};

    share.count = groups * (rank + 1) / members - share.first;
    hdi_leaf_run_share(worker, grid->launch, &share);
}

// Begin with those that have come until `deadline`, at most `wanted`.
// Until the deadline others may come in any number up to `wanted`.
static void begin(struct grid *grid, unsigned wanted, uint64_t deadline)
{
    while (atomic_load(&grid->members) < wanted && hdi_now() < deadline)
        sched_yield();
    atomic_fetch_or(&grid->members, BEGUN);
}

// False: too late.
// A member that has come waits for the beginning, since its share depends on
// how many there are.
static bool come(struct grid *grid, unsigned *rank)
{
    uint32_t members = atomic_load(&grid->members);

    do {
        if (members & BEGUN)
            return false;
        *rank = members;
    } while (
        !atomic_compare_exchange_weak(&grid->members, &members, members + 1));
    while (!(atomic_load(&grid->members) & BEGUN))
        sched_yield();
    return true;
}

HD_VOID_TASK(attend, struct grid *, grid)
{
    unsigned rank;

    if (come(grid, &rank))
        run_share(worker, grid, rank);
}

// Whether several workers have been faster than one. Where other work takes the
// cores they are not: each waits for one that does not run.
static bool has_paid(struct hdi_learned *learned, double items)
{
    uint64_t alone = atomic_load(&learned->alone_time);
    uint64_t shared = atomic_load(&learned->shared_time);
    uint32_t launch = atomic_fetch_add(&learned->launches, 1);

    if (shared == 0)
        return true;
    if (alone == 0)
        return (double)shared / HDI_TIME_UNIT * items > LONG;
    bool paid = shared <= alone;
    bool is_close = paid ? alone < 2 * shared : shared < 2 * alone;
    return launch % (is_close ? AGAIN : LATER) == 0 ? !paid : paid;
}

static void learn(struct hdi_learned *learned, bool is_shared, uint64_t time,
                  double items)
{
    _Atomic uint64_t *word =
        is_shared ? &learned->shared_time : &learned->alone_time;
    uint64_t sample = (uint64_t)((double)time * HDI_TIME_UNIT / items) + 1;
    uint64_t old = atomic_load(word);

    atomic_store(word, old == 0 ? sample : (3 * old + sample) / 4);
}

// As many as have enough to do, as far as that is known.
// At least one: the worker that has the launch.
static unsigned members_for(const struct hdi_flight *launch, double items)
{
    uint64_t groups = hdi_box_groups(&launch->box);
    uint64_t most = hd_pool_workers(launch->launcher->pool);
    double time = hdi_cutoff_time(launch, groups);

    most = most < HDI_MEETING ? most : HDI_MEETING;
    most = most < groups ? most : groups;
    if (time > 0) {
        uint64_t worth = (uint64_t)(time / SHARE_TIME);
        most = worth < most ? worth : most;
    }
    return most > 1 && has_paid(launch->kernel->learned, items) ? (unsigned)most
                                                                : 1;
}

void hdi_grid_run(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct grid grid = {.launch = launch, .members = 1};
    double items = (double)(hdi_box_groups(&launch->box) * launch->group_items);
    unsigned wanted = members_for(launch, items);

    for (unsigned i = 1; i < wanted; i++)
        hd_spawn(worker, attend, &grid);
    hd_publish(worker);
    begin(&grid, wanted, hdi_now() + PATIENCE);
    uint64_t start = hdi_now();
    run_share(worker, &grid, 0);
    if (hdi_leaf_goes_on(launch))
        learn(launch->kernel->learned,
              atomic_load(&grid.members) != (1 | BEGUN), hdi_now() - start,
              items);
    for (unsigned i = 1; i < wanted; i++)
        hd_join(worker, attend);
}
