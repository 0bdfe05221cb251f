// A dispatcher that follows the steps of the specification literally and
// slowly: free blocks one by one, all heads against all modules in every round,
// windows that follow the median run time, holds, backfill, patience. What the
// real one says is checked against it, round by round.
#ifndef HDI_TESTS_DISPATCH_MODEL_H
#define HDI_TESTS_DISPATCH_MODEL_H

#include "dispatch/dispatcher.h"

// The most it has room for.
enum {
    MODEL_MODULES = 66, // more than a word of a set
    MODEL_UNITS = 12,
    MODEL_RESOURCES = 4,
    MODEL_BLOCKS = 200,
    MODEL_CHANNELS = 140, // more than two words of a set
    MODEL_QUEUE = 40,
    MODEL_LEASES = 1024,
    MODEL_EVENTS = 300
};

struct model;

// `shape` and options->recent stay the caller's; of the latter it reads the
// window, not the sums.
struct model *model_create(const struct hdi_shape *shape,
                           const struct hdi_dispatcher_options *options);
void model_destroy(struct model *m);

// What the dispatcher is told. Tags differ from packet to packet.
void model_submit(struct model *m, uint32_t channel,
                  const struct hdi_packet *packet, uint64_t now);
// Whether the group is complete.
bool model_release(struct model *m, uint32_t lease, uint64_t cycles);
void model_offer(struct model *m, uint32_t module, uint32_t resource,
                 uint32_t unit, int32_t blocks);

// `weight` of instructions executed by a module.
void model_execute(struct model *m, uint32_t module, uint64_t now,
                   uint64_t weight);

// Entries that wait in a channel.
uint32_t model_length(const struct model *m, uint32_t channel);
// Blocks that are left.
uint32_t model_left(const struct model *m, uint32_t module, uint32_t resource,
                    uint32_t unit);
bool model_runs(const struct model *m, uint32_t lease);

// One round, beside the dispatcher's, which came out as `round`.
void model_check_round(struct model *m, const struct hdi_dispatcher *d,
                       uint64_t now, enum hdi_round round,
                       const struct hdi_decision *decision);

// What is left, as the dispatcher's books have it.
void model_check_books(const struct model *m, const struct hdi_dispatcher *d);

// The dispatcher's weights are these, as whole numbers of one scale; all noise
// where the parts of the mixture cancel each other.
void model_check_weights(const struct model *m, const struct hdi_dispatcher *d);

#endif
