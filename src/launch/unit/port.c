// Invariant: `leaves` is a ring. Leaf number n, counted since the unit was
// attached, is at n % HDI_PORT_LEAVES from its submit until it is taken, and
// the backend ends leaves in that order: so "so many are done" is enough to
// know which.
//
//     number     taken - 1 | taken ............ taken + held - 1 | taken + held
//     it is      away      | on the unit, the first perhaps done | free
//
// All but `held` and the three flags is touched under the lock only. Those are
// read without it as hints: who finds nothing to do there leaves the lock
// alone, who finds something looks again under it.
#include "launch/unit/port.h"

#include <sched.h>

#include "base/clock.h"
#include "base/log.h"

// Looks before it exchanges: a failed exchange takes the line from who has the
// lock.
static bool try_lock(struct hdi_port *port)
{
    return !atomic_load_explicit(&port->locked, memory_order_relaxed) &&
           !atomic_exchange_explicit(&port->locked, true, memory_order_acquire);
}

static void unlock(struct hdi_port *port)
{
    atomic_store_explicit(&port->locked, false, memory_order_release);
}

// Attaching one that is attached does nothing.
hd_status hdi_port_attach(struct hdi_port *port, struct hdi_device *device,
                          unsigned index)
{
    hd_status status = HD_OK;

    while (!try_lock(port))
        sched_yield();
    if (!port->unit) {
        status = device->backend->unit_open(device, index, &port->unit);
        if (status != HD_OK)
            port->unit = NULL;
        port->taken = 0;
        atomic_store(&port->open, status == HD_OK);
    }
    unlock(port);
    return status;
}

// Closed first, so that no new leaves come while the last ones end.
void hdi_port_detach(struct hdi_port *port, struct hdi_device *device)
{
    atomic_store(&port->open, false);
    for (;;) {
        if (try_lock(port)) {
            if (atomic_load(&port->held) == 0 && !atomic_load(&port->reserved))
                break;
            unlock(port);
        }
        sched_yield();
    }
    if (port->unit)
        device->backend->unit_close(port->unit);
    port->unit = NULL;
    unlock(port);
}

bool hdi_port_reserve(struct hdi_port *port)
{
    if (!try_lock(port))
        return false;
    bool ours = atomic_load(&port->open) && !atomic_load(&port->reserved);
    if (ours)
        atomic_store(&port->reserved, true);
    unlock(port);
    return ours;
}

void hdi_port_release(struct hdi_port *port)
{
    atomic_store(&port->reserved, false);
}

bool hdi_port_is_attached(struct hdi_port *port)
{
    while (!try_lock(port))
        sched_yield();
    bool attached = port->unit != NULL;
    unlock(port);
    return attached;
}

// Looks at `held` before it takes the lock, and again with it.
bool hdi_port_submit(struct hdi_port *port, struct hdi_device *device,
                     const struct hdi_chunk *chunk, const struct hdi_leaf *leaf)
{
    bool in = false;

    if (atomic_load(&port->held) >= HDI_PORT_LEAVES || !try_lock(port))
        return false;
    unsigned held = atomic_load(&port->held);
    bool may = leaf->is_member
                   ? port->unit != NULL
                   : atomic_load(&port->open) && !atomic_load(&port->reserved);
    if (may && held < HDI_PORT_LEAVES && held < device->can.in_flight &&
        device->backend->submit(port->unit, chunk)) {
        port->leaves[(port->taken + held) % HDI_PORT_LEAVES] = *leaf;
        atomic_store(&port->held, held + 1);
        in = true;
    }
    unlock(port);
    return in;
}

void hdi_port_interrupt(struct hdi_port *port, struct hdi_device *device)
{
    if (!try_lock(port))
        return;
    if (port->unit)
        device->backend->interrupt(port->unit);
    unlock(port);
}

bool hdi_port_has(struct hdi_port *port, bool (*is)(void *launch))
{
    bool any = false;

    if (atomic_load(&port->held) == 0 || !try_lock(port))
        return false;
    for (unsigned i = 0; i < atomic_load(&port->held); i++)
        any |= is(port->leaves[(port->taken + i) % HDI_PORT_LEAVES].launch);
    unlock(port);
    return any;
}

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

// With the lock. What did not run is not counted.
static void count(struct hdi_port *port, const struct hdi_finished *f)
{
    struct hdi_port_counters *c = &port->counters;
    uint64_t trip = f->end - f->leaf.begin;
    uint64_t groups = hdi_box_groups(&f->leaf.box);
    unsigned bucket = trip > 1 ? 63 - (unsigned)__builtin_clzll(trip) : 0;

    if (f->status == HD_ECANCELED || f->status == HD_ETIMEOUT)
        return;
    add(&c->leaves, 1);
    add(&c->groups, groups);
    add(&c->busy, f->end - f->begin);
    add(&c->trips[bucket < HD_TRIP_BUCKETS ? bucket : HD_TRIP_BUCKETS - 1], 1);
    if (port->track)
        hdi_track_record(port->track, HDI_EVENT_chunk, f->begin, f->end,
                         f->leaf.name, groups);
}

void hdi_port_count(const struct hdi_port *port,
                    struct hd_unit_counters *counters)
{
    const struct hdi_port_counters *c = &port->counters;

    *counters = (struct hd_unit_counters){
        .attached = atomic_load(&port->open),
        .module = port->module,
        .leaves = get(&c->leaves),
        .groups = get(&c->groups),
        .busy = get(&c->busy),
    };
    for (unsigned i = 0; i < HD_TRIP_BUCKETS; i++)
        counters->trips[i] = get(&c->trips[i]);
}

static double weight_of(const struct hdi_leaf *leaf)
{
    return leaf->expected > 0 ? (double)leaf->expected : 1;
}

// It ran since the one before it ended, if it had to wait for that. Where
// `ended` more have ended since anybody looked, they share the time as was
// expected.
static void set_times(struct hdi_port *port, struct hdi_finished *f,
                      uint64_t ended)
{
    uint64_t now = hdi_now();
    double all = 0;

    for (uint64_t i = 0; i < ended; i++)
        all += weight_of(&port->leaves[(port->taken + i) % HDI_PORT_LEAVES]);
    f->begin = f->leaf.begin > port->last_end ? f->leaf.begin : port->last_end;
    f->end = f->begin +
             (uint64_t)((double)(now - f->begin) * (weight_of(&f->leaf) / all));
    port->last_end = f->end;
}

// One leaf a call. The unit is closed only with its last leaf, since the
// backend tells the status of each.
bool hdi_port_take(struct hdi_port *port, struct hdi_device *device,
                   struct hdi_finished *finished)
{
    const struct hdi_backend *backend = device->backend;
    bool out = false;

    if (atomic_load(&port->held) == 0 || !try_lock(port))
        return false;
    uint64_t done =
        atomic_load(&port->held) > 0 ? backend->done(port->unit) : 0;
    if (done > port->taken) {
        finished->leaf = port->leaves[port->taken % HDI_PORT_LEAVES];
        set_times(port, finished, done - port->taken);
        port->taken++;
        finished->status = backend->status(port->unit, port->taken);
        finished->text[0] = '\0';
        finished->has_fault = false;
        if (finished->status != HD_OK) {
            backend->explain(port->unit, port->taken, finished->text,
                             sizeof(finished->text));
            finished->has_fault =
                backend->fault(port->unit, port->taken, &finished->fault);
        }
        count(port, finished);
        if (finished->leaf.is_member)
            atomic_store(&port->reserved, false);
        bool lost =
            finished->status == HD_ETIMEOUT || finished->status == HD_ECANCELED;
        if (lost && atomic_exchange(&port->open, false))
            hdi_warn("a unit hangs and was detached: a leaf is not finished in "
                     "time");
        // The last leaf of a unit that hangs: nobody is to look at it any more.
        if (atomic_fetch_sub(&port->held, 1) == 1 && lost) {
            backend->unit_close(port->unit);
            port->unit = NULL;
        }
        out = true;
    }
    unlock(port);
    return out;
}
