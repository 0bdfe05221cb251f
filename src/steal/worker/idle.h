// Which workers have nothing to do, and how they are woken.
//
// A worker is at work, searching, or parked. A parked worker has its bit set
// and sleeps on its own word. Whoever clears a bit, the sleeper or a waker,
// counts the worker as searching again, and only then it may be woken.
//
// Nobody is left asleep beside work, because both sides first write and then
// look, with a seq_cst fence between:
//
//     makes work visible      parks
//     ------------------      -----
//     publish                 set own bit, stop counting as searching
//     fence                   fence
//     look: searching? bits?  look: work?
//
// A waker that sees somebody searching wakes nobody: that worker looks again
// after it stops searching, before it sleeps (the right column), or, when it
// stops because it found work, wakes another if more is to be seen and it was
// the last (hdi_idle_leave).
#ifndef HDI_STEAL_WORKER_IDLE_H
#define HDI_STEAL_WORKER_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

struct hdi_bed {
    _Alignas(64) _Atomic uint32_t awake; // futex: 0 to sleep, 1 to get up
};

struct hdi_idle {
    // May be briefly lower than true, between a waker's clearing of a bit and
    // its counting: that costs a needless wake-up at most.
    _Alignas(64) _Atomic int searching;
    unsigned words;
    _Atomic uint64_t *parked; // one bit per worker
    struct hdi_bed *beds;     // one per worker
};

// False without memory.
bool hdi_idle_init(struct hdi_idle *idle, unsigned workers);
void hdi_idle_destroy(struct hdi_idle *idle);

// A worker starts searching; and stops, true when it was the last.
void hdi_idle_search(struct hdi_idle *idle);
bool hdi_idle_leave(struct hdi_idle *idle);

// A searching worker announces that it will sleep; it must look for work
// between this and hdi_idle_sleep(), and call hdi_idle_rise() in any case; then
// it is searching again.
void hdi_idle_lie_down(struct hdi_idle *idle, unsigned worker);
void hdi_idle_sleep(struct hdi_idle *idle, unsigned worker);
void hdi_idle_rise(struct hdi_idle *idle, unsigned worker);

// Wake this worker if it is parked; wake any parked one, near `worker` first.
// False when there was none. Does not fence.
bool hdi_idle_wake(struct hdi_idle *idle, unsigned worker);
bool hdi_idle_wake_one(struct hdi_idle *idle, unsigned worker);

bool hdi_idle_parked(const struct hdi_idle *idle); // is anybody?
bool hdi_idle_is_parked(const struct hdi_idle *idle, unsigned worker);

static inline int hdi_idle_searching(const struct hdi_idle *idle)
{
    return atomic_load_explicit(&idle->searching,
                                HDI_BESIDE(memory_order_relaxed));
}

#endif
