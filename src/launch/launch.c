// Divides the box of all work-groups until a piece is small enough (W4), and
// runs the pieces on the units of the workers that take them.
//
// Invariant: every group of the box is in exactly one leaf. A leaf that starts
// after a failure or a cancellation runs nothing.
#include "launch/launch.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "launch/checked.h"
#include "launch/fault.h"
#include "launch/image.h"
#include "launch/plan.h"
#include "launch/search.h"
#include "launch/stop.h"
#include "steal/worker.h"

enum {
    // A leaf should take this long: long against what it costs to divide,
    // steal and time it (about 0.3 us), short against a launch.
    LEAF_TIME = 30000, // [ns]
    // Without a measured time, and whatever the time says where a kernel is
    // uneven: this many leaves per worker.
    LEAVES_PER_WORKER = 8,
    TIME_UNIT = 1024, // hd_kernel.item_time counts in 1/1024 ns
    // What runs before the broker is asked again, while launches share the
    // workers: long against asking (0.5 us), short against waiting.
    PIECE_TIME = 100000, // [ns]
    SPLIT_TIME = 20000,  // a leaf worth dividing among a worker's units [ns]
    STACK_ARGS = 1024,   // larger arguments go to the heap [bytes]
    TEXT_SIZE = 3500     // of why a launch failed [bytes]
};

struct launch {
    struct hdi_launcher *launcher;
    const struct hd_kernel *kernel;
    const struct hd_arg *args;
    struct hdi_chunk chunk; // all but its box
    struct hdi_box box;     // all of it
    uint64_t cutoff;        // most groups of a leaf
    uint64_t group_items;
    struct hdi_place place;
    struct hdi_bid bid;
    struct hdi_stop stop;
    uint64_t time_limit;     // [ns]
    char *text;              // why it failed, TEXT_SIZE; by who set the status
    struct hdi_fault *fault; // the same, if `has_fault`
    bool has_fault;
    atomic_bool lost; // a unit hangs in it
    atomic_uint held; // leaves on units of their own threads
};

// Its work-groups wait for each other: they are one leaf, on a worker.
static bool is_grid(const struct hd_kernel *kernel)
{
    return kernel->info.form == HD_FORM_GRID;
}

// The cutoff from measured leaf time (W4): as many groups as take LEAF_TIME,
// but never so many that a worker is left without a share.
static uint64_t choose_cutoff(const struct hdi_launcher *launcher,
                              const struct hd_kernel *kernel,
                              const struct hdi_plan *plan)
{
    if (is_grid(kernel))
        return plan->groups;
    uint64_t leaves =
        (uint64_t)hd_pool_workers(launcher->pool) * LEAVES_PER_WORKER;
    uint64_t share = plan->groups / leaves + 1;
    uint64_t item =
        atomic_load_explicit(&kernel->item_time, memory_order_relaxed);
    if (item == 0)
        return share;

    double group = (double)item / TIME_UNIT * (double)plan->group_items;
    double total = group * (double)plan->groups;
    if (total < LEAF_TIME)
        return plan->groups; // not worth waking anybody
    double wanted = LEAF_TIME / group;
    uint64_t cutoff = wanted < 1 ? 1 : (uint64_t)wanted;
    return cutoff < share ? cutoff : share;
}

// The first failure has the word, and ends what else runs of the launch.
static void fail(struct launch *launch, hd_status status, const char *text,
                 const struct hdi_fault *fault)
{
    if (!hdi_stop_set(&launch->stop, status))
        return;
    snprintf(launch->text, TEXT_SIZE, "%s", text);
    launch->has_fault = fault != NULL;
    if (fault)
        *launch->fault = *fault;
    hdi_stop_poke(launch->launcher);
}

static bool goes_on(struct launch *launch)
{
    return !hdi_stop_check(&launch->stop);
}

// The unit of a worker is opened on its own thread, when it first runs a leaf,
// so that its memory lies near its core.
static struct hdi_unit *unit_of(struct launch *launch, unsigned index)
{
    struct hdi_unit **unit = &launch->launcher->units[index];
    struct hdi_device *device = launch->launcher->device;

    if (!*unit) {
        hd_status status = device->backend->unit_open(
            device, device->can.caller_too ? HDI_UNIT_ON_CALLER : index, unit);
        if (status != HD_OK) {
            *unit = NULL;
            fail(launch, status, "", NULL);
        }
    }
    return *unit;
}

static void learn_time(struct launch *launch, uint64_t ns, uint64_t groups)
{
    _Atomic uint64_t *word = &((struct hd_kernel *)launch->kernel)->item_time;
    uint64_t items = groups * launch->group_items;
    uint64_t sample = ns * TIME_UNIT / items;
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    uint64_t now = old == 0 ? sample : (7 * old + sample) / 8;

    atomic_store_explicit(word, now ? now : 1, memory_order_relaxed);
}

static void count_leaf(struct hd_worker *worker, struct launch *launch,
                       const struct hdi_box *box, uint64_t begin, uint64_t end)
{
    uint64_t groups = hdi_box_groups(box);
    struct hdi_track *track = launch->launcher->tracks[hd_worker_index(worker)];

    learn_time(launch, end - begin, groups);
    hdi_worker_count(worker, end - begin, groups);
    if (track)
        hdi_track_record(track, HDI_EVENT_chunk, begin, end,
                         launch->kernel->trace_name, groups);
}

static struct hdi_chunk chunk_of(const struct launch *launch,
                                 const struct hdi_box *box)
{
    struct hdi_chunk chunk = launch->chunk;
    memcpy(chunk.frame.first, box->first, sizeof(box->first));
    memcpy(chunk.frame.count, box->count, sizeof(box->count));
    return chunk;
}

// Run a leaf on the worker's own thread.
static void run_here(struct hd_worker *worker, struct launch *launch,
                     const struct hdi_box *box)
{
    struct hdi_unit *unit = unit_of(launch, hd_worker_index(worker));
    if (!unit)
        return;

    const struct hdi_backend *backend = launch->launcher->device->backend;
    struct hdi_chunk chunk = chunk_of(launch, box);

    struct hdi_slot *slot = &launch->launcher->slots[hd_worker_index(worker)];

    hd_publish(worker);
    uint64_t begin = hdi_now();
    struct hdi_stop *before = hdi_slot_enter(slot, &launch->stop);
    while (!backend->submit(unit, &chunk))
        hdi_worker_help(worker);
    uint64_t ticket = backend->submitted(unit);
    while (backend->done(unit) < ticket)
        hdi_worker_help(worker);
    hdi_slot_leave(slot, before);
    hd_status status = backend->status(unit, ticket);
    if (status == HD_OK) {
        count_leaf(worker, launch, box, begin, hdi_now());
        return;
    }
    char text[TEXT_SIZE];
    struct hdi_fault fault;
    bool has_fault = backend->fault(unit, ticket, &fault);
    backend->explain(unit, ticket, text, sizeof(text));
    fail(launch, status, text, has_fault ? &fault : NULL);
}

// Take away what the unit has finished, for whichever launch. What a lost unit
// has not run runs here.
static bool collect(struct hd_worker *worker, struct hdi_launcher *launcher,
                    struct hdi_port *port)
{
    struct hdi_finished f;
    bool any = false;

    while (hdi_port_take(port, launcher->device, &f)) {
        struct launch *launch = f.leaf.launch;
        if (f.status == HD_ETIMEOUT)
            atomic_store(&launch->lost, true);
        if (f.status == HD_ECANCELED)
            run_here(worker, launch, &f.leaf.box);
        else if (f.status != HD_OK)
            fail(launch, f.status, f.text, f.has_fault ? &f.fault : NULL);
        else
            learn_time(launch, f.end - f.begin, hdi_box_groups(&f.leaf.box));
        atomic_fetch_sub_explicit(&launch->held, 1, memory_order_release);
        any = true;
    }
    return any;
}

// Whether a unit may run leaves that this worker has: one of those dealt to it,
// or one at the launch's place.
static bool is_for(const struct launch *launch, unsigned worker, unsigned unit)
{
    const struct hdi_launcher *l = launch->launcher;

    if (!atomic_load_explicit(&l->ports[unit].open, memory_order_relaxed))
        return false;
    switch (launch->place.kind) {
    case HD_ON_UNIT:
        return unit == launch->place.unit;
    case HD_ON_MODULE_OF:
        return l->ports[unit].module == l->ports[launch->place.unit].module;
    case HD_ANYWHERE:
    default:
        return unit % hd_pool_workers(l->pool) == worker;
    }
}

// The unit for a leaf of this worker that holds the fewest; how many are idle.
static struct hdi_port *choose_port(const struct launch *launch,
                                    unsigned worker, unsigned *idle)
{
    struct hdi_port *best = NULL;
    unsigned least = UINT32_MAX;

    *idle = 0;
    for (unsigned i = 0; i < launch->launcher->port_count; i++) {
        struct hdi_port *port = &launch->launcher->ports[i];
        if (!is_for(launch, worker, i))
            continue;
        unsigned held = atomic_load_explicit(&port->held, memory_order_relaxed);
        *idle += held == 0;
        if (held < least) {
            least = held;
            best = port;
        }
    }
    return best;
}

static bool is_long(const struct launch *launch, uint64_t groups)
{
    uint64_t item =
        atomic_load_explicit(&launch->kernel->item_time, memory_order_relaxed);

    return item == 0 || (double)groups * (double)launch->group_items *
                                (double)item / TIME_UNIT >
                            SPLIT_TIME;
}

static bool submit(struct launch *launch, struct hdi_port *port,
                   const struct hdi_box *box)
{
    struct hdi_chunk chunk = chunk_of(launch, box);
    struct hdi_leaf leaf = {launch, launch->kernel->trace_name, *box,
                            hdi_now()};

    atomic_fetch_add_explicit(&launch->held, 1, memory_order_relaxed);
    if (hdi_port_submit(port, launch->launcher->device, &chunk, &leaf))
        return true;
    atomic_fetch_sub_explicit(&launch->held, 1, memory_order_relaxed);
    return false;
}

// Hand a leaf over to units, without waiting for them. One that takes long is
// divided equally among idle units of the worker, others keep several in flight
// (W13).
static void hand_over(struct hd_worker *worker, struct launch *launch,
                      struct hdi_box *box)
{
    struct hdi_port *port;
    unsigned idle;

    while ((port = choose_port(launch, hd_worker_index(worker), &idle))) {
        struct hdi_box part = *box, rest = {.count = {0}};
        uint64_t groups = hdi_box_groups(box);
        if (idle > 1 && groups > 1 && is_long(launch, groups)) {
            rest = *box;
            part = hdi_box_cut(&rest, idle);
        }
        if (submit(launch, port, &part)) {
            if (hdi_box_groups(&rest) == 0)
                return;
            *box = rest;
        } else if (!collect(worker, launch->launcher, port)) {
            hd_publish(worker);
            hdi_worker_help(worker);
        }
    }
    if (launch->place.kind == HD_ANYWHERE)
        run_here(worker, launch, box);
    else
        fail(launch, HD_ENODEV, "", NULL);
}

static void run_leaf(struct hd_worker *worker, struct launch *launch,
                     struct hdi_box *box)
{
    if (!goes_on(launch))
        return;
    // Units of their own threads have no checker, and divide what they get.
    if (launch->launcher->ports && !launch->chunk.check &&
        !is_grid(launch->kernel))
        hand_over(worker, launch, box);
    else
        run_here(worker, launch, box);
}

static bool give_away(struct launch *launch, const struct hdi_box *box)
{
    struct hdi_broker *broker = launch->launcher->broker;

    return broker && hdi_broker_is_asked(broker) &&
           hdi_broker_give(broker, &launch->bid, box);
}

HD_VOID_TASK(run_box, struct launch *, launch, struct hdi_box, box)
{
    unsigned spawned = 0;
    bool given = false;

    while (hdi_box_groups(&box) > launch->cutoff && goes_on(launch) &&
           !(given = give_away(launch, &box))) {
        struct hdi_box half = hdi_box_halve(&box);
        hd_spawn(worker, run_box, launch, box);
        box = half;
        spawned++;
    }
    if (!given)
        run_leaf(worker, launch, &box);
    while (spawned-- > 0)
        hd_join(worker, run_box);
}

static void interrupt_units(struct launch *launch)
{
    for (unsigned i = 0; i < launch->launcher->port_count; i++)
        hdi_port_interrupt(&launch->launcher->ports[i],
                           launch->launcher->device);
}

// At the broker
// -----------------------------------------------------------------

static struct launch *launch_of(const struct hdi_bid *bid)
{
    return (struct launch *)((char *)(uintptr_t)bid -
                             offsetof(struct launch, bid));
}

static void run_bid(struct hd_worker *worker, struct hdi_bid *bid,
                    struct hdi_box *box, bool alone)
{
    struct launch *launch = launch_of(bid);

    if (alone)
        hd_call(worker, run_box, launch, *box);
    else
        run_leaf(worker, launch, box);
}

static uint64_t piece_of(const struct hdi_bid *bid)
{
    struct launch *launch = launch_of(bid);
    uint64_t item =
        atomic_load_explicit(&launch->kernel->item_time, memory_order_relaxed);

    if (!goes_on(launch))
        return UINT64_MAX;
    if (item == 0)
        return launch->cutoff;
    double group = (double)item / TIME_UNIT * (double)launch->group_items;
    double piece = PIECE_TIME / group;
    return piece < 1 ? 1 : (uint64_t)piece;
}

static const struct hdi_bidder bidder = {.run = run_bid, .piece = piece_of};

static void run_launch(struct hd_worker *worker, void *data)
{
    struct launch *launch = data;

    hd_call(worker, run_box, launch, launch->box);
    if (launch->launcher->broker)
        hdi_broker_wait(launch->launcher->broker, &launch->bid, worker);
    while (atomic_load_explicit(&launch->held, memory_order_acquire) > 0) {
        bool any = false;
        for (unsigned i = 0; i < launch->launcher->port_count; i++)
            any |=
                collect(worker, launch->launcher, &launch->launcher->ports[i]);
        if (any)
            continue;
        if (!goes_on(launch))
            interrupt_units(launch);
        hdi_worker_help(worker);
    }
    // Pieces that were forked in a group are dropped when it is cancelled.
    if (hd_cancelled(worker))
        hdi_stop_set(&launch->stop, HD_ECANCELED);
}

static void run_all(struct launch *launch, bool one_leaf)
{
    struct hdi_launcher *launcher = launch->launcher;
    struct hdi_broker *broker = launcher->broker;
    struct hdi_bid *bid = &launch->bid;
    bool outside = !hd_pool_worker(launcher->pool);

    // The broker might divide it.
    if (!broker || is_grid(launch->kernel) || (one_leaf && !outside)) {
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
static void strand(struct hdi_launcher *launcher, void *memory)
{
    struct hdi_stranded *s = malloc(sizeof(*s));
    if (!s)
        return; // rather lost than taken away

    s->memory = memory;
    s->next = atomic_load(&launcher->stranded);
    while (!atomic_compare_exchange_weak(&launcher->stranded, &s->next, s))
        ;
}

static hd_status explain(const struct launch *launch, struct hd_error *error)
{
    hd_status status = (hd_status)atomic_load(&launch->stop.status);
    const char *name = launch->kernel->info.name;

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

// Run it, under the watchdog if it has a time limit.
static void run(struct hdi_launcher *launcher, struct launch *launch,
                bool one_leaf)
{
    const struct hd_worker *caller = hd_pool_worker(launcher->pool);

    if (!launch->stop.group && caller)
        launch->stop.group = hdi_worker_group(caller);
    if (launch->time_limit > 0) {
        launch->stop.deadline = hdi_now() + launch->time_limit;
        hd_status status = hdi_watchdog_add(launcher, &launch->stop);
        if (status != HD_OK) {
            fail(launch, status, "no thread to watch its time limit", NULL);
            return;
        }
    }
    run_all(launch, one_leaf);
    if (launch->time_limit > 0)
        hdi_watchdog_remove(launcher, &launch->stop);
}

// A checked kernel runs screened first. Where that is left, what it wrote is
// undone, and the kernel runs in thread form, which tells what is wrong.
static void run_checked(struct hdi_launcher *launcher, struct launch *launch,
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
        atomic_fetch_add(&((struct hd_kernel *)launch->kernel)->suspected, 1);
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

hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    struct hdi_plan plan;
    const struct hdi_place *place = &terms->place;

    if (place->kind != HD_ANYWHERE && place->unit >= launcher->port_count)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' is to run on unit %u; there are %u",
                        kernel->info.name, place->unit, launcher->port_count);
    HDI_TRY(
        hdi_plan_check(launcher, kernel, range, args, arg_count, &plan, error));
    if (plan.groups == 0)
        return HD_OK;
    if (is_grid(kernel) && place->kind != HD_ANYWHERE)
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' calls hd_grid_barrier() and runs on a "
                        "worker only, not on a unit",
                        kernel->info.name);
    launcher->device->backend->prepare(launcher->device);

    // One block: the packed arguments, then the offsets of local arguments.
    _Alignas(128) unsigned char small[STACK_ARGS];
    uint64_t args_size = hdi_round_up(kernel->args_size + 1, 128);
    uint64_t size = args_size + arg_count * sizeof(uint64_t);
    // On units of their own threads the arguments may have to outlive the call.
    unsigned char *packed = size <= sizeof(small) && !launcher->ports
                                ? small
                                : aligned_alloc(128, hdi_round_up(size, 128));
    if (!packed)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    uint64_t *local_offsets = (uint64_t *)(void *)(packed + args_size);
    hdi_plan_local(kernel, args, arg_count, local_offsets);
    hdi_plan_pack(kernel, args, arg_count, local_offsets, packed);

    struct launch launch = {
        .launcher = launcher,
        .kernel = kernel,
        .args = args,
        .stop = {.cancel = terms->cancel,
                 .group = terms->group,
                 .pool = launcher->pool},
        .time_limit =
            terms->time_limit ? terms->time_limit : launcher->time_limit,
        .place = *place,
        .chunk = {.entry = kernel->entry,
                  .frame = plan.frame,
                  .local_bytes = plan.local_bytes,
                  .saved_bytes = plan.saved_bytes},
        .cutoff = choose_cutoff(launcher, kernel, &plan),
        .group_items = plan.group_items,
        .bid = {.bidder = &bidder,
                .priority = terms->priority,
                .local = plan.local_bytes + plan.saved_bytes},
    };
    memcpy(launch.box.count, plan.frame.group_count, sizeof(launch.box.count));
    if (terms->search)
        launch.box = hdi_search_box(terms->search, &launch.cutoff);
    launch.chunk.frame.args = packed;
    launch.chunk.stop = &launch.stop.status;
    char text[TEXT_SIZE];
    struct hdi_fault fault;
    *text = '\0';
    launch.text = text;
    launch.fault = &fault;
    bool one_leaf = plan.groups <= launch.cutoff;
    if (kernel->info.form == HD_FORM_CHECKED) {
        struct hdi_check_launch *check =
            hdi_launch_describe(kernel, args, arg_count, local_offsets, packed);
        if (check)
            check->search = terms->search;
        if (check)
            run_checked(launcher, &launch, check, one_leaf);
        else
            fail(&launch, HD_ENOMEM, "no memory to check it", NULL);
        free(check);
    } else {
        run(launcher, &launch, one_leaf);
    }
    if (atomic_load(&launch.lost))
        strand(launcher, packed);
    else if (packed != small)
        free(packed);
    if (launch.has_fault) {
        if (terms->search)
            hdi_search_end(terms->search, &fault);
        else
            hdi_search_run(launcher, kernel, &plan.frame, args, terms, &fault);
        hdi_fault_describe(&fault, kernel, args, text, TEXT_SIZE);
    }
    return explain(&launch, error);
}
