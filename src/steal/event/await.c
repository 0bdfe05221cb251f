// A worker that waits for an event.
//
// It runs what the event comes after, as long as some of that is ready and has
// not begun: that brings the end nearer, and cannot wait for anything below it
// on this stack, or the event would come after itself. Other jobs could: two
// that wait for each other's events would lie on top of each other for ever. So
// when nothing of the kind is to be had it takes forked tasks for a moment, and
// then leaves its core to a spare thread and sleeps.
#include "base/clock.h"
#include "steal/event/record.h"
#include "steal/group.h"
#include "steal/worker/state.h"

// DEEP: each errand takes a part of this thread's stack. MOMENT: how long it
// looks for something to do before it sleeps. NAP: the most it sleeps between
// two looks at the event and the clock.
enum {
    MAX_STEPS = 1 << 20, // back along what an event comes after
    DEEP = 128,          // what runs inside of waits, before others do it
    MOMENT = 50000,      // [ns]
    NAP = 500000000      // [ns]
};

// One that it comes after and that has not ended, held; or NULL.
// Inputs beyond those of one record are in records that are lent to it.
static struct hdi_event *hold_input(struct hdi_event *e)
{
    for (struct hdi_event *at = e;;) {
        for (unsigned i = 0; i < at->input_count; i++) {
            struct hdi_event *input =
                hd_event_state(e->pool, at->inputs[i]) == HD_EVENT_ENDED
                    ? NULL
                    : hdi_record_hold(e->pool, at->inputs[i]);
            if (input)
                return input;
        }
        if (!at->lent)
            return NULL;
        at = hdi_record(&e->pool->events, at->lent - 1);
    }
}

// One that is ready and must end before this one, or this one; held.
// One at a time is held, so the others may end, and be used again, meanwhile:
// then the search ends early.
static struct hdi_event *hold_ready(struct hd_pool *pool, hd_event event)
{
    struct hdi_event *e = hdi_record_hold(pool, event);

    for (unsigned i = 0; e && i < MAX_STEPS; i++) {
        unsigned char phase =
            atomic_load_explicit(&e->phase, memory_order_acquire);
        if (phase == HD_EVENT_READY)
            return e;
        struct hdi_event *next = phase == HD_EVENT_WAITS ? hold_input(e) : NULL;
        hdi_record_let_go(e, HDI_USER);
        e = next;
    }
    if (e)
        hdi_record_let_go(e, HDI_USER);
    return NULL;
}

// On the stack of the worker that runs it at once.
struct errand {
    struct hd_job job;
    struct hdi_event *event;
    struct hd_group *goal;
};

static void run_errand(struct hd_worker *worker, struct hd_job *job)
{
    struct errand *errand = (struct errand *)(void *)job;
    hdi_event_run_for(worker, errand->event, errand->goal);
}

// Whether there was something to do.
static bool do_errand(struct hd_worker *worker, struct hdi_event *e,
                      hd_event event)
{
    struct errand errand = {.job = {.run = run_errand}, .goal = &e->group};

    errand.event = hold_ready(worker->pool, event);
    if (!errand.event)
        return false;
    hdi_worker_run(worker, &errand.job);
    hdi_record_let_go(errand.event, HDI_USER);
    return true;
}

static bool is_over(const struct hdi_event *e, uint64_t deadline)
{
    return hdi_group_done((struct hd_group *)(uintptr_t)&e->group) ||
           (deadline != UINT64_MAX && hdi_now() >= deadline);
}

// False: there is no spare thread for it.
static bool sleep_aside(struct hd_worker *worker, struct hdi_event *e,
                        uint64_t deadline)
{
    bool aside = worker->blocked > 0;

    hd_blocking_begin(worker);
    aside |= worker->spare_thread != NULL;
    while (aside && !is_over(e, deadline))
        hdi_group_nap(&e->group, deadline, NAP);
    hd_blocking_end(worker);
    return aside;
}

// False: the deadline has passed. Its own forks are published first, as they
// may be what the event waits for.
bool hdi_worker_await(struct hd_worker *worker, struct hdi_event *e,
                      hd_event event, uint64_t deadline)
{
    uint64_t since = hdi_now();

    if (!hdi_pool_has_threads(worker->pool))
        return hdi_group_wait_until(worker->pool, &e->group, deadline);
    if (worker->blocked == 0)
        hd_publish(worker);
    while (!is_over(e, deadline)) {
        if (worker->blocked == 0 && worker->depth < DEEP &&
            (do_errand(worker, e, event) || hdi_worker_help(worker)))
            since = hdi_now();
        else if ((worker->blocked > 0 || hdi_now() - since > MOMENT ||
                  worker->depth >= DEEP) &&
                 !sleep_aside(worker, e, deadline))
            return hdi_group_wait_until(worker->pool, &e->group, deadline);
    }
    return hdi_group_done(&e->group);
}
