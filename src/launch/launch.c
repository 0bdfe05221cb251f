// Divides the box of all work-groups until a piece is small enough (W4), and
// runs the pieces on the units of the workers that take them.
//
// Invariant: every group of the box is in exactly one leaf. A leaf that starts
// after a failure or a cancellation runs nothing.
#include "launch/launch.h"

#include <sched.h>
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
    // Where a kernel is uneven the time says little: at least this many leaves
    // per worker.
    LEAVES_PER_WORKER = 8,
    TIME_UNIT = 1024, // hd_kernel.item_time counts in 1/1024 ns
    // What runs before the broker is asked again, while launches share the
    // workers: long against asking (0.5 us), short against waiting.
    PIECE_TIME = 100000, // [ns]
    SPLIT_TIME = 20000,  // a leaf worth dividing among a worker's units [ns]
    STACK_ARGS = 1024,   // larger arguments go to the heap [bytes]
    TEXT_SIZE = 3500     // of why a launch failed [bytes]
};

// A launch, or a member of several that run together. How they end is kept by
// the first of these, `lead`: the first failure ends all.
struct launch {
    struct hdi_launcher *launcher;
    struct launch *lead; // itself, if alone
    bool is_member;      // of a gang
    const struct hd_kernel *kernel;
    const struct hd_arg *args;
    struct hdi_chunk chunk; // all but its box
    struct hdi_box box;     // all of it
    uint64_t cutoff;        // most groups of a leaf, see leaf_limit()
    bool learns;            // no time was known when it began
    uint64_t group_items;
    struct hdi_place place;
    struct hdi_bid bid;
    uint64_t *local_offsets; // of local arguments, behind the packed ones
    // Of the lead:
    struct hdi_stop stop;
    uint64_t time_limit;         // [ns]
    const struct launch *failed; // by who set the status, and why: the text,
    char *text;                  // TEXT_SIZE,
    struct hdi_fault *fault;     // and this, if `has_fault`
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
                              const struct hd_kernel *kernel, uint64_t groups,
                              uint64_t group_items)
{
    if (is_grid(kernel))
        return groups;
    uint64_t leaves =
        (uint64_t)hd_pool_workers(launcher->pool) * LEAVES_PER_WORKER;
    uint64_t share = groups / leaves + 1;
    uint64_t item =
        atomic_load_explicit(&kernel->item_time, memory_order_relaxed);
    if (item == 0)
        return share;

    double group = (double)item / TIME_UNIT * (double)group_items;
    double total = group * (double)groups;
    if (total < LEAF_TIME)
        return groups; // not worth waking anybody
    double wanted = LEAF_TIME / group;
    uint64_t cutoff = wanted < 1 ? 1 : (uint64_t)wanted;
    return cutoff < share ? cutoff : share;
}

// The cutoff now. While nobody knows how long a group takes a leaf is one, so
// that another launch waits for no more than that.
static uint64_t leaf_limit(const struct launch *launch)
{
    const struct hd_kernel *kernel = launch->kernel;

    if (!launch->learns)
        return launch->cutoff;
    if (atomic_load_explicit(&kernel->item_time, memory_order_relaxed) == 0)
        return 1;
    return choose_cutoff(launch->launcher, kernel, hdi_box_groups(&launch->box),
                         launch->group_items);
}

// The first failure has the word, and ends what else runs of the launch.
static void fail(struct launch *launch, hd_status status, const char *text,
                 const struct hdi_fault *fault)
{
    struct launch *lead = launch->lead;

    if (!hdi_stop_set(&lead->stop, status))
        return;
    lead->failed = launch;
    snprintf(lead->text, TEXT_SIZE, "%s", text);
    lead->has_fault = fault != NULL;
    if (fault)
        *lead->fault = *fault;
    hdi_stop_poke(launch->launcher);
}

static bool goes_on(struct launch *launch)
{
    return !hdi_stop_check(&launch->lead->stop);
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

// Not from members of gangs, which wait for each other.
static void learn_time(struct launch *launch, uint64_t ns, uint64_t groups)
{
    if (launch->is_member)
        return;
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
    struct hdi_stop *before = hdi_slot_enter(slot, &launch->lead->stop);
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
            atomic_store(&launch->lead->lost, true);
        if (f.status == HD_ECANCELED && f.leaf.is_member)
            fail(launch, HD_ENODEV, "its unit was lost", NULL);
        else if (f.status == HD_ECANCELED)
            run_here(worker, launch, &f.leaf.box);
        else if (f.status != HD_OK)
            fail(launch, f.status, f.text, f.has_fault ? &f.fault : NULL);
        else
            learn_time(launch, f.end - f.begin, hdi_box_groups(&f.leaf.box));
        atomic_fetch_sub_explicit(&launch->lead->held, 1, memory_order_release);
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
    case HD_ON_DISTINCT_MODULES: // of gangs, which choose themselves
    case HD_ANYWHERE:
    default:
        return unit % hd_pool_workers(l->pool) == worker;
    }
}

// The unit for a leaf of this worker that holds the fewest; how many are idle.
// `taken` is one that would do if no gang had it.
static struct hdi_port *choose_port(const struct launch *launch,
                                    unsigned worker, unsigned *idle,
                                    struct hdi_port **taken)
{
    struct hdi_port *best = NULL;
    unsigned least = UINT32_MAX;

    *idle = 0;
    *taken = NULL;
    for (unsigned i = 0; i < launch->launcher->port_count; i++) {
        struct hdi_port *port = &launch->launcher->ports[i];
        if (!is_for(launch, worker, i))
            continue;
        if (atomic_load_explicit(&port->reserved, memory_order_relaxed)) {
            *taken = port;
            continue;
        }
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
    struct hdi_leaf leaf = {launch, launch->kernel->trace_name, *box, hdi_now(),
                            launch->is_member};

    atomic_fetch_add_explicit(&launch->lead->held, 1, memory_order_relaxed);
    if (hdi_port_submit(port, launch->launcher->device, &chunk, &leaf))
        return true;
    atomic_fetch_sub_explicit(&launch->lead->held, 1, memory_order_relaxed);
    return false;
}

// Hand a leaf over to units, without waiting for them. One that takes long is
// divided equally among idle units of the worker, others keep several in flight
// (W13).
static void hand_over(struct hd_worker *worker, struct launch *launch,
                      struct hdi_box *box)
{
    struct hdi_port *port, *taken;
    unsigned idle, self = hd_worker_index(worker);

    while ((port = choose_port(launch, self, &idle, &taken)) ||
           (taken && launch->place.kind != HD_ANYWHERE)) {
        if (!port) {
            hd_publish(worker);
            if (!collect(worker, launch->launcher, taken))
                hdi_worker_help(worker);
            continue;
        }
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

    while (hdi_box_groups(&box) > leaf_limit(launch) && goes_on(launch) &&
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
        return leaf_limit(launch);
    double group = (double)item / TIME_UNIT * (double)launch->group_items;
    double piece = PIECE_TIME / group;
    return piece < 1 ? 1 : (uint64_t)piece;
}

static const struct hdi_bidder bidder = {.run = run_bid, .piece = piece_of};

// Collect what is left on units, help others meanwhile.
static void await_units(struct hd_worker *worker, struct launch *launch)
{
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
}

static void run_launch(struct hd_worker *worker, void *data)
{
    struct launch *launch = data;

    hd_call(worker, run_box, launch, launch->box);
    if (launch->launcher->broker)
        hdi_broker_wait(launch->launcher->broker, &launch->bid, worker);
    await_units(worker, launch);
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

// Put it under the watchdog if it has a time limit. False: it has failed.
static bool watch(struct hdi_launcher *launcher, struct launch *launch)
{
    const struct hd_worker *caller = hd_pool_worker(launcher->pool);

    if (!launch->stop.group && caller)
        launch->stop.group = hdi_worker_group(caller);
    if (launch->time_limit > 0) {
        launch->stop.deadline = hdi_now() + launch->time_limit;
        hd_status status = hdi_watchdog_add(launcher, &launch->stop);
        if (status != HD_OK) {
            fail(launch, status, "no thread to watch its time limit", NULL);
            return false;
        }
    }
    return true;
}

static void unwatch(struct hdi_launcher *launcher, struct launch *launch)
{
    if (launch->time_limit > 0)
        hdi_watchdog_remove(launcher, &launch->stop);
}

static void run(struct hdi_launcher *launcher, struct launch *launch,
                bool one_leaf)
{
    if (!watch(launcher, launch))
        return;
    run_all(launch, one_leaf);
    unwatch(launcher, launch);
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

// Check and describe a launch; no groups: there is nothing to do. `small` has
// STACK_ARGS bytes for the arguments, if there is room there and they need not
// outlive the call.
static hd_status describe(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, unsigned char *small,
                          struct launch *launch, uint64_t *groups,
                          struct hd_error *error)
{
    struct hdi_plan plan;

    *groups = 0;
    HDI_TRY(
        hdi_plan_check(launcher, kernel, range, args, arg_count, &plan, error));
    if (plan.groups == 0)
        return HD_OK;
    if (is_grid(kernel) && terms->place.kind != HD_ANYWHERE)
        return hdi_fail(error, HD_ENOTSUP,
                        "kernel '%s' calls hd_grid_barrier() and runs on a "
                        "worker only, not on a unit",
                        kernel->info.name);

    // One block: the packed arguments, then the offsets of local arguments.
    uint64_t args_size = hdi_round_up(kernel->args_size + 1, 128);
    uint64_t size = args_size + arg_count * sizeof(uint64_t);
    unsigned char *packed = small && size <= STACK_ARGS && !launcher->ports
                                ? small
                                : aligned_alloc(128, hdi_round_up(size, 128));
    if (!packed)
        return hdi_fail(error, HD_ENOMEM,
                        "kernel '%s': no memory for its arguments",
                        kernel->info.name);
    uint64_t *local_offsets = (uint64_t *)(void *)(packed + args_size);
    hdi_plan_local(kernel, args, arg_count, local_offsets);
    hdi_plan_pack(kernel, args, arg_count, local_offsets, packed);

    *launch = (struct launch){
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
                  .frame = plan.frame,
                  .local_bytes = plan.local_bytes,
                  .saved_bytes = plan.saved_bytes},
        .cutoff =
            choose_cutoff(launcher, kernel, plan.groups, plan.group_items),
        .group_items = plan.group_items,
        .bid = {.bidder = &bidder,
                .priority = terms->priority,
                .local = plan.local_bytes + plan.saved_bytes},
    };
    memcpy(launch->box.count, plan.frame.group_count,
           sizeof(launch->box.count));
    if (terms->search)
        launch->box = hdi_search_box(terms->search, &launch->cutoff);
    launch->learns =
        launcher->broker && !launcher->ports && !terms->search &&
        !is_grid(kernel) &&
        atomic_load_explicit(&kernel->item_time, memory_order_relaxed) == 0;
    launch->chunk.frame.args = packed;
    launch->chunk.stop = &launch->stop.status;
    *groups = plan.groups;
    return HD_OK;
}

// Free the arguments, unless a hanging kernel may read them.
static void forget(struct launch *launch, const unsigned char *small)
{
    void *packed = (void *)(uintptr_t)launch->chunk.frame.args;

    if (atomic_load(&launch->lead->lost))
        strand(launch->launcher, packed);
    else if (packed != small)
        free(packed);
}

hd_status hdi_launch_with(struct hdi_launcher *launcher,
                          const struct hd_kernel *kernel,
                          const struct hd_range *range,
                          const struct hd_arg *args, unsigned arg_count,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    _Alignas(128) unsigned char small[STACK_ARGS];
    const struct hdi_place *place = &terms->place;
    struct launch launch;
    struct hdi_fault fault;
    uint64_t groups;
    char text[TEXT_SIZE];

    if (place->kind != HD_ANYWHERE && place->unit >= launcher->port_count)
        return hdi_fail(error, HD_ENODEV,
                        "kernel '%s' is to run on unit %u; there are %u",
                        kernel->info.name, place->unit, launcher->port_count);
    HDI_TRY(describe(launcher, kernel, range, args, arg_count, terms, small,
                     &launch, &groups, error));
    if (groups == 0)
        return HD_OK;
    launcher->device->backend->prepare(launcher->device);

    *text = '\0';
    launch.text = text;
    launch.fault = &fault;
    bool one_leaf = groups <= launch.cutoff;
    if (kernel->info.form == HD_FORM_CHECKED) {
        struct hdi_check_launch *check =
            hdi_launch_describe(kernel, args, arg_count, launch.local_offsets,
                                launch.chunk.frame.args);
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
    forget(&launch, small);
    if (launch.has_fault) {
        if (terms->search)
            hdi_search_end(terms->search, &fault);
        else
            hdi_search_run(launcher, kernel, &launch.chunk.frame, args, terms,
                           &fault);
        hdi_fault_describe(&fault, kernel, args, text, TEXT_SIZE);
    }
    return explain(&launch, error);
}

// Gangs -----------------------------------------------------------------------
//
// Each member is one leaf on a unit that was reserved for it, or on a worker of
// a gang of the pool. Units are reserved by one gang at a time, which waits for
// nothing but what already runs on them: so two gangs cannot each hold what the
// other needs. While it does, its worker runs no other work.

struct crew {
    struct hdi_launcher *launcher;
    struct launch *members;
    unsigned count;
    const struct hdi_part *parts;
    struct hdi_place place;
};

static void run_member(struct hd_worker *worker, unsigned rank, void *data)
{
    struct launch *member = &((struct crew *)data)->members[rank];
    if (goes_on(member))
        run_here(worker, member, &member->box);
}

// Whether the unit suits a member, given those that `chosen` are before it.
static bool suits(const struct crew *crew, unsigned unit,
                  const unsigned *chosen, unsigned rank)
{
    const struct hdi_port *ports = crew->launcher->ports;

    if (!atomic_load(&ports[unit].open))
        return false;
    for (unsigned i = 0; i < rank; i++)
        if (chosen[i] == unit ||
            (crew->place.kind == HD_ON_DISTINCT_MODULES &&
             ports[chosen[i]].module == ports[unit].module))
            return false;
    return crew->place.kind != HD_ON_MODULE_OF ||
           ports[unit].module == ports[crew->place.unit].module;
}

// A unit for each member. False: there are not that many.
static bool choose_units(struct crew *crew, unsigned *chosen)
{
    for (unsigned rank = 0; rank < crew->count; rank++) {
        bool named = crew->place.kind == HD_ON_UNIT;
        unsigned unit = named ? crew->parts[rank].unit : 0;
        unsigned end = named ? unit + 1 : crew->launcher->port_count;
        while (unit < end && !suits(crew, unit, chosen, rank))
            unit++;
        if (unit == end) {
            char text[160];
            snprintf(text, sizeof(text),
                     "a gang of %u needs as many units at that place at the "
                     "same time; there are %u",
                     crew->count, rank);
            fail(&crew->members[rank], HD_ENODEV, text, NULL);
            return false;
        }
        chosen[rank] = unit;
    }
    return true;
}

// Wait until the unit is ours and has nothing else to do.
static bool reserve(struct hd_worker *worker, struct launch *member,
                    struct hdi_port *port)
{
    while (!hdi_port_reserve(port)) {
        if (!goes_on(member))
            return false;
        if (!atomic_load(&port->open)) {
            fail(member, HD_ENODEV, "its unit was detached", NULL);
            return false;
        }
        if (!collect(worker, member->launcher, port))
            sched_yield();
    }
    return true;
}

static bool is_ready(struct hd_worker *worker, struct launch *member,
                     struct hdi_port *port)
{
    while (atomic_load(&port->held) > 0) {
        if (!goes_on(member))
            return false;
        if (!collect(worker, member->launcher, port))
            sched_yield();
    }
    if (hdi_port_is_attached(port))
        return true;
    fail(member, HD_ENODEV, "its unit was lost", NULL);
    return false;
}

// All units are reserved and idle, or none is.
static bool form(struct hd_worker *worker, struct crew *crew, unsigned *chosen)
{
    struct hdi_port *ports = crew->launcher->ports;
    unsigned reserved = 0, ready = 0;

    if (!choose_units(crew, chosen))
        return false;
    while (reserved < crew->count &&
           reserve(worker, &crew->members[reserved], &ports[chosen[reserved]]))
        reserved++;
    while (reserved == crew->count && ready < crew->count &&
           is_ready(worker, &crew->members[ready], &ports[chosen[ready]]))
        ready++;
    if (ready == crew->count)
        return true;
    while (reserved-- > 0)
        hdi_port_release(&ports[chosen[reserved]]);
    return false;
}

static void run_on_units(struct hd_worker *worker, void *data)
{
    struct crew *crew = data;
    struct hdi_launcher *launcher = crew->launcher;
    unsigned chosen[HDI_GANG];

    while (atomic_exchange(&launcher->forming, true)) {
        if (!goes_on(crew->members))
            return;
        hdi_worker_help(worker);
    }
    bool formed = form(worker, crew, chosen);
    if (formed)
        for (unsigned i = 0; i < crew->count; i++)
            while (!submit(&crew->members[i], &launcher->ports[chosen[i]],
                           &crew->members[i].box))
                sched_yield();
    atomic_store(&launcher->forming, false);
    if (formed)
        await_units(worker, crew->members);
}

static hd_status run_crew(struct crew *crew, const struct hdi_terms *terms,
                          struct hd_error *error)
{
    struct hdi_launcher *launcher = crew->launcher;
    struct launch *lead = crew->members;
    struct hdi_fault fault;
    char text[TEXT_SIZE];
    hd_status status = HD_OK;

    *text = '\0';
    lead->text = text;
    lead->fault = &fault;
    if (watch(launcher, lead)) {
        if (launcher->ports) {
            hd_pool_run(launcher->pool, run_on_units, crew);
        } else {
            const struct hd_gang gang = {crew->count, crew->place.kind,
                                         crew->place.unit,
                                         (struct hd_group *)terms->group};
            status = hd_pool_run_gang(launcher->pool, &gang, run_member, crew,
                                      error);
        }
        unwatch(launcher, lead);
    }
    if (lead->has_fault)
        hdi_fault_describe(&fault, lead->failed->kernel, lead->failed->args,
                           text, TEXT_SIZE);
    hd_status end = explain(lead, error);
    return end != HD_OK ? end : status;
}

static hd_status check_parts(const struct hdi_launcher *launcher,
                             const struct hdi_part *parts, unsigned count,
                             const struct hdi_place *place,
                             struct hd_error *error)
{
    if (count == 0 || count > HDI_GANG)
        return hdi_fail(error, HD_EINVAL, "a gang has 1 to %d members, not %u",
                        HDI_GANG, count);
    for (unsigned i = 0; i < count; i++) {
        if (parts[i].kernel->info.form == HD_FORM_CHECKED)
            return hdi_fail(error, HD_ENOTSUP,
                            "kernel '%s' is checked, which no member of a gang "
                            "can be",
                            parts[i].kernel->info.name);
        if (launcher->ports && is_grid(parts[i].kernel))
            return hdi_fail(error, HD_ENOTSUP,
                            "kernel '%s' calls hd_grid_barrier() and runs on a "
                            "worker only, not on a unit",
                            parts[i].kernel->info.name);
        unsigned unit = place->kind == HD_ON_UNIT ? parts[i].unit : place->unit;
        if ((place->kind == HD_ON_UNIT ||
             (place->kind == HD_ON_MODULE_OF && launcher->ports)) &&
            unit >= launcher->port_count)
            return hdi_fail(error, HD_ENODEV,
                            "kernel '%s' is to run on unit %u; there are %u",
                            parts[i].kernel->info.name, unit,
                            launcher->port_count);
        for (unsigned j = 0; place->kind == HD_ON_UNIT && j < i; j++)
            if (parts[j].unit == unit)
                return hdi_fail(error, HD_EINVAL,
                                "two members of a gang are to run on unit %u",
                                unit);
    }
    return HD_OK;
}

hd_status hdi_launch_gang(struct hdi_launcher *launcher,
                          const struct hdi_part *parts, unsigned count,
                          const struct hdi_terms *terms, struct hd_error *error)
{
    struct crew crew = {
        .launcher = launcher, .parts = parts, .place = terms->place};
    hd_status status = HD_OK;

    HDI_TRY(check_parts(launcher, parts, count, &terms->place, error));
    crew.members = calloc(count, sizeof(*crew.members));
    if (!crew.members)
        return hdi_fail(error, HD_ENOMEM, "no memory for a gang of %u", count);
    for (unsigned i = 0; i < count && status == HD_OK; i++) {
        const struct hdi_part *p = &parts[i];
        struct launch *member = &crew.members[crew.count];
        uint64_t groups;
        status = describe(launcher, p->kernel, p->range, p->args, p->arg_count,
                          terms, NULL, member, &groups, error);
        if (status != HD_OK)
            break;
        if (groups == 0) {
            status = hdi_fail(error, HD_EINVAL,
                              "kernel '%s' has no work-items; a member of a "
                              "gang has some",
                              p->kernel->info.name);
            break;
        }
        member->lead = crew.members;
        member->is_member = true;
        member->chunk.stop = &crew.members->stop.status;
        crew.count++;
    }
    if (status == HD_OK) {
        launcher->device->backend->prepare(launcher->device);
        status = run_crew(&crew, terms, error);
    }
    for (unsigned i = 0; i < crew.count; i++)
        forget(&crew.members[i], NULL);
    free(crew.members);
    return status;
}
