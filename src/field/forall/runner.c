#include "field/forall/runner.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "steal/event.h"

enum ready {
    NOT_YET,
    RUNS,    // its event has begun, and ends when this is over
    GIVEN_UP // its event has ended: others are told
};

// `ready` is under the runner's lock, with what is beside it, and written once.
struct started {
    struct started *next;
    struct hdi_runner *runner;
    struct hdi_forall_job job;
    struct hd_pool *pool;
    hd_event handle;
    struct hdi_event *event; // of `handle`; NULL: one of hd_event_create()
    bool anyway;
    enum ready ready;
    bool refused;     // not by all: only its event ends
    hd_status before; // how what it comes after has ended, and why
    struct hd_error why;
};

// Under the runner's lock: who starts adds to the end of `first`, the thread
// takes from its front, in the same order on all processes.
struct track {
    struct hdi_runner *runner;
    struct hdi_lane *lane;
    struct started *first, **last;
    pthread_t thread;
};

struct hdi_runner {
    pthread_mutex_t lock;
    pthread_cond_t changed; // of all below
    bool ending;
    uint32_t threads;
    struct track tracks[HDI_LANES - 1];
};

// The thread ------------------------------------------------------------------

// The next one, when it is ready, or NULL when no more come.
static struct started *take(struct track *t)
{
    struct hdi_runner *runner = t->runner;
    struct started *s;

    pthread_mutex_lock(&runner->lock);
    while (t->first ? t->first->ready == NOT_YET : !runner->ending)
        pthread_cond_wait(&runner->changed, &runner->lock);
    s = t->first;
    if (s) {
        t->first = s->next;
        if (!t->first)
            t->last = &t->first;
    }
    pthread_mutex_unlock(&runner->lock);
    return s;
}

// The event ends last: who waits for it may free what the job is about then.
static void *track_main(void *data)
{
    struct track *t = data;

    for (struct started *s; (s = take(t)); free(s)) {
        hd_status status = s->before;

        if (!s->refused)
            status = s->job.function(s->job.data, t->lane, status, &s->why);
        if (!s->event)
            hd_event_end(s->pool, s->handle, status, s->why.text, NULL);
        else if (s->ready == RUNS)
            hdi_event_end(s->event, status, s->why.text);
    }
    return NULL;
}

// What was started is done first.
static void stop(struct hdi_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
    runner->ending = true;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
    for (uint32_t i = 0; i < runner->threads; i++)
        pthread_join(runner->tracks[i].thread, NULL);
    pthread_cond_destroy(&runner->changed);
    pthread_mutex_destroy(&runner->lock);
    free(runner);
}

// On demand: programs that start nothing have no threads.
static hd_status make(struct hd_cluster *cluster, struct hd_error *error)
{
    if (cluster->runner)
        return HD_OK;

    struct hdi_runner *runner = calloc(1, sizeof(*runner));
    if (!runner)
        return hdi_fail(error, HD_ENOMEM, "no memory to start a forall");
    pthread_mutex_init(&runner->lock, NULL);
    pthread_cond_init(&runner->changed, NULL);
    for (uint32_t i = 0; i < HDI_LANES - 1; i++) {
        struct track *t = &runner->tracks[i];

        *t = (struct track){.runner = runner, .lane = &cluster->lanes[i + 1]};
        t->last = &t->first;
        if (pthread_create(&t->thread, NULL, track_main, t) != 0) {
            stop(runner);
            return hdi_fail(error, HD_ELIMIT, "no thread for foralls");
        }
        runner->threads++;
    }
    cluster->runner = runner;
    cluster->stop_runner = stop;
    return HD_OK;
}

// Events ----------------------------------------------------------------------

static struct started *started_of(struct hdi_event *event)
{
    return *(struct started **)event->room;
}

// The thread may free it as soon as the lock is released.
static void tell(struct started *s, enum ready ready, hd_status status,
                 const struct hd_error *why)
{
    struct hdi_runner *runner = s->runner;

    pthread_mutex_lock(&runner->lock);
    s->before = status;
    s->why = *why;
    s->ready = ready;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
}

// What it comes after has ended, well or not: all processes are told.
static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct started *s = started_of(event);

    (void)worker;
    tell(s, RUNS, s->anyway ? HD_OK : error->status, error);
    return false;
}

// It ends: because it is over, or without having run.
static void drop(struct hdi_event *event)
{
    struct started *s = started_of(event);
    struct hd_error why;

    if (s->ready == NOT_YET)
        tell(s, GIVEN_UP,
             hdi_fail(&why, HD_ECANCELED, "cancelled before it began"), &why);
}

static const struct hdi_event_kind kind = {.run = run, .drop = drop};

static hd_status start_event(struct started *s, const struct hd_start *start,
                             struct hd_error *error)
{
    struct hd_start after = *start;

    HDI_TRY(hdi_event_check(s->pool, start, error));
    HDI_TRY(hdi_event_take(s->pool, &kind, &s->event, error));
    struct started **room = hdi_event_room(s->event, sizeof(struct started *));
    if (!room) {
        hdi_event_give_back(s->event);
        return hdi_fail(error, HD_ENOMEM, "no memory to start a forall");
    }
    *room = s;
    s->anyway = start->anyway;
    after.anyway = true; // the others must be told
    return hdi_event_start(s->event, &after, &s->handle, error);
}

// Starting --------------------------------------------------------------------

static hd_status prepare(struct hd_cluster *cluster, struct hd_pool *pool,
                         const struct hd_start *start,
                         const struct hdi_forall_job *job,
                         struct started **started, struct hd_error *error)
{
    HDI_TRY(make(cluster, error));
    struct started *s = calloc(1, sizeof(*s));
    if (!s)
        return hdi_fail(error, HD_ENOMEM, "no memory to start a forall");
    s->runner = cluster->runner;
    s->job = *job;
    s->pool = pool;
    s->ready = start ? NOT_YET : RUNS;
    hd_status status = start ? start_event(s, start, error)
                             : hd_event_create(pool, &s->handle, error);
    if (status != HD_OK) {
        free(s);
        return status;
    }
    *started = s;
    return HD_OK;
}

static void add(struct track *t, struct started *s)
{
    pthread_mutex_lock(&t->runner->lock);
    *t->last = s;
    t->last = &s->next;
    pthread_cond_broadcast(&t->runner->changed);
    pthread_mutex_unlock(&t->runner->lock);
}

// Its event may have begun, so the track waits for that.
static void refuse(struct track *t, struct started *s)
{
    if (s->event)
        hd_event_cancel(s->pool, s->handle);
    else
        hd_event_end(s->pool, s->handle, HD_ECANCELED, NULL, NULL);
    hd_event_release(s->pool, s->handle);
    if (s->event) {
        s->refused = true;
        add(t, s);
    } else {
        free(s);
    }
}

// The count, which says in which lane it is, is of those that all have started.
hd_status hdi_forall_start(struct hd_cluster *cluster, struct hd_pool *pool,
                           const struct hd_start *start,
                           const struct hdi_forall_job *job, hd_status status,
                           hd_event *event, struct hd_error *error)
{
    uint32_t number = (uint32_t)(cluster->foralls % (HDI_LANES - 1));
    struct started *s = NULL;

    if (status == HD_OK)
        status = prepare(cluster, pool, start, job, &s, error);
    status = hdi_cluster_agree(cluster, job->call, job->digest, status, error);
    if (status == HD_OK) {
        hd_event handle = s->handle; // it may be over soon

        cluster->foralls++;
        cluster->latest = 1 + number;
        add(&cluster->runner->tracks[number], s);
        if (event)
            *event = handle;
        else
            hd_event_release(pool, handle);
    } else if (s) {
        refuse(&cluster->runner->tracks[number], s);
    }
    return status;
}
