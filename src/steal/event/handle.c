// What can be done with a handle: asking, waiting, ending, cancelling. A record
// is held while it is looked at.
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "steal/event/record.h"
#include "steal/group.h"
#include "steal/worker/state.h"

// It waits for one end, that of the user, and is held twice: for its end and
// for whoever has the handle.
hd_status hd_event_create(struct hd_pool *pool, hd_event *event,
                          struct hd_error *error)
{
    struct hdi_event *e = NULL;

    HDI_TRY(hdi_event_take(pool, NULL, &e, error));
    e->is_users = true;
    e->anyway = false;
    hdi_record_begin(e, 1, HDI_END + HDI_USER);
    *event = hdi_event_handle(e);
    return HD_OK;
}

// Of several that end it at the same time one changes the phase; the others are
// told that it has ended. The cause is there before the end is, so who sees the
// end sees why.
hd_status hd_event_end(struct hd_pool *pool, hd_event event, hd_status status,
                       const char *text, struct hd_error *error)
{
    struct hdi_event *e = hdi_record_hold(pool, event);

    if ((unsigned)status >= HDI_STATUS_COUNT) {
        if (e)
            hdi_record_let_go(e, HDI_USER);
        return hdi_fail(error, HD_EINVAL,
                        "%d is no status; see heddle/status.h", (int)status);
    }
    if (!e || !e->is_users) {
        if (e)
            hdi_record_let_go(e, HDI_USER);
        return hdi_fail(error, HD_EINVAL,
                        "event 0x%" PRIx64
                        " is gone or was not made by hd_event_create()",
                        event);
    }
    if (!hdi_record_change(e, HD_EVENT_WAITS, HD_EVENT_ENDED)) {
        hdi_record_let_go(e, HDI_USER);
        return hdi_fail(error, HD_EINVAL,
                        "event 0x%" PRIx64 " has ended already", event);
    }
    if (status != HD_OK)
        hdi_record_fail(e, hdi_cause_make(status, text));
    hdi_event_finish(e, HDI_END + HDI_USER);
    return HD_OK;
}

// By the generation in `head`: a record that has been used again meanwhile
// tells nothing of this event, but that it has ended. The acquire pairs with
// the end: who is told of it sees what it left.
enum hd_event_state hd_event_state(struct hd_pool *pool, hd_event event)
{
    struct hdi_event *e = hdi_record_find(pool, event);
    // Acquire: the head is looked at afterwards, so a phase of the record's
    // next use is not taken for this event's.
    unsigned char phase =
        e ? atomic_load_explicit(&e->phase, memory_order_acquire) : 0;
    uint64_t head = e ? atomic_load_explicit(&e->head, memory_order_acquire)
                      : hdi_record_word(0, HDI_CLOSED);

    if (hdi_record_generation(head) != hdi_record_generation(event) ||
        hdi_record_low(head) == HDI_CLOSED)
        return HD_EVENT_ENDED;
    // Who ends it has not said so yet.
    return phase == HD_EVENT_ENDED ? HD_EVENT_RUNS : (enum hd_event_state)phase;
}

// HD_OK of one that has not ended, and of one that is gone: ask for its state,
// or hold it.
hd_status hd_event_status(struct hd_pool *pool, hd_event event,
                          struct hd_error *error)
{
    struct hdi_event *e = hdi_record_hold(pool, event);
    hd_status status = HD_OK;

    if (!e)
        return HD_OK;
    if (hdi_record_low(atomic_load_explicit(&e->head, memory_order_acquire)) ==
        HDI_CLOSED) {
        struct hdi_cause *cause = hdi_record_cause(e);
        status = cause ? cause->status : HD_OK;
        hdi_cause_tell(cause, error);
    }
    hdi_record_let_go(e, HDI_USER);
    return status;
}

// A worker works meanwhile; another thread sleeps. One that is gone has ended.
static hd_status wait_one(struct hd_pool *pool, hd_event event,
                          uint64_t deadline, struct hd_error *error)
{
    struct hdi_event *e = hdi_record_hold(pool, event);

    if (!e)
        return HD_OK;
    struct hd_worker *worker = hd_pool_worker(pool);
    bool ended = worker ? hdi_worker_await(worker, e, event, deadline)
                        : hdi_group_wait_until(pool, &e->group, deadline);
    hdi_record_let_go(e, HDI_USER);
    if (ended)
        return HD_OK;
    return hdi_fail(error, HD_ETIMEOUT,
                    "event 0x%" PRIx64 " has not ended in time", event);
}

// All are waited for before any is asked how it ended, so nothing of them runs
// any more when an error is returned.
hd_status hd_event_wait(struct hd_pool *pool, const hd_event *events,
                        unsigned count, uint64_t timeout,
                        struct hd_error *error)
{
    uint64_t now = timeout == HD_FOREVER ? 0 : hdi_now();
    uint64_t deadline = timeout < HD_FOREVER - now ? now + timeout : HD_FOREVER;

    for (unsigned i = 0; i < count; i++)
        HDI_TRY(wait_one(pool, events[i], deadline, error));
    for (unsigned i = 0; i < count; i++)
        HDI_TRY(hd_event_status(pool, events[i], error));
    return HD_OK;
}

// Words are read one by one: of an event that is not over they may be of
// different moments.
bool hd_event_info(struct hd_pool *pool, hd_event event,
                   struct hd_event_info *info)
{
    struct hdi_event *e = hdi_record_hold(pool, event);

    *info = (struct hd_event_info){.state = HD_EVENT_ENDED};
    if (!e)
        return false;
    info->state = hd_event_state(pool, event);
    struct hdi_cause *cause =
        info->state == HD_EVENT_ENDED ? hdi_record_cause(e) : NULL;
    info->status = cause ? cause->status : HD_OK;
    info->queued = hdi_record_get(&e->queued);
    info->submitted = hdi_record_get(&e->submitted);
    info->started = hdi_record_get(&e->started);
    info->ended = hdi_record_get(&e->ended);
    info->busy = hdi_record_get(&e->cost.busy);
    info->groups = hdi_record_get(&e->cost.groups);
    info->workers = hdi_record_get(&e->cost.workers);
    info->units = hdi_record_get(&e->cost.units);
    uint64_t bytes = hdi_record_get(&e->bytes);
    info->counted = bytes & HDI_COUNTED;
    info->bytes = bytes & ~HDI_COUNTED;
    hdi_record_let_go(e, HDI_USER);
    return true;
}

// Whoever changes the phase from WAITS or READY to ENDED ends it, and nobody
// starts it then. One that runs is told by its group, and ends by itself.
void hd_event_cancel(struct hd_pool *pool, hd_event event)
{
    struct hdi_event *e = hdi_record_hold(pool, event);

    if (!e)
        return;
    if (hdi_record_change(e, HD_EVENT_WAITS, HD_EVENT_ENDED) ||
        hdi_record_change(e, HD_EVENT_READY, HD_EVENT_ENDED)) {
        struct hdi_cause *cause =
            hdi_cause_make(HD_ECANCELED, "cancelled before it began");
        hdi_cause_release(
            atomic_exchange_explicit(&e->cause, cause, memory_order_acq_rel));
        hdi_event_finish(e, HDI_END + HDI_USER);
        return;
    }
    if (hd_event_state(pool, event) != HD_EVENT_ENDED)
        hd_group_cancel(pool, &e->group);
    hdi_record_let_go(e, HDI_USER);
}

bool hd_event_retain(struct hd_pool *pool, hd_event event)
{
    return hdi_record_hold(pool, event) != NULL;
}

// A handle that was let go may name a later event by now, whose count would be
// taken down: the generation tells, and that is a fault of the program.
void hd_event_release(struct hd_pool *pool, hd_event event)
{
    struct hdi_event *e = hdi_record_find(pool, event);

    if (!e)
        return;
    uint64_t life = atomic_load_explicit(&e->life, memory_order_relaxed);
    if (hdi_record_generation(life) != hdi_record_generation(event) ||
        hdi_record_low(life) == 0) {
        hdi_error("event 0x%" PRIx64 " was released more often than held",
                  event);
        abort();
    }
    hdi_record_let_go(e, HDI_USER);
}
