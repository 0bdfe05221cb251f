// Things that are started and not waited for: launches, copies, fills, calls of
// host functions; and events, which say that one of them has ended.
//
//     struct hd_start after_both = {.after = (hd_event[]){a, b},
//                                   .after_count = 2};
//     hd_event c;
//     hd_launch_start(runtime, &after_both, kernel, &range, args, 3, &c,
//                     &error);
//     ...
//     hd_event_wait(pool, &c, 1, HD_FOREVER, &error);
//     hd_event_release(pool, c);
//
// What is started runs as soon as everything that it comes after has ended, on
// the workers of the pool; no worker waits for it. Any number may be under way,
// started from any thread: by tasks, jobs, calls and callbacks too. What a
// start needs is taken when it is called: arguments and their values are
// copied, buffers and images are kept until it has ended, even if they are
// destroyed meanwhile. Programs are the caller's: destroy one only when nothing
// that was started with its kernels is under way.
//
// An event that fails passes its error on to what comes after it, which then
// ends at once with the same status and text, unless it asked to run anyway.
#ifndef HEDDLE_EVENT_H
#define HEDDLE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/place.h"
#include "heddle/priority.h"
#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hd_arg;
struct hd_buffer;
struct hd_group;
struct hd_kernel;
struct hd_piece;
struct hd_pool;
struct hd_range;
struct hd_runtime;
struct hd_worker;

/// The end of something, of one pool: a number, 0 for what has ended well.
///
/// An event is kept as long as it has not ended, and as long as somebody holds
/// it. Whoever starts something and asks for its event holds it until
/// hd_event_release(). An event that nobody holds can still be looked at,
/// waited for and come after: when it has ended and is gone, that is as if it
/// were 0.
typedef uint64_t hd_event;

#define HD_FOREVER UINT64_MAX // [ns]

/// How far it is; each state comes once, in this order.
enum hd_event_state {
    HD_EVENT_WAITS, // for what it comes after; a user's event: for its end
    HD_EVENT_READY, // to run
    HD_EVENT_RUNS,
    HD_EVENT_ENDED
};

/// What an event tells: when it was what, and what it cost.
struct hd_event_info {
    enum hd_event_state state;
    hd_status status; // HD_OK until it has ended
    // When it was started (the call), when everything before it had ended, when
    // it began to run, and when it ended; 0: not yet, or never. The clock is
    // CLOCK_MONOTONIC [ns].
    uint64_t queued, submitted, started, ended;
    // What it cost: time in its leaves on all workers and units together [ns],
    // work-groups, on which workers and units it was (bit i: number i, bit 63:
    // 63 and above), and the bytes that it moved: between memory and caches by
    // the hardware's counters, of some of its work-groups at least (`counted`),
    // where they may be read (`heddle info` tells), else estimated from its
    // arguments.
    uint64_t busy, groups, workers, units, bytes;
    bool counted;
};

/// A box of work-groups [work-groups].
struct hd_box {
    uint32_t first[3], count[3];
};

/// How something is started. All zero: at once.
///
/// Owner: the caller; lists are read during the call, `group` and `leaf_data`
/// must stay until the end
struct hd_start {
    const hd_event *after; // it runs when these have ended
    unsigned after_count;
    unsigned loose; // the first so many of these give it an order alone: that
                    // one of them failed is no failure of what is started
    bool anyway;    // run even if one of the others has failed
    enum hd_priority priority; // against others that are ready, and of launches
                               // at the same time
    struct hd_group *group;    // counts it until it has ended; cancelling the
                               // group cancels it. NULL: none
    // Of launches:
    uint64_t time_limit; // as in hd_launch_params
    uint64_t devices;    // as well
    enum hd_place place;
    unsigned unit;
    bool tasks;
    bool (*is_leaf)(const struct hd_piece *piece, void *data);
    void *leaf_data;
    // A part: the work-groups of this box alone run, with their ids as they are
    // in the whole launch. NULL: all.
    const struct hd_box *box;
};

// Events --------------------------------------------------------------------

/// Make an event that hd_event_end() ends.
///
/// Errors:  HD_ENOMEM, HD_ELIMIT (16 million at a time)
/// Owner:   the caller; hd_event_release()
/// Threads: any
HD_API hd_status hd_event_create(struct hd_pool *pool, hd_event *event,
                                 struct hd_error *error);

/// End an event of hd_event_create(), well or with an error: `text` says what
/// went wrong and may be NULL.
///
/// Errors:  HD_EINVAL (it is none of these, or has ended)
/// Threads: any; a signal handler not
HD_API hd_status hd_event_end(struct hd_pool *pool, hd_event event,
                              hd_status status, const char *text,
                              struct hd_error *error);

/// How far it is. One load.
///
/// Threads: any
HD_API enum hd_event_state hd_event_state(struct hd_pool *pool, hd_event event);

/// Wait until all of these have ended, `timeout` [ns] at most. A worker runs
/// what they come after meanwhile, and when there is nothing of that, a
/// spare thread takes its core (hd_blocking_begin()): jobs and calls that wait
/// for each other's events in no circle all go on, as long as no more than
/// HD_MAX_SPARE_THREADS wait at a time. Beyond that it runs anything, and what
/// hd_group_wait() says of older jobs is true. It costs nothing of the kind to
/// start something after the event instead.
///
/// Errors:  that of the first in the list that failed, or HD_ETIMEOUT when
/// there
///          was not enough time: hd_event_state() tells this from a launch that
///          ran into its time limit
/// Threads: any
HD_API hd_status hd_event_wait(struct hd_pool *pool, const hd_event *events,
                               unsigned count, uint64_t timeout,
                               struct hd_error *error);

/// The status of an event, HD_OK if it ended well, is gone or has not ended.
/// `error` gets the text of the first cause.
///
/// Errors:  what the event ended with
/// Threads: any
HD_API hd_status hd_event_status(struct hd_pool *pool, hd_event event,
                                 struct hd_error *error);

/// Its state, times and cost. False when it is gone (or 0): then `info` says
/// that it has ended, and nothing else.
///
/// Threads: any
HD_API bool hd_event_info(struct hd_pool *pool, hd_event event,
                          struct hd_event_info *info);

/// End it with HD_ECANCELED. What has not begun to run will not; a launch that
/// runs is stopped, as hd_group_cancel() would; a call can ask hd_cancelled().
/// Nothing when it has ended.
///
/// Threads: any
HD_API void hd_event_cancel(struct hd_pool *pool, hd_event event);

/// Hold it once more. False when it is gone.
///
/// Threads: any
HD_API bool hd_event_retain(struct hd_pool *pool, hd_event event);

/// Hold it no more. Nothing is stopped by that.
///
/// Threads: any
HD_API void hd_event_release(struct hd_pool *pool, hd_event event);

// Starting ------------------------------------------------------------------
//
// All of these return as soon as the thing is queued. `start` may be NULL for
// the defaults. `event` may be NULL: nobody looks at its end; else the caller
// holds what is returned there. On an error nothing was started.
//
// When many are under way (hd_pool_params.events), a start outside of the pool
// waits until some have ended, and a start on a worker runs something first;
// neither waits when nothing ends. So starting never needs to be rationed.
//
// Errors:  HD_EINVAL (an argument; an event that is none of the pool's),
//          HD_ENOMEM, HD_ELIMIT; a launch: as hd_launch_with()
// Threads: any

/// A function to be called on a worker. It gets the first cause of what failed
/// before it, if it runs anyway: error->status is HD_OK when nothing did. The
/// status that it returns is that of the event, and so is the text it leaves in
/// `error`. With `blocking`, a spare thread takes the worker's core meanwhile
/// (hd_blocking_begin()).
///
/// Owner: `data` is the caller's and must stay until the call has returned
struct hd_call {
    hd_status (*function)(struct hd_worker *worker, void *data,
                          struct hd_error *error);
    void *data;
    bool blocking;
};

/// Start a call: its event ends when the function has returned. `call` itself
/// is copied.
HD_API hd_status hd_call_start(struct hd_pool *pool,
                               const struct hd_start *start,
                               const struct hd_call *call, hd_event *event,
                               struct hd_error *error);

/// Start nothing: the event ends with the last of `start->after`.
HD_API hd_status hd_marker_start(struct hd_pool *pool,
                                 const struct hd_start *start, hd_event *event,
                                 struct hd_error *error);

/// Call `function(worker, status, data)` on a worker when `event` has ended,
/// however it ended.
HD_API hd_status hd_event_on_end(struct hd_pool *pool, hd_event event,
                                 void (*function)(struct hd_worker *worker,
                                                  hd_status status, void *data),
                                 void *data, struct hd_error *error);

/// As hd_launch_with(), but do not wait.
HD_API hd_status hd_launch_start(struct hd_runtime *runtime,
                                 const struct hd_start *start,
                                 const struct hd_kernel *kernel,
                                 const struct hd_range *range,
                                 const struct hd_arg *args, unsigned arg_count,
                                 hd_event *event, struct hd_error *error);

/// Bytes in memory: `bytes` of a row, `rows` of a slice, `slices`. A count of 0
/// in `rows` or `slices` means 1.
struct hd_extent {
    uint64_t bytes, rows, slices;
};

/// Where they are: `offset` [bytes] and how far from a row to the next, and
/// from a slice to the next [bytes]; 0: without gaps.
struct hd_layout {
    uint64_t offset, row_pitch, slice_pitch;
};

/// Copy between buffers, or within one where the parts do not overlap (the same
/// memory as both is HD_EINVAL). Layouts may be NULL: from the beginning on,
/// without gaps.
HD_API hd_status hd_copy_start(
    struct hd_runtime *runtime, const struct hd_start *start,
    struct hd_buffer *to, const struct hd_layout *to_layout,
    const struct hd_buffer *from, const struct hd_layout *from_layout,
    const struct hd_extent *extent, hd_event *event, struct hd_error *error);

/// Copy from host memory, which must stay until the end, to a buffer.
HD_API hd_status hd_write_start(
    struct hd_runtime *runtime, const struct hd_start *start,
    struct hd_buffer *to, const struct hd_layout *to_layout, const void *from,
    const struct hd_layout *from_layout, const struct hd_extent *extent,
    hd_event *event, struct hd_error *error);

/// Copy from a buffer to host memory, which must stay until the end.
HD_API hd_status hd_read_start(struct hd_runtime *runtime,
                               const struct hd_start *start, void *to,
                               const struct hd_layout *to_layout,
                               const struct hd_buffer *from,
                               const struct hd_layout *from_layout,
                               const struct hd_extent *extent, hd_event *event,
                               struct hd_error *error);

/// Write `pattern` of 1 to 128 bytes again and again over `size` bytes from
/// `offset` on; size is a multiple of its size.
HD_API hd_status hd_fill_start(struct hd_runtime *runtime,
                               const struct hd_start *start,
                               struct hd_buffer *to, uint64_t offset,
                               uint64_t size, const void *pattern,
                               unsigned pattern_size, hd_event *event,
                               struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
