// Which priority is the highest now, and whose turn it is among equals.
#ifndef HDI_DISPATCH_CHOICE_PRIORITY_H
#define HDI_DISPATCH_CHOICE_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/model/shape.h"
#include "heddle/status.h"

// A fixed period cut into one window per priority, each shorter than the one
// before. A single priority, or `period` 0, never rotates.
//
//     |      1      |    2    |   3   | 4 |      1      |    2    | ...
//     '------------ period -------------'
struct hdi_windows {
    unsigned priorities;                 // y, 1 to 8
    uint64_t length[HDI_MAX_PRIORITIES]; // [cycles]
    uint64_t period;                     // their sum [cycles]
};

// HD_EINVAL when a window is empty or not shorter than the one before.
hd_status hdi_windows_init(struct hdi_windows *windows, unsigned priorities,
                           const uint64_t *length, struct hd_error *error);

// Windows in the proportion y : y - 1 : ... : 1, the shortest `runs` sixteenths
// of `run` cycles, the first one `lead` times as long again (1: in proportion);
// shorter where the period would not stay below 2^63 cycles. False: the
// shortest would be empty, and nothing is changed.
bool hdi_windows_scale(struct hdi_windows *windows, unsigned priorities,
                       uint64_t run, unsigned runs, unsigned lead);

// The priority, 1 to y, whose window it is at `now` cycles after the period
// began.
unsigned hdi_windows_top(const struct hdi_windows *windows, uint64_t now);

// When the next window begins; UINT64_MAX when never.
uint64_t hdi_windows_next(const struct hdi_windows *windows, uint64_t now);

// Place in the current order, 0 first.
static inline unsigned hdi_priority_rank(unsigned priority, unsigned top)
{
    if (priority == top)
        return 0;
    return priority < top ? priority : priority - 1;
}

// The median of what was run, from counts by size: within 1/16 of the truth. It
// is looked for after every one of the first 64 and every 64th after.
struct hdi_median {
    uint64_t total;
    uint64_t middle; // as of the last time it was looked for
    uint64_t count[64 * 16];
};

void hdi_median_add(struct hdi_median *median, uint64_t cycles);

// 0: nothing yet.
static inline uint64_t hdi_median_get(const struct hdi_median *median)
{
    return median->middle;
}

#endif
