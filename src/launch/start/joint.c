#include "launch/start/joint.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "launch/args/touch.h"
#include "launch/box.h"
#include "launch/measure/pace.h"
#include "launch/run/flight.h"
#include "launch/start/start.h"
#include "steal/event.h"
#include "steal/worker.h"

// WORTH: shorter parts cost more in starting than they gain. TRY: a launch no
// longer than that may be spent on learning a device's pace. LEAST_GROUPS:
// fewer are not worth dividing among devices of unknown pace. OVERHEAD: of one
// launch more, and its event.
enum {
    SIDES = 8,         // devices of one launch
    WORTH = 200000,    // a part should take so long [ns]
    TRY = 200000,      // a launch that is short enough to try a device [ns]
    TRY_PART = 16,     // of a longer one: one of so many parts
    LEAST_GROUPS = 64, // to be divided before anything is known
    OVERHEAD = 50000,  // of dividing [ns]
};

struct joint;

// One device of it.
// `joint` stays until the last part has ended. `works`, `runs` and `box` are
// under the joint's lock.
struct side {
    struct joint *joint;
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel; // there
    bool works, runs;               // takes parts; has one
    struct hdi_box box;             // that it runs
    uint64_t expected;              // for that [ns]
    hd_event part;
};

// In the room of its event, which ends with the last part.
struct joint {
    struct hdi_event *event;
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    struct hdi_terms terms;
    struct hdi_box part; // of the launch, where that is not all of it
    struct hd_range range;
    struct hd_group whole; // of the parts, to cancel them
    struct hdi_plan plan;
    // With the lock:
    pthread_mutex_t lock;
    bool divides;
    struct hdi_box rest; // no groups: all were given out
    struct hdi_box orphans[SIDES];
    unsigned orphan_count;
    unsigned running;        // parts, and who starts the first
    uint64_t moved, counted; // by parts whose misses were counted, and the
                             // work-groups of these
    hd_status status;        // of the first that failed
    char text[HD_ERROR_TEXT];
    struct side sides[SIDES];
    unsigned side_count;
    unsigned arg_count;
    struct hdi_bound *bound; // behind `args`, and behind these their values
    struct hd_arg args[];    // the same, for the parts
};

// Choosing --------------------------------------------------------------------

// Variables of its program are on each device: those of the first count.
static bool keeps(const struct joint *j)
{
    const struct hdi_launcher *l = j->launcher;
    bool any = false;

    for (unsigned i = 0; i < l->peers; i++) {
        const struct hd_kernel *k = hdi_kernel_on(j->kernel, l->all[i]->device);
        any |= k && k->keeps;
    }
    return any;
}

static hd_status plan_on(const struct joint *j,
                         const struct hdi_launcher *launcher,
                         const struct hd_kernel *kernel, struct hdi_plan *plan,
                         struct hd_error *error)
{
    const struct hdi_request request = {kernel, &j->range, j->args,
                                        j->arg_count};
    return hdi_plan_check(launcher, &request, plan, error);
}

// The devices that can run it; the error is that of the first that cannot.
static hd_status find_sides(struct joint *j, struct hd_error *error)
{
    const struct hdi_launcher *l = j->launcher;
    bool keeps_something = keeps(j);
    hd_status status = HD_OK;

    for (unsigned i = 0; i < l->peers && j->side_count < SIDES; i++) {
        struct hdi_launcher *at = l->all[i];
        const struct hd_kernel *k = hdi_kernel_on(j->kernel, at->device);
        struct hdi_plan plan;
        struct hd_error why;
        if (!(j->terms.devices >> i & 1) || !k || !k->entry ||
            (j->terms.place.kind != HD_ANYWHERE && at != l) ||
            (keeps_something && j->side_count > 0))
            continue;
        hd_status s = atomic_load(&at->device->lost)
                          ? hdi_fail(&why, HD_ENODEV, "kernel '%s': %s is lost",
                                     k->info.name, at->device->can.description)
                          : plan_on(j, at, k, &plan, &why);
        if (s != HD_OK && status == HD_OK)
            status = hdi_fail(error, s, "%s", why.text);
        if (s == HD_OK)
            j->sides[j->side_count++] = (struct side){
                .joint = j, .launcher = at, .kernel = k, .works = true};
    }
    if (j->side_count > 0)
        return HD_OK;
    return status != HD_OK
               ? status
               : hdi_fail(error, HD_ENODEV,
                          "kernel '%s' was built for none of the devices "
                          "0x%llx; there are %u",
                          j->kernel->info.name,
                          (unsigned long long)j->terms.devices, l->peers);
}

// The one for a kernel that nothing is known of: a GPU, unless its code or its
// only work-item is for a CPU.
static struct side *first_choice(struct joint *j)
{
    const struct hd_range *r = &j->range;
    bool lone = r->global[0] == 1 && (r->dims < 2 || r->global[1] == 1) &&
                (r->dims < 3 || r->global[2] == 1);
    bool cpu = lone || j->kernel->info.suits == HD_SUITS_CPU;

    for (unsigned i = 0; i < j->side_count; i++)
        if (j->sides[i].launcher->device->can.host_memory == cpu)
            return &j->sides[i];
    return j->sides;
}

// What must be copied is, beyond something that every part needs, in proportion
// to the part.
// From two points, all and half, to a line: what does not halve is fixed.
static struct hdi_speed speed_of(const struct joint *j, const struct side *s)
{
    struct hdi_box half = j->rest;
    double items =
        (double)hdi_box_groups(&j->rest) * (double)j->plan.group_items;
    double all = hdi_pace_copy(s->launcher,
                               hdi_touch_missing(s->launcher, s->kernel,
                                                 &j->plan, &j->rest, j->bound));
    double fixed = all;

    if (all > 0 && hdi_box_groups(&half) > 1) {
        half = hdi_box_halve(&half);
        double part = hdi_pace_copy(
            s->launcher, hdi_touch_missing(s->launcher, s->kernel, &j->plan,
                                           &half, j->bound));
        fixed = 2 * part > all ? 2 * part - all : 0;
    }
    return (struct hdi_speed){
        .item = hdi_pace_of(s->launcher, s->kernel) + (all - fixed) / items,
        .fixed = fixed + (double)atomic_load_explicit(&s->launcher->ahead,
                                                      memory_order_relaxed)};
}

static void work_alone(struct joint *j, const struct side *s)
{
    for (unsigned i = 0; i < j->side_count; i++)
        j->sides[i].works = &j->sides[i] == s;
    j->divides = false;
}

// The side that would be done first, by what is known; NULL: nothing is.
static struct side *find_fastest(struct joint *j,
                                 const struct hdi_speed *speeds, double *time)
{
    uint64_t items = hdi_box_groups(&j->rest) * j->plan.group_items;
    struct side *best = NULL;

    for (unsigned i = 0; i < j->side_count; i++) {
        double t = speeds[i].fixed + speeds[i].item * (double)items;
        if (hdi_pace_of(j->sides[i].launcher, j->sides[i].kernel) > 0 &&
            (!best || t < *time)) {
            best = &j->sides[i];
            *time = t;
        }
    }
    return best;
}

static struct side *find_unknown(struct joint *j)
{
    for (unsigned i = 0; i < j->side_count; i++)
        if (hdi_pace_of(j->sides[i].launcher, j->sides[i].kernel) == 0)
            return &j->sides[i];
    return NULL;
}

// Who takes parts, and whether there are any.
//
//     one device                        all on it
//     no pace known anywhere            the likely one, or parts of all
//     a pace not known                  try it: all if short, else a part
//     parts overlap, or do not pay      the fastest alone
//     else                              all whose share is not 0
static void choose(struct joint *j)
{
    uint64_t groups = hdi_box_groups(&j->rest);
    struct hdi_box half = j->rest, other = j->rest;
    struct hdi_speed speeds[SIDES];
    double alone = 0;

    if (j->side_count == 1) {
        j->divides = false;
        return;
    }
    if (groups > 1)
        half = hdi_box_halve(&other);
    j->divides = groups > 1 && hdi_touch_is_apart(j->kernel, &j->plan, &half,
                                                  &other, j->bound);
    for (unsigned i = 0; i < j->side_count; i++)
        speeds[i] = speed_of(j, &j->sides[i]);
    struct side *fastest = find_fastest(j, speeds, &alone);
    struct side *unknown = find_unknown(j);
    if (!fastest) {
        if (!j->divides || groups < LEAST_GROUPS)
            work_alone(j, first_choice(j));
    } else if (unknown) {
        if (alone < TRY)
            work_alone(j, unknown);
        else if (!j->divides)
            work_alone(j, fastest);
    } else if (!j->divides || hdi_pace_divide(speeds, j->side_count,
                                              groups * j->plan.group_items) +
                                      OVERHEAD >
                                  alone) {
        work_alone(j, fastest);
    } else {
        for (unsigned i = 0; i < j->side_count; i++)
            j->sides[i].works = speeds[i].share > 0;
    }
}

// Dividing --------------------------------------------------------------------

static double group_time(const struct side *s)
{
    return hdi_pace_of(s->launcher, s->kernel) *
           (double)s->joint->plan.group_items;
}

// Work-groups of a part for this side: half of what would let all end together,
// so that the last ones are small. 0: the others are done sooner without it.
// Guided self-scheduling: large parts at first, smaller ones towards the end.
static uint64_t size_of_part(const struct side *side)
{
    const struct joint *j = side->joint;
    uint64_t rest = hdi_box_groups(&j->rest);
    double own = group_time(side), rate = 0, others = 0;

    if (own == 0) {
        uint64_t part = hdi_box_groups(&j->rest) / TRY_PART;
        return part ? part : 1;
    }
    for (unsigned i = 0; i < j->side_count; i++) {
        const struct side *s = &j->sides[i];
        double time = group_time(s);
        if (!s->works || time == 0)
            continue;
        rate += 1 / time;
        others += s != side && s->runs ? 1 / time : 0;
    }
    double part = (double)rest / rate / own / 2;
    double least = WORTH / own;
    if (part < least)
        part = least < (double)rest ? least : (double)rest;
    if (part < 1)
        part = 1;
    if (others > 0 && part * own > 2 * (double)rest / others + OVERHEAD)
        return 0;
    return (double)rest - part < part / 2 ? rest : (uint64_t)part;
}

// Cut about so many groups off the rest, across its slowest axis: host memory's
// side in front, others behind.
static struct hdi_box cut(struct hdi_box *rest, uint64_t groups, bool front)
{
    unsigned axis = hdi_box_slowest(rest);
    uint64_t row = hdi_box_groups(rest) / rest->count[axis];
    uint64_t rows = (groups + row - 1) / row;
    struct hdi_box part = *rest;

    if (rows > rest->count[axis])
        rows = rest->count[axis];
    part.count[axis] = (uint32_t)rows;
    rest->count[axis] -= (uint32_t)rows;
    if (front)
        rest->first[axis] += (uint32_t)rows;
    else
        part.first[axis] += rest->count[axis];
    return part;
}

// With the lock. The next part for a side; false: there is none for it.
// What a lost device left goes first. Where what was cut off and the rest
// cannot be told apart after all, the side takes all of it.
static bool take(struct side *side)
{
    struct joint *j = side->joint;
    struct hdi_box rest = j->rest;

    if (!side->works || side->runs || j->status != HD_OK)
        return false;
    if (j->orphan_count > 0) {
        side->box = j->orphans[--j->orphan_count];
    } else if (hdi_box_groups(&rest) == 0) {
        return false;
    } else if (!j->divides) {
        side->box = rest;
        j->rest.count[0] = 0;
    } else {
        uint64_t groups = size_of_part(side);
        if (groups == 0)
            return false;
        side->box = cut(&rest, groups, side->launcher->device->can.host_memory);
        if (hdi_box_groups(&rest) > 0 &&
            !hdi_touch_is_apart(j->kernel, &j->plan, &side->box, &rest,
                                j->bound)) {
            side->box = j->rest;
            rest.count[0] = 0;
        }
        j->rest = rest;
    }
    side->runs = true;
    j->running++;
    return true;
}

// Running ---------------------------------------------------------------------

static void part_ended(struct hd_worker *worker, hd_status status, void *data);

// With the lock. It ends the other parts.
static void fail(struct joint *j, hd_status status, const char *text)
{
    if (j->status != HD_OK)
        return;
    j->status = status;
    snprintf(j->text, sizeof(j->text), "%s", text);
    hd_group_cancel(j->launcher->pool, &j->whole);
}

static bool is_all(const struct joint *j, const struct hdi_box *box)
{
    return memcmp(box->count, j->plan.frame.group_count, sizeof(box->count)) ==
           0;
}

static hd_status start_part(struct side *side, struct hd_error *error)
{
    struct joint *j = side->joint;
    struct hd_box box;
    const struct hd_start how = {.priority = j->terms.priority,
                                 .time_limit = j->terms.time_limit,
                                 .place = j->terms.place.kind,
                                 .unit = j->terms.place.unit,
                                 .is_leaf = j->terms.is_leaf,
                                 .tasks = j->terms.tasks,
                                 .leaf_data = j->terms.leaf_data,
                                 .box = is_all(j, &side->box) ? NULL : &box};

    memcpy(box.first, side->box.first, sizeof(box.first));
    memcpy(box.count, side->box.count, sizeof(box.count));
    side->expected =
        (uint64_t)(group_time(side) * (double)hdi_box_groups(&side->box));
    atomic_fetch_add_explicit(&side->launcher->ahead, side->expected,
                              memory_order_relaxed);
    hd_status status = hdi_launch_start_within(
        side->launcher, &how, &j->whole, j->terms.cancel,
        &(struct hdi_request){side->kernel, &j->range, j->args, j->arg_count},
        &side->part, error);
    if (status != HD_OK)
        side->part = 0;
    return status;
}

// All parts are taken to move as much as those of which it was counted.
static void tell_moved(const struct joint *j)
{
    double groups = (double)atomic_load_explicit(&j->event->cost.groups,
                                                 memory_order_relaxed);

    if (j->counted > 0)
        atomic_store_explicit(
            &j->event->bytes,
            HDI_COUNTED |
                (uint64_t)((double)j->moved / (double)j->counted * groups),
            memory_order_relaxed);
}

// A part has ended, or the first were started. The last ends the launch.
// The one who brings `running` to 0 is the last to touch the joint.
static void leave(struct joint *j)
{
    pthread_mutex_lock(&j->lock);
    bool last = --j->running == 0;
    pthread_mutex_unlock(&j->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&j->lock);
    tell_moved(j);
    hdi_event_end(j->event, j->status, j->status != HD_OK ? j->text : NULL);
}

// Start the part that it has taken.
static void go(struct hd_worker *worker, struct side *side)
{
    struct hd_pool *pool = side->joint->launcher->pool;
    struct hd_error error;

    hd_status status = start_part(side, &error);
    if (status == HD_OK &&
        hd_event_on_end(pool, side->part, part_ended, side, &error) == HD_OK)
        return;
    if (status == HD_OK) // no memory for who is told: wait
        status = hd_event_wait(pool, &side->part, 1, HD_FOREVER, &error);
    part_ended(worker, status, side);
}

// Give parts to all that have none, before any of these ends.
// All are taken before the first is started: a part that ends at once would
// otherwise deal to the same sides.
static void deal(struct hd_worker *worker, struct joint *j)
{
    bool has[SIDES];

    pthread_mutex_lock(&j->lock);
    for (unsigned i = 0; i < j->side_count; i++)
        has[i] = take(&j->sides[i]);
    pthread_mutex_unlock(&j->lock);
    for (unsigned i = 0; i < j->side_count; i++)
        if (has[i])
            go(worker, &j->sides[i]);
}

static void add_cost(struct hdi_cost *cost, const struct hd_event_info *info)
{
    atomic_fetch_add_explicit(&cost->busy, info->busy, memory_order_relaxed);
    atomic_fetch_add_explicit(&cost->groups, info->groups,
                              memory_order_relaxed);
    atomic_fetch_or_explicit(&cost->workers, info->workers,
                             memory_order_relaxed);
    atomic_fetch_or_explicit(&cost->units, info->units, memory_order_relaxed);
}

// With the lock. What a lost device has not run the others may.
static bool pass_on(struct side *side, hd_status status)
{
    struct joint *j = side->joint;
    bool others = false;

    if (status != HD_ENODEV || !atomic_load(&side->launcher->device->lost))
        return false;
    side->works = false;
    for (unsigned i = 0; i < j->side_count; i++) {
        struct side *s = &j->sides[i];
        s->works |= !j->divides && s != side &&
                    !atomic_load(&s->launcher->device->lost);
        others |= s->works;
    }
    if (others)
        j->orphans[j->orphan_count++] = side->box;
    return others;
}

// On any thread. Deals before it leaves, so that `running` does not fall to 0
// while there is a rest.
static void add_part(struct joint *j, const struct hd_event_info *info)
{
    add_cost(&j->event->cost, info);
    if (!info->counted)
        return;
    pthread_mutex_lock(&j->lock);
    j->moved += info->bytes;
    j->counted += info->groups;
    pthread_mutex_unlock(&j->lock);
}

static void part_ended(struct hd_worker *worker, hd_status status, void *data)
{
    struct side *side = data;
    struct joint *j = side->joint;
    struct hd_pool *pool = j->launcher->pool;
    struct hd_event_info info;
    struct hd_error error = {.text = ""};

    atomic_fetch_sub_explicit(&side->launcher->ahead, side->expected,
                              memory_order_relaxed);
    if (side->part != 0) {
        status = hd_event_status(pool, side->part, &error);
        if (hd_event_info(pool, side->part, &info))
            add_part(j, &info);
        hd_event_release(pool, side->part);
        side->part = 0;
    }
    pthread_mutex_lock(&j->lock);
    side->runs = false;
    if (status != HD_OK && !pass_on(side, status))
        fail(j, status, error.text);
    pthread_mutex_unlock(&j->lock);
    deal(worker, j);
    leave(j);
}

static void report(const struct joint *j)
{
    for (unsigned i = 0; i < j->side_count; i++)
        hdi_debug("kernel '%s': %s on %s", j->kernel->info.name,
                  !j->sides[i].works ? "nothing"
                  : j->divides       ? "parts"
                                     : "all",
                  j->sides[i].launcher->device->can.description);
}

// The work-group size that a side would choose is that of all.
static hd_status shape(struct joint *j, const struct side *s,
                       struct hd_error *error)
{
    HDI_TRY(plan_on(j, s->launcher, s->kernel, &j->plan, error));
    j->rest = (struct hdi_box){0};
    if (j->terms.part)
        j->rest = j->part;
    else
        memcpy(j->rest.count, j->plan.frame.group_count, sizeof(j->rest.count));
    j->rest.fast = (uint8_t)s->kernel->axis;
    return HD_OK;
}

// When it runs, not when it is started: what is known of paces, and of where
// bytes are, is newer then. The work-group size is fixed here, since parts of
// one launch must agree on it.
static hd_status prepare(struct joint *j, struct hd_error *error)
{
    const struct side *only = NULL;

    HDI_TRY(shape(j, first_choice(j), error));
    if (j->plan.groups == 0)
        return HD_OK;
    choose(j);
    for (unsigned i = 0; i < j->side_count && !j->divides; i++)
        if (j->sides[i].works)
            only = &j->sides[i];
    if (only)
        HDI_TRY(shape(j, only, error));
    memcpy(j->range.local, j->plan.frame.local_size, sizeof(j->range.local));
    return HD_OK;
}

static bool run(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error)
{
    struct joint *j = event->room;

    if (prepare(j, error) != HD_OK || j->plan.groups == 0)
        return true;
    report(j);
    pthread_mutex_init(&j->lock, NULL);
    j->running = 1;
    deal(worker, j);
    leave(j);
    return false;
}

static void drop(struct hdi_event *event)
{
    const struct joint *j = event->room;

    hdi_bound_drop(j->bound, j->arg_count);
}

static const struct hdi_event_kind joints = {.run = run, .drop = drop};

// Starting --------------------------------------------------------------------

static void describe(struct joint *j, struct hdi_event *event,
                     struct hdi_launcher *launcher,
                     const struct hdi_terms *terms,
                     const struct hdi_request *request)
{
    *j = (struct joint){.event = event,
                        .launcher = launcher,
                        .kernel = request->kernel,
                        .terms = *terms,
                        .range = *request->range,
                        .arg_count = request->arg_count};
    if (terms->part) {
        j->part = *terms->part;
        j->terms.part = &j->part;
    }
    hd_group_init(&j->whole);
}

static hd_status start_on(struct hdi_launcher *launcher,
                          const struct hd_start *start,
                          const struct hdi_terms *terms,
                          const struct hdi_request *request, hd_event *handle,
                          struct hd_error *error)
{
    const struct hd_kernel *kernel = request->kernel;
    unsigned arg_count = request->arg_count;
    uint64_t bound = sizeof(struct joint) + arg_count * sizeof(struct hd_arg);
    uint64_t values = hdi_round_up(bound + arg_count * sizeof(struct hdi_bound),
                                   HDI_VALUE_ALIGNMENT);
    struct hdi_event *event = NULL;

    if (!kernel)
        return hdi_fail(error, HD_EINVAL,
                        "a launch needs a kernel: hd_program_find() gives NULL "
                        "for a name that is not in the program");
    HDI_TRY(hdi_event_check(launcher->pool, start, error));
    HDI_TRY(hdi_event_take(launcher->pool, &joints, &event, error));
    struct joint *j = hdi_event_room(
        event, values + hdi_bound_room(request->args, arg_count));
    if (!j) {
        hdi_event_give_back(event);
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    }
    describe(j, event, launcher, terms, request);
    memcpy(j->args, request->args, arg_count * sizeof(*j->args));
    hd_status status = find_sides(j, error);
    if (status == HD_OK && j->terms.part)
        status =
            hdi_flight_plan(j->sides->launcher,
                            &(struct hdi_request){j->sides->kernel, &j->range,
                                                  j->args, arg_count},
                            &j->terms, &j->plan, error);
    if (status != HD_OK) {
        hdi_event_give_back(event);
        return status;
    }
    j->bound = (struct hdi_bound *)(void *)((char *)j + bound);
    hdi_bind(request, j->bound);
    uint64_t bytes =
        hdi_bound_keep(j->bound, arg_count, (unsigned char *)j + values);
    atomic_store_explicit(&event->bytes, bytes, memory_order_relaxed);
    hdi_bound_give(j->bound, arg_count, j->args);
    hd_group_within(&j->whole, terms->group ? terms->group : &event->group);
    return hdi_event_start(event, start, handle, error);
}

hd_status hdi_joint_start(struct hdi_launcher *launcher,
                          const struct hd_start *start,
                          const struct hdi_request *request, hd_event *event,
                          struct hd_error *error)
{
    static const struct hd_start defaults;
    start = start ? start : &defaults;
    struct hdi_terms terms = {.time_limit = start->time_limit,
                              .place = {start->place, start->unit},
                              .devices = start->devices ? start->devices
                                                        : launcher->automatic,
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
    return start_on(launcher, start, &terms, request, event, error);
}

hd_status hdi_joint_run(struct hdi_launcher *launcher,
                        const struct hdi_terms *terms,
                        const struct hdi_request *request,
                        struct hd_error *error)
{
    const struct hd_start start = {.priority = terms->priority};
    const struct hd_worker *caller = hd_pool_worker(launcher->pool);
    struct hdi_terms own = *terms;
    struct hd_event_info info;
    hd_event event;

    if (!own.group && caller)
        own.group = hdi_worker_group(caller);
    HDI_TRY(start_on(launcher, &start, &own, request, &event, error));
    hd_status status =
        hd_event_wait(launcher->pool, &event, 1, HD_FOREVER, error);
    if (terms->cost && hd_event_info(launcher->pool, event, &info))
        add_cost(terms->cost, &info);
    hd_event_release(launcher->pool, event);
    return status;
}
