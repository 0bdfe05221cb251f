// Opens and closes launchers, and their units of their own threads.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "launch/launch.h"
#include "launch/run/cutoff.h"
#include "launch/run/feed.h"
#include "steal/worker.h"

static hd_status find_port(const struct hdi_launcher *launcher, unsigned unit,
                           struct hd_error *error)
{
    if (unit < launcher->port_count)
        return HD_OK;
    return hdi_fail(error, HD_ENOENT, "there is no unit %u; there are %u", unit,
                    launcher->port_count);
}

hd_status hdi_launcher_attach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error)
{
    HDI_TRY(find_port(launcher, unit, error));
    hd_status status =
        hdi_port_attach(&launcher->ports[unit], launcher->device, unit);
    if (status != HD_OK)
        return hdi_fail(error, status,
                        "unit %u cannot be attached: it still hangs, or there "
                        "are no threads or memory for it",
                        unit);
    return HD_OK;
}

hd_status hdi_launcher_detach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error)
{
    HDI_TRY(find_port(launcher, unit, error));
    hdi_port_detach(&launcher->ports[unit], launcher->device);
    return HD_OK;
}

hd_status hdi_launcher_count(const struct hdi_launcher *launcher, unsigned unit,
                             struct hd_unit_counters *counters,
                             struct hd_error *error)
{
    HDI_TRY(find_port(launcher, unit, error));
    hdi_port_count(&launcher->ports[unit], counters);
    counters->worker = unit % hd_pool_workers(launcher->pool);
    return HD_OK;
}

static void trace_worker(struct hdi_track *track,
                         const struct hd_worker_counters *c)
{
    hdi_track_set(track, "tasks", c->tasks);
    hdi_track_set(track, "stolen", c->stolen);
    hdi_track_set(track, "failed steals", c->failed);
    hdi_track_set(track, "parks", c->parks);
    hdi_track_set(track, "parked [ns]", c->parked);
    hdi_track_set(track, "leaves", c->leaves);
    hdi_track_set(track, "work-groups", c->groups);
    hdi_track_set(track, "busy [ns]", c->busy);
}

static void trace_unit(struct hdi_track *track,
                       const struct hd_unit_counters *c)
{
    hdi_track_set(track, "leaves", c->leaves);
    hdi_track_set(track, "work-groups", c->groups);
    hdi_track_set(track, "busy [ns]", c->busy);
    for (unsigned i = 0; i < HD_TRIP_BUCKETS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "round trips of 2^%u ns", i);
        if (c->trips[i] > 0)
            hdi_track_set(track, name, c->trips[i]);
    }
}

void hdi_launcher_trace(struct hdi_launcher *launcher)
{
    for (unsigned i = 0; i < hd_pool_workers(launcher->pool); i++) {
        struct hd_worker_counters counters;
        hd_pool_counters(launcher->pool, i, &counters);
        trace_worker(launcher->tracks[i], &counters);
    }
    for (unsigned i = 0; i < launcher->port_count; i++) {
        struct hd_unit_counters counters;
        hdi_port_count(&launcher->ports[i], &counters);
        trace_unit(launcher->ports[i].track, &counters);
    }
}

// Ports that were attached when this fails are detached by
// hdi_launcher_destroy().
static hd_status attach_all(struct hdi_launcher *launcher,
                            struct hd_error *error)
{
    const struct hdi_capabilities *can = &launcher->device->can;
    if (can->on_caller)
        return HD_OK;

    size_t size = can->units * sizeof(*launcher->ports);
    launcher->ports = aligned_alloc(128, size);
    if (!launcher->ports)
        return hdi_fail(error, HD_ENOMEM, "no memory for %u units", can->units);
    memset(launcher->ports, 0, size);
    launcher->port_count = can->units;
    hdi_pool_host(launcher->pool, (int)can->unit_threads);
    for (unsigned i = 0; i < can->units; i++) {
        char name[32];
        snprintf(name, sizeof(name), "unit %u", i);
        launcher->ports[i].module = can->modules ? can->modules[i] : 0;
        launcher->ports[i].track = hdi_track_create(launcher->trace, name);
        HDI_TRY(hdi_launcher_attach(launcher, i, error));
        hdi_debug("unit %u is worker %u's", i,
                  i % hd_pool_workers(launcher->pool));
    }
    return HD_OK;
}

static void poke(void *launcher)
{
    hdi_stop_poke(launcher);
}

// The listener is told last, when all that it may touch is there.
hd_status hdi_launcher_create(struct hd_pool *pool, struct hdi_device *device,
                              struct hdi_trace *trace,
                              struct hdi_launcher **launcher,
                              struct hd_error *error)
{
    unsigned workers = hd_pool_workers(pool) + HD_MAX_SPARE_THREADS;
    bool on_workers = device->can.on_caller || device->can.caller_too;
    struct hdi_launcher *l = calloc(1, sizeof(*l));
    if (!l)
        goto err;

    l->units = calloc(workers, sizeof(struct hdi_unit *));
    l->tracks = calloc(workers, sizeof(struct hdi_track *));
    l->slots = aligned_alloc(128, workers * sizeof(struct hdi_stop_slot));
    if (on_workers)
        l->misses = aligned_alloc(64, workers * sizeof(struct hdi_misses));
    if (!l->units || !l->tracks || !l->slots || (on_workers && !l->misses) ||
        !hdi_watchdog_init(&l->watchdog))
        goto err_arrays;
    memset(l->slots, 0, workers * sizeof(struct hdi_stop_slot));
    if (on_workers)
        memset(l->misses, 0, workers * sizeof(struct hdi_misses));

    l->counted = hdi_misses_of_cache();
    l->pool = pool;
    l->peers = 1;
    l->workers = workers;
    l->device = device;
    l->trace = trace;
    for (unsigned i = 0; i < hd_pool_workers(pool); i++) {
        char name[32];
        snprintf(name, sizeof(name), "worker %u", i);
        l->tracks[i] = hdi_track_create(trace, name);
    }
    hd_status status = hdi_cutoff_measure(l, error);
    if (status == HD_OK)
        status = attach_all(l, error);
    if (status == HD_OK && l->ports)
        status = hdi_modules_create(&device->can, l->ports, &l->modules, error);
    if (status == HD_OK && l->ports && !(l->feed = hdi_feed_create(l)))
        status = hdi_fail(error, HD_ENOMEM, "no memory to feed units");
    if (status == HD_OK && hdi_pool_has_threads(pool))
        status =
            hdi_broker_create(pool, l->port_count, NULL, &l->broker, error);
    if (status != HD_OK) {
        hdi_launcher_destroy(l);
        return status;
    }
    l->listener = (struct hdi_listener){.tell = poke, .data = l};
    hdi_pool_on_cancel(pool, &l->listener);
    *launcher = l;
    return HD_OK;

err_arrays:
    free(l->misses);
    free(l->slots);
    free(l->tracks);
    free(l->units);
    free(l);
err:
    return hdi_fail(error, HD_ENOMEM, "no memory for %u workers", workers);
}

// Units first, since they may still run what the rest belongs to; the watchdog
// before the slots, which it looks at.
void hdi_launcher_destroy(struct hdi_launcher *launcher)
{
    if (!launcher)
        return;

    for (unsigned i = 0; i < launcher->port_count; i++)
        hdi_port_detach(&launcher->ports[i], launcher->device);
    hdi_modules_destroy(launcher->modules);
    free(launcher->ports);
    hdi_feed_destroy(launcher->feed);
    hdi_broker_destroy(launcher->broker);
    struct hdi_stranded *next = atomic_load(&launcher->stranded);
    for (struct hdi_stranded *s; (s = next);) {
        next = s->next;
        free(s->memory);
        free(s);
    }
    for (unsigned i = 0; i < launcher->workers; i++)
        if (launcher->units[i])
            launcher->device->backend->unit_close(launcher->units[i]);
    for (unsigned i = 0; launcher->misses && i < launcher->workers; i++)
        hdi_misses_close(&launcher->misses[i]);
    hdi_watchdog_destroy(&launcher->watchdog);
    free(launcher->misses);
    free(launcher->slots);
    free(launcher->tracks);
    free(launcher->units);
    free(launcher);
}
