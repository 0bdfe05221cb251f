#include "launch/port.h"

#include <sched.h>

#include "base/clock.h"
#include "base/log.h"

static bool try_lock(struct hdi_port *port)
{
    return !atomic_load_explicit(&port->locked, memory_order_relaxed) &&
           !atomic_exchange_explicit(&port->locked, true, memory_order_acquire);
}

static void unlock(struct hdi_port *port)
{
    atomic_store_explicit(&port->locked, false, memory_order_release);
}

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

void hdi_port_detach(struct hdi_port *port, struct hdi_device *device)
{
    atomic_store(&port->open, false);
    for (;;) {
        if (try_lock(port)) {
            if (atomic_load(&port->held) == 0)
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

bool hdi_port_submit(struct hdi_port *port, struct hdi_device *device,
                     const struct hdi_chunk *chunk, const struct hdi_leaf *leaf)
{
    bool in = false;

    if (atomic_load(&port->held) >= HDI_PORT_LEAVES || !try_lock(port))
        return false;
    unsigned held = atomic_load(&port->held);
    if (atomic_load(&port->open) && held < HDI_PORT_LEAVES &&
        held < device->can.in_flight &&
        device->backend->submit(port->unit, chunk)) {
        port->leaves[(port->taken + held) % HDI_PORT_LEAVES] = *leaf;
        atomic_store(&port->held, held + 1);
        atomic_fetch_add_explicit(&port->total, 1, memory_order_relaxed);
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

bool hdi_port_take(struct hdi_port *port, struct hdi_device *device,
                   struct hdi_finished *finished)
{
    const struct hdi_backend *backend = device->backend;
    bool out = false;

    if (atomic_load(&port->held) == 0 || !try_lock(port))
        return false;
    if (atomic_load(&port->held) > 0 &&
        backend->done(port->unit) > port->taken) {
        finished->leaf = port->leaves[port->taken % HDI_PORT_LEAVES];
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
        // It ran since the one before it ended, if it had to wait for that.
        finished->end = hdi_now();
        finished->begin = finished->leaf.begin > port->last_end
                              ? finished->leaf.begin
                              : port->last_end;
        port->last_end = finished->end;
        bool lost =
            finished->status == HD_ETIMEOUT || finished->status == HD_ECANCELED;
        if (lost && atomic_exchange(&port->open, false))
            hdi_warn("a unit hangs and was detached: a leaf is not finished in "
                     "time");
        if (atomic_fetch_sub(&port->held, 1) == 1 && lost) {
            backend->unit_close(port->unit);
            port->unit = NULL;
        }
        out = true;
    }
    unlock(port);
    return out;
}
