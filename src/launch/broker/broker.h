// Which of several launches goes next on the workers.
//
// A launch that is alone divides itself among the workers and asks here nothing
// but one load per division. As soon as there are two, each gives the broker
// what it has not begun, and whoever is free takes it there piece by piece, in
// the order of a dispatcher: modules are the cores that share a cache, with a
// slot for each of their workers, blocks of local memory, of memory bandwidth
// and of the cache; every launch waits in a channel of its own as long as there
// are enough. Of equal priorities the launch goes first that has had the least
// time; but while the data of all do not fit a module's cache, those that are
// there keep their blocks for a while, and what does not fit beside them waits.
//
// Who is free: workers that wait for a launch of theirs, and servers, jobs of
// the pool that are submitted when somebody gives something. A server makes
// room for other work of the pool after a while.
//
// Any thread may call anything at any time; one lock guards everything, held
// for a decision.
#ifndef HDI_LAUNCH_BROKER_BROKER_H
#define HDI_LAUNCH_BROKER_BROKER_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/task.h"
#include "launch/broker/bid.h"

struct hdi_broker;

// What is left out, to measure what it is worth. All 0: nothing.
struct hdi_broker_rules {
    bool no_bandwidth; // as a resource
    bool no_cache;     // as a resource
    bool no_matching;  // whoever's turn it is goes, or nobody
    bool no_windows;   // the highest priority goes first, always
    uint64_t tenure;   // how long a launch keeps its cache; 0: 20 ms [ns]
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
