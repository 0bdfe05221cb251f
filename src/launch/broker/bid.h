// Launches, as the broker knows them.
#ifndef HDI_LAUNCH_BROKER_BID_H
#define HDI_LAUNCH_BROKER_BID_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heddle/task.h"
#include "launch/box.h"
#include "launch/broker/demand.h"

struct hdi_bid;

// A piece of a launch that was granted to a worker. The worker may lend parts
// of it to units that have threads of their own; the grant ends, and its lease
// with it, when all of them have been returned.
// One entry of a table by lease, so it needs no allocation. Invariant: `parts`
// counts the worker that runs it and each lent part; whoever brings it to 0
// finishes it, and nobody else touches it then.
struct hdi_grant {
    struct hdi_bid *bid;
    bool alone; // nobody else wants the workers: divide it among them

    // The broker's.
    atomic_bool lent; // a part of it
    uint32_t lease, module;
    int32_t extra, wide, cache; // of its memory, bandwidth and cache, so much
                                // was not taken from what was left [blocks]
    uint64_t groups;
    int64_t charged;        // expected [ns]
    _Atomic uint32_t parts; // not returned, and 1 while a worker runs it
    _Atomic uint64_t time;  // of what has been [ns]
};

// What a launch does for the broker.
// One for all launches (divide.c); called without the broker's lock but for
// `piece` and `demand`, which must not call the broker.
struct hdi_bidder {
    // Run the groups of the box, or lend them.
    void (*run)(struct hd_worker *worker, struct hdi_grant *grant,
                struct hdi_box *box);
    // How many groups to run before the broker is asked again.
    uint64_t (*piece)(const struct hdi_bid *bid);
    // Return what units have finished, of any launch; whether there was any.
    // NULL: nothing is lent.
    bool (*collect)(struct hd_worker *worker, struct hdi_bid *bid);
    // Guess bid->demand, where a module has such a cache [bytes]. NULL: it is
    // what the bid says.
    void (*demand)(struct hdi_bid *bid, uint64_t cache);
};

// A launch, as the broker knows it; a part of the launch.
//
//     given                 take()               the end of its last part
//     boxes ---> packet in a channel ---> grant ------> pending - 1
//                or in line for one
//
// It lies in the launch, which waits until `pending` is 0.
struct hdi_bid {
    const struct hdi_bidder *bidder;
    enum hd_priority priority;
    uint64_t local; // memory of one work-group near its core [bytes]
    struct hdi_demand demand;

    // The broker's, under its lock.
    struct hdi_box *boxes; // given and not begun
    uint32_t count, room;
    uint32_t channel;
    bool queued;            // its packet is in the channel
    bool known;             // its demand
    bool counted;           // its data, among those that may be in the cache
    uint16_t bandwidth;     // that its packet needs [blocks]
    struct hdi_bid *behind; // in the line for a place in a channel
    int64_t served;         // time it has had, pieces under way included [ns]
    int64_t expected;       // of the next piece [ns]
    // Boxes given and pieces taken that have not finished, and the highest bit
    // when a thread sleeps on it. Falls to 0 with release, by the last access
    // to the bid.
    _Atomic uint32_t pending;
};

// Priorities of a dispatcher begin with 1, the highest.
static inline uint8_t hdi_bid_level(const struct hdi_bid *bid)
{
    return bid->priority == HD_PRIORITY_HIGH     ? 1
           : bid->priority == HD_PRIORITY_NORMAL ? 2
                                                 : 3;
}

#endif
