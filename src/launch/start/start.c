// A launch that nobody waits for: what it needs is copied into the room of its
// event's record.
#include "launch/start/start.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/box.h"
#include "launch/measure/pace.h"
#include "launch/memory/buffer.h"
#include "launch/memory/spread.h"
#include "launch/run/feed.h"
#include "launch/run/launching.h"
#include "launch/start/capture.h"
#include "steal/event.h"

// What is said of a launch that fails on units.
struct failure {
    struct hdi_fault fault;
    char text[HDI_FAILURE_SIZE];
};

struct started {
    struct hdi_event *event;
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    struct hdi_terms terms;
    struct hd_group *whole; // cancels it too; optional
    struct hdi_box part;
    struct hdi_launch launch;
    uint64_t groups;
    // In a runtime of several devices its buffers' addresses are known, and the
    // launch described, when it runs.
    bool spreads;
    struct hdi_plan plan; // for that
    struct hdi_spread_args spread;
    uint64_t brought;        // when its arguments were there [ns]
    unsigned char *packed;   // room for it
    struct failure *failure; // where there are units
    unsigned arg_count;
    struct hd_arg args[]; // and behind them values, and what is packed
};

static void end_spread(struct started *s, hd_status status)
{
    if (!s->spreads)
        return;
    if (status == HD_OK)
        hdi_pace_ran(s->launcher, s->kernel, hdi_box_groups(&s->launch.box),
                     s->launch.group_items, hdi_now() - s->brought);
    hdi_spread_end(&s->spread);
}

// The last leaf has ended.
static void finish(struct hd_worker *worker, struct hdi_launch *launch)
{
    struct started *s =
        (struct started *)(void *)((char *)launch -
                                   offsetof(struct started, launch));
    struct hd_error error;

    (void)worker;
    hdi_launch_unwatch(s->launcher, launch);
    hd_status status = hdi_launch_close(launch, &s->terms, &error);
    end_spread(s, status);
    hdi_event_end(s->event, status, status != HD_OK ? error.text : NULL);
}

// False: it is not for units, or not now.
static bool run_on_units(struct hd_worker *worker, struct started *s)
{
    struct hdi_launch *launch = &s->launch;

    if (!s->failure || s->terms.is_leaf || s->terms.tasks ||
        !hdi_feed_wants(launch))
        return false;
    hdi_launch_open(launch, &s->terms, s->failure->text, &s->failure->fault);
    if (hdi_launch_watch(s->launcher, launch))
        hdi_feed_start(worker, launch, finish);
    else
        finish(worker, launch);
    return true;
}

static void describe(struct started *s, const struct hdi_plan *plan,
                     const struct hd_arg *args)
{
    hdi_launch_fill(s->launcher, s->kernel, args, s->arg_count, &s->terms, plan,
                    s->packed, &s->launch);
}

static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct started *s = event->room;

    if (s->groups == 0)
        return true;
    if (s->whole)
        hd_group_within(&event->group, s->whole);
    if (s->spreads) {
        if (hdi_spread_begin(s->launcher, s->kernel, &s->plan, s->terms.part,
                             s->args, s->arg_count, &s->spread, error) != HD_OK)
            return true;
        describe(s, &s->plan, s->spread.args);
        s->brought = hdi_now();
    }
    if (run_on_units(worker, s))
        return false;
    error->status =
        hdi_launch_run(worker, &s->launch, s->arg_count, &s->terms, error);
    end_spread(s, error->status);
    return true;
}

static void drop(struct hdi_event *event)
{
    const struct started *s = event->room;

    hdi_capture_drop(s->args, s->arg_count);
    if (atomic_load(&s->launch.lost)) {
        hdi_launch_strand(s->launcher, event->room);
        hdi_event_lose_room(event);
    }
}

static const struct hdi_event_kind launches = {.run = run, .drop = drop};

static uint64_t args_size(unsigned arg_count)
{
    return hdi_round_up(sizeof(struct started) +
                            arg_count * sizeof(struct hd_arg),
                        HDI_VALUE_ALIGNMENT);
}

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

// Once a tick of the coarse clock, a few milliseconds, while one comes after
// another: it takes as long as several launches.
void hdi_launch_prepare(struct hdi_launcher *launcher)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    if (atomic_load_explicit(&launcher->prepared, memory_order_relaxed) == now)
        return;
    atomic_store_explicit(&launcher->prepared, now, memory_order_relaxed);
    launcher->device->backend->prepare(launcher->device);
}

hd_status hdi_launch_start(struct hdi_launcher *launcher,
                           const struct hd_start *start,
                           const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct hd_arg *args, unsigned arg_count,
                           hd_event *handle, struct hd_error *error)
{
    return hdi_launch_start_within(launcher, start, NULL, NULL, kernel, range,
                                   args, arg_count, handle, error);
}

hd_status hdi_launch_start_within(struct hdi_launcher *launcher,
                                  const struct hd_start *start,
                                  struct hd_group *whole,
                                  const atomic_bool *cancel,
                                  const struct hd_kernel *kernel,
                                  const struct hd_range *range,
                                  const struct hd_arg *args, unsigned arg_count,
                                  hd_event *handle, struct hd_error *error)
{
    static const struct hd_start defaults;
    struct hdi_event *event = NULL;

    start = start ? start : &defaults;
    struct hdi_terms terms = {.cancel = cancel,
                              .time_limit = start->time_limit,
                              .place = {start->place, start->unit},
                              .priority = start->priority,
                              .is_leaf = start->is_leaf,
                              .tasks = start->tasks,
                              .leaf_data = start->leaf_data};
    struct hdi_box part;
    if (start->box) {
        memcpy(part.first, start->box->first, sizeof(part.first));
        memcpy(part.count, start->box->count, sizeof(part.count));
        terms.part = &part;
    }
    struct hdi_plan plan;
    HDI_TRY(hdi_launch_plan(launcher, kernel, range, args, arg_count, &terms,
                            &plan, error));
    HDI_TRY(check_place(launcher, start, kernel, error));
    HDI_TRY(hdi_event_check(launcher->pool, start, error));
    HDI_TRY(hdi_event_take(launcher->pool, &launches, &event, error));

    uint64_t size = args_size(arg_count) + hdi_capture_room(args, arg_count);
    uint64_t packed = hdi_round_up(size, 128);
    uint64_t failure = packed + hdi_launch_room(kernel, arg_count);
    size = failure + (launcher->ports ? sizeof(struct failure) : 0);
    struct started *s = hdi_event_room(event, size);
    if (!s) {
        hdi_event_give_back(event);
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    }
    terms.group = &event->group;
    terms.cost = &event->cost;
    s->event = event;
    s->launcher = launcher;
    s->kernel = kernel;
    s->terms = terms;
    s->whole = whole;
    if (start->box) {
        s->part = part;
        s->terms.part = &s->part;
    }
    s->arg_count = arg_count;
    event->bytes += hdi_capture(args, arg_count, s->args,
                                (unsigned char *)s + args_size(arg_count));
    s->groups = plan.groups;
    s->packed = (unsigned char *)s + packed;
    s->failure = launcher->ports
                     ? (struct failure *)(void *)((char *)s + failure)
                     : NULL;
    s->spreads = launcher->peers > 1;
    atomic_init(&s->launch.lost, false);
    if (s->spreads)
        s->plan = plan;
    else if (plan.groups > 0)
        describe(s, &plan, s->args);
    hdi_launch_prepare(launcher);
    return hdi_event_start(event, start, handle, error);
}
