// Invariant: `last` points to the link that ends the list.
#include "steal/inbox.h"

#include "heddle/task.h"

void hdi_inbox_init(struct hdi_inbox *inbox)
{
    pthread_mutex_init(&inbox->lock, NULL);
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
    atomic_store_explicit(&inbox->count, count + n,
                          HDI_BESIDE(memory_order_relaxed));
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

struct hd_job *hdi_inbox_pop(struct hdi_inbox *inbox)
{
    if (!hdi_inbox_offers(inbox))
        return NULL;

    pthread_mutex_lock(&inbox->lock);
    struct hd_job *job = inbox->first;
    if (job) {
        inbox->first = job->next_;
        if (!inbox->first)
            inbox->last = &inbox->first;
        add(inbox, (size_t)-1);
    }
    pthread_mutex_unlock(&inbox->lock);
    return job;
}
