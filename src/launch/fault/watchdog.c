#include "launch/fault/stop.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "launch/launch.h"
#include "steal/worker.h"

// AGAIN: how long a launch may go on after it has come to code that can be
// left.
enum {
    SECOND = 1000000000, // [ns]
    AGAIN = 10000000     // a launch that is too long is told again after [ns]
};

bool hdi_stop_set(struct hdi_stop *stop, hd_status status)
{
    int none = HD_OK;
    return atomic_compare_exchange_strong(&stop->status, &none, (int)status);
}

bool hdi_stop_check(struct hdi_stop *stop)
{
    if (atomic_load(&stop->status) != HD_OK)
        return true;
    if ((stop->cancel && atomic_load(stop->cancel)) ||
        hdi_pool_cancelled(stop->pool, stop->group))
        hdi_stop_set(stop, HD_ECANCELED);
    else if (stop->deadline > 0 && hdi_now() >= stop->deadline)
        hdi_stop_set(stop, HD_ETIMEOUT);
    else
        return false;
    return true;
}

struct hdi_stop *hdi_slot_enter(struct hdi_stop_slot *slot,
                                struct hdi_stop *stop)
{
    // Both sides write and then look, with a full fence between: whoever has a
    // reason to stop finds this, or who enters finds the reason.
    return atomic_exchange(&slot->running, stop);
}

// Nobody looks for long: a look is a comparison and perhaps a signal.
void hdi_slot_leave(struct hdi_stop_slot *slot, struct hdi_stop *before)
{
    atomic_exchange(&slot->running, before);
    while (atomic_load(&slot->looks) > 0)
        sched_yield();
}

void hdi_stop_poke(struct hdi_launcher *launcher)
{
    struct hdi_device *device = launcher->device;

    for (unsigned i = 0; i < launcher->workers; i++) {
        struct hdi_stop_slot *slot = &launcher->slots[i];
        atomic_fetch_add(&slot->looks, 1);
        struct hdi_stop *stop = atomic_load(&slot->running);
        if (stop && hdi_stop_check(stop))
            device->backend->interrupt(launcher->units[i]);
        atomic_fetch_sub(&slot->looks, 1);
    }
}

// The watchdog ----------------------------------------------------------------

bool hdi_watchdog_init(struct hdi_watchdog *watchdog)
{
    pthread_condattr_t monotonic;

    *watchdog = (struct hdi_watchdog){0};
    if (pthread_condattr_init(&monotonic) != 0)
        return false;
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return true;
}

// Its thread is in the process that fork() made this one from.
static bool is_elsewhere(const struct hdi_watchdog *watchdog)
{
    pid_t process = watchdog->process;

    return process != 0 && process != getpid();
}

void hdi_watchdog_destroy(struct hdi_watchdog *watchdog)
{
    if (is_elsewhere(watchdog))
        return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->leaves = true;
    pthread_cond_signal(&watchdog->changed);
    pthread_mutex_unlock(&watchdog->lock);
    if (watchdog->process != 0)
        pthread_join(watchdog->thread, NULL);
    pthread_cond_destroy(&watchdog->changed);
    pthread_mutex_destroy(&watchdog->lock);
}

// When to look next, UINT64_MAX: nobody to watch. A launch may be in code that
// cannot be left just then, so one that is too long is told again and again.
static uint64_t look(struct hdi_launcher *launcher)
{
    uint64_t now = hdi_now(), next = UINT64_MAX;
    bool late = false;

    for (struct hdi_stop *s = launcher->watchdog.stops; s; s = s->next) {
        uint64_t at = s->deadline > now ? s->deadline : now + AGAIN;
        late |= s->deadline <= now;
        next = at < next ? at : next;
    }
    if (late)
        hdi_stop_poke(launcher);
    return next;
}

static void *watch(void *data)
{
    struct hdi_launcher *launcher = data;
    struct hdi_watchdog *w = &launcher->watchdog;

    pthread_mutex_lock(&w->lock);
    while (!w->leaves) {
        uint64_t next = look(launcher);
        if (next == UINT64_MAX) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        struct timespec at = {(time_t)(next / SECOND), (long)(next % SECOND)};
        pthread_cond_timedwait(&w->changed, &w->lock, &at);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

// The thread is made with the first launch that has a limit; after a fork() it
// is made anew in the child, where the parent's lock means nothing.
hd_status hdi_watchdog_add(struct hdi_launcher *launcher, struct hdi_stop *stop)
{
    struct hdi_watchdog *w = &launcher->watchdog;
    hd_status status = HD_OK;

    if (is_elsewhere(w) && !hdi_watchdog_init(w))
        return HD_ENOMEM;
    pthread_mutex_lock(&w->lock);
    if (w->process == 0) {
        bool started = pthread_create(&w->thread, NULL, watch, launcher) == 0;
        status = started ? HD_OK : HD_ELIMIT;
        w->process = started ? getpid() : 0;
    }
    if (status == HD_OK) {
        stop->next = w->stops;
        w->stops = stop;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return status;
}

void hdi_watchdog_remove(struct hdi_launcher *launcher, struct hdi_stop *stop)
{
    struct hdi_watchdog *w = &launcher->watchdog;

    pthread_mutex_lock(&w->lock);
    for (struct hdi_stop **s = &w->stops; *s; s = &(*s)->next)
        if (*s == stop) {
            *s = stop->next;
            break;
        }
    pthread_mutex_unlock(&w->lock);
}
