// Calls of host functions, and markers: events that need nothing but a worker,
// or not even that.
#include "base/error.h"
#include "steal/worker/state.h"

static hd_status call(struct hd_worker *worker, const struct hd_call *what,
                      struct hd_error *error)
{
    if (!what->blocking)
        return what->function(worker, what->data, error);
    hd_blocking_begin(worker);
    hd_status status = what->function(worker, what->data, error);
    hd_blocking_end(worker);
    return status;
}

// What it forks and fails belongs to the event's group.
// `failure` is on this stack, so it is taken out of the group again before the
// event ends: the group may be looked at afterwards.
static bool run_call(struct hd_worker *worker, struct hdi_event *event,
                     struct hd_error *error)
{
    struct hd_error failure = {.status = HD_OK};

    hd_group_catch(&event->group, &failure);
    hd_status status = hd_scope_begin(worker, &event->group);
    if (status != HD_OK) {
        hdi_fail(error, status, "cancelled before it began");
        return true;
    }
    // It may leave the text of what failed before, and end well.
    status = call(worker, event->room, error);
    hd_status fate = hd_scope_end(worker);
    hd_group_catch(&event->group, NULL);
    error->status = status;
    if (status == HD_OK && fate != HD_OK)
        hdi_fail(error, fate, "%s",
                 failure.status != HD_OK ? failure.text
                                         : "cancelled while it ran");
    else if (status != HD_OK && *error->text == '\0')
        hdi_fail(error, status, "a call failed: %s", hd_status_text(status));
    return true;
}

static const struct hdi_event_kind calls = {.run = run_call};

// On failure nothing was started, and the record is given back.
hd_status hd_call_start(struct hd_pool *pool, const struct hd_start *start,
                        const struct hd_call *call_, hd_event *event,
                        struct hd_error *error)
{
    struct hdi_event *e;

    if (!call_ || !call_->function)
        return hdi_fail(error, HD_EINVAL, "a call of no function");
    HDI_TRY(hdi_event_take(pool, &calls, &e, error));
    struct hd_call *room = hdi_event_room(e, sizeof(*room));
    if (!room) {
        hdi_event_give_back(e);
        return hdi_fail(error, HD_ENOMEM, "no memory for a call");
    }
    *room = *call_;
    return hdi_event_start(e, start, event, error);
}

hd_status hd_marker_start(struct hd_pool *pool, const struct hd_start *start,
                          hd_event *event, struct hd_error *error)
{
    struct hdi_event *e;

    HDI_TRY(hdi_event_take(pool, NULL, &e, error));
    return hdi_event_start(e, start, event, error);
}

// Callbacks -------------------------------------------------------------------

// Lies in the record's room, and goes with it.
struct callback {
    void (*function)(struct hd_worker *worker, hd_status status, void *data);
    void *data;
};

// It has done its work whatever the event came to, so it ends well itself.
static bool run_callback(struct hd_worker *worker, struct hdi_event *event,
                         struct hd_error *error)
{
    const struct callback *callback = event->room;

    callback->function(worker, error->status, callback->data);
    error->status = HD_OK;
    return true;
}

static const struct hdi_event_kind callbacks = {.run = run_callback};

hd_status hd_event_on_end(struct hd_pool *pool, hd_event event,
                          void (*function)(struct hd_worker *worker,
                                           hd_status status, void *data),
                          void *data, struct hd_error *error)
{
    const struct hd_start start = {
        .after = &event, .after_count = 1, .anyway = true};
    struct hdi_event *e;

    if (!function)
        return hdi_fail(error, HD_EINVAL, "a callback without a function");
    HDI_TRY(hdi_event_take(pool, &callbacks, &e, error));
    struct callback *room = hdi_event_room(e, sizeof(*room));
    if (!room) {
        hdi_event_give_back(e);
        return hdi_fail(error, HD_ENOMEM, "no memory for a callback");
    }
    *room = (struct callback){function, data};
    return hdi_event_start(e, &start, NULL, error);
}
