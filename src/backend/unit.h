// What a unit is inside: cores that run the parts of one task at a time.
//
// unit.c is compiled for the host and, without a C library, for GPUs. It is the
// same program on every core; what differs between platforms are the functions
// at the end, which backend/cpu (threads) or a GPU backend (a tile) defines.
#ifndef HDI_BACKEND_UNIT_H
#define HDI_BACKEND_UNIT_H

#include "backend/mailbox.h"

// The memory that the cores of one unit share. All but the mailbox is written
// by one core and read by others with a barrier between.
struct hdu_unit {
    struct hdi_mailbox *mailbox;
    enum hdi_mailbox_mode mode;
    uint32_t cores;
    union { // by the primary core
        struct hdi_unit_task task;
        uint64_t words[HDI_TASK_WORDS]; // as it comes
    };
    struct hdi_unit_shape shape;   // by the primary core
    uint64_t shaped;               // the task that brought it; the same
    bool stay;                     // by the primary core
    uint8_t codes[HDI_UNIT_CORES]; // of each core's part; 0: success
};

// Serve the mailbox until a task says DISCONNECT or the worker has given the
// unit up. Every core of the unit calls it with its rank, 0 the primary's.
void hdu_unit_serve(struct hdu_unit *unit, uint32_t rank);

// How many parts a box of groups has on so many cores.
static inline uint32_t hdu_parts(const uint32_t count[3], uint32_t cores)
{
    uint64_t groups = (uint64_t)count[0] * count[1] * count[2];
    return groups < cores ? (uint32_t)groups : cores;
}

// What a platform gives --------------------------------------------------

// Wait until every core of the unit is here; what they wrote is then seen.
void hdu_barrier(struct hdu_unit *unit, uint32_t rank);

// The primary core has looked for task `number` in vain `round` times before.
void hdu_pause(struct hdu_unit *unit, uint64_t number, uint32_t round);

// Run the box `first`, `count` of unit->task. Returns 0 or a code up to 255.
uint32_t hdu_run(struct hdu_unit *unit, uint32_t rank, const uint32_t first[3],
                 const uint32_t count[3]);

#endif
