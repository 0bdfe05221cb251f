// Units: threads of their own that run leaves of launches for the workers.
//
// A runtime that was made with `units` in its parameters deals them to its
// workers like cards. Each is pinned to a core of its own, from the last core
// down, as long as one is left for a worker.
#ifndef HEDDLE_UNIT_H
#define HEDDLE_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/place.h"
#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_runtime;

/// The number of units, attached or not; 0: workers run leaves themselves.
///
/// Threads: any
HD_API unsigned hd_runtime_units(const struct hd_runtime *runtime);

/// Let a unit leave while everything runs: it takes nothing new, finishes what
/// it has, and its threads end. Its worker goes on with the units it has left,
/// or runs leaves itself. Attached again, it takes part again. Neither does
/// anything when it is so already.
///
/// Errors:  HD_ENOENT (no such unit); attaching: HD_ELIMIT (it still hangs in a
///          kernel, or no more threads), HD_ENOMEM
/// Threads: any; hd_unit_detach() waits for what the unit runs, so not one that
///          a launch waits for
HD_API hd_status hd_unit_detach(struct hd_runtime *runtime, unsigned unit,
                                struct hd_error *error);
HD_API hd_status hd_unit_attach(struct hd_runtime *runtime, unsigned unit,
                                struct hd_error *error);

enum {
    HD_TRIP_BUCKETS = 40
};

/// What a unit did since its start; nothing is ever reset.
struct hd_unit_counters {
    bool attached;
    unsigned worker; // whose leaves it runs
    unsigned module; // units of the same one share a cache
    uint64_t leaves; // pieces of launches run
    uint64_t groups; // work-groups in them
    uint64_t busy;   // time in them [ns]

    // Round trips, from ringing the unit's doorbell to its answer being seen,
    // with the leaf and those before it in between: trips[i] took 2^i ns or
    // more, and less than 2^(i + 1).
    uint64_t trips[HD_TRIP_BUCKETS];
};

/// Copy the counters of a unit; a running unit's may lag slightly.
///
/// Errors:  HD_ENOENT (no such unit)
/// Threads: any
HD_API hd_status hd_unit_counters(const struct hd_runtime *runtime,
                                  unsigned unit,
                                  struct hd_unit_counters *counters,
                                  struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
