#include "field/forall/runner.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"

struct started {
    struct started *next;
    hd_status (*function)(void *data, struct hdi_lane *lane,
                          struct hd_error *error);
    void *data;
    struct hd_pool *pool;
    hd_event event;
};

// Under the runner's lock: who starts adds to the end of `first`, the thread
// takes from its front.
struct track {
    struct hdi_runner *runner;
    struct hdi_lane *lane;
    struct started *first, **last;
    bool runs; // one that is no more in the list
    pthread_t thread;
};

struct hdi_runner {
    pthread_mutex_t lock;
    pthread_cond_t changed; // of all below
    bool ending;
    uint32_t threads;
    struct track tracks[HDI_LANES - 1];
};

// The next one, or NULL when no more come.
static struct started *take(struct track *t)
{
    struct hdi_runner *runner = t->runner;
    struct started *s;

    pthread_mutex_lock(&runner->lock);
    t->runs = false;
    pthread_cond_broadcast(&runner->changed);
    while (!t->first && !runner->ending)
        pthread_cond_wait(&runner->changed, &runner->lock);
    s = t->first;
    if (s) {
        t->first = s->next;
        if (!t->first)
            t->last = &t->first;
        t->runs = true;
    }
    pthread_mutex_unlock(&runner->lock);
    return s;
}

// The event ends last: who waits for it may free what `data` is then.
static void *track_main(void *data)
{
    struct track *t = data;

    for (struct started *s; (s = take(t)); free(s)) {
        struct hd_error error = {.status = HD_OK};
        hd_status status = s->function(s->data, t->lane, &error);

        hd_event_end(s->pool, s->event, status, error.text, NULL);
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

static hd_status add(struct hdi_runner *runner, struct track *t,
                     const struct started *what, hd_event *event,
                     struct hd_error *error)
{
    struct started *s = malloc(sizeof(*s));

    if (!s)
        return hdi_fail(error, HD_ENOMEM, "no memory to start a forall");
    *s = *what;
    hd_status status = hd_event_create(s->pool, &s->event, error);
    if (status != HD_OK) {
        free(s);
        return status;
    }
    *event = s->event;
    pthread_mutex_lock(&runner->lock);
    *t->last = s;
    t->last = &s->next;
    pthread_cond_broadcast(&runner->changed);
    pthread_mutex_unlock(&runner->lock);
    return HD_OK;
}

// In its turn, when what was started in the lane before is over.
static hd_status refuse(struct hdi_runner *runner, struct track *t,
                        hd_status status, struct hd_error *error)
{
    pthread_mutex_lock(&runner->lock);
    while (t->first || t->runs)
        pthread_cond_wait(&runner->changed, &runner->lock);
    pthread_mutex_unlock(&runner->lock);
    return hdi_lane_agree(t->lane, "hd_forall_kernel()", 0, status, error);
}

// Without a runner nothing was started here, so the lane is free. The count
// goes on also where there is none, as it does on the processes that have one.
hd_status hdi_forall_start(struct hd_cluster *cluster, struct hd_pool *pool,
                           hd_status (*function)(void *data,
                                                 struct hdi_lane *lane,
                                                 struct hd_error *error),
                           void *data, hd_event *event, struct hd_error *error)
{
    struct started what = {.function = function, .data = data, .pool = pool};
    uint64_t number = cluster->foralls++ % (HDI_LANES - 1);
    hd_status status = make(cluster, error);

    cluster->latest = 1 + (uint32_t)number;
    if (status != HD_OK)
        return hdi_lane_agree(&cluster->lanes[cluster->latest],
                              "hd_forall_kernel()", 0, status, error);
    struct hdi_runner *runner = cluster->runner;
    struct track *t = &runner->tracks[number];
    status = add(runner, t, &what, event, error);
    return status == HD_OK ? HD_OK : refuse(runner, t, status, error);
}
