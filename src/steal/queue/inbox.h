// Jobs from threads that are no workers, first in, first out.
//
// Two lists through the jobs themselves, so that handing one in cannot fail:
// who hands in adds to the one, who takes has the other, and where that is
// empty all of the first. So both sides seldom touch what the other has
// written. Any thread may call anything at any time; locks are held for a few
// instructions.
#ifndef HDI_STEAL_QUEUE_INBOX_H
#define HDI_STEAL_QUEUE_INBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/order.h"

struct hd_group;
struct hd_job;

// Written under its lock, `first` read without.
struct hdi_inbox_list {
    _Alignas(64) pthread_mutex_t lock;
    _Atomic(struct hd_job *) first; // NULL: empty, and `last` says nothing
    struct hd_job *last;
};

struct hdi_inbox {
    struct hdi_inbox_list out, in; // whose jobs are older, and younger
};

void hdi_inbox_init(struct hdi_inbox *inbox);
void hdi_inbox_destroy(struct hdi_inbox *inbox);

void hdi_inbox_push(struct hdi_inbox *inbox, struct hd_job *job);
struct hd_job *hdi_inbox_pop(struct hdi_inbox *inbox); // NULL when empty

// The oldest job of this group, or NULL; looks at every job.
struct hd_job *hdi_inbox_pop_of(struct hdi_inbox *inbox,
                                const struct hd_group *group);

// Jobs that move go into `out` before they leave `in`: who sees by `in` that
// they have left finds them in `out`, or they were taken from there. What comes
// into `in` after the look at it may be missed: who pushed it tells (idle.c).
static inline bool hdi_inbox_offers(struct hdi_inbox *inbox)
{
    return atomic_load_explicit(&inbox->out.first,
                                HDI_BESIDE(memory_order_relaxed)) ||
           atomic_load_explicit(&inbox->in.first,
                                HDI_BESIDE(memory_order_acquire)) ||
           atomic_load_explicit(&inbox->out.first,
                                HDI_BESIDE(memory_order_relaxed));
}

#endif
