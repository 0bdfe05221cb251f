// All heads against all modules, kept up to date instead of made anew: a
// new head is compared with every module, a changed module with every head.
#ifndef HDI_DISPATCH_CHOICE_MATCH_H
#define HDI_DISPATCH_CHOICE_MATCH_H

#include "dispatch/maps/lanes.h"
#include "dispatch/model/shape.h"

// One bit for each head and module:
//
//                 module 0 1 2 3 ...
//     channel 0          1 0 0 1            a row is made when the head changes
//     channel 1          0 0 1 1            a column when the module does
//     some               1 1                of each row: any
//
// Owned by the dispatcher, in its one block of memory.
struct hdi_match {
    const struct hdi_simd *lanes;
    const struct hdi_shape *shape;
    uint32_t channels;
    uint32_t words;   // of 64 modules
    uint16_t *level;  // [module * line_pad + line]
    uint16_t *need;   // see hdi_match_need()
    uint16_t *pages;  // the same, for one module and all channels
    uint8_t *turn;    // by module: unit at place 0 of its split
    uint64_t *fits;   // [channel * words + module / 64]: a bit per module
    uint64_t *some;   // a bit per channel: its head fits somewhere
    uint64_t *active; // a bit per channel: has a head
};

// What the head of `channel` asks of a module whose split begins at unit
// `turn`: line_pad lengths and counts, then line_pad numbers of runs.
static inline uint16_t *hdi_match_need(const struct hdi_match *match,
                                       uint32_t channel, uint32_t turn)
{
    return match->need + ((size_t)channel * match->shape->units + turn) * 2 *
                             match->shape->line_pad;
}

// The page of `channel` for modules whose split begins at unit `turn`.
static inline uint16_t *hdi_match_page(const struct hdi_match *match,
                                       uint32_t channel, uint32_t turn)
{
    return match->pages +
           ((size_t)channel / HDI_PAGE * match->shape->units + turn) *
               HDI_PAGE * match->shape->line_pad;
}

static inline bool hdi_match_active(const struct hdi_match *match,
                                    uint32_t channel)
{
    return match->active[channel / 64] >> (channel % 64) & 1;
}

// Whether the head of `channel` fits somewhere.
static inline bool hdi_match_some(const struct hdi_match *match,
                                  uint32_t channel)
{
    return match->some[channel / 64] >> (channel % 64) & 1;
}

// The head of `channel` changed: `need` holds what it asks.
void hdi_match_head(struct hdi_match *match, uint32_t channel);

// The channel has no head.
void hdi_match_empty(struct hdi_match *match, uint32_t channel);

static inline void hdi_match_set(struct hdi_match *match, uint32_t channel,
                                 bool any)
{
    uint64_t bit = UINT64_C(1) << (channel % 64);
    uint64_t *some = &match->some[channel / 64];

    *some = any ? *some | bit : *some & ~bit;
}

// Look whether the head of `channel` still fits somewhere.
static inline void hdi_match_look(struct hdi_match *match, uint32_t channel)
{
    const uint64_t *fits = match->fits + (size_t)channel * match->words;
    uint64_t any = 0;

    for (uint32_t w = 0; w < match->words; w++)
        any |= fits[w];
    hdi_match_set(match, channel, any != 0);
}

// The exact check failed: they do not fit until one of them changes.
static inline void hdi_match_refuse(struct hdi_match *match, uint32_t channel,
                                    uint32_t module)
{
    match->fits[(size_t)channel * match->words + module / 64] &=
        ~(UINT64_C(1) << (module % 64));
    hdi_match_look(match, channel);
}

#endif
