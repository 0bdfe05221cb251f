// Divides the box of all work-groups until a piece is small enough to be a
// leaf.
//
// Invariant: every group of the box is in exactly one leaf.
#include "launch/launch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/fault/checked.h"
#include "launch/fault/fault.h"
#include "launch/fault/search.h"
#include "launch/fault/stop.h"
#include "launch/measure/pace.h"
#include "launch/memory/plan.h"
#include "launch/memory/seal.h"
#include "launch/memory/spread.h"
#include "launch/run/chosen.h"
#include "launch/run/cutoff.h"
#include "launch/run/launching.h"
#include "launch/start/joint.h"
#include "steal/worker.h"

enum {
    // What runs before the broker is asked again, while launches share the
    // workers: long against asking (0.5 us), short against waiting.
    PIECE_TIME = 100000 // [ns]
};

static bool give_away(struct hdi_launch *launch, const struct hdi_box *box)
{
    struct hdi_broker *broker = launch->launcher->broker;

    return broker && hdi_broker_is_asked(broker) &&
           hdi_broker_give(broker, &launch->bid, box);
}

// The steps of a worker: a task is taken and its cutoff tested; not met, it is
// divided and the parts are pushed; met, it is a leaf.
struct task {
    struct hdi_launch *launch;
    struct hdi_box box;
    struct hdi_grant *grant; // of the broker's that it is a part of, or NULL
};

static bool is_leaf(struct hd_worker *worker, const struct task *task)
{
    (void)worker;
    return !hdi_leaf_goes_on(task->launch) ||
           hdi_cutoff_met(task->launch, &task->box);
}

static unsigned divide(struct hd_worker *worker, const struct task *task,
                       struct task *part)
{
    (void)worker;
    bool stays = task->grant && !task->grant->alone; // it has just come

    if (!stays && give_away(task->launch, &task->box))
        return 0;
    part[0] = part[1] = *task;
    part[0].box = hdi_box_halve(&part[1].box);
    return 2;
}

static void run_leaf(struct hd_worker *worker, const struct task *task)
{
    struct hdi_box box = task->box;

    hdi_leaf_run(worker, task->launch, &box, task->grant);
}

HD_DIVISIBLE(run_task, struct task, is_leaf, divide, run_leaf);

// At the broker ---------------------------------------------------------------

static struct hdi_launch *launch_of(const struct hdi_bid *bid)
{
    return (struct hdi_launch *)((char *)(uintptr_t)bid -
                                 offsetof(struct hdi_launch, bid));
}

static void run_grant(struct hd_worker *worker, struct hdi_grant *grant,
                      struct hdi_box *box)
{
    struct hdi_launch *launch = launch_of(grant->bid);

    if (grant->alone || launch->is_leaf || launch->tasks)
        hd_call(worker, run_task, (struct task){launch, *box, grant});
    else
        hdi_leaf_run(worker, launch, box, grant);
}

static bool collect_all(struct hd_worker *worker, struct hdi_bid *bid)
{
    return hdi_leaf_collect_all(worker, launch_of(bid));
}

static uint64_t piece_of(const struct hdi_bid *bid)
{
    struct hdi_launch *launch = launch_of(bid);
    double group = hdi_cutoff_time(launch, 1);

    if (!hdi_leaf_goes_on(launch))
        return UINT64_MAX;
    if (group == 0)
        return hdi_cutoff_now(launch);
    double piece = PIECE_TIME / group;
    return piece < 1 ? 1 : (uint64_t)piece;
}

static bool is_counted(const struct hd_arg *args, unsigned index)
{
    if (args[index].is != HD_IS_BUFFER || !args[index].buffer)
        return false;
    for (unsigned i = 0; i < index; i++)
        if (args[i].is == HD_IS_BUFFER && args[i].buffer == args[index].buffer)
            return false;
    return true;
}

static void guess_demand(struct hdi_bid *bid, uint64_t cache)
{
    const struct hdi_launch *launch = launch_of(bid);
    double all = 1, data = 0;

    for (int d = 0; d < 3; d++)
        all *= launch->chunk.frame.group_count[d];
    for (unsigned i = 0; i < launch->kernel->info.arg_count; i++)
        if (is_counted(launch->args, i))
            data += (double)launch->args[i].buffer->size;
    double part = data * (double)hdi_box_groups(&launch->box) / all;

    bid->demand = (struct hdi_demand){
        .data = (uint64_t)part,
        .traffic = part > (double)cache ? (uint64_t)(data / all) : 0};
}

static const struct hdi_bidder bidder = {.run = run_grant,
                                         .piece = piece_of,
                                         .collect = collect_all,
                                         .demand = guess_demand};

static void run_launch(struct hd_worker *worker, void *data)
{
    struct hdi_launch *launch = data;

    if (hdi_leaf_is_grid(launch->kernel))
        hdi_grid_run(worker, launch);
    else
        hd_call(worker, run_task, (struct task){launch, launch->box, NULL});
    if (launch->launcher->broker)
        hdi_broker_wait(launch->launcher->broker, &launch->bid, worker);
    hdi_leaf_await(worker, launch);
    // Pieces that were forked in a group are dropped when it is cancelled.
    if (hd_cancelled(worker))
        hdi_stop_set(&launch->stop, HD_ECANCELED);
}

static void run_all(struct hdi_launch *launch, bool one_leaf)
{
    struct hdi_launcher *launcher = launch->launcher;
    struct hdi_broker *broker = launcher->broker;
    struct hdi_bid *bid = &launch->bid;
    bool outside = !hd_pool_worker(launcher->pool);

    if (launch->worker_count > 0) {
        hdi_chosen_run(launch);
        return;
    }
    // The broker might divide it.
    if (!broker || hdi_leaf_is_grid(launch->kernel) || (one_leaf && !outside)) {
        hd_pool_run(launcher->pool, run_launch, launch);
        return;
    }
    // Leaves on units of their own threads are collected by a worker.
    outside = outside && !launcher->ports;
    hdi_broker_enter(broker);
    // Alone it is a job like any other, which costs less than the dispatcher.
    if (outside && hdi_broker_is_asked(broker) &&
        hdi_broker_give(broker, bid, &launch->box))
        hdi_broker_wait(broker, bid, NULL);
    else
        hd_pool_run(launcher->pool, run_launch, launch);
    hdi_broker_leave(broker, bid);
}

// Keep what a hanging kernel may still read.
void hdi_launch_strand(struct hdi_launcher *launcher, void *memory)
{
    struct hdi_stranded *s = malloc(sizeof(*s));
    if (!s)
        return; // rather lost than taken away

    s->memory = memory;
    s->next = atomic_load(&launcher->stranded);
    while (!atomic_compare_exchange_weak(&launcher->stranded, &s->next, s))
        ;
}

hd_status hdi_launch_explain(const struct hdi_launch *launch,
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

bool hdi_launch_watch(struct hdi_launcher *launcher, struct hdi_launch *launch)
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

void hdi_launch_unwatch(struct hdi_launcher *launcher,
                        struct hdi_launch *launch)
{
    if (launch->time_limit > 0)
        hdi_watchdog_remove(launcher, &launch->stop);
}

static void run(struct hdi_launcher *launcher, struct hdi_launch *launch,
                bool one_leaf)
{
    if (!hdi_launch_watch(launcher, launch))
        return;
    run_all(launch, one_leaf);
    hdi_launch_unwatch(launcher, launch);
}

// A checked kernel runs screened first. Where that is left, what it wrote is
// undone, and the kernel runs in thread form, which tells what is wrong.
static void run_checked(struct hdi_launcher *launcher,
                        struct hdi_launch *launch,
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

static bool needs_unit(const struct hdi_place *place)
{
    return place->kind != HD_ANYWHERE && place->kind != HD_ON_WORKERS;
}

hd_status hdi_launch(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel,
                     const struct hd_range *range, const struct hd_arg *args,
                     unsigned arg_count, const atomic_bool *cancel,
                     enum hd_priority priority, struct hd_error *error)
{
    const struct hdi_terms terms = {.cancel = cancel, .priority = priority};
    return hdi_launch_with(launcher, kernel, range, args, arg_count, &terms,
                           error);
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

static hd_status check_unit(const struct hdi_launcher *launcher,
                            const struct hd_kernel *kernel,
                            const struct hdi_place *place,
                            struct hd_error *error)
{
    if (needs_unit(place) && place->unit >= launcher->port_count)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' is to run on unit %u; there are %u",
                        kernel->info.name, place->unit, launcher->port_count);
    return HD_OK;
}

hd_status hdi_launch_plan(const struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, struct hdi_plan *plan,
                          struct hd_error *error)
{
    struct hd_range tasks;

    // Without kernel or range: see hdi_plan_check().
    if (terms->tasks && kernel && range) {
        if (terms->is_leaf)
            return hdi_fail(error, HD_EINVAL,
                            "kernel '%s': each work-item is a task of its own: "
                            "there is no other cutoff",
                            kernel->info.name);
        HDI_TRY(hdi_launch_make_tasks(kernel, range, &tasks, error));
        range = &tasks;
    }
    HDI_TRY(
        hdi_plan_check(launcher, kernel, range, args, arg_count, plan, error));
    HDI_TRY(hdi_chosen_check(launcher, kernel, terms, error));
    return plan->groups > 0 ? check_terms(kernel, plan, terms, error) : HD_OK;
}

hd_status hdi_launch_check_with(const struct hdi_launcher *launcher,
                                const struct hd_kernel *kernel,
                                const struct hd_range *range,
                                const struct hd_arg *args, unsigned arg_count,
                                const struct hdi_terms *terms,
                                struct hd_error *error)
{
    struct hdi_plan plan;

    HDI_TRY(check_unit(launcher, kernel, &terms->place, error));
    return hdi_launch_plan(launcher, kernel, range, args, arg_count, terms,
                           &plan, error);
}

// The packed arguments, then the offsets of local arguments.
size_t hdi_launch_room(const struct hd_kernel *kernel, unsigned arg_count)
{
    return hdi_round_up(hdi_round_up(kernel->args_size + 1, 128) +
                            arg_count * sizeof(uint64_t),
                        128);
}

void hdi_launch_fill(struct hdi_launcher *launcher,
                     const struct hd_kernel *kernel, const struct hd_arg *args,
                     unsigned arg_count, const struct hdi_terms *terms,
                     const struct hdi_plan *plan, unsigned char *room,
                     struct hdi_launch *launch)
{
    uint64_t *local_offsets =
        (uint64_t *)(void *)(room + hdi_round_up(kernel->args_size + 1, 128));

    hdi_plan_local(kernel, args, arg_count, local_offsets);
    hdi_plan_pack(kernel, args, arg_count, local_offsets, room);
    *launch = (struct hdi_launch){
        .launcher = launcher,
        .lead = launch,
        .kernel = kernel,
        .args = args,
        .local_offsets = local_offsets,
        .stop = {.cancel = terms->cancel,
                 .group = terms->group,
                 .pool = launcher->pool},
        .time_limit =
            terms->time_limit ? terms->time_limit : launcher->time_limit,
        .place = terms->place,
        .chunk = {.entry = kernel->entry,
                  .frame = plan->frame,
                  .local_bytes = plan->local_bytes,
                  .saved_bytes = plan->saved_bytes},
        .group_items = plan->group_items,
        .tasks = terms->tasks,
        .workers = terms->workers,
        .worker_count = terms->worker_count,
        .cost = terms->cost,
        .bid = {.bidder = &bidder,
                .priority = terms->priority,
                .local = plan->local_bytes + plan->saved_bytes},
    };
    memcpy(launch->box.count, plan->frame.group_count,
           sizeof(launch->box.count));
    if (terms->part)
        launch->box = *terms->part;
    if (terms->search)
        launch->box = hdi_search_box(terms->search);
    launch->chunk.frame.args = room;
    launch->chunk.stop = &launch->stop.status;
}

hd_status hdi_launch_begin(struct hdi_launcher *launcher,
                           const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct hd_arg *args, unsigned arg_count,
                           const struct hdi_terms *terms, unsigned char *small,
                           struct hdi_launch *launch, uint64_t *groups,
                           struct hd_error *error)
{
    struct hdi_plan plan;

    *groups = 0;
    HDI_TRY(hdi_launch_plan(launcher, kernel, range, args, arg_count, terms,
                            &plan, error));
    if (plan.groups == 0)
        return HD_OK;

    size_t size = hdi_launch_room(kernel, arg_count);
    unsigned char *room = small && size <= HDI_STACK_ARGS && !launcher->ports
                              ? small
                              : aligned_alloc(128, size);
    if (!room)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    hdi_launch_fill(launcher, kernel, args, arg_count, terms, &plan, room,
                    launch);
    hdi_cutoff_set(launch, terms);
    hdi_seal_begin(launcher, kernel, args);
    *groups = hdi_box_groups(&launch->box);
    return HD_OK;
}

void hdi_launch_end(struct hdi_launch *launch, const unsigned char *small)
{
    void *packed = (void *)(uintptr_t)launch->chunk.frame.args;

    hdi_seal_end(launch->launcher, launch->kernel, launch->args);
    if (atomic_load(&launch->lead->lost))
        hdi_launch_strand(launch->launcher, packed);
    else if (packed != small)
        free(packed);
}

// Run it, checked if its kernel is, and explain a fault.
static void run_any(struct hdi_launch *launch, unsigned arg_count,
                    const struct hdi_terms *terms)
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
        hdi_launch_describe(kernel, launch->args, arg_count,
                            launch->local_offsets, launch->chunk.frame.args);
    if (check)
        check->search = terms->search;
    if (check)
        run_checked(launcher, launch, check, one_leaf);
    else
        hdi_leaf_fail(launch, HD_ENOMEM, "no memory to check it", NULL);
    free(check);
}

// Say where it was that it has faulted.
static void find_fault(struct hdi_launch *launch, const struct hdi_terms *terms)
{
    const char *hint = NULL;

    if (terms->search)
        hdi_search_end(terms->search, launch->fault);
    else
        hint = hdi_search_run(launch->launcher, launch->kernel,
                              &launch->chunk.frame, launch->args, terms,
                              launch->fault);
    hdi_fault_describe(launch->fault, launch->kernel, launch->args, hint,
                       launch->text, HDI_FAILURE_SIZE);
}

void hdi_launch_open(struct hdi_launch *launch, const struct hdi_terms *terms,
                     char *text, struct hdi_fault *fault)
{
    *text = '\0';
    launch->text = text;
    launch->fault = fault;
    hdi_cutoff_set(launch, terms);
    hdi_seal_begin(launch->launcher, launch->kernel, launch->args);
}

hd_status hdi_launch_close(struct hdi_launch *launch,
                           const struct hdi_terms *terms,
                           struct hd_error *error)
{
    hdi_seal_end(launch->launcher, launch->kernel, launch->args);
    if (launch->has_fault)
        find_fault(launch, terms);
    return hdi_launch_explain(launch, error);
}

hd_status hdi_launch_run(struct hd_worker *worker, struct hdi_launch *launch,
                         unsigned arg_count, const struct hdi_terms *terms,
                         struct hd_error *error)
{
    struct hdi_fault fault;
    char text[HDI_FAILURE_SIZE];

    hdi_launch_open(launch, terms, text, &fault);
    if (launch->time_limit == 0 && !launch->is_leaf &&
        !launch->launcher->ports &&
        launch->kernel->info.form <= HD_FORM_THREADS &&
        hdi_box_groups(&launch->box) <= launch->cutoff) {
        if (hdi_leaf_goes_on(launch)) // one leaf, which is nobody else's
            hdi_leaf_run_here(worker, launch, &launch->box);
    } else {
        run_any(launch, arg_count, terms);
    }
    return hdi_launch_close(launch, terms, error);
}

static hd_status launch_here(struct hdi_launcher *launcher,
                             const struct hd_kernel *kernel,
                             const struct hd_range *range,
                             const struct hd_arg *args, unsigned arg_count,
                             const struct hdi_terms *terms,
                             struct hd_error *error)
{
    _Alignas(128) unsigned char small[HDI_STACK_ARGS];
    struct hdi_launch launch;
    struct hdi_fault fault;
    uint64_t groups;
    char text[HDI_FAILURE_SIZE];

    HDI_TRY(check_unit(launcher, kernel, &terms->place, error));
    HDI_TRY(hdi_launch_begin(launcher, kernel, range, args, arg_count, terms,
                             small, &launch, &groups, error));
    if (groups == 0)
        return HD_OK;
    launcher->device->backend->prepare(launcher->device);

    *text = '\0';
    launch.text = text;
    launch.fault = &fault;
    run_any(&launch, arg_count, terms);
    hdi_launch_end(&launch, small);
    if (launch.has_fault)
        find_fault(&launch, terms);
    return hdi_launch_explain(&launch, error);
}

hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    struct hdi_spread_args spread;
    struct hdi_plan plan;

    if (launcher->peers == 1)
        return launch_here(launcher, kernel, range, args, arg_count, terms,
                           error);
    if (terms->devices & ~(UINT64_C(1) << launcher->number))
        return hdi_joint_run(launcher, terms, kernel, range, args, arg_count,
                             error);
    // Before anything is copied for it.
    HDI_TRY(check_unit(launcher, kernel, &terms->place, error));
    HDI_TRY(hdi_launch_plan(launcher, kernel, range, args, arg_count, terms,
                            &plan, error));
    if (plan.groups == 0)
        return HD_OK;
    HDI_TRY(hdi_spread_begin(launcher, kernel, &plan, terms->part, args,
                             arg_count, &spread, error));
    uint64_t brought = hdi_now();
    hd_status status = launch_here(launcher, kernel, range, spread.args,
                                   arg_count, terms, error);
    if (status == HD_OK)
        hdi_pace_ran(launcher, kernel,
                     terms->part ? hdi_box_groups(terms->part) : plan.groups,
                     plan.group_items, hdi_now() - brought);
    hdi_spread_end(&spread);
    return status;
}

hd_status hdi_launch_on(struct hd_worker *worker, struct hdi_launcher *launcher,
                        const struct hd_kernel *kernel,
                        const struct hd_range *range, const struct hd_arg *args,
                        unsigned arg_count, const struct hdi_terms *terms,
                        struct hd_error *error)
{
    _Alignas(128) unsigned char small[HDI_STACK_ARGS];
    struct hdi_launch launch;
    struct hdi_plan plan;

    if (launcher->peers > 1 || launcher->ports)
        return hdi_launch_with(launcher, kernel, range, args, arg_count, terms,
                               error);
    HDI_TRY(hdi_launch_plan(launcher, kernel, range, args, arg_count, terms,
                            &plan, error));
    size_t size = hdi_launch_room(kernel, arg_count);
    unsigned char *room =
        size <= sizeof(small) ? small : aligned_alloc(128, size);
    if (!room)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    hd_status status = HD_OK;
    if (plan.groups > 0) {
        hdi_launch_fill(launcher, kernel, args, arg_count, terms, &plan, room,
                        &launch);
        status = hdi_launch_run(worker, &launch, arg_count, terms, error);
    }
    if (room != small)
        free(room);
    return status;
}
