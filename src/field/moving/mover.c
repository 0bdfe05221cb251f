// What goes on with redistributions that were started and not waited for: a
// thread of a cluster, made with the first of them. It steps each of them, in
// any order, by messages with tags of its own. So those whose inputs end in
// another order on another process do not wait for each other.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/pause.h"
#include "field/memory/mirror.h"
#include "field/moving/assign.h"
#include "steal/event.h"

// While messages are under way nobody signals the thread, so it looks: at once,
// then after naps, after many looks after long ones. Longer naps delay each
// message, shorter ones take the core from who computes.
enum {
    LOOKS = 64,       // without anything before a nap
    NAP = 20000,      // [ns],
    LONG_NAP = 200000 // after many [ns]
};

// Invariant: `list` holds all that were started and are not over. Anybody adds
// to its front, the thread takes out, both under the lock, under which `news`
// counts what the thread must look at.
// `news` counts instead of a flag: what is told while the thread steps is seen
// by the next comparison with what it has seen.
struct hdi_mover {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct hdi_assign *list;
    uint64_t news;
    bool ending;
};

// What others tell -----------------------------------------------------------

static struct hdi_mover *lock_mover(const struct hdi_assign *a)
{
    struct hdi_mover *mover = a->cluster->mover;

    pthread_mutex_lock(&mover->lock);
    return mover;
}

// The thread may free what the news were about as soon as the lock is released:
// nothing of it may be touched after this.
static void unlock_with_news(struct hdi_mover *mover)
{
    mover->news++;
    pthread_cond_signal(&mover->wake);
    pthread_mutex_unlock(&mover->lock);
}

static bool is_ready(const struct hdi_assign *a)
{
    struct hdi_mover *mover = lock_mover(a);
    bool ready = a->ready != HDI_ASSIGN_NOT_YET;

    pthread_mutex_unlock(&mover->lock);
    return ready;
}

static bool is_copied(const struct hdi_assign *a)
{
    struct hdi_mover *mover = lock_mover(a);
    bool copied = a->copying == 0;

    pthread_mutex_unlock(&mover->lock);
    return copied;
}

// Copying ---------------------------------------------------------------------

// Runs on a worker, as a call. `part` is gone when the lock is released.
static hd_status copy_part(struct hd_worker *worker, void *data,
                           struct hd_error *error)
{
    struct hdi_assign_part *part = data;
    struct hdi_assign *a = part->assign;

    (void)worker;
    (void)error;
    part->status = a->route
                       ? hdi_moving_copy(&a->moving, part->node, &part->error)
                       : hdi_field_take(a->field, &a->view, &part->error);
    struct hdi_mover *mover = lock_mover(a);
    a->copying--;
    unlock_with_news(mover);
    return HD_OK;
}

// A call that cannot be started is done here: slower, and it cannot fail.
static void copy(struct hdi_assign *a)
{
    uint32_t parts = a->route ? a->parts : 1;
    struct hd_start start = {.priority = (enum hd_priority)a->event->priority};

    a->copying = parts; // nobody else looks yet
    for (uint32_t i = 0; i < parts; i++) {
        struct hd_call call = {.function = copy_part, .data = &a->part[i]};

        a->part[i] = (struct hdi_assign_part){.assign = a, .node = i};
        if (hd_call_start(a->pool, &start, &call, NULL, NULL) != HD_OK)
            copy_part(NULL, &a->part[i], NULL);
    }
}

static const struct hdi_assign_by mover_does = {copy, is_copied, is_ready};

// The thread ------------------------------------------------------------------

// Out of the list first: then it is the thread's alone. The event ends last,
// because whoever waits for it may destroy the fields.
static void finish(struct hdi_mover *mover, struct hdi_assign *a)
{
    struct hdi_assign **link = &mover->list;

    pthread_mutex_lock(&mover->lock);
    while (*link != a)
        link = &(*link)->next;
    *link = a->next;
    pthread_mutex_unlock(&mover->lock);
    hdi_assign_end(a);
    if (a->ready == HDI_ASSIGN_RUNS)
        hdi_event_end(a->event, a->status, a->error.text);
    free(a->part);
    free(a);
}

// Whether a process has not answered for too long. What others wait for before
// they are ready, and their workers, may take any time.
// `quiet` is 0 while it may take any time.
static bool is_lost(struct hdi_assign *a, bool moved)
{
    uint64_t now;

    if (moved || !(a->stage == HDI_ASSIGN_CALL ||
                   (a->stage == HDI_ASSIGN_WORK && !a->sent))) {
        a->quiet = 0;
        return false;
    }
    now = hdi_now();
    if (!a->quiet)
        a->quiet = now;
    return now - a->quiet > a->cluster->timeout;
}

// Step all; false when nothing has happened. `*idle`: and all wait for news.
// `next` is read before a step, which may free `a`. Others add to the front
// only, so the rest of the list stays as it is.
static bool step_all(struct hdi_mover *mover, struct hdi_assign *list,
                     bool *idle)
{
    bool any = false;

    *idle = true;
    for (struct hdi_assign *a = list, *next; a; a = next) {
        bool moved = false;

        next = a->next;
        bool over = hdi_assign_step(a, &moved);
        if (!over && is_lost(a, moved)) {
            struct hd_error why;
            hd_status status =
                hdi_cluster_lost(a->cluster, hdi_assign_peer(a), &why);

            hdi_assign_lost(a, status, &why);
            moved = true;
        }
        any = any || moved;
        *idle = *idle && a->stage == HDI_ASSIGN_WAIT;
        if (a->stage == HDI_ASSIGN_OVER)
            finish(mover, a);
    }
    *idle = *idle && !any;
    return any;
}

static void pass_time(unsigned looks)
{
    if (looks < LOOKS)
        hdi_pause();
    else
        nanosleep(
            &(struct timespec){.tv_nsec = looks < 8 * LOOKS ? NAP : LONG_NAP},
            NULL);
}

// Sleeps on the condition only when all redistributions wait for news from
// here; else it looks for messages, in ever longer pauses.
static void *mover_main(void *data)
{
    struct hdi_mover *mover = data;
    uint64_t seen = 0;
    bool idle = true;

    for (unsigned looks = 0;; looks++) {
        pthread_mutex_lock(&mover->lock);
        while (idle && mover->news == seen && !(mover->ending && !mover->list))
            pthread_cond_wait(&mover->wake, &mover->lock);
        seen = mover->news;
        struct hdi_assign *list = mover->list;
        bool ends = mover->ending && !list;
        pthread_mutex_unlock(&mover->lock);
        if (ends)
            return NULL;
        if (step_all(mover, list, &idle))
            looks = 0;
        else if (!idle)
            pass_time(looks);
    }
}

// Waits until all that were started are over, then for the thread.
static void stop_mover(struct hdi_mover *mover)
{
    pthread_mutex_lock(&mover->lock);
    mover->ending = true;
    unlock_with_news(mover);
    pthread_join(mover->thread, NULL);
    pthread_cond_destroy(&mover->wake);
    pthread_mutex_destroy(&mover->lock);
    free(mover);
}

// On demand: programs that start nothing have no thread. Undone in reverse
// order when there is none.
static hd_status start_mover(struct hd_cluster *cluster, struct hd_error *error)
{
    if (cluster->mover)
        return HD_OK;

    struct hdi_mover *mover = calloc(1, sizeof(*mover));
    if (!mover)
        return hdi_fail(error, HD_ENOMEM, "no memory for a redistribution");
    pthread_mutex_init(&mover->lock, NULL);
    pthread_cond_init(&mover->wake, NULL);
    if (pthread_create(&mover->thread, NULL, mover_main, mover) != 0) {
        pthread_cond_destroy(&mover->wake);
        pthread_mutex_destroy(&mover->lock);
        free(mover);
        return hdi_fail(error, HD_ELIMIT, "no thread for redistributions");
    }
    cluster->mover = mover;
    cluster->stop_mover = stop_mover;
    return HD_OK;
}

// Events ----------------------------------------------------------------------

static struct hdi_assign *assign_of(struct hdi_event *event)
{
    return *(struct hdi_assign **)event->room;
}

// `ready` last, under the lock: who sees it may read the rest.
static void tell(struct hdi_assign *a, enum hdi_assign_ready ready,
                 hd_status status, const struct hd_error *why)
{
    struct hdi_mover *mover = lock_mover(a);

    a->before = status;
    a->why = *why;
    a->ready = ready;
    unlock_with_news(mover);
}

// What it comes after has ended, well or not: all processes are told.
static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct hdi_assign *a = assign_of(event);
    hd_status status = a->anyway ? HD_OK : error->status;

    (void)worker;
    if (status == HD_OK && a->view.field_)
        status = hdi_mirrors_home(a->view.field_, error);
    tell(a, HDI_ASSIGN_RUNS, status, error);
    return false;
}

// It ends: because it is over, or without having run.
static void drop(struct hdi_event *event)
{
    struct hdi_assign *a = assign_of(event);
    struct hd_error why;

    if (a && a->ready == HDI_ASSIGN_NOT_YET)
        tell(a, HDI_ASSIGN_GIVEN_UP,
             hdi_fail(&why, HD_ECANCELED, "cancelled before it began"), &why);
}

static const struct hdi_event_kind kind = {.run = run, .drop = drop};

// The event's room holds the address only: the redistribution lives on when the
// event is over.
static hd_status take_event(struct hdi_assign *a, struct hd_pool *pool)
{
    HDI_TRY(hdi_event_take(pool, &kind, &a->event, &a->error));
    struct hdi_assign **room = hdi_event_room(a->event, sizeof(*room));
    a->parts = a->route ? a->cluster->here : 1;
    a->part = calloc(a->parts, sizeof(*a->part));
    if (room && a->part) {
        *room = a;
        return HD_OK;
    }
    hdi_event_give_back(a->event);
    a->event = NULL;
    return hdi_fail(&a->error, HD_ENOMEM, "no memory for a redistribution");
}

// Without an event, so that the others are told why.
static hd_status refuse(struct hd_cluster *cluster, uint64_t number,
                        hd_status status, struct hd_error *error)
{
    struct hdi_agreement agreement;

    hdi_agreement_begin(&agreement, cluster, hdi_call_tag(number),
                        "hd_field_assign_start()", 0, status, error);
    return hdi_agreement_end(&agreement, error);
}

// Whatever was made when this fails goes by free_unstarted().
static hd_status prepare(struct hdi_assign *a, uint64_t number,
                         struct hd_pool *pool, const struct hd_start *start,
                         struct hd_field *field, const struct hd_view *view)
{
    HDI_TRY(hdi_assign_prepare(a, field, view));
    a->by = &mover_does;
    a->number = number;
    a->pool = pool;
    a->anyway = start->anyway;
    HDI_TRY(hdi_event_check(pool, start, &a->error));
    HDI_TRY(start_mover(a->cluster, &a->error));
    return take_event(a, pool);
}

static void free_unstarted(struct hdi_assign *a)
{
    if (!a)
        return;
    hdi_assign_end(a);
    free(a->part);
    free(a);
}

// `together`: it is started on all processes, or on none.
// The number is taken first and in any case, so that the numbers of later ones
// agree on all processes. The event runs even if what it comes after has failed
// (`anyway`): the others must be told.
static hd_status start_assign(struct hd_pool *pool,
                              const struct hd_start *start,
                              struct hd_field *field,
                              const struct hd_view *view, bool together,
                              hd_event *event, struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    uint64_t number = cluster->calls++;
    struct hd_start after = start ? *start : (struct hd_start){0};
    struct hdi_assign *a = malloc(sizeof(*a));
    hd_event handle;
    hd_status status =
        a ? prepare(a, number, pool, &after, field, view) : HD_ENOMEM;

    if (status != HD_OK) {
        if (a && error)
            *error = a->error;
        else if (!a)
            hdi_fail(error, status, "no memory for a redistribution");
        free_unstarted(a);
        return refuse(cluster, number, status, error);
    }
    after.anyway = true;
    status = hdi_event_start(a->event, &after, &handle, &a->error);
    bool started = status == HD_OK;
    hdi_assign_call(a, status);
    if (together) {
        status = a->status = hdi_agreement_end(&a->agreement, &a->error);
        a->stage = HDI_ASSIGN_WAIT;
    }
    if (status != HD_OK && error)
        *error = a->error;
    struct hdi_mover *mover = lock_mover(a);
    a->next = mover->list;
    mover->list = a;
    unlock_with_news(mover);
    if (status == HD_OK && event) {
        *event = handle;
    } else if (started) {
        if (status != HD_OK) { // it looks at the fields no more
            hd_event_cancel(pool, handle);
            hd_event_wait(pool, &handle, 1, HD_FOREVER, NULL);
        }
        hd_event_release(pool, handle);
    }
    return status;
}

hd_status hd_field_assign_start(struct hd_pool *pool,
                                const struct hd_start *start,
                                struct hd_field *field,
                                const struct hd_view *view, hd_event *event,
                                struct hd_error *error)
{
    if (!field->cluster->transport->threads)
        return hdi_fail(error, HD_ENOTSUP,
                        "a network without threads: call hd_field_assign()");
    return start_assign(pool, start, field, view, false, event, error);
}

hd_status hd_agile_start(struct hd_pool *pool, const struct hd_start *start,
                         struct hd_cluster *cluster, const struct hd_view *view,
                         const struct hd_map *map, struct hd_field **field,
                         hd_event *event, struct hd_error *error)
{
    struct hd_field *f;

    if (!cluster->transport->threads)
        return hdi_fail(error, HD_ENOTSUP,
                        "a network without threads: call hd_agile()");
    HDI_TRY(hd_field_create(cluster, view->element, map, &f, error));
    hd_status status = start_assign(pool, start, f, view, true, event, error);
    if (status != HD_OK) {
        hd_field_destroy(f);
        return status;
    }
    *field = f;
    return HD_OK;
}
