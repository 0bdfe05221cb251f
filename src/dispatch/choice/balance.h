// Which of the modules that fit (by what is left, by what was done, best fit,
// any mixture of them).
#ifndef HDI_DISPATCH_CHOICE_BALANCE_H
#define HDI_DISPATCH_CHOICE_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/model/module.h"
#include "heddle/status.h"

enum {
    HDI_MIXTURE_LIMIT = 1000
};

// Weights, 0 to HDI_MIXTURE_LIMIT, of a module's score; the largest score is
// chosen, the lowest module among equals. All 0 is first fit. Left and recent
// are scaled to 0 .. 65536, tight to that for each resource.
struct hdi_mixture {
    int32_t left;   // energy of what is left, by the module's weights
    int32_t recent; // less executed lately is better
    int32_t tight;  // best fit: fuller is better, all resources alike
    bool by_run; // what is left counts the longest run of first-class resources
};

// Weighted instructions executed by each module in the last `window` cycles,
// kept in slots of window / slots cycles; slots == window is exact.
// Made by hdi_recent_create(); the tables are its own. `counts` is a ring of
// slots for each module; a slot is cleared when its turn comes again.
struct hdi_recent {
    uint32_t modules;
    uint32_t window, slots; // powers of two
    uint64_t full;          // what counts as fully busy: 65536 of the score
    uint64_t *counts;       // [module * slots + slot]
    uint64_t *sums;         // by module
    uint64_t *slot;         // by module: number of the newest slot
};

enum {
    HDI_RECENT_WINDOW = 1024
}; // [cycles] by default

hd_status hdi_recent_create(struct hdi_recent *recent, uint32_t modules,
                            uint32_t window, uint32_t slots, uint64_t full,
                            struct hd_error *error);
void hdi_recent_destroy(struct hdi_recent *recent);

// `weighted`: sum over instruction classes of weight x count, executed at
// `now`. `now` never falls.
void hdi_recent_add(struct hdi_recent *recent, uint32_t module, uint64_t now,
                    uint64_t weighted);

// The same, spread evenly over `from` .. `to` - 1.
void hdi_recent_spread(struct hdi_recent *recent, uint32_t module,
                       uint64_t from, uint64_t to, uint64_t per_cycle);

uint64_t hdi_recent_sum(struct hdi_recent *recent, uint32_t module,
                        uint64_t now);

// A score as it is compared: within 32 bits.
static inline int32_t hdi_score(double score)
{
    return score > INT32_MAX    ? INT32_MAX
           : score < -INT32_MAX ? -INT32_MAX
                                : (int32_t)score;
}

// What an empty module scores at most, but for sign, before what was done takes
// its part.
#define HDI_SCORE_LIMIT (1 << 24)

// How many points of score one 65536th of a part of the mixture is, so that no
// score of `modules` exceeds HDI_SCORE_LIMIT.
double hdi_mixture_scale(const struct hdi_mixture *mixture,
                         const struct hdi_shape *shape,
                         const struct hdi_module *modules);

// Fill in module->weight: the score, less what recent instructions take off it,
// is the sum over lines of weight x level.
void hdi_mixture_weigh(const struct hdi_mixture *mixture, double scale,
                       const struct hdi_shape *shape,
                       struct hdi_module *module);

#endif
