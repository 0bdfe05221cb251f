// What launches need of a runtime: one launcher per runtime and device. It has
// the units of the workers, the units of their own threads, and the books.
#ifndef HDI_LAUNCH_LAUNCHER_H
#define HDI_LAUNCH_LAUNCHER_H

#include <pthread.h>
#include <stdatomic.h>

#include "kernel/program.h"
#include "launch/broker/broker.h"
#include "launch/fault/stop.h"
#include "launch/measure/misses.h"
#include "launch/unit/modules.h"
#include "launch/unit/port.h"
#include "steal/worker.h"
#include "trace/trace.h"

struct hdi_feed;
struct hdi_lore;

// Kept in a list, so that no tool takes it for a leak.
struct hdi_stranded {
    void *memory;
    struct hdi_stranded *next;
};

// What launches need of a runtime; one per runtime and device.
// Made by hdi_launcher_create(), and shared by all threads that launch. What
// has no lock or atomic in it is written before the first launch and only read
// then, but for `units`, of which each worker opens its own.
struct hdi_launcher {
    struct hd_pool *pool;
    struct hdi_device *device;
    // Of those of the pool, one per device, and how many there are, and which
    // (optional): set before anything is launched.
    unsigned number, peers;
    struct hdi_launcher *const *all;
    uint64_t automatic; // of these, those for launches that name none: bits
    const struct hdi_lore *lore; // optional
    struct hdi_listener listener;
    unsigned workers;
    struct hdi_unit **units;     // one per worker; NULL until it is needed
    struct hdi_stop_slot *slots; // one per worker
    // One per worker, of what leaves on its thread move; NULL: they run
    // elsewhere.
    struct hdi_misses *misses;
    struct hdi_misses_source counted;
    struct hdi_watchdog watchdog;
    uint64_t time_limit; // of each launch [ns]; 0: none
    bool seals;          // constant arguments without a view too: seal.h
    // Zeroed memory on either side of each buffer that kernels may touch, whole
    // pages [bytes]; set before there is a buffer.
    uint64_t margin;
    struct hdi_port *ports; // units of their own threads; NULL: none
    unsigned port_count;
    struct hdi_modules *modules; // of these, where they share anything
    atomic_bool forming;         // a gang reserves units
    uint64_t division;           // cost of forking a part [ns]
    _Atomic uint64_t giving;     // cost of giving a leaf to a unit [ns]
    struct hdi_feed *feed;       // of units; NULL: there are none
    struct hdi_broker *broker;   // NULL: launches come one after another anyway
    // Arguments that a hanging kernel may still read; freed with the launcher.
    _Atomic(struct hdi_stranded *) stranded;
    struct hdi_track **tracks; // one per worker; all NULL without a trace
    struct hdi_trace *trace;   // optional
    _Atomic uint64_t memory;   // held by buffers [bytes]
    _Atomic uint64_t peak;     // most of it at one time [bytes]
    atomic_uint views;         // of buffers: see hdi_buffer_view()
    // Where there are several devices: what launches started there are expected
    // to take yet [ns], work-groups that have run, what was copied there
    // [bytes], and how long a megabyte takes [ns], 0: not known.
    _Atomic uint64_t ahead, ran, brought, bringing;
    _Atomic uint64_t prepared; // for one of these, the last time [ns]
};

// The device and the trace stay the caller's and must live longer; the pool is
// destroyed before the launcher, so that no worker uses its unit any more. A
// worker opens its unit, on its own thread, when it runs its first leaf.
hd_status hdi_launcher_create(struct hd_pool *pool, struct hdi_device *device,
                              struct hdi_trace *trace,
                              struct hdi_launcher **launcher,
                              struct hd_error *error);
void hdi_launcher_destroy(struct hdi_launcher *launcher);

// Put the counters of workers and units into the trace, if there is one.
// Nothing may run meanwhile.
void hdi_launcher_trace(struct hdi_launcher *launcher);

// Detach a unit of its own threads while the launcher is in use, attach it
// again. Workers go on with the units left, or alone. Detaching waits for
// what the unit holds: not on a thread that a launch waits for.
//
// Errors: HD_ENOENT (no such unit), HD_ELIMIT (it hangs, or no more threads)
hd_status hdi_launcher_attach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error);
hd_status hdi_launcher_detach(struct hdi_launcher *launcher, unsigned unit,
                              struct hd_error *error);

// As hd_unit_counters().
hd_status hdi_launcher_count(const struct hdi_launcher *launcher, unsigned unit,
                             struct hd_unit_counters *counters,
                             struct hd_error *error);

#endif
