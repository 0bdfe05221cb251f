// Jobs from threads that are no workers, first in, first out.
//
// A list through the jobs themselves, so that handing one in cannot fail. Any
// thread may call anything at any time; the lock is held for a few
// instructions.
#ifndef HDI_STEAL_QUEUE_INBOX_H
#define HDI_STEAL_QUEUE_INBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/order.h"

struct hd_group;
struct hd_job;

struct hdi_inbox {
    _Alignas(64) pthread_mutex_t lock;
    struct hd_job *first, **last; // guarded by the lock
    _Atomic size_t count;         // written under the lock
};

void hdi_inbox_init(struct hdi_inbox *inbox);
void hdi_inbox_destroy(struct hdi_inbox *inbox);

void hdi_inbox_push(struct hdi_inbox *inbox, struct hd_job *job);
struct hd_job *hdi_inbox_pop(struct hdi_inbox *inbox); // NULL when empty

// The oldest job of this group, or NULL; looks at every job.
struct hd_job *hdi_inbox_pop_of(struct hdi_inbox *inbox,
                                const struct hd_group *group);

static inline bool hdi_inbox_offers(struct hdi_inbox *inbox)
{
    return atomic_load_explicit(&inbox->count,
                                HDI_BESIDE(memory_order_relaxed)) > 0;
}

#endif
