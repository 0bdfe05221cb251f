// Jobs from outside, first in, first out.
//
// Invariants: `last` points to the link that ends the list: `first` of an empty
// one. The list changes under the lock; `count` is written there too and read
// without, by workers that look for work: one that reads an old 0 is told again
// by who pushed (idle.c), one that reads an old 1 finds nothing and goes on.
#include "steal/queue/inbox.h"

#include "heddle/task.h"

void hdi_inbox_init(struct hdi_inbox *inbox)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    // Held for a few instructions: to fall asleep takes longer than to look.
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(&inbox->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    inbox->first = NULL;
    inbox->last = &inbox->first;
    atomic_init(&inbox->count, 0);
}

void hdi_inbox_destroy(struct hdi_inbox *inbox)
{
    pthread_mutex_destroy(&inbox->lock);
}

static void add(struct hdi_inbox *inbox, size_t n)
{
    size_t count = atomic_load_explicit(&inbox->count, memory_order_relaxed);
    // Release: who sees that a job was taken sees that its taker is awake, see
    // finish() in working.c and tests/models/last.pml.
    atomic_store_explicit(&inbox->count, count + n,
                          HDI_BESIDE(memory_order_release));
}

void hdi_inbox_push(struct hdi_inbox *inbox, struct hd_job *job)
{
    job->next_ = NULL;
    pthread_mutex_lock(&inbox->lock);
    *inbox->last = job;
    inbox->last = &job->next_;
    add(inbox, 1);
    pthread_mutex_unlock(&inbox->lock);
}

static struct hd_job *cut_out(struct hdi_inbox *inbox, struct hd_job **link)
{
    struct hd_job *job = *link;

    *link = job->next_;
    if (!*link)
        inbox->last = link;
    add(inbox, (size_t)-1);
    return job;
}

// Looks without the lock first: an empty queue, which is the common case, costs
// no write.
struct hd_job *hdi_inbox_pop(struct hdi_inbox *inbox)
{
    if (!hdi_inbox_offers(inbox))
        return NULL;

    pthread_mutex_lock(&inbox->lock);
    struct hd_job *job = inbox->first ? cut_out(inbox, &inbox->first) : NULL;
    pthread_mutex_unlock(&inbox->lock);
    return job;
}

struct hd_job *hdi_inbox_pop_of(struct hdi_inbox *inbox,
                                const struct hd_group *group)
{
    if (!hdi_inbox_offers(inbox))
        return NULL;

    pthread_mutex_lock(&inbox->lock);
    struct hd_job **link = &inbox->first;
    while (*link && (*link)->group != group)
        link = &(*link)->next_;
    struct hd_job *job = *link ? cut_out(inbox, link) : NULL;
    pthread_mutex_unlock(&inbox->lock);
    return job;
}
