// Where units wait for each other that share a launch whose work-groups do.
//
// A unit comes when none of its work-items can go on without the others'. When
// all units have come, and all work-items stand at the same barrier or have all
// ended, all go on.
#ifndef HDI_BACKEND_MEETING_H
#define HDI_BACKEND_MEETING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    HDI_MEETING = 256 // most members
};

// Where a work-item has stopped.
struct hdi_stand {
    bool ended;    // else it waits
    uint32_t line; // at the barrier of this line
    uint64_t item[3];
};

// All zero: nobody has come.
struct hdi_meeting {
    _Alignas(128) atomic_uint arrived;
    _Alignas(128) _Atomic uint32_t round; // futex
    atomic_uint sleepers;
    struct hdi_stand stands[HDI_MEETING]; // of the members that have arrived
};

// A member's part of the launch.
struct hdi_share {
    struct hdi_meeting *meeting;
    unsigned rank, members;
    uint64_t first, count; // of the work-groups of the box, x fastest
};

enum hdi_met {
    HDI_MET,
    HDI_MET_APART,  // not all stand at the same place
    HDI_MET_STOPPED // `stop` was set
};

// Wait for the other members. HDI_MET_APART is for one member only, which sets
// `stop` for the others; `*other` is then where somebody else stands. Spins for
// a moment, then sleeps.
enum hdi_met hdi_meeting_come(const struct hdi_share *share,
                              const struct hdi_stand *stand,
                              const atomic_int *stop, struct hdi_stand *other);

#endif
