// Invariant: bit m of fits[c] is set only if channel c has a head and every
// level of m is at least what that head needs; count[c] is how many are set.
#include "dispatch/match.h"

#include <string.h>

void hdi_match_module(struct hdi_match *match, uint32_t module)
{
    const struct hdi_shape *shape = match->shape;
    const uint16_t *level = match->level + (size_t)module * shape->line_pad;
    uint64_t *word = match->fits + module / 64;
    unsigned bit = module % 64;

    match->lanes->column(level, hdi_match_need(match, 0, match->turn[module]),
                         2 * shape->units * shape->line_pad, shape->line_pad,
                         match->channels, match->scratch);
    for (uint32_t c = 0; c < match->channels; c++, word += match->words) {
        uint64_t now = match->scratch[c / 64] & match->active[c / 64];

        now = now >> (c % 64) & 1;
        match->count[c] += (uint32_t)now - (uint32_t)(*word >> bit & 1);
        *word = (*word & ~(UINT64_C(1) << bit)) | now << bit;
    }
}

void hdi_match_head(struct hdi_match *match, uint32_t channel)
{
    const struct hdi_shape *shape = match->shape;

    match->count[channel] = match->lanes->row(
        match->level, hdi_match_need(match, channel, 0), match->turn,
        2 * shape->line_pad, shape->line_pad, shape->modules,
        match->fits + (size_t)channel * match->words);
    match->active[channel / 64] |= UINT64_C(1) << (channel % 64);
}

void hdi_match_empty(struct hdi_match *match, uint32_t channel)
{
    memset(match->fits + (size_t)channel * match->words, 0,
           match->words * sizeof(*match->fits));
    match->count[channel] = 0;
    match->active[channel / 64] &= ~(UINT64_C(1) << (channel % 64));
}

void hdi_match_refuse(struct hdi_match *match, uint32_t channel,
                      uint32_t module)
{
    match->fits[(size_t)channel * match->words + module / 64] &=
        ~(UINT64_C(1) << (module % 64));
    match->count[channel]--;
}
