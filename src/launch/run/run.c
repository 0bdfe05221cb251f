// A launch in flight: it is planned, its arguments are bound and packed, it
// runs, checked if its kernel is, and a fault of it is explained.
#include "launch/run/flight.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/args/touch.h"
#include "launch/fault/checked.h"
#include "launch/fault/search.h"
#include "launch/run/chosen.h"
#include "launch/run/cutoff.h"
#include "steal/worker.h"

// Planning --------------------------------------------------------------------

// Whether the place names a unit, which must be there.
static bool needs_unit(const struct hdi_place *place)
{
    return place->kind != HD_ANYWHERE && place->kind != HD_ON_WORKERS;
}

hd_status hdi_launch_make_tasks(const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                struct hd_range *tasks, struct hd_error *error)
{
    *tasks = *range;
    for (int d = 0; d < 3; d++) {
        if (range->local[d] > 1 || kernel->info.required_local[d] > 1)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s': each work-item is a task of its own, "
                            "but work-groups of %u in dimension %d are asked "
                            "for",
                            kernel->info.name,
                            range->local[d] > 1
                                ? (unsigned)range->local[d]
                                : (unsigned)kernel->info.required_local[d],
                            d);
        tasks->local[d] = 1;
    }
    return HD_OK;
}

static hd_status check_part(const struct hd_kernel *kernel,
                            const struct hdi_plan *plan,
                            const struct hdi_box *part, struct hd_error *error)
{
    for (int d = 0; d < 3; d++)
        if (part->count[d] == 0 ||
            part->first[d] > plan->frame.group_count[d] ||
            part->count[d] > plan->frame.group_count[d] - part->first[d])
            return hdi_fail(
                error, HD_EINVAL,
                "kernel '%s': %u work-groups from %u on are no part "
                "of the %u in dimension %d",
                kernel->info.name, part->count[d], part->first[d],
                plan->frame.group_count[d], d);
    return HD_OK;
}

static hd_status check_terms(const struct hd_kernel *kernel,
                             const struct hdi_plan *plan,
                             const struct hdi_terms *terms,
                             struct hd_error *error)
{
    bool is_grid = hdi_leaf_is_grid(kernel);

    if (is_grid && needs_unit(&terms->place))
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' calls hd_grid_barrier() and runs on a "
                        "worker only, not on a unit",
                        kernel->info.name);
    if (is_grid && terms->part)
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' calls hd_grid_barrier(): no part of its "
                        "work-groups can run without the others",
                        kernel->info.name);
    return terms->part ? check_part(kernel, plan, terms->part, error) : HD_OK;
}

hd_status hdi_flight_check_unit(const struct hdi_launcher *launcher,
                                const struct hd_kernel *kernel,
                                const struct hdi_place *place,
                                struct hd_error *error)
{
    // Without a kernel: see hdi_plan_check().
    if (kernel && needs_unit(place) && place->unit >= launcher->port_count)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' is to run on unit %u; there are %u",
                        kernel->info.name, place->unit, launcher->port_count);
    return HD_OK;
}

// Nothing is allocated or held: a launch that is refused has left nothing.
hd_status hdi_flight_plan(const struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms, struct hdi_plan *plan,
                          struct hd_error *error)
{
    const struct hd_kernel *kernel = request->kernel;
    struct hdi_request divided;
    struct hd_range tasks;

    // Without kernel or range: see hdi_plan_check().
    if (terms->tasks && kernel && request->range) {
        if (terms->is_leaf)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s': each work-item is a task of its own: "
                            "there is no other cutoff",
                            kernel->info.name);
        HDI_TRY(hdi_launch_make_tasks(kernel, request->range, &tasks, error));
        divided = *request;
        divided.range = &tasks;
        request = &divided;
    }
    HDI_TRY(hdi_plan_check(launcher, request, plan, error));
    HDI_TRY(hdi_chosen_check(launcher, kernel, terms, error));
    return plan->groups > 0 ? check_terms(kernel, plan, terms, error) : HD_OK;
}

// Binding ---------------------------------------------------------------------

// The packed arguments, then what they were packed from.
//
//     room   | packed arguments ... | struct hdi_bound of each |
//            128-byte aligned        128-byte aligned
static size_t packed_size(const struct hd_kernel *kernel)
{
    return hdi_round_up(kernel->args_size + 1, 128);
}

size_t hdi_flight_room(const struct hd_kernel *kernel)
{
    return packed_size(kernel) +
           hdi_round_up(kernel->info.arg_count * sizeof(struct hdi_bound), 128);
}

struct hdi_bound *hdi_flight_bound(const struct hd_kernel *kernel,
                                   unsigned char *room)
{
    return (struct hdi_bound *)(void *)(room + packed_size(kernel));
}

// Cheap on purpose, field by field: it is on the path of each launch. The chunk
// has all that leaves have in common.
void hdi_flight_fill(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel,
                     const struct hdi_terms *terms, const struct hdi_plan *plan,
                     unsigned char *room, struct hdi_flight *launch)
{
    const struct hdi_bound *bound = hdi_flight_bound(kernel, room);

    hdi_bound_pack(kernel, bound, room);
    hdi_clear(launch, sizeof(*launch));
    launch->launcher = launcher;
    launch->lead = launch;
    launch->kernel = kernel;
    launch->bound = bound;
    launch->room = room;
    launch->stop.cancel = terms->cancel;
    launch->stop.group = terms->group;
    launch->stop.pool = launcher->pool;
    launch->time_limit =
        terms->time_limit ? terms->time_limit : launcher->time_limit;
    launch->place = terms->place;
    launch->chunk.entry = kernel->entry;
    launch->chunk.frame = plan->frame;
    launch->chunk.local_bytes = plan->local_bytes;
    launch->chunk.saved_bytes = plan->saved_bytes;
    launch->group_items = plan->group_items;
    launch->tasks = terms->tasks;
    launch->workers = terms->workers;
    launch->worker_count = terms->worker_count;
    launch->cost = terms->cost;
    launch->tells_moved = terms->moved != NULL;
    launch->bid.bidder = &hdi_divide_bidder;
    launch->bid.priority = terms->priority;
    launch->bid.local = plan->local_bytes + plan->saved_bytes;
    memcpy(launch->box.count, plan->frame.group_count,
           sizeof(launch->box.count));
    if (terms->part)
        launch->box = *terms->part;
    if (terms->search)
        launch->box = hdi_search_box(terms->search);
    launch->box.fast = (uint8_t)kernel->axis;
    launch->chunk.frame.args = room;
    launch->chunk.stop = &launch->stop.status;
}

// With units the arguments go to the heap even if they are small: a unit that
// hangs may read them when this call has long returned.
hd_status hdi_flight_make(struct hdi_launcher *launcher,
                          const struct hdi_request *request,
                          const struct hdi_terms *terms,
                          const struct hdi_plan *plan, unsigned char *small,
                          struct hdi_flight *launch, struct hd_error *error)
{
    const struct hd_kernel *kernel = request->kernel;
    size_t size = hdi_flight_room(kernel);
    unsigned char *room = small && size <= HDI_STACK_ARGS && !launcher->ports
                              ? small
                              : aligned_alloc(128, size);
    if (!room)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    hdi_bind(request, hdi_flight_bound(kernel, room));
    hd_status status = HD_OK;
    if (launcher->peers > 1)
        status = hdi_touch_bring(launcher, kernel, plan, terms->part,
                                 hdi_flight_bound(kernel, room), error);
    if (status == HD_OK)
        hdi_flight_fill(launcher, kernel, terms, plan, room, launch);
    else if (room != small)
        free(room);
    return status;
}

void hdi_flight_free(struct hdi_flight *launch, const unsigned char *small)
{
    unsigned char *room = launch->room;

    if (atomic_load(&launch->lead->lost))
        hdi_flight_strand(launch->launcher, room);
    else if (room != small)
        free(room);
}

// Running ---------------------------------------------------------------------

// Keep what a hanging kernel may still read.
// A lock-free list of which nothing is taken before the launcher goes.
void hdi_flight_strand(struct hdi_launcher *launcher, void *memory)
{
    struct hdi_stranded *s = malloc(sizeof(*s));
    if (!s)
        return; // rather lost than taken away

    s->memory = memory;
    s->next = atomic_load(&launcher->stranded);
    while (!atomic_compare_exchange_weak(&launcher->stranded, &s->next, s))
        ;
}

hd_status hdi_flight_explain(const struct hdi_flight *launch,
                             struct hd_error *error)
{
    hd_status status = (hd_status)atomic_load(&launch->stop.status);
    const struct hd_kernel *kernel =
        launch->failed ? launch->failed->kernel : launch->kernel;
    const char *name = kernel->info.name;

    if (status == HD_OK)
        return HD_OK;
    if (status == HD_ETIMEOUT && !atomic_load(&launch->lost))
        return hdi_fail(error, status,
                        "kernel '%s' was stopped: it took longer than its time "
                        "limit of %.3f s",
                        name, (double)launch->time_limit / 1e9);
    return hdi_fail(error, status, "kernel '%s' on %s: %s%s%s", name,
                    launch->launcher->device->can.description,
                    hd_status_text(status), *launch->text ? ": " : "",
                    launch->text);
}

// Without a group of its own the launch ends with that of the task it is
// launched in.
bool hdi_flight_watch(struct hdi_launcher *launcher, struct hdi_flight *launch)
{
    const struct hd_worker *caller = hd_pool_worker(launcher->pool);

    if (!launch->stop.group && caller)
        launch->stop.group = hdi_worker_group(caller);
    if (launch->time_limit > 0) {
        launch->stop.deadline = hdi_now() + launch->time_limit;
        hd_status status = hdi_watchdog_add(launcher, &launch->stop);
        if (status != HD_OK) {
            hdi_leaf_fail(launch, status, "no thread to watch its time limit",
                          NULL);
            return false;
        }
    }
    return true;
}

void hdi_flight_unwatch(struct hdi_launcher *launcher,
                        struct hdi_flight *launch)
{
    if (launch->time_limit > 0)
        hdi_watchdog_remove(launcher, &launch->stop);
}

static void run(struct hdi_launcher *launcher, struct hdi_flight *launch,
                bool one_leaf)
{
    if (!hdi_flight_watch(launcher, launch))
        return;
    hdi_divide_run(launch, one_leaf);
    hdi_flight_unwatch(launcher, launch);
}

// A checked kernel runs screened first. Where that is left, what it wrote is
// undone, and the kernel runs in thread form, which tells what is wrong.
// The second run is as if the first had not been: bid, fault, text and status
// are reset, buffers restored from the copies.
static void run_checked(struct hdi_launcher *launcher,
                        struct hdi_flight *launch,
                        struct hdi_check_launch *check, bool one_leaf)
{
    const struct hdi_bid bid = launch->bid;
    bool screens = launch->kernel->screen && !check->search &&
                   launcher->device->can.host_memory;
    struct hdi_copies *copies = screens ? hdi_copies_take(check) : NULL;

    launch->chunk.check = check;
    if (copies) {
        check->screens = true;
        launch->chunk.entry = launch->kernel->screen;
        run(launcher, launch, one_leaf);
        if (atomic_load(&launch->stop.status) != HD_EFAULT) {
            free(copies);
            return;
        }
        atomic_fetch_add(&launch->kernel->learned->suspected, 1);
        hdi_copies_give_back(copies);
        free(copies);
        check->screens = false;
        launch->chunk.entry = launch->kernel->entry;
        launch->bid = bid;
        launch->has_fault = false;
        *launch->text = '\0';
        atomic_store(&launch->stop.status, HD_OK);
    }
    run(launcher, launch, one_leaf);
}

void hdi_flight_run(struct hdi_flight *launch, const struct hdi_terms *terms)
{
    struct hdi_launcher *launcher = launch->launcher;
    const struct hd_kernel *kernel = launch->kernel;
    bool one_leaf =
        !launch->is_leaf && hdi_box_groups(&launch->box) <= launch->cutoff;

    if (kernel->info.form != HD_FORM_CHECKED) {
        run(launcher, launch, one_leaf);
        return;
    }
    struct hdi_check_launch *check =
        hdi_checked_describe(kernel, launch->bound, launch->chunk.frame.args);
    if (check)
        check->search = terms->search;
    if (check)
        run_checked(launcher, launch, check, one_leaf);
    else
        hdi_leaf_fail(launch, HD_ENOMEM, "no memory to check it", NULL);
    free(check);
}

// Say where it was that it has faulted.
// The launch that searches tells the search; the one that failed begins one.
static void find_fault(struct hdi_flight *launch, const struct hdi_terms *terms)
{
    const char *hint = NULL;

    if (terms->search)
        hdi_search_end(terms->search, launch->fault);
    else
        hint = hdi_search_run(launch->launcher, launch->kernel,
                              &launch->chunk.frame, launch->bound, terms,
                              launch->fault);
    hdi_fault_describe(launch->fault, launch->kernel, launch->bound, hint,
                       launch->text, HDI_FAILURE_SIZE);
}

static void seal(const struct hdi_flight *launch, int by)
{
    if (launch->launcher->seals)
        hdi_bound_seal(launch->bound, launch->kernel->info.arg_count, by);
}

void hdi_flight_open(struct hdi_flight *launch, const struct hdi_terms *terms,
                     char *text, struct hdi_fault *fault)
{
    if (text)
        *text = '\0';
    launch->text = text;
    launch->fault = fault;
    hdi_cutoff_set(launch, terms);
    seal(launch, 1);
}

// All work-groups are taken to move as much as those that were counted.
static void tell_moved(const struct hdi_flight *launch, _Atomic uint64_t *moved)
{
    double counted =
        (double)atomic_load_explicit(&launch->counted, memory_order_relaxed);
    double bytes =
        (double)atomic_load_explicit(&launch->moved, memory_order_relaxed);

    if (counted > 0)
        atomic_store_explicit(
            moved,
            HDI_COUNTED | (uint64_t)(bytes / counted *
                                     (double)hdi_box_groups(&launch->box)),
            memory_order_relaxed);
}

hd_status hdi_flight_close(struct hdi_flight *launch,
                           const struct hdi_terms *terms,
                           struct hd_error *error)
{
    seal(launch, -1);
    if (terms->moved)
        tell_moved(launch, terms->moved);
    if (launch->has_fault)
        find_fault(launch, terms);
    return hdi_flight_explain(launch, error);
}

// The short way for small launches on a worker: no job, no broker, no watchdog.
hd_status hdi_flight_run_on(struct hd_worker *worker, struct hdi_flight *launch,
                            const struct hdi_terms *terms,
                            struct hd_error *error)
{
    struct hdi_fault fault;
    char text[HDI_FAILURE_SIZE];

    hdi_flight_open(launch, terms, text, &fault);
    if (launch->time_limit == 0 && !launch->is_leaf &&
        !launch->launcher->ports &&
        launch->kernel->info.form <= HD_FORM_THREADS &&
        hdi_box_groups(&launch->box) <= launch->cutoff) {
        if (hdi_leaf_goes_on(launch)) // one leaf, which is nobody else's
            hdi_leaf_run_here(worker, launch, &launch->box);
    } else {
        hdi_flight_run(launch, terms);
    }
    return hdi_flight_close(launch, terms, error);
}
