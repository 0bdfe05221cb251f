// Until src/steal is merged: a pool of threads behind one lock, and no trace.
#include <pthread.h>
#include <stdlib.h>

#include "heddle/task.h"
#include "trace/trace.h"

struct hd_worker {
    struct hd_pool *pool;
    unsigned index;
    pthread_t thread;
};
struct hd_pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct hd_job *jobs;
    unsigned count;
    bool stop, caller_only;
    struct hd_worker workers[8];
};

static void run_one(struct hd_worker *w)
{
    struct hd_pool *p = w->pool;
    struct hd_job *j = p->jobs;
    p->jobs = j->next_;
    pthread_mutex_unlock(&p->lock);
    struct hd_group *g = j->group;
    j->run(w, j);
    pthread_mutex_lock(&p->lock);
    g->state_.word[0]--;
    pthread_cond_broadcast(&p->wake);
}
static void *loop(void *data)
{
    struct hd_worker *w = data;
    struct hd_pool *p = w->pool;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->jobs)
            run_one(w);
        else
            pthread_cond_wait(&p->wake, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
hd_status hd_pool_create(const struct hd_pool_params *params,
                         struct hd_pool **pool, struct hd_error *error)
{
    (void)error;
    struct hd_pool *p = calloc(1, sizeof(*p));
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    p->count = params->caller_only ? 1 : params->workers;
    p->caller_only = params->caller_only;
    for (unsigned i = 0; i < p->count; i++) {
        p->workers[i].pool = p;
        p->workers[i].index = i;
        if (!p->caller_only)
            pthread_create(&p->workers[i].thread, NULL, loop, &p->workers[i]);
    }
    *pool = p;
    return HD_OK;
}
void hd_pool_destroy(struct hd_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->count && !p->caller_only; i++)
        pthread_join(p->workers[i].thread, NULL);
    free(p);
}
unsigned hd_pool_workers(const struct hd_pool *p)
{
    return p->count;
}
unsigned hd_worker_index(const struct hd_worker *w)
{
    return w->index;
}
struct hd_pool *hd_worker_pool(const struct hd_worker *w)
{
    return w->pool;
}
void hd_group_init(struct hd_group *g)
{
    *g = (struct hd_group){0};
}
void hd_submit(struct hd_pool *p, struct hd_job *j)
{
    pthread_mutex_lock(&p->lock);
    j->group->state_.word[0]++;
    j->next_ = p->jobs;
    p->jobs = j;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}
static struct hd_worker *self(struct hd_pool *p)
{
    if (p->caller_only)
        return &p->workers[0];
    for (unsigned i = 0; i < p->count; i++)
        if (pthread_equal(p->workers[i].thread, pthread_self()))
            return &p->workers[i];
    return NULL;
}
void hd_group_wait(struct hd_pool *p, struct hd_group *g)
{
    pthread_mutex_lock(&p->lock);
    struct hd_worker *w = self(p);
    while (g->state_.word[0]) {
        if (w && p->jobs)
            run_one(w);
        else
            pthread_cond_wait(&p->wake, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
}
uint32_t hdi_trace_name(struct hdi_trace *trace, const char *name)
{
    (void)trace, (void)name;
    return 0;
}
void hdi_track_record(struct hdi_track *track, enum hdi_event event,
                      uint64_t begin, uint64_t end, uint32_t what,
                      uint64_t amount)
{
    (void)track, (void)event, (void)begin, (void)end, (void)what, (void)amount;
}
