// A unit that is not on its worker's thread, and the leaves it holds.
//
// Units are dealt to workers like cards, so that counts differ by one at most;
// a worker gives its leaves to its own units, and any worker may put one on a
// unit that was named. Whoever finds a leaf finished takes it away, for
// whichever launch it belongs to.
//
// Any thread may call anything at any time: the lock is held for a submit or a
// look only, and nobody waits for it.
#ifndef HDI_LAUNCH_UNIT_PORT_H
#define HDI_LAUNCH_UNIT_PORT_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "heddle/unit.h"
#include "launch/box.h"
#include "trace/trace.h"

enum {
    HDI_PORT_LEAVES = 8 // most in flight on one unit
};

struct hdi_grant;

// What a leaf on a unit has of its module, or a list of several: see modules.h.
struct hdi_hold {
    uint32_t lease;  // 1 + that of a dispatcher; 0: none
    uint32_t region; // of local memory, as hdi_chunk.region
    uint32_t *helpers;
    uint32_t helper_count;
};

// One that is on a unit. It has what is needed to count it and to run it here.
struct hdi_leaf {
    void *launch;
    uint32_t name; // of its kernel, in the trace
    struct hdi_box box;
    uint64_t begin;          // handed over [ns]
    bool is_member;          // of a gang, which has the unit for itself
    struct hdi_grant *grant; // of the broker's that it is a part of, or NULL
    struct hdi_hold hold;
    uint64_t expected; // time it should take [ns]; 0: not known
};

// Written under the lock, read by anybody (relaxed).
struct hdi_port_counters {
    _Atomic uint64_t leaves, groups, busy;
    _Atomic uint64_t trips[HD_TRIP_BUCKETS]; // as struct hd_unit_counters
};

struct hdi_port {
    _Alignas(128) atomic_bool locked;
    atomic_bool open;      // takes leaves
    atomic_bool reserved;  // of members of gangs only; written under the lock
    struct hdi_unit *unit; // NULL: detached
    unsigned module;
    uint64_t taken;   // chunks taken away
    atomic_uint held; // leaves
    struct hdi_port_counters counters;
    struct hdi_track *track; // written under the lock; NULL: none
    uint64_t last_end;       // of the latest leaf [ns]
    struct hdi_leaf leaves[HDI_PORT_LEAVES];
};

// By value: the place in the ring is free when it is given out.
struct hdi_finished {
    struct hdi_leaf leaf;
    hd_status status; // HD_ECANCELED: it has not run, the unit was lost
    uint64_t begin, end;
    char text[320]; // of a failure
    bool has_fault;
    struct hdi_fault fault;
};

// Attach the unit, detach it when what it holds is done. Detaching waits, so it
// is not for a thread that a launch waits for.
hd_status hdi_port_attach(struct hdi_port *port, struct hdi_device *device,
                          unsigned index);
void hdi_port_detach(struct hdi_port *port, struct hdi_device *device);

// Let the unit take nothing but the next member of a gang. False: it is
// detached, reserved, or somebody else is at it. The reservation ends when the
// member is taken away, or released; until then the unit is not detached.
bool hdi_port_reserve(struct hdi_port *port);
void hdi_port_release(struct hdi_port *port);

// Whether there is a unit, which a leaf that hung may have changed.
bool hdi_port_is_attached(struct hdi_port *port);

// False: it is full, detached, reserved for others, or somebody else is at it.
bool hdi_port_submit(struct hdi_port *port, struct hdi_device *device,
                     const struct hdi_chunk *chunk,
                     const struct hdi_leaf *leaf);

// Leaves whose launch is to end need not be finished. Nothing when somebody
// else is at it: ask again.
void hdi_port_interrupt(struct hdi_port *port, struct hdi_device *device);

// Whether it holds a leaf of a launch that is like that; false when somebody
// else is at it.
bool hdi_port_has(struct hdi_port *port, bool (*is)(void *launch));

// All but the worker.
void hdi_port_count(const struct hdi_port *port,
                    struct hd_unit_counters *counters);

// Take a finished leaf away. A unit that was lost is closed with the last one.
bool hdi_port_take(struct hdi_port *port, struct hdi_device *device,
                   struct hdi_finished *finished);

#endif
