// Events with times, for tools: written as Chrome trace JSON, which Perfetto
// opens.
//
// A trace belongs to a runtime. Whoever records has a track of its own (a
// worker, a unit, the thread that runs a graph) and is its only writer; a NULL
// track means tracing is off and costs one predicted branch. A track grows in
// blocks up to a limit; what does not fit is counted and the count is written.
//
//     uint64_t begin = hdi_trace_now(track);
//     ...
//     hdi_trace_span(track, HDI_EVENT_chunk, begin, name, groups);
#ifndef HDI_TRACE_TRACE_H
#define HDI_TRACE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"
#include "heddle/status.h"

struct hdi_trace;
struct hdi_track;

enum hdi_trace_event {
#define EVENT(name, what, amount) HDI_EVENT_##name,
#include "trace/events.def"
#undef EVENT
    HDI_EVENT_COUNT
};

// Shared with device code: fixed layout, host byte order.
struct hdi_record {
    uint64_t begin, end; // [ns]; equal for something without a length
    uint16_t event;
    uint16_t reserved;
    uint32_t what;
    uint64_t amount;
};
_Static_assert(sizeof(struct hdi_record) == 32, "device ABI");

hd_status hdi_trace_create(struct hdi_trace **trace);
void hdi_trace_destroy(struct hdi_trace *trace);

// Add a track shown as `name`. NULL trace: NULL track. NULL too when there is
// no memory: then nothing of it is recorded and a warning says so. Any thread.
struct hdi_track *hdi_track_create(struct hdi_trace *trace, const char *name);

// Index of `name` among the names of this trace; the same for the same text.
// Any thread; takes a lock, so ask once and keep the answer. 0 without a trace.
uint32_t hdi_trace_name(struct hdi_trace *trace, const char *name);

void hdi_track_record(struct hdi_track *track, enum hdi_trace_event event,
                      uint64_t begin, uint64_t end, uint32_t what,
                      uint64_t amount);

// Record what lasted from `begin` until now on the track of those that have
// none of their own. Any thread; takes a lock. Nothing without a trace.
void hdi_trace_outside(struct hdi_trace *trace, enum hdi_trace_event event,
                       uint64_t begin, uint32_t what, uint64_t amount);

// A figure that is written with the track, at its end; setting it again
// replaces it. Not while anybody writes the trace. Nothing without a track, or
// with HDI_TRACK_FIGURES others.
enum {
    HDI_TRACK_FIGURES = 64
};
void hdi_track_set(struct hdi_track *track, const char *name, uint64_t value);

static inline uint64_t hdi_trace_now(const struct hdi_track *track)
{
    return __builtin_expect(track != NULL, 0) ? hdi_now() : 0;
}

static inline void hdi_trace_span(struct hdi_track *track,
                                  enum hdi_trace_event event, uint64_t begin,
                                  uint32_t what, uint64_t amount)
{
    if (__builtin_expect(track != NULL, 0))
        hdi_track_record(track, event, begin, hdi_now(), what, amount);
}

static inline void hdi_trace_mark(struct hdi_track *track,
                                  enum hdi_trace_event event, uint32_t what,
                                  uint64_t amount)
{
    if (__builtin_expect(track != NULL, 0)) {
        uint64_t now = hdi_now();
        hdi_track_record(track, event, now, now, what, amount);
    }
}

// What somebody else has to add to a trace that is written.
struct hdi_trace_more {
    // Events: each begins with a comma and is whole. `start` is time 0 [ns].
    void (*events)(void *data, uint64_t start, struct hdi_text *text);
    // Members of the object beside the events: each begins with a comma.
    void (*members)(void *data, struct hdi_text *text);
    void *data;
};

// Write everything so far; what is recorded meanwhile may be missing, and who
// takes the lock waits. HD_EIO on a failed write. `more` may be NULL.
hd_status hdi_trace_write(struct hdi_trace *trace,
                          const struct hdi_trace_more *more, FILE *file);

// Call `each` for all records of one kind so far, with the name of their track,
// under the lock. Nothing without a trace.
void hdi_trace_visit(struct hdi_trace *trace, enum hdi_trace_event event,
                     void (*each)(void *data, const char *track,
                                  const struct hdi_record *record),
                     void *data);

// A time as the format wants it: microseconds, with the ns.
void hdi_trace_time(struct hdi_text *text, uint64_t ns);

#endif
