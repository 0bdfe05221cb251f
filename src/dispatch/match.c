// Invariant: fits[c, m] is all ones only if channel c has a head and every
// level of m is at least what that head needs; count[c] is how many are set.
#include "dispatch/match.h"

#include <string.h>

void hdi_match_module(struct hdi_match *match, uint32_t module)
{
    const struct hdi_shape *shape = match->shape;
    const uint16_t *level = match->level + (size_t)module * shape->line_pad;

    match->lanes->column(level, hdi_match_need(match, 0, match->turn[module]),
                         2 * shape->units * shape->line_pad, shape->line_pad,
                         match->channels, match->scratch);
    for (uint32_t c = 0; c < match->channels; c++) {
        uint16_t *fits = &match->fits[(size_t)c * match->modules_pad + module];
        uint16_t now = match->active[c] ? match->scratch[c] : 0;

        match->count[c] += (uint32_t)(now & 1) - (uint32_t)(*fits & 1);
        *fits = now;
    }
}

void hdi_match_head(struct hdi_match *match, uint32_t channel)
{
    const struct hdi_shape *shape = match->shape;
    uint16_t *fits = match->fits + (size_t)channel * match->modules_pad;

    match->count[channel] = match->lanes->row(
        match->level, hdi_match_need(match, channel, 0), match->turn,
        2 * shape->line_pad, shape->line_pad, shape->modules, fits);
    match->active[channel] = 1;
}

void hdi_match_empty(struct hdi_match *match, uint32_t channel)
{
    memset(match->fits + (size_t)channel * match->modules_pad, 0,
           match->modules_pad * sizeof(*match->fits));
    match->count[channel] = 0;
    match->active[channel] = 0;
}

void hdi_match_refuse(struct hdi_match *match, uint32_t channel,
                      uint32_t module)
{
    match->fits[(size_t)channel * match->modules_pad + module] = 0;
    match->count[channel]--;
}

void hdi_match_all(struct hdi_match *match)
{
    for (uint32_t c = 0; c < match->channels; c++) {
        if (match->active[c])
            hdi_match_head(match, c);
    }
}
