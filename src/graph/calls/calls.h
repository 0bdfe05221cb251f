// Graphs of calls: passes that each call one function, and are many and short.
//
// A pass is 16 bytes, and 4 for each resource that it names and each pass that
// it comes after; names and places are kept beside, of those that have any.
// What comes after what is derived when a second worker can use it: one worker
// alone runs the passes in program order, which needs no edges and no counters.
//
// Invariants: a pass comes after passes of smaller index only. Nothing moves
// once it is added. What does not fit in here is not added: the caller keeps
// the whole graph as one of any kind of passes then (compact.c).
#ifndef HDI_GRAPH_CALLS_H
#define HDI_GRAPH_CALLS_H

#include <pthread.h>
#include <stdatomic.h>

#include "heddle/graph.h"
#include "heddle/task.h"

// A block of a list is 4096 items: as many passes are 64 KiB, uses 16 KiB.
// Smaller ones are allocated more often; larger ones are a waste in small
// graphs, where a list has one block at least when anything is in it.
// HDI_CALLS_LOCAL bounds what a worker may hold back from others, and lies on
// its stack.
enum {
    HDI_CALLS_BLOCK = 4096, // items of a list that lie together
    HDI_CALLS_LOCAL = 256   // passes that a worker has for itself
};

// An index shares its word with two bits (enum hdi_calls_how), or with one.
// Both limits are whole blocks, so a list is full when its blocks are.
#define HDI_CALLS_MAX     (UINT32_C(1) << 30) // passes; resources
#define HDI_CALLS_USES    (UINT32_MAX - (HDI_CALLS_BLOCK - 1)) // of all passes
#define HDI_CALLS_WRITTEN (UINT32_C(1) << 31) // a bit of a resource

// A list in blocks.
//
// Adding moves nothing, so a run may go on along it by address, block by block,
// and no memory is copied when a list of millions grows. `blocks` itself may
// move: lists are read only while nobody adds.
struct hdi_calls_list {
    char **blocks;
    uint32_t count, room;           // items; those that fit in the blocks
    uint32_t block_count, capacity; // blocks; room for blocks
};

static inline void *hdi_calls_at(const struct hdi_calls_list *list,
                                 uint32_t index, size_t size)
{
    return list->blocks[index / HDI_CALLS_BLOCK] +
           index % HDI_CALLS_BLOCK * size;
}

typedef hd_status (*hdi_calls_function)(void *data, struct hd_error *error);

// A pass. Where its uses end is where those of the next begin, so that is not
// kept.
//
//     passes   | f, 0        | f, 2               | f, 5
//     uses     | r3 R | r4 W | r4 R | r7 W | p0 A | ...
struct hdi_calls_pass {
    uint32_t function; // index into functions
    uint32_t uses;     // the first; up to those of the next pass
    void *data;
};

// How a pass uses something: the two low bits of a use. The others are the
// index of a resource or pass.
enum hdi_calls_how {
    HDI_CALLS_READS,
    HDI_CALLS_WRITES,
    HDI_CALLS_OVERWRITES,
    HDI_CALLS_AFTER
};

// What many resources have in common. Strings are the graph's.
struct hdi_calls_kind {
    const char *name, *where;
    struct hd_shape shape;
};

// Of a pass that has a name or a place. They ascend by pass, so one is found by
// halving.
struct hdi_calls_label {
    uint32_t pass;
    const char *name, *where;
};

// An order that could not be a use of its pass, as that was not the newest any
// more, or that has a place to be named in messages.
struct hdi_calls_order {
    uint32_t from, to;
    const char *where;
};

// Whoever runs it.
//
// Copied when a run starts; what it points to stays until end() has been
// called.
struct hdi_calls_host {
    struct hd_pool *pool;
    const atomic_bool *cancel;
    struct hd_group *group;
    // A pass has failed; any worker.
    void (*fail)(void *data, uint32_t pass, hd_status status,
                 const struct hd_error *error);
    // The run has ended, and so many passes failed or did not run. The graph
    // may be gone when this returns.
    void (*end)(void *data, uint32_t not_run);
    void *data;
};

// A job that is submitted and has not begun.
//
// Jobs are not workers: `waits` is cleared when one begins, and then it may be
// submitted again, for another worker, while the first still runs passes. Under
// the lock; that of the first job of a run is the starter's until it begins.
struct hdi_calls_job {
    struct hd_work work;
    struct hdi_calls *calls;
    bool waits;
};

// Owned by its graph. One thread builds and prepares it; during a run only what
// stands behind "A run" changes, and `pace` and the like when it has ended.
struct hdi_calls {
    struct hdi_calls_list passes;    // struct hdi_calls_pass
    struct hdi_calls_list uses;      // uint32_t
    struct hdi_calls_list resources; // uint32_t: index into kinds, and WRITTEN
    hdi_calls_function *functions;
    struct hdi_calls_kind *kinds;
    struct hdi_calls_label *labels; // by pass
    struct hdi_calls_order *orders; // stated when there were later passes
    uint32_t function_count, function_room, kind_count, kind_room;
    uint32_t label_count, label_room, order_count, order_room;

    // Derived by hdi_calls_link(); the successors of pass i are after[first[i]]
    // up to after[first[i + 1]].
    bool linked;
    uint32_t *first, *after;

    // What a pass takes of a processor, in the last run that ended well [ns];
    // 0: none has.
    uint64_t pace;
    uint64_t alone; // the same, the last time that one worker ran some alone
    // Where several workers took as long as one would, one runs the next graph
    // alone, and more of them each time.
    uint32_t apart, next_apart; // runs

    // A run. Workers read this before each pass; it is set before they come.
    struct hdi_calls_host host;
    const struct hd_group *all; // of the pool: cancelled when that is
    atomic_bool stopped;        // a pass has failed
    bool joined;                // others may have passes of it
    uint64_t begin;             // by the clock [ns]
    _Atomic uint32_t *left;     // of each pass: those it still waits for
    uint32_t *shared;           // ready passes, for any worker; under the lock
    struct hdi_calls_job *jobs; // one for each worker; under the lock
    uint32_t job_count;

    // On a line of their own, as passes that go from one worker to another, and
    // jobs that come and go, change these: the lock, and what is written under
    // it.
    _Alignas(64) pthread_mutex_t lock;
    _Atomic uint32_t shared_count;
    // Jobs; those of them that have no pass. Looked at without the lock, too.
    _Atomic uint32_t active, idle;
    _Atomic uint32_t finished; // passes
    _Atomic uint64_t busy;     // over all workers [ns]
};

// NULL without memory.
struct hdi_calls *hdi_calls_create(void);
void hdi_calls_free(struct hdi_calls *calls);

// The kind of the newest resource, or NULL.
static inline const struct hdi_calls_kind *hdi_calls_newest(
    const struct hdi_calls *calls)
{
    return calls->kind_count ? &calls->kinds[calls->kind_count - 1] : NULL;
}

// Add a resource of this kind; NULL: of the newest one's. False: not added.
bool hdi_calls_add_resource(struct hdi_calls *calls,
                            const struct hdi_calls_kind *kind);

// Add a pass whose lists are there. `label` is NULL, or what messages call it.
// False: not added, for it names what is not there or reads what nobody wrote,
// or there is no memory.
bool hdi_calls_add(struct hdi_calls *calls, const struct hd_call_params *params,
                   const struct hdi_calls_label *label);

// Put pass `from` before `to`; both are there. False: not done, as above, or
// `to` was added first.
bool hdi_calls_order(struct hdi_calls *calls, uint32_t from, uint32_t to,
                     const char *where);

// What messages call a pass; never NULL.
struct hdi_calls_label hdi_calls_label(const struct hdi_calls *calls,
                                       uint32_t pass);

static inline struct hdi_calls_pass *hdi_calls_pass(
    const struct hdi_calls *calls, uint32_t index)
{
    return hdi_calls_at(&calls->passes, index, sizeof(struct hdi_calls_pass));
}

static inline const struct hdi_calls_kind *hdi_calls_kind(
    const struct hdi_calls *calls, uint32_t resource)
{
    uint32_t word = *(uint32_t *)hdi_calls_at(&calls->resources, resource,
                                              sizeof(uint32_t));

    return &calls->kinds[word & ~HDI_CALLS_WRITTEN];
}

static inline uint32_t hdi_calls_use(const struct hdi_calls *calls,
                                     uint32_t index)
{
    return *(uint32_t *)hdi_calls_at(&calls->uses, index, sizeof(uint32_t));
}

// Where the uses of a pass end.
static inline uint32_t hdi_calls_uses_end(const struct hdi_calls *calls,
                                          uint32_t pass)
{
    return pass + 1 < calls->passes.count
               ? hdi_calls_pass(calls, pass + 1)->uses
               : calls->uses.count;
}

// Derive successors, if that is not done. False without memory.
bool hdi_calls_link(struct hdi_calls *calls);

// Make room for runs with this many workers. False without memory.
bool hdi_calls_prepare(struct hdi_calls *calls, unsigned workers);

// Start a run; host->end() is called when it has ended, maybe before this
// returns. `here`: this thread runs passes too, as one of as many as there are
// workers. Prepared, and not running.
//
// Nothing may be added, linked or prepared until host->end() is called. It is
// called once, by the job that leaves last.
void hdi_calls_start(struct hdi_calls *calls, const struct hdi_calls_host *host,
                     bool here);

#endif
