// A launch that nobody waits for: what it needs is copied into the room of its
// event's record.
#include "launch/start/start.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/args/touch.h"
#include "launch/box.h"
#include "launch/measure/pace.h"
#include "launch/memory/buffer.h"
#include "launch/run/feed.h"
#include "launch/run/flight.h"
#include "steal/event.h"

// What the application did since the last preparation, such as setting signal
// handlers, goes unnoticed for so long at most.
enum {
    TICK = 4000000 // [ns]
};

struct started;

// Of a launch that may go on on units when run() has returned.
// In the event's room, since workers and units use it when run() has returned.
struct on_units {
    struct started *started;
    struct hdi_flight launch;
    struct hdi_fault fault; // why it failed
    char text[HDI_FAILURE_SIZE];
};

_Static_assert(sizeof(struct on_units) > HDI_EVENT_ROOM,
               "a room that is lost is no record's own");

// As short as may be: the thread that starts it writes this, and a worker on
// another core reads it. The flight is made there, on the worker's stack.
//
//     room   | started | values | packed arguments, bound | on_units (units) |
struct started {
    struct hdi_event *event;
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    struct hdi_terms terms;
    struct hd_group *whole; // cancels it too; optional
    struct hdi_box part;
    struct hdi_plan plan;
    uint64_t brought;       // when its arguments were there [ns]; 0: no matter
    unsigned char *packed;  // room for it, and its arguments
    struct on_units *units; // where there are any
};

static struct hdi_bound *bound_of(const struct started *s)
{
    return hdi_flight_bound(s->kernel, s->packed);
}

static void learn_pace(const struct started *s, const struct hdi_flight *launch,
                       hd_status status)
{
    if (s->brought > 0 && status == HD_OK)
        hdi_pace_ran(s->launcher, s->kernel, hdi_box_groups(&launch->box),
                     launch->group_items, hdi_now() - s->brought);
}

// The last leaf has ended.
static void finish(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct on_units *units =
        (struct on_units *)(void *)((char *)launch -
                                    offsetof(struct on_units, launch));
    struct started *s = units->started;
    struct hd_error error;

    (void)worker;
    hdi_flight_unwatch(s->launcher, launch);
    hd_status status = hdi_flight_close(launch, &s->terms, &error);
    learn_pace(s, launch, status);
    hdi_event_end(s->event, status, status != HD_OK ? error.text : NULL);
}

// False: it is not for units, or not now.
static bool run_on_units(struct hd_worker *worker, struct started *s)
{
    struct hdi_flight *launch = &s->units->launch;

    if (s->terms.is_leaf || s->terms.tasks || !hdi_feed_wants(launch))
        return false;
    hdi_flight_open(launch, &s->terms, s->units->text, &s->units->fault);
    if (hdi_flight_watch(s->launcher, launch))
        hdi_feed_start(worker, launch, finish);
    else
        finish(worker, launch);
    return true;
}

// In a runtime of several devices its buffers' addresses are known when it
// runs.
static hd_status bring(struct started *s, struct hd_error *error)
{
    if (s->launcher->peers <= 1)
        return HD_OK;
    HDI_TRY(hdi_touch_bring(s->launcher, s->kernel, &s->plan, s->terms.part,
                            bound_of(s), error));
    s->brought = hdi_now();
    return HD_OK;
}

// Once in a while where one comes after another: it takes as long as several
// launches. The clocks of two callers may differ.
static void prepare(struct hdi_launcher *launcher, uint64_t now)
{
    uint64_t last =
        atomic_load_explicit(&launcher->prepared, memory_order_relaxed);

    if (last > 0 && (int64_t)(now - last) < TICK)
        return;
    atomic_store_explicit(&launcher->prepared, now, memory_order_relaxed);
    launcher->device->backend->prepare(launcher->device);
}

// False: it goes on on units, and finish() ends the event.
static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct started *s = event->room;
    struct hdi_flight here, *launch = s->units ? &s->units->launch : &here;

    if (s->plan.groups == 0)
        return true;
    prepare(s->launcher,
            atomic_load_explicit(&event->started, memory_order_relaxed));
    if (s->whole)
        hd_group_within(&event->group, s->whole);
    if (bring(s, error) != HD_OK)
        return true;
    hdi_flight_fill(s->launcher, s->kernel, &s->terms, &s->plan, s->packed,
                    launch);
    if (s->units && run_on_units(worker, s))
        return false;
    error->status = hdi_flight_run_on(worker, launch, &s->terms, error);
    learn_pace(s, launch, error->status);
    return true;
}

// A hanging unit may still read the room, which is then never used again.
static void drop(struct hdi_event *event)
{
    const struct started *s = event->room;

    hdi_bound_drop(bound_of(s), s->kernel->info.arg_count);
    if (s->units && atomic_load(&s->units->launch.lost)) {
        hdi_flight_strand(s->launcher, event->room);
        hdi_event_lose_room(event);
    }
}

static const struct hdi_event_kind launches = {.run = run, .drop = drop};

static hd_status check_place(const struct hdi_launcher *launcher,
                             const struct hd_start *start,
                             const struct hd_kernel *kernel,
                             struct hd_error *error)
{
    if ((unsigned)start->place > HD_ON_WORKERS ||
        start->place == HD_ON_DISTINCT_MODULES)
        return hdi_fail(error, HD_EINVAL,
                        "kernel '%s': %d is no place; see enum hd_place",
                        kernel->info.name, (int)start->place);
    if ((start->place == HD_ON_UNIT || start->place == HD_ON_MODULE_OF) &&
        start->unit >= launcher->port_count)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' is to run on unit %u; there are %u",
                        kernel->info.name, start->unit, launcher->port_count);
    return HD_OK;
}

void hdi_launch_prepare(struct hdi_launcher *launcher)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    prepare(launcher, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

void hdi_launch_expect(struct hdi_launcher *launcher)
{
    atomic_store_explicit(&launcher->prepared, 0, memory_order_relaxed);
}

hd_status hdi_launch_start(struct hdi_launcher *launcher,
                           const struct hd_start *start,
                           const struct hdi_request *request, hd_event *handle,
                           struct hd_error *error)
{
    return hdi_launch_start_within(launcher, start, NULL, NULL, request, handle,
                                   error);
}

// What can be refused is refused before an event is taken; an event that has no
// room is given back.
hd_status hdi_launch_start_within(struct hdi_launcher *launcher,
                                  const struct hd_start *start,
                                  struct hd_group *whole,
                                  const atomic_bool *cancel,
                                  const struct hdi_request *request,
                                  hd_event *handle, struct hd_error *error)
{
    static const struct hd_start defaults;
    const struct hd_kernel *kernel = request->kernel;
    struct hdi_event *event = NULL;

    start = start ? start : &defaults;
    struct hdi_terms terms = {.cancel = cancel,
                              .time_limit = start->time_limit,
                              .place = {start->place, start->unit},
                              .priority = start->priority,
                              .is_leaf = start->is_leaf,
                              .tasks = start->tasks,
                              .leaf_data = start->leaf_data};
    struct hdi_box part = {0};
    if (start->box) {
        memcpy(part.first, start->box->first, sizeof(part.first));
        memcpy(part.count, start->box->count, sizeof(part.count));
        terms.part = &part;
    }
    struct hdi_plan plan;
    HDI_TRY(hdi_flight_plan(launcher, request, &terms, &plan, error));
    HDI_TRY(check_place(launcher, start, kernel, error));
    HDI_TRY(hdi_event_check(launcher->pool, start, error));
    HDI_TRY(hdi_event_take(launcher->pool, &launches, &event, error));

    uint64_t values = hdi_round_up(sizeof(struct started), HDI_VALUE_ALIGNMENT);
    uint64_t packed = hdi_round_up(
        values + hdi_bound_room(request->args, request->arg_count), 128);
    uint64_t units = packed + hdi_flight_room(kernel);
    uint64_t size = units + (launcher->ports ? sizeof(struct on_units) : 0);
    struct started *s = hdi_event_room(event, size);
    if (!s) {
        hdi_event_give_back(event);
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    }
    terms.group = &event->group;
    terms.cost = &event->cost;
    terms.moved = &event->bytes;
    s->event = event;
    s->launcher = launcher;
    s->kernel = kernel;
    s->terms = terms;
    s->whole = whole;
    if (start->box) {
        s->part = part;
        s->terms.part = &s->part;
    }
    s->plan = plan;
    s->brought = 0;
    s->packed = (unsigned char *)s + packed;
    hdi_bind(request, bound_of(s));
    uint64_t bytes = hdi_bound_keep(bound_of(s), request->arg_count,
                                    (unsigned char *)s + values);
    atomic_store_explicit(&event->bytes, bytes, memory_order_relaxed);
    s->units = NULL;
    if (launcher->ports) {
        s->units = (struct on_units *)(void *)((char *)s + units);
        s->units->started = s;
        atomic_init(&s->units->launch.lost, false);
    }
    return hdi_event_start(event, start, handle, error);
}
