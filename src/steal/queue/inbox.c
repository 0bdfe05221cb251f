// Invariants: the list of each begins at `first` and ends with `last`, whose
// link is NULL. Who has both locks took that of `out` first. All jobs of `out`
// are older than those of `in`.
//
// Workers that look for work read both without a lock: one that reads that
// there is none, and is late, is told again by who pushed (idle.c); one that
// reads that there is some, and is late, finds nothing and goes on. See
// tests/models/inbox.pml.
#include "steal/queue/inbox.h"

#include "heddle/task.h"

static void open_list(struct hdi_inbox_list *list)
{
    pthread_mutexattr_t kind;

    pthread_mutexattr_init(&kind);
#ifdef PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP
    // Held for a few instructions: to fall asleep takes longer than to look.
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
    pthread_mutex_init(&list->lock, &kind);
    pthread_mutexattr_destroy(&kind);
    atomic_init(&list->first, NULL);
    list->last = NULL;
}

void hdi_inbox_init(struct hdi_inbox *inbox)
{
    open_list(&inbox->out);
    open_list(&inbox->in);
}

void hdi_inbox_destroy(struct hdi_inbox *inbox)
{
    pthread_mutex_destroy(&inbox->out.lock);
    pthread_mutex_destroy(&inbox->in.lock);
}

static struct hd_job *first_of(const struct hdi_inbox_list *list)
{
    return atomic_load_explicit(&list->first, memory_order_relaxed);
}

// Release: who sees that a job was taken sees that its taker is awake, see
// finish() in working.c and tests/models/last.pml.
static void set_first(struct hdi_inbox_list *list, struct hd_job *job)
{
    atomic_store_explicit(&list->first, job, HDI_BESIDE(memory_order_release));
}

// Jobs that are linked from `first` to `last`.
static void append(struct hdi_inbox_list *list, struct hd_job *first,
                   struct hd_job *last)
{
    if (first_of(list))
        list->last->next_ = first;
    else
        set_first(list, first);
    list->last = last;
}

void hdi_inbox_push(struct hdi_inbox *inbox, struct hd_job *job)
{
    job->next_ = NULL;
    pthread_mutex_lock(&inbox->in.lock);
    append(&inbox->in, job, job);
    pthread_mutex_unlock(&inbox->in.lock);
}

// What has come in meanwhile. Under the lock of `out`.
static void fetch(struct hdi_inbox *inbox)
{
    pthread_mutex_lock(&inbox->in.lock);
    struct hd_job *first = first_of(&inbox->in);
    if (first) {
        append(&inbox->out, first, inbox->in.last);
        set_first(&inbox->in, NULL); // the order matters to who looks
    }
    pthread_mutex_unlock(&inbox->in.lock);
}

// Looks without the lock first: an empty queue, which is the common case, costs
// no write.
struct hd_job *hdi_inbox_pop(struct hdi_inbox *inbox)
{
    struct hdi_inbox_list *out = &inbox->out;

    if (!hdi_inbox_offers(inbox))
        return NULL;

    pthread_mutex_lock(&out->lock);
    if (!first_of(out))
        fetch(inbox);
    struct hd_job *job = first_of(out);
    if (job)
        set_first(out, job->next_);
    pthread_mutex_unlock(&out->lock);
    return job;
}

struct hd_job *hdi_inbox_pop_of(struct hdi_inbox *inbox,
                                const struct hd_group *group)
{
    struct hdi_inbox_list *out = &inbox->out;
    struct hd_job *before = NULL;

    if (!hdi_inbox_offers(inbox))
        return NULL;

    pthread_mutex_lock(&out->lock);
    fetch(inbox);
    struct hd_job *job = first_of(out);
    while (job && job->group != group) {
        before = job;
        job = job->next_;
    }
    if (job && before)
        before->next_ = job->next_;
    else if (job)
        set_first(out, job->next_);
    if (job && job == out->last)
        out->last = before;
    pthread_mutex_unlock(&out->lock);
    return job;
}
