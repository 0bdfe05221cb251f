// Which group goes to which module, round by round.
//
// Pure: it knows bits and tables, neither threads nor hardware, nor time beyond
// the cycle numbers it is told (any monotonic unit will do). The caller submits
// packets, asks for rounds, and gives leases back when groups end. Nothing is
// allocated after creation. One caller at a time.
//
//     hdi_dispatcher_submit(d, channel, &packet, now, &error);
//     while (hdi_dispatcher_round(d, now, &decision) == HDI_ROUND_SENT)
//         start(decision.module, decision.tag, decision.group);
//     ...
//     hdi_dispatcher_release(d, decision.lease, cycles_it_ran);
#ifndef HDI_DISPATCH_DISPATCHER_H
#define HDI_DISPATCH_DISPATCHER_H

#include "base/random.h"
#include "dispatch/choice/balance.h"
#include "dispatch/choice/match.h"
#include "dispatch/choice/priority.h"
#include "dispatch/choice/split.h"
#include "dispatch/model/channel.h"
#include "dispatch/model/module.h"

enum hdi_order {
    HDI_ORDER_PRIORITY, // highest first, marks between equals
    HDI_ORDER_ROBIN,    // the next channel whose head fits
    HDI_ORDER_STICKY    // one channel until it is empty, whether it fits or not
};

enum hdi_module_choice {
    HDI_PLACE_SCORE, // the largest score, see balance.h
    HDI_PLACE_NEXT   // the next module after the last one used
};

// What a policy of its own may look at of a head.
struct hdi_head {
    const struct hdi_packet *packet;
    uint32_t share;    // of a module, in 1/65536
    uint64_t arrived;  // [cycles]
    uint64_t expected; // run time of a group, as far as it is known [cycles]
};

struct hdi_policy {
    enum hdi_order order;
    enum hdi_module_choice place;
    struct hdi_mixture mixture;
    enum hdi_pointer pointer;

    unsigned priorities; // windows of a period, 1 to 8
    bool marks;          // without them equals take turns
    struct hdi_windows windows;
    // Not 0: the shortest window is this many median run times, times 1/16,
    // and the first window `window_lead` times what its proportion gives.
    unsigned window_runs;
    unsigned window_lead;

    uint32_t split_after; // failing rounds before a head is split; 0: never
    uint16_t split_waves; // of one piece

    // Beyond the order by priority. Priorities from rank `urgent` on count as
    // equal (0: none does); among equals the head with the largest `large` x
    // share - `brief` x log2(run time) goes first, and marks decide only what
    // is still equal.
    unsigned urgent;
    int32_t large, brief;
    // A head of an urgent rank that fits nowhere keeps the emptiest `hold`
    // modules for itself, no more than its packet can fill: no head behind it
    // is sent there in this round. With `backfill` one may be that is expected
    // to end no later than all that runs there.
    uint32_t hold;
    bool backfill;
    // A head that has waited longer goes before its equals, oldest first
    // [cycles]; 0: never.
    uint64_t patience;
    // Added to what decides among equals, where the largest goes first. Called
    // when a head comes and when its run time is learnt, not in every round;
    // NULL: nothing is.
    int64_t (*prefer)(const struct hdi_head *head);
};

struct hdi_decision {
    uint32_t channel, module, lease;
    uint32_t process;
    uint64_t tag;
    uint64_t arrived;       // as submitted [cycles]
    uint32_t group;         // of the packet
    uint32_t piece, pieces; // of the group; pieces 0: whole
    uint16_t waves;
    uint8_t priority;
    uint32_t unit; // the unit its first wave goes to
};

enum hdi_round {
    HDI_ROUND_SENT,
    HDI_ROUND_STUCK, // heads, but none may go
    HDI_ROUND_EMPTY
};

struct hdi_dispatcher;

struct hdi_dispatcher_options {
    uint32_t channels;
    uint32_t packets; // room of one channel
    uint32_t leases;  // groups that may run at a time; 0: all that fit
    uint64_t seed;
    struct hdi_policy policy;
    struct hdi_recent *recent; // for mixture.recent; the caller's
};

// `shape` has been through hdi_shape_init() and is copied (its shifts are not).
hd_status hdi_dispatcher_create(const struct hdi_shape *shape,
                                const struct hdi_dispatcher_options *options,
                                struct hdi_dispatcher **dispatcher,
                                struct hd_error *error);
void hdi_dispatcher_destroy(struct hdi_dispatcher *dispatcher);

// HD_ELIMIT when no empty module could take it, naming the resource, or when
// the channel is full.
hd_status hdi_dispatcher_submit(struct hdi_dispatcher *dispatcher,
                                uint32_t channel,
                                const struct hdi_packet *packet, uint64_t now,
                                struct hd_error *error);

// Take back all that waits in a channel; no group of it may have been split.
void hdi_dispatcher_withdraw(struct hdi_dispatcher *dispatcher,
                             uint32_t channel);

enum hdi_round hdi_dispatcher_round(struct hdi_dispatcher *dispatcher,
                                    uint64_t now,
                                    struct hdi_decision *decision);

// `cycles` the group, or piece, ran, for medians and estimates; 0: not
// measured. Whether the group is complete: a split one when the last of its
// pieces ends.
bool hdi_dispatcher_release(struct hdi_dispatcher *dispatcher, uint32_t lease,
                            uint64_t cycles);

// The first of the blocks that a lease holds of a first-class resource, of this
// unit; UINT32_MAX: it holds none.
uint32_t hdi_dispatcher_block(const struct hdi_dispatcher *dispatcher,
                              uint32_t lease, uint32_t resource, uint32_t unit);

// `rounds` more have failed as the last one did, with nothing changed in
// between. Splits a head when that makes too many; true when it did.
bool hdi_dispatcher_wait(struct hdi_dispatcher *dispatcher, uint64_t rounds);

// How many more rounds like the last one until a head is split; UINT64_MAX:
// never.
uint64_t hdi_dispatcher_patience(const struct hdi_dispatcher *dispatcher);

// The cycle when a stuck round may come out differently by itself; UINT64_MAX:
// not before something is submitted or released.
uint64_t hdi_dispatcher_next(const struct hdi_dispatcher *dispatcher,
                             uint64_t now);

uint64_t hdi_dispatcher_waiting(const struct hdi_dispatcher *dispatcher,
                                uint32_t channel); // groups and pieces

// The packet at the head of the channel; NULL: none.
const struct hdi_packet *hdi_dispatcher_head(
    const struct hdi_dispatcher *dispatcher, uint32_t channel);

// All groups of that packet that have not been sent need so much of the
// resource from now on. No more than an empty module has.
void hdi_dispatcher_amend(struct hdi_dispatcher *dispatcher, uint32_t channel,
                          uint32_t resource, uint16_t blocks);

// `blocks` more (or fewer: free ones) of a second-class resource of one unit
// are there. Needs are still checked against the shape, which has the most.
void hdi_dispatcher_offer(struct hdi_dispatcher *dispatcher, uint32_t module,
                          uint32_t resource, uint32_t unit, int32_t blocks);

// Store the calibrated weights of a module, one per resource.
void hdi_dispatcher_weigh(struct hdi_dispatcher *dispatcher, uint32_t module,
                          const uint32_t *energy);

const struct hdi_module *hdi_dispatcher_module(
    const struct hdi_dispatcher *dispatcher, uint32_t module);

#endif
