// Invariant: bit m of fits[c] is set only if channel c has a head and every
// level of m is at least what that head needs; bit c of `some` is set when any
// of them is.
#include "dispatch/match.h"

#include <string.h>

static bool is_any(const struct hdi_match *match, uint32_t channel)
{
    const uint64_t *fits = match->fits + (size_t)channel * match->words;
    uint64_t any = 0;

    for (uint32_t w = 0; w < match->words; w++)
        any |= fits[w];
    return any != 0;
}

static void set_some(struct hdi_match *match, uint32_t channel, bool any)
{
    uint64_t bit = UINT64_C(1) << (channel % 64);
    uint64_t *some = &match->some[channel / 64];

    *some = any ? *some | bit : *some & ~bit;
}

void hdi_match_module(struct hdi_match *match, uint32_t module)
{
    const struct hdi_shape *shape = match->shape;
    const struct hdi_lanes *lanes = match->lanes;
    const uint16_t *level = match->level + (size_t)module * shape->line_pad;
    uint32_t stride = 2 * shape->units * shape->line_pad;

    for (uint32_t first = 0; first < match->channels; first += 64) {
        uint32_t left = match->channels - first, count = left < 64 ? left : 64;
        uint64_t *some = &match->some[first / 64];
        uint64_t now =
            lanes->column(level,
                          hdi_match_need(match, first, match->turn[module]),
                          stride, shape->line_pad, count) &
            match->active[first / 64];
        uint64_t any = lanes->spread(
            match->fits + (size_t)first * match->words + module / 64,
            match->words, module % 64, now, count);

        // With more words another may still have one.
        uint64_t lost = match->words > 1 ? *some & ~any : 0;
        *some = any | lost;
        for (; lost; lost &= lost - 1) {
            uint32_t c = first + (uint32_t)__builtin_ctzll(lost);
            set_some(match, c, is_any(match, c));
        }
    }
}

void hdi_match_head(struct hdi_match *match, uint32_t channel)
{
    const struct hdi_shape *shape = match->shape;
    unsigned fits = match->lanes->row(
        match->level, hdi_match_need(match, channel, 0), match->turn,
        2 * shape->line_pad, shape->line_pad, shape->modules,
        match->fits + (size_t)channel * match->words);

    set_some(match, channel, fits > 0);
    match->active[channel / 64] |= UINT64_C(1) << (channel % 64);
}

void hdi_match_empty(struct hdi_match *match, uint32_t channel)
{
    memset(match->fits + (size_t)channel * match->words, 0,
           match->words * sizeof(*match->fits));
    set_some(match, channel, false);
    match->active[channel / 64] &= ~(UINT64_C(1) << (channel % 64));
}

void hdi_match_refuse(struct hdi_match *match, uint32_t channel,
                      uint32_t module)
{
    match->fits[(size_t)channel * match->words + module / 64] &=
        ~(UINT64_C(1) << (module % 64));
    set_some(match, channel, is_any(match, channel));
}
