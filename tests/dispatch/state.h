// What the model of a dispatcher keeps, for the files it is made of.
#ifndef HDI_TESTS_DISPATCH_STATE_H
#define HDI_TESTS_DISPATCH_STATE_H

#include "tests/dispatch/model.h"

struct waiting {
    struct hdi_need need;
    int64_t prefer;
    uint32_t share; // of a module; pieces keep that of their group
    uint32_t groups, first_group;
    uint32_t piece, pieces;
    uint64_t tag, arrived;
    uint32_t process;
    uint64_t expected, ran, runs; // cycles, and of how many groups
};

struct taken {
    bool out;
    uint32_t module, channel;
    uint64_t tag;
    uint32_t group, pieces;                       // 0: whole
    uint32_t count[MODEL_RESOURCES][MODEL_UNITS]; // blocks, of any class
    bool block[MODEL_RESOURCES][MODEL_UNITS][MODEL_BLOCKS];
};

// `weight` of instructions executed by a module at `time`.
struct executed {
    uint32_t module;
    uint64_t time, weight;
};

// A group of which pieces have ended.
struct partly {
    uint64_t tag;
    uint32_t group, ended;
};

struct model {
    const struct hdi_shape *shape;
    struct hdi_recent *recent; // for its window, not its sums
    struct executed executed[MODEL_EVENTS];
    uint32_t executed_count;
    struct hdi_median median;
    int64_t prefer[MODEL_CHANNELS]; // as of the last look at the head
    uint64_t drain[MODEL_MODULES];  // when what runs there should have ended
    bool held[MODEL_MODULES];       // in this round
    struct hdi_policy policy;
    uint64_t window_from; // when the period began
    uint32_t channels;
    struct waiting queue[MODEL_CHANNELS][MODEL_QUEUE];
    uint32_t length[MODEL_CHANNELS];
    bool free[MODEL_MODULES][MODEL_RESOURCES][MODEL_UNITS][MODEL_BLOCKS];
    uint32_t left[MODEL_MODULES][MODEL_RESOURCES][MODEL_UNITS];
    uint32_t pointer[MODEL_MODULES];
    bool refused[MODEL_CHANNELS][MODEL_MODULES]; // found out at the commit
    bool marks[HDI_MAX_PRIORITIES + 1][MODEL_CHANNELS];
    struct hdi_random random;
    uint32_t turn, sticky, last_module;
    uint64_t failed;
    uint32_t lease_count, lease_most;
    struct taken taken[MODEL_LEASES];
    struct partly partly[MODEL_EVENTS];
    uint32_t partly_count;
};

// In room.c.

// Of how many units each has a resource; 1: they share it.
uint32_t model_holders(const struct model *m, uint32_t resource);

// The unit of a module that a group's first waves go to.
uint32_t model_first_unit(const struct model *m, uint32_t module);

// The longest run of free blocks that the resource's search finds.
uint32_t model_longest_run(const struct hdi_module_resource *resource,
                           const bool *state);

// Whether the head of a channel seems to fit a module.
bool model_seems_to_fit(const struct model *m, uint32_t channel,
                        uint32_t module);

// What it takes there; false: it does not fit after all.
bool model_commit(struct model *m, uint32_t channel, uint32_t module,
                  struct taken *taken);

// Take that, or give it back.
void model_apply(struct model *m, const struct taken *taken, bool give);

#endif
