#include "backend/meeting.h"

#include <sched.h>

#include "base/clock.h"
#include "base/futex.h"

enum {
    SPIN_TIME = 2000,   // long against a round of members that run [ns]
    YIELD_TIME = 30000, // long against a sleep and a wake-up [ns]
    NAP = 10000000      // who sleeps looks at `stop` so often [ns]
};

static bool is_apart(const struct hdi_stand *a, const struct hdi_stand *b)
{
    return a->ended != b->ended || (!a->ended && a->line != b->line);
}

// True: all stand at the same place. Else `*other` is one who does not stand
// with `stand`.
static bool agree(const struct hdi_share *share, const struct hdi_stand *stand,
                  struct hdi_stand *other)
{
    const struct hdi_stand *stands = share->meeting->stands;

    for (unsigned i = 0; i < share->members; i++)
        if (is_apart(&stands[i], stand)) {
            *other = stands[i];
            return false;
        }
    return true;
}

static bool is_over(const struct hdi_meeting *m, uint32_t round)
{
    return atomic_load(&m->round) != round;
}

static void nap(struct hdi_meeting *m, uint32_t round)
{
    // Both sides store and then look, in one order of all: either the last one
    // sees who sleeps, or the sleeper sees that the round is over.
    atomic_fetch_add(&m->sleepers, 1);
    if (!is_over(m, round))
        hdi_futex_wait_for(&m->round, round, NAP);
    atomic_fetch_sub(&m->sleepers, 1);
}

enum hdi_met hdi_meeting_come(const struct hdi_share *share,
                              const struct hdi_stand *stand,
                              const atomic_int *stop, struct hdi_stand *other)
{
    struct hdi_meeting *m = share->meeting;
    uint32_t round = atomic_load_explicit(&m->round, memory_order_relaxed);

    m->stands[share->rank] = *stand;
    if (atomic_fetch_add(&m->arrived, 1) + 1 == share->members) {
        if (!agree(share, stand, other))
            return HDI_MET_APART;
        atomic_store_explicit(&m->arrived, 0, memory_order_relaxed);
        atomic_store(&m->round, round + 1);
        if (atomic_load(&m->sleepers) > 0)
            hdi_futex_wake(&m->round, INT_MAX);
        return HDI_MET;
    }
    for (uint64_t begin = hdi_now(), waited = 0; !is_over(m, round);
         waited = hdi_now() - begin) {
        if (atomic_load(stop) != 0)
            return HDI_MET_STOPPED;
        if (waited > YIELD_TIME)
            nap(m, round);
        else if (waited > SPIN_TIME)
            sched_yield();
    }
    return HDI_MET;
}
