// Pieces of a launch that are small enough, on the units of the workers that
// take them.
//
// Invariant: a leaf that starts after a failure or a cancellation runs nothing.
#include <stdio.h>
#include <string.h>

#include "backend/meeting.h"
#include "launch/fault/stop.h"
#include "launch/run/cutoff.h"
#include "launch/run/feed.h"
#include "launch/run/flight.h"
#include "steal/worker.h"

enum {
    SPLIT_TIME = 20000 // a leaf worth dividing among a worker's units [ns]
};

bool hdi_leaf_is_grid(const struct hd_kernel *kernel)
{
    return kernel->info.form == HD_FORM_GRID;
}

void hdi_leaf_fail(struct hdi_flight *launch, hd_status status,
                   const char *text, const struct hdi_fault *fault)
{
    struct hdi_flight *lead = launch->lead;

    if (!hdi_stop_set(&lead->stop, status))
        return;
    lead->failed = launch;
    snprintf(lead->text, HDI_FAILURE_SIZE, "%s", text);
    lead->has_fault = fault != NULL;
    if (fault)
        *lead->fault = *fault;
    hdi_stop_poke(launch->launcher);
}

bool hdi_leaf_goes_on(struct hdi_flight *launch)
{
    return !hdi_stop_check(&launch->lead->stop);
}

// The unit of a worker is opened on its own thread, when it first runs a leaf,
// so that its memory lies near its core.
static struct hdi_unit *unit_of(struct hdi_flight *launch, unsigned index)
{
    struct hdi_unit **unit = &launch->launcher->units[index];
    struct hdi_device *device = launch->launcher->device;

    if (!*unit) {
        hd_status status = device->backend->unit_open(
            device, device->can.caller_too ? HDI_UNIT_ON_CALLER : index, unit);
        if (status != HD_OK) {
            *unit = NULL;
            hdi_leaf_fail(launch, status, "", NULL);
        }
    }
    return *unit;
}

// Not from members of gangs, which wait for each other, nor from lists, which
// are many launches.
static void learn_time(struct hdi_flight *launch, uint64_t ns, uint64_t groups)
{
    if (launch->is_member || launch->chunk.list)
        return;
    _Atomic uint64_t *word = &launch->kernel->learned->item_time;
    uint64_t items = groups * launch->group_items;
    uint64_t sample = ns * HDI_TIME_UNIT / items;
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);
    uint64_t now = old == 0 ? sample : (7 * old + sample) / 8;

    atomic_store_explicit(word, now ? now : 1, memory_order_relaxed);
}

static void count_leaf(struct hd_worker *worker, struct hdi_flight *launch,
                       uint64_t groups, uint64_t begin, uint64_t end)
{
    struct hdi_track *track = launch->launcher->tracks[hd_worker_index(worker)];

    learn_time(launch, end - begin, groups);
    hdi_worker_count(worker, end - begin, groups);
    if (launch->cost)
        hdi_cost_add(launch->cost, begin, end, groups, hd_worker_index(worker));
    if (track)
        hdi_track_record(track, HDI_EVENT_chunk, begin, end,
                         launch->kernel->trace_name, groups);
}

static void count_on_unit(struct hdi_flight *launch, unsigned unit,
                          const struct hdi_finished *f)
{
    uint64_t groups = hdi_box_groups(&f->leaf.box);

    learn_time(launch, f->end - f->begin, groups);
    if (launch->cost)
        hdi_cost_add_unit(launch->cost, f->begin, f->end, groups, unit);
}

// A copy for each leaf: the launch's own is shared by all workers.
static struct hdi_chunk chunk_of(const struct hdi_flight *launch,
                                 const struct hdi_box *box)
{
    struct hdi_chunk chunk = launch->chunk;
    memcpy(chunk.frame.first, box->first, sizeof(box->first));
    memcpy(chunk.frame.count, box->count, sizeof(box->count));
    return chunk;
}

static void add_moved(struct hdi_flight *launch, uint64_t groups,
                      uint64_t bytes)
{
    atomic_fetch_add_explicit(&launch->moved, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&launch->counted, groups, memory_order_relaxed);
}

// NULL: nobody asks what the leaf moves, or not now.
static struct hdi_misses *misses_of(const struct hdi_flight *launch,
                                    unsigned worker, uint64_t now)
{
    struct hdi_misses *all = launch->launcher->misses;

    return launch->tells_moved && all && hdi_misses_are_due(&all[worker], now)
               ? &all[worker]
               : NULL;
}

// Public tasks first (hd_publish()): while the leaf runs others may steal them.
// The slot is entered before it is asked whether the launch goes on, so that
// who ends it either is seen here or sees the slot.
static void run_chunk(struct hd_worker *worker, struct hdi_flight *launch,
                      const struct hdi_chunk *chunk, uint64_t groups)
{
    struct hdi_unit *unit = unit_of(launch, hd_worker_index(worker));
    if (!unit)
        return;

    const struct hdi_backend *backend = launch->launcher->device->backend;
    const struct hdi_misses_source *counted = &launch->launcher->counted;
    struct hdi_stop_slot *slot =
        &launch->launcher->slots[hd_worker_index(worker)];

    hd_publish(worker);
    uint64_t begin = hdi_now();
    struct hdi_stop *before = hdi_slot_enter(slot, &launch->lead->stop);
    if (!hdi_leaf_goes_on(launch)) {
        hdi_slot_leave(slot, before);
        return;
    }
    struct hdi_misses *misses =
        misses_of(launch, hd_worker_index(worker), begin);
    if (misses && hdi_misses_begin(misses, counted, begin))
        begin = hdi_now();
    else
        misses = NULL;
    while (!backend->submit(unit, chunk))
        hdi_worker_help(worker);
    uint64_t ticket = backend->submitted(unit);
    while (backend->done(unit) < ticket)
        hdi_worker_help(worker);
    uint64_t end = hdi_now(), bytes;
    if (misses && hdi_misses_end(misses, counted, end, &bytes))
        add_moved(launch, groups, bytes);
    hdi_slot_leave(slot, before);
    hd_status status = backend->status(unit, ticket);
    if (status == HD_OK) {
        count_leaf(worker, launch, groups, begin, end);
        return;
    }
    char text[HDI_FAILURE_SIZE];
    struct hdi_fault fault;
    bool has_fault = backend->fault(unit, ticket, &fault);
    backend->explain(unit, ticket, text, sizeof(text));
    hdi_leaf_fail(launch, status, text, has_fault ? &fault : NULL);
}

void hdi_leaf_run_here(struct hd_worker *worker, struct hdi_flight *launch,
                       const struct hdi_box *box)
{
    struct hdi_chunk chunk = chunk_of(launch, box);
    run_chunk(worker, launch, &chunk, hdi_box_groups(box));
}

// Local memory of all groups was planned together; each member gets that of its
// groups.
void hdi_leaf_run_share(struct hd_worker *worker, struct hdi_flight *launch,
                        const struct hdi_share *share)
{
    uint64_t groups = hdi_box_groups(&launch->box);
    struct hdi_chunk chunk = chunk_of(launch, &launch->box);

    if (!hdi_leaf_goes_on(launch))
        return;
    chunk.share = share;
    chunk.local_bytes = chunk.local_bytes / groups * share->count;
    chunk.saved_bytes = chunk.saved_bytes / groups * share->count;
    run_chunk(worker, launch, &chunk, share->count);
}

// [ns]
static uint64_t run_here_timed(struct hd_worker *worker,
                               struct hdi_flight *launch,
                               const struct hdi_box *box)
{
    uint64_t begin = hdi_now();

    hdi_leaf_run_here(worker, launch, box);
    return hdi_now() - begin;
}

// A unit that was lost leaves what it has not begun (HD_ECANCELED) to this
// worker, and what it hangs in (HD_ETIMEOUT) to nobody: its arguments must
// stay. The launch may be gone once it is told that this was its last leaf.
bool hdi_leaf_collect(struct hd_worker *worker, struct hdi_launcher *launcher,
                      struct hdi_port *port)
{
    struct hdi_finished f;
    bool any = false;

    while (hdi_port_take(port, launcher->device, &f)) {
        struct hdi_flight *launch = f.leaf.launch;
        uint64_t time = f.end - f.begin;
        if (launcher->modules)
            hdi_modules_give(launcher->modules, &f.leaf.hold);
        if (f.status == HD_ETIMEOUT)
            atomic_store(&launch->lead->lost, true);
        if (f.status == HD_ECANCELED &&
            (f.leaf.is_member || launch->chunk.list))
            hdi_leaf_fail(launch, HD_ENODEV, "its unit was lost", NULL);
        else if (f.status == HD_ECANCELED)
            time = run_here_timed(worker, launch, &f.leaf.box);
        else if (f.status != HD_OK)
            hdi_leaf_fail(launch, f.status, f.text,
                          f.has_fault ? &f.fault : NULL);
        else
            count_on_unit(launch, (unsigned)(port - launcher->ports), &f);
        if (f.leaf.grant)
            hdi_broker_return(launcher->broker, f.leaf.grant, time);
        if (launch->finish)
            hdi_feed_leave(worker, launch);
        else
            atomic_fetch_sub_explicit(&launch->lead->held, 1,
                                      memory_order_release);
        any = true;
    }
    return any;
}

// Whether a unit may run leaves that this worker has: one of those dealt to it,
// or one at the launch's place.
static bool is_for(const struct hdi_flight *launch, unsigned worker,
                   unsigned unit)
{
    return hdi_leaf_may_be_on(launch, unit) &&
           (launch->place.kind == HD_ON_UNIT ||
            launch->place.kind == HD_ON_MODULE_OF ||
            unit % hd_pool_workers(launch->launcher->pool) == worker);
}

bool hdi_leaf_may_be_on(const struct hdi_flight *launch, unsigned unit)
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
    case HD_ON_WORKERS:          // does not come here
    case HD_ANYWHERE:
    default:
        return true;
    }
}

// The unit for a leaf of this worker that holds the fewest; how many are idle.
// `taken` is one that would do if no gang had it.
static struct hdi_port *choose_port(const struct hdi_flight *launch,
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

static bool is_long(const struct hdi_flight *launch, uint64_t groups)
{
    double time = hdi_cutoff_time(launch, groups);

    return time == 0 || time > SPLIT_TIME;
}

// The cost model: a unit may run it, but giving it away takes the worker longer
// than running it.
bool hdi_leaf_is_cheaper_here(const struct hdi_flight *launch, uint64_t groups)
{
    double time = hdi_cutoff_time(launch, groups);

    return launch->place.kind == HD_ANYWHERE && time > 0 &&
           time < (double)hdi_cutoff_hand_over(launch->launcher);
}

struct wanted {
    const struct hdi_flight *launch;
    const struct hdi_port *only; // of a member of a gang, which has it
};

static bool may_be_on(const void *data, unsigned unit)
{
    const struct wanted *w = data;
    const struct hdi_port *port = &w->launch->launcher->ports[unit];

    if (w->only)
        return w->only == port;
    return hdi_leaf_may_be_on(w->launch, unit) &&
           !atomic_load_explicit(&port->reserved, memory_order_relaxed);
}

// The unit for a chunk, which `port` is if it is to be launched in another way;
// NULL: there is none now. A list is worked off by units that can, or fails.
static struct hdi_port *place(struct hdi_flight *launch, struct hdi_port *port,
                              struct hdi_chunk *chunk, struct hdi_hold *hold)
{
    const struct hdi_launcher *l = launch->launcher;
    const struct wanted wanted = {launch, launch->is_member ? port : NULL};
    const struct hdi_wish wish = {
        .who = launch,
        .bytes = chunk->list ? chunk->list->local_bytes : chunk->local_bytes,
        .classes = l->device->backend->classes(l->device, chunk),
        .may = may_be_on,
        .data = &wanted};
    unsigned unit;

    chunk->region = HDI_NO_REGION;
    if (wish.classes == 0 || (launch->is_member && wish.bytes == 0))
        return port;
    switch (hdi_modules_take(l->modules, &wish, &unit, hold)) {
    case HDI_PLACED:
        if (chunk->list)
            hdi_modules_share(l->modules, &wish, chunk->list, unit, hold);
        chunk->region = hold->region;
        return &l->ports[unit];
    case HDI_PLACE_LATER:
        // Members run at the same time, so none waits for another.
        return launch->is_member ? port : NULL;
    case HDI_PLACE_NOWHERE:
    default:
        if (!chunk->list)
            return port;
        hdi_leaf_fail(launch, HD_ENODEV,
                      "no unit that can work all of it off is attached", NULL);
        return NULL;
    }
}

// Everything is counted before the unit can have it: it may end at once, and be
// collected by another worker. Undone in reverse order when it was not taken.
bool hdi_leaf_submit(struct hdi_flight *launch, struct hdi_port *port,
                     const struct hdi_box *box, struct hdi_grant *grant)
{
    struct hdi_chunk chunk = chunk_of(launch, box);
    struct hdi_modules *modules = launch->launcher->modules;
    struct hdi_hold hold = {.lease = 0};

    if (modules && !(port = place(launch, port, &chunk, &hold)))
        return false;
    struct hdi_leaf leaf = {
        .launch = launch,
        .name = launch->kernel->trace_name,
        .box = *box,
        .begin = hdi_now(),
        .is_member = launch->is_member,
        .grant = grant,
        .hold = hold,
        .expected = (uint64_t)hdi_cutoff_time(launch, hdi_box_groups(box)),
    };

    if (grant)
        hdi_broker_lend(grant);
    atomic_fetch_add_explicit(&launch->lead->held, 1, memory_order_relaxed);
    if (hdi_port_submit(port, launch->launcher->device, &chunk, &leaf)) {
        hdi_cutoff_learn(launch->launcher, hdi_now() - leaf.begin);
        return true;
    }
    atomic_fetch_sub_explicit(&launch->lead->held, 1, memory_order_relaxed);
    if (modules)
        hdi_modules_give(modules, &hold);
    if (grant)
        hdi_broker_return(launch->launcher->broker, grant, 0);
    return false;
}

// Where others of the piece may be on units, so that all time is counted alike.
static void run_part_here(struct hd_worker *worker, struct hdi_flight *launch,
                          const struct hdi_box *box, struct hdi_grant *grant)
{
    if (!grant || !launch->launcher->ports) {
        hdi_leaf_run_here(worker, launch, box);
        return;
    }
    hdi_broker_lend(grant);
    uint64_t time = run_here_timed(worker, launch, box);
    hdi_broker_return(launch->launcher->broker, grant, time);
}

// Hand a leaf over to units, without waiting for them. One that takes long is
// divided equally among idle units of the worker, others keep several in
// flight.
// Goes on until all of the box is on units, or no unit is for it any more;
// helps others while all are full.
static void hand_over(struct hd_worker *worker, struct hdi_flight *launch,
                      struct hdi_box *box, struct hdi_grant *grant)
{
    struct hdi_port *port, *taken;
    unsigned idle, self = hd_worker_index(worker);

    while ((port = choose_port(launch, self, &idle, &taken)) ||
           (taken && launch->place.kind != HD_ANYWHERE)) {
        if (!port) {
            hd_publish(worker);
            if (!hdi_leaf_collect(worker, launch->launcher, taken))
                hdi_worker_help(worker);
            continue;
        }
        struct hdi_box part = *box, rest = {.count = {0}};
        uint64_t groups = hdi_box_groups(box);
        if (idle > 1 && groups > 1 && is_long(launch, groups)) {
            rest = *box;
            part = hdi_box_cut(&rest, idle);
        }
        if (hdi_leaf_submit(launch, port, &part, grant)) {
            if (hdi_box_groups(&rest) == 0)
                return;
            *box = rest;
        } else if (!hdi_leaf_collect_all(worker, launch)) {
            hd_publish(worker);
            hdi_worker_help(worker);
        }
    }
    if (launch->launcher->modules)
        hdi_modules_forget(launch->launcher->modules, launch);
    if (launch->place.kind != HD_ANYWHERE) {
        hdi_leaf_fail(launch, HD_ENODEV, "", NULL);
        return;
    }
    run_part_here(worker, launch, box, grant);
}

static void interrupt_units(struct hdi_flight *launch)
{
    for (unsigned i = 0; i < launch->launcher->port_count; i++)
        hdi_port_interrupt(&launch->launcher->ports[i],
                           launch->launcher->device);
}

bool hdi_leaf_collect_all(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct hdi_launcher *launcher = launch->launcher;
    bool any = false;

    for (unsigned i = 0; i < launcher->port_count; i++)
        any |= hdi_leaf_collect(worker, launcher, &launcher->ports[i]);
    if (!any && launcher->ports && !hdi_leaf_goes_on(launch))
        interrupt_units(launch);
    return any;
}

// A unit that has one leaf to run and one behind it has enough.
// Else one launch would fill the queues of all units, and others of the
// broker's would wait behind it.
static void await_room(struct hd_worker *worker, struct hdi_flight *launch)
{
    struct hdi_port *port, *taken;
    unsigned idle, self = hd_worker_index(worker);

    while (hdi_leaf_goes_on(launch) &&
           (port = choose_port(launch, self, &idle, &taken)) &&
           atomic_load_explicit(&port->held, memory_order_relaxed) > 1)
        if (!hdi_leaf_collect_all(worker, launch))
            hdi_worker_help(worker);
}

void hdi_leaf_run(struct hd_worker *worker, struct hdi_flight *launch,
                  struct hdi_box *box, struct hdi_grant *grant)
{
    if (!hdi_leaf_goes_on(launch))
        return;
    // Units of their own threads have no checker, and divide what they get.
    if (launch->launcher->ports && launch->place.kind != HD_ON_WORKERS &&
        !launch->chunk.check &&
        !hdi_leaf_is_cheaper_here(launch, hdi_box_groups(box)))
        hand_over(worker, launch, box, grant);
    else
        run_part_here(worker, launch, box, grant);
    if (grant && !grant->alone && grant->lent)
        await_room(worker, launch);
}

// Acquire, paired with the release of hdi_leaf_collect(): what units wrote is
// seen.
void hdi_leaf_await(struct hd_worker *worker, struct hdi_flight *launch)
{
    while (atomic_load_explicit(&launch->held, memory_order_acquire) > 0)
        if (!hdi_leaf_collect_all(worker, launch))
            hdi_worker_help(worker);
}
