// Events: the ends of things that are started and not waited for.
//
// Every event has a record. It counts what it comes after; the one that ends
// last hands it to the workers, and whoever ends it, from any thread, counts
// down those that come after it. Records are used again and never given back
// while the pool is there, so anybody may look at one at any time: a handle
// names a record and its generation, and a look at a later one finds that.
//
// Two words of a record hold its generation. `head` is the list of those that
// come after it, or says that it has ended: they are added by compare and
// exchange, so nobody is added to an event that has ended or to a later one.
// `life` counts who needs the record: its end, its start (a job in a queue may
// be run when it has been cancelled), and everybody who holds or looks at it.
#ifndef HDI_STEAL_EVENT_H
#define HDI_STEAL_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "heddle/event.h"
#include "heddle/task.h"

struct hdi_event;

// What is started, for who starts it.
struct hdi_event_kind {
    // Run, on a worker. True: it has ended, and `error` says how; it comes with
    // HD_OK, or with what has failed before. False: hdi_event_end() ends it.
    bool (*run)(struct hd_worker *worker, struct hdi_event *event,
                struct hd_error *error);
    // Give up what it holds; called once, when it ends, run or not, on any
    // thread. Optional.
    void (*drop)(struct hdi_event *event);
};

// Why something failed, shared by all that fail for it.
struct hdi_cause;

// What it took, on which workers and units, as in hd_event_info.
struct hdi_cost {
    _Atomic uint64_t busy, groups, workers, units;
    _Atomic uint64_t last; // when its latest leaf ended
};

// In hdi_event.bytes: the hardware has counted them, and they are set when what
// was started ends, else when it is started.
#define HDI_COUNTED (UINT64_C(1) << 63)

enum {
    HDI_EVENT_INPUTS = 8,    // links of a record
    HDI_EVENT_SEGMENT = 512, // records made at a time
    HDI_EVENT_ROOM = 768,    // of a record itself [bytes]
    HDI_EVENT_MAX = 1 << 24  // of a pool
};

// By lines of the cache: who starts an event and who runs it are on two cores
// as a rule.
struct hdi_event {
    // What others touch: who takes it, starts after it, or ends before it.
    _Alignas(64) _Atomic uint64_t life; // generation, references
    _Atomic uint64_t head;    // generation, newest of those that come after it
    _Atomic uint32_t waiting; // for so many ends, and 1 while it is started
    atomic_uchar phase;       // enum hd_event_state
    unsigned char priority;
    bool anyway, is_users;
    bool untimed; // nobody asks when it was queued: set before it is started
    uint32_t index, owner; // of its links: itself, unless they are lent
    uint32_t free_next;    // index + 1
    uint32_t drops;        // references that end with it
    const struct hdi_event_kind *kind; // NULL: nothing runs
    struct hd_pool *pool;

    _Alignas(64) struct hd_job job;
    struct hd_group group; // counts this event; cancels it
    _Atomic(struct hdi_cause *) cause;

    // Of who starts it.
    _Alignas(64) struct hd_group *within;
    void *room;
    size_t room_size;
    _Atomic uint64_t bytes;  // that it touches; HDI_COUNTED: that it moved
    _Atomic uint64_t queued; // [ns]
    struct hdi_event *link;  // of lists of one thread
    uint32_t input_count;
    uint32_t lent; // records whose links it uses

    uint32_t links[HDI_EVENT_INPUTS];  // lists that it is in, see progress.c
    hd_event inputs[HDI_EVENT_INPUTS]; // what those lists are of

    // Of who runs it; all 0 when it is taken.
    _Alignas(64) _Atomic uint64_t submitted; // [ns]
    _Atomic uint64_t started, ended;
    struct hdi_cost cost;

    // What is started, where it is small: who takes a record of a queue knows
    // the way to it.
    _Alignas(128) unsigned char own_room[HDI_EVENT_ROOM];
};

// All events of a pool.
struct hdi_events {
    _Alignas(64) _Atomic uint64_t free; // count of changes, index + 1
    _Alignas(64) pthread_mutex_t lock;  // who makes more
    struct hdi_event **segments;
    atomic_uint made;
    atomic_uint bound;           // so many, before starters wait
    _Atomic uint32_t given_back; // futex: counts, while somebody waits
    _Atomic uint32_t starters;   // that wait
    unsigned together;           // records that a worker gives back at a time
};

// Records of no use any more that a worker has not given back yet, linked.
struct hdi_spent {
    struct hdi_event *first, *last;
    uint32_t count;
};

// Give back the records that a worker has kept, before it waits for others or
// sleeps.
void hdi_record_give_back(struct hd_worker *worker);

// `bound` 0: the default. `lone`: one thread at a time starts and runs them.
// False without memory. Destroy when no thread is left: what has not ended is
// dropped.
bool hdi_events_init(struct hdi_events *events, unsigned bound, bool lone);
void hdi_events_destroy(struct hdi_events *events);

// Get a record; may wait or run something first (hd_pool_params.events).
hd_status hdi_event_take(struct hd_pool *pool,
                         const struct hdi_event_kind *kind,
                         struct hdi_event **event, struct hd_error *error);

// Memory that goes with the record, aligned to 128; NULL: there is none. Up to
// HDI_EVENT_ROOM it is the record's own; more stays when the record is used
// again, so this seldom allocates.
void *hdi_event_room(struct hdi_event *event, size_t size);

// The handle that it has, or will have when it is started.
hd_event hdi_event_handle(const struct hdi_event *event);

// The memory is somebody else's now; it was more than HDI_EVENT_ROOM.
void hdi_event_lose_room(struct hdi_event *event);

// Start it; `handle` is optional. After an error it is dropped and given back.
// Or give it back unused: it is not dropped.
hd_status hdi_event_start(struct hdi_event *event, const struct hd_start *start,
                          hd_event *handle, struct hd_error *error);
void hdi_event_give_back(struct hdi_event *event);

// Whether `start` is good for a pool, before anything is taken for it.
hd_status hdi_event_check(struct hd_pool *pool, const struct hd_start *start,
                          struct hd_error *error);

// End what run() has left to be ended. Any thread. `text` is optional.
void hdi_event_end(struct hdi_event *event, hd_status status, const char *text);

// End an event of hd_event_create() well, and run here what is ready by that,
// and by the end of that, until `goal` has ended: who waits for it outside
// comes in with hd_pool_run() and need not wake anybody. The first of what is
// ready at a time is run; the rest is submitted.
void hdi_event_end_here(struct hd_worker *worker, hd_event event,
                        hd_event goal);

// Add a leaf's, on a worker or on a unit; any thread.
void hdi_cost_add(struct hdi_cost *cost, uint64_t begin, uint64_t end,
                  uint64_t groups, unsigned worker);
void hdi_cost_add_unit(struct hdi_cost *cost, uint64_t begin, uint64_t end,
                       uint64_t groups, unsigned unit);

// Run one that is ready and held, if nobody else does, and what becomes ready
// by that, until the goal is done.
void hdi_event_run_for(struct hd_worker *worker, struct hdi_event *e,
                       struct hd_group *goal);

// The function of the job of an event.
void hdi_run_event(struct hd_worker *worker, struct hd_job *job);

// This job was taken from an inbox. If it is an event's, the one behind it is
// most likely another, which this worker takes next: have it fetched meanwhile.
void hdi_event_expect(const struct hd_job *job);

#endif
