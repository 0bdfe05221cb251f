// Invariant: bit m of fits[c] is set only if channel c has a head and every
// level of m is at least what that head needs; bit c of `some` is set when any
// of them is.
#include "dispatch/choice/match.h"

#include <string.h>

// The needs are written twice: by channel for a row, where one need meets all
// modules, and by page for a column, where one module meets all needs. Either
// loop then reads memory in order.
void hdi_match_head(struct hdi_match *match, uint32_t channel)
{
    const struct hdi_shape *shape = match->shape;

    for (uint32_t turn = 0; turn < shape->units; turn++) {
        const uint16_t *lines = hdi_match_need(match, channel, turn);
        uint16_t *page = hdi_match_page(match, channel, turn);
        for (uint32_t i = 0; i < shape->line_count; i++)
            page[hdi_page_place(channel, i)] = lines[i];
    }
    unsigned fits = match->lanes->row(
        match->level, hdi_match_need(match, channel, 0), match->turn,
        2 * shape->line_pad, shape->line_pad, shape->modules,
        match->fits + (size_t)channel * match->words);

    hdi_match_set(match, channel, fits > 0);
    match->active[channel / 64] |= UINT64_C(1) << (channel % 64);
}

void hdi_match_empty(struct hdi_match *match, uint32_t channel)
{
    memset(match->fits + (size_t)channel * match->words, 0,
           match->words * sizeof(*match->fits));
    hdi_match_set(match, channel, false);
    match->active[channel / 64] &= ~(UINT64_C(1) << (channel % 64));
}
