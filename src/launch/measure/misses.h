// The bytes that leaves move between memory and the caches, by the processor's
// counter of cache misses, where the system lets it be read.
//
// Each worker has a counter of its own thread, opened when it first needs one.
// A reading is a system call. So a worker reads its counter around a leaf only
// if it has not for a hundred times as long as that took: it is 1 % of the time
// at most, however short leaves are, and whether what is waited for between
// them is long. Leaves in between are taken to move as much per work-group.
#ifndef HDI_LAUNCH_MEASURE_MISSES_H
#define HDI_LAUNCH_MEASURE_MISSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// What is counted, in terms of perf_event_open(2), and the bytes of each.
struct hdi_misses_source {
    uint32_t type;
    uint64_t config, bytes;
};

// Misses of the last cache that the processor counts by thread, a line each.
struct hdi_misses_source hdi_misses_of_cache(void);

// The processor has fewer counters than may be asked for, and takes turns: it
// counted for `running` out of `enabled` [ns].
struct hdi_misses_reading {
    uint64_t count, enabled, running;
};

// One worker's, used by its thread alone. All 0: not opened yet.
struct hdi_misses {
    _Alignas(64) uint64_t next; // no reading before [ns]
    uint64_t spent;             // on the reading in front of the leaf [ns]
    struct hdi_misses_reading before;
    int file;   // of the counter, and
    int thread; // whose misses it counts, 0: nobody's
};

// Whether leaves that begin now are to be counted. Cheap.
static inline bool hdi_misses_are_due(const struct hdi_misses *misses,
                                      uint64_t now)
{
    return now >= misses->next;
}

// Around a leaf, which may have others inside; they are not counted. `now`: the
// time just before the call. False: it could not be counted.
bool hdi_misses_begin(struct hdi_misses *misses,
                      const struct hdi_misses_source *source, uint64_t now);
bool hdi_misses_end(struct hdi_misses *misses,
                    const struct hdi_misses_source *source, uint64_t now,
                    uint64_t *bytes);

// The thread may be gone.
void hdi_misses_close(struct hdi_misses *misses);

// What was counted from one reading to a later one, as if all the time had been
// counted. False: none of it was.
bool hdi_misses_between(const struct hdi_misses_reading *before,
                        const struct hdi_misses_reading *after, double *count);

// Whether this thread's can be counted; else why not, an errno.
int hdi_misses_try(const struct hdi_misses_source *source);

#endif
