// Which of several launches goes next on the workers.
//
// A launch that is alone divides itself among the workers and asks here nothing
// but one load per division. As soon as there are two, each gives the broker
// what it has not begun, and whoever is free takes it there piece by piece, in
// the order of a dispatcher: modules are the cores that share a cache, with a
// slot for each of their workers, blocks of local memory and blocks of memory
// bandwidth; every launch waits in a channel of its own as long as there are
// enough. Of equal priorities the launch goes first that has had the least
// time; but one whose data are in the cache stays for a while when the data of
// all do not fit.
//
// Who is free: workers that wait for a launch of theirs, and servers, jobs of
// the pool that are submitted when somebody gives something. A server makes
// room for other work of the pool after a while.
//
// Any thread may call anything at any time; one lock guards everything, held
// for a decision.
#ifndef HDI_LAUNCH_BROKER_BROKER_H
#define HDI_LAUNCH_BROKER_BROKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heddle/task.h"
#include "launch/box.h"
#include "launch/broker/demand.h"

struct hdi_broker;

struct hdi_bid;

// A piece of a launch that was granted to a worker. The worker may lend parts
// of it to units that have threads of their own; the grant ends, and its lease
// with it, when all of them have been returned.
struct hdi_grant {
    struct hdi_bid *bid;
    bool alone; // nobody else wants the workers: divide it among them

    // The broker's.
    atomic_bool lent; // a part of it
    uint32_t lease, module;
    int32_t extra, wide; // of its memory and bandwidth, so much was not left
                         // [blocks]
    uint64_t groups;
    int64_t charged;        // expected [ns]
    _Atomic uint32_t parts; // not returned, and 1 while a worker runs it
    _Atomic uint64_t time;  // of what has been [ns]
};

// What a launch does for the broker.
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

// What is left out, to measure what it is worth. All false: nothing.
struct hdi_broker_rules {
    bool no_bandwidth; // as a resource
    bool no_tenure;    // of launches whose data are in the cache
    bool no_matching;  // whoever's turn it is goes, or nobody
    bool no_windows;   // the highest priority goes first, always
};

// A launch, as the broker knows it; a part of the launch.
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

// `units` have threads of their own; `rules` is optional.
hd_status hdi_broker_create(struct hd_pool *pool, unsigned units,
                            const struct hdi_broker_rules *rules,
                            struct hdi_broker **broker, struct hd_error *error);
void hdi_broker_destroy(struct hdi_broker *broker); // NULL is allowed

// Store the calibrated weights of a worker slot and of a block of local memory
// with every module. From then on a server is called to the module where,
// of those with sleeping workers, the most is left by weight.
void hdi_broker_weigh(struct hdi_broker *broker, uint32_t slot, uint32_t local);

// The bandwidth of every module is at least this [bytes/ns].
void hdi_broker_know(struct hdi_broker *broker, double bandwidth);

// From here to hdi_broker_leave() the launch counts as one that wants workers.
void hdi_broker_enter(struct hdi_broker *broker);
void hdi_broker_leave(struct hdi_broker *broker, struct hdi_bid *bid);

// Whether several launches want the workers. One load; it may lag a moment.
bool hdi_broker_is_asked(const struct hdi_broker *broker);

// Let the broker see to these groups. False without memory: nothing happened.
bool hdi_broker_give(struct hdi_broker *broker, struct hdi_bid *bid,
                     const struct hdi_box *box);

// How many boxes were given so far.
uint64_t hdi_broker_given(struct hdi_broker *broker);

// How many servers were called to the module so far.
uint64_t hdi_broker_called(struct hdi_broker *broker, uint32_t module);

// Lend a part of what was granted to a unit, before the unit can have it.
// Whoever sees that it has ended, or that nobody takes it, returns it, with the
// time it took [ns]; the grant may be gone afterwards.
void hdi_broker_lend(struct hdi_grant *grant);
void hdi_broker_return(struct hdi_broker *broker, struct hdi_grant *grant,
                       uint64_t time);

// Wait for everything that was given. A worker (else NULL) serves meanwhile.
void hdi_broker_wait(struct hdi_broker *broker, struct hdi_bid *bid,
                     struct hd_worker *worker);

#endif
