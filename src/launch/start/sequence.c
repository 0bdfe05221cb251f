#include "launch/start/sequence.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "launch/args/touch.h"
#include "launch/memory/image.h"
#include "launch/run/feed.h"
#include "launch/run/flight.h"
#include "steal/event.h"

// The plan is kept: ranges do not change from run to run.
struct step {
    const struct hd_kernel *kernel; // on the device
    struct hdi_plan plan;
};

// `bound` is scratch of hdi_sequence_set(), so the caller's one thread has it.
struct hdi_sequence {
    struct hdi_launcher *launcher;
    struct hdi_device_list *list;
    struct step *steps;
    uint32_t count;
    uint64_t groups;         // of all steps
    unsigned most_args;      // of a step
    struct hdi_bound *bound; // for the step at hand
    // Of the last run.
    struct hdi_list_time *times;
    uint32_t room, timed; // of them
};

bool hdi_sequence_may(const struct hdi_launcher *launcher)
{
    return launcher->ports && launcher->device->backend->lists;
}

static const struct hdi_lists *lists_of(const struct hdi_sequence *s)
{
    return s->launcher->device->backend->lists;
}

// Making ----------------------------------------------------------------------

static hd_status check_step(struct hdi_sequence *s,
                            const struct hdi_sequence_step *from,
                            struct step *step, struct hd_error *error)
{
    const struct hdi_launcher *l = s->launcher;
    const struct hd_kernel *kernel = from->request.kernel;
    const char *name = kernel->info.name;
    struct hdi_request request = from->request;

    if (l->peers > 1)
        kernel = hdi_kernel_on(kernel, l->device);
    *step = (struct step){.kernel = kernel};
    request.kernel = kernel;
    if (!step->kernel || !step->kernel->entry)
        return hdi_fail(error, HD_ENOTSUP, "kernel '%s' was not built for %s",
                        name, l->device->can.description);
    if (l->peers > 1 && step->kernel->keeps)
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' is of a program with variables", name);
    HDI_TRY(hdi_plan_check_early(l, &request, &step->plan, error));
    if (step->plan.groups == 0)
        return hdi_fail(error, HD_ENOTSUP, "kernel '%s' has no work-items",
                        name);
    s->groups += from->appended ? 0 : step->plan.groups;
    if (request.arg_count > s->most_args)
        s->most_args = request.arg_count;
    return HD_OK;
}

static struct hdi_list_step describe(const struct step *step,
                                     const struct hdi_sequence_step *from,
                                     const void *args)
{
    const struct hdi_kernel_arg *asks =
        from->appends ? &step->kernel->args[from->appends - 1] : NULL;
    struct hdi_list_step to = {.chunk = {.entry = step->kernel->entry,
                                         .frame = step->plan.frame,
                                         .local_bytes = step->plan.local_bytes,
                                         .saved_bytes = step->plan.saved_bytes},
                               .after = from->after,
                               .after_count = from->after_count,
                               .appended = from->appended,
                               .family = from->family,
                               .family_count = from->family_count,
                               .most = from->most,
                               .appends_at = asks ? asks->offset + 1 : 0};

    to.chunk.frame.args = args;
    memcpy(to.chunk.frame.count, step->plan.frame.group_count,
           sizeof(to.chunk.frame.count));
    return to;
}

// What was made when this fails stays the sequence's, for hdi_sequence_free().
// The list copies the steps, whose arguments are zero until they are set.
static hd_status fill(struct hdi_sequence *s, enum hdi_list_form form,
                      const struct hdi_sequence_step *steps,
                      struct hd_error *error)
{
    struct hdi_list_step *described = calloc(s->count, sizeof(*described));
    size_t most = 1;
    hd_status status = HD_OK;

    for (uint32_t i = 0; i < s->count && status == HD_OK; i++) {
        status = check_step(s, &steps[i], &s->steps[i], error);
        if (status == HD_OK && s->steps[i].kernel->args_size > most)
            most = s->steps[i].kernel->args_size;
    }
    unsigned char *none = calloc(1, most);
    if (status == HD_OK && (!described || !none))
        status = hdi_fail(error, HD_ENOMEM, "no memory for a sequence");
    for (uint32_t i = 0; i < s->count && status == HD_OK; i++)
        described[i] = describe(&s->steps[i], &steps[i], none);
    const struct hdi_list_params params = {.steps = described,
                                           .form = form,
                                           .count = s->count,
                                           .more = s->room - s->count};
    if (status == HD_OK)
        status =
            lists_of(s)->make(s->launcher->device, &params, &s->list, error);
    free(none);
    free(described);
    if (status == HD_OK &&
        !(s->bound = calloc(s->most_args + 1, sizeof(*s->bound))))
        status = hdi_fail(error, HD_ENOMEM, "no memory for a sequence");
    return status;
}

hd_status hdi_sequence_make(struct hdi_launcher *launcher,
                            enum hdi_list_form form,
                            const struct hdi_sequence_step *steps,
                            uint32_t count, uint32_t more,
                            struct hdi_sequence **sequence,
                            struct hd_error *error)
{
    struct hdi_sequence *s = calloc(1, sizeof(*s));

    if (s) {
        s->launcher = launcher;
        s->count = count;
        s->steps = calloc(count + UINT64_C(1), sizeof(*s->steps));
        s->room = count + more;
        s->times = calloc(s->room + UINT64_C(1), sizeof(*s->times));
    }
    hd_status status =
        s && s->steps && s->times
            ? fill(s, form, steps, error)
            : hdi_fail(error, HD_ENOMEM, "no memory for a sequence");
    if (status != HD_OK) {
        hdi_sequence_free(s);
        return status;
    }
    *sequence = s;
    return HD_OK;
}

void hdi_sequence_free(struct hdi_sequence *s)
{
    if (!s)
        return;
    if (s->list)
        lists_of(s)->free(s->list);
    free(s->bound);
    free(s->times);
    free(s->steps);
    free(s);
}

// Packs straight into what the list has for the arguments of the step.
hd_status hdi_sequence_set(struct hdi_sequence *s, uint32_t index,
                           const struct hd_arg *args, struct hd_error *error)
{
    const struct step *step = &s->steps[index];
    const struct hd_kernel *kernel = step->kernel;
    const struct hdi_request request = {.kernel = kernel, .args = args};

    for (unsigned i = 0; i < kernel->info.arg_count; i++)
        if (args[i].is == HD_IS_IMAGE)
            HDI_TRY(hdi_image_check(s->launcher, args[i].image,
                                    kernel->info.name, &kernel->args[i].shown,
                                    error));
    hdi_bind(&request, s->bound);
    if (s->launcher->peers > 1)
        HDI_TRY(hdi_touch_bring(s->launcher, kernel, &step->plan, NULL,
                                s->bound, error));
    hdi_bound_pack(kernel, s->bound, lists_of(s)->args(s->list, index));
    return HD_OK;
}

// Running ---------------------------------------------------------------------

// A run, in the room of its event.
// The list goes to a unit as a leaf of one work-group would, so what feeds,
// stops and collects leaves does for lists too.
struct started {
    struct hdi_event *event;
    struct hdi_sequence *sequence;
    struct hdi_flight launch; // of the list, as one work-group
    struct hdi_fault fault;
    char text[HDI_FAILURE_SIZE];
};

_Static_assert(sizeof(struct started) > HDI_EVENT_ROOM,
               "a room that is lost is no record's own");

// The first failure of the launch, else what the list itself says.
static hd_status conclude(struct started *s, struct hd_error *error)
{
    struct hdi_sequence *q = s->sequence;
    hd_status status = (hd_status)atomic_load(&s->launch.stop.status);
    uint32_t count = q->room;

    if (status == HD_ETIMEOUT && !atomic_load(&s->launch.lost))
        return hdi_fail(error, status,
                        "%u launches that %s worked off were stopped: they "
                        "took longer than the time limit of %.3f s",
                        q->count, q->launcher->device->can.description,
                        (double)s->launch.time_limit / 1e9);
    if (status != HD_OK)
        return hdi_fail(error, status, "%u launches that %s worked off: %s%s%s",
                        q->count, q->launcher->device->can.description,
                        hd_status_text(status), *s->text ? ": " : "", s->text);
    HDI_TRY(lists_of(q)->result(q->list, q->times, &count, error));
    q->timed = count;
    atomic_fetch_add_explicit(&q->launcher->ran, q->groups,
                              memory_order_relaxed);
    return HD_OK;
}

static void finish(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct started *s =
        (struct started *)(void *)((char *)launch -
                                   offsetof(struct started, launch));
    struct hd_error error;

    (void)worker;
    hdi_flight_unwatch(s->sequence->launcher, launch);
    hd_status status = conclude(s, &error);
    hdi_event_end(s->event, status, status != HD_OK ? error.text : NULL);
}

static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct started *s = event->room;

    (void)error;
    if (hdi_flight_watch(s->sequence->launcher, &s->launch))
        hdi_feed_start(worker, &s->launch, finish);
    else
        finish(worker, &s->launch);
    return false;
}

// As for a launch that a unit hangs in (start.c).
static void drop(struct hdi_event *event)
{
    struct started *s = event->room;

    if (!atomic_load(&s->launch.lost))
        return;
    hdi_flight_strand(s->sequence->launcher, event->room);
    hdi_event_lose_room(event);
}

static const struct hdi_event_kind sequences = {.run = run, .drop = drop};

hd_status hdi_sequence_start(struct hdi_sequence *sequence,
                             const struct hd_start *start,
                             const atomic_bool *cancel, hd_event *handle,
                             struct hd_error *error)
{
    struct hdi_launcher *l = sequence->launcher;
    struct hdi_event *event = NULL;

    HDI_TRY(hdi_event_take(l->pool, &sequences, &event, error));
    struct started *s = hdi_event_room(event, sizeof(*s));
    if (!s) {
        hdi_event_give_back(event);
        return hdi_fail(error, HD_ENOMEM, "no memory to start a sequence");
    }
    sequence->timed = 0;
    *s = (struct started){
        .event = event,
        .sequence = sequence,
        .launch = {
            .launcher = l,
            .lead = &s->launch,
            .kernel = sequence->steps->kernel,
            .chunk = {.list = sequence->list, .stop = &s->launch.stop.status},
            .box = {.count = {1, 1, 1}},
            .cutoff = 1,
            .group_items = 1,
            .text = s->text,
            .fault = &s->fault,
            .stop = {.cancel = cancel, .group = &event->group, .pool = l->pool},
            .time_limit = start->time_limit ? start->time_limit : l->time_limit,
            .cost = &event->cost}};
    return hdi_event_start(event, start, handle, error);
}

const struct hdi_list_time *hdi_sequence_times(
    const struct hdi_sequence *sequence, uint32_t *count)
{
    *count = sequence->timed;
    return *count ? sequence->times : NULL;
}

unsigned hdi_sequence_refused(const struct hdi_sequence *sequence,
                              uint32_t *step)
{
    *step = sequence->list->refused_step;
    return sequence->list->refused;
}
