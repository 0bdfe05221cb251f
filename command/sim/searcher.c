// Invariant: the segments of one period do not overlap and end inside the
// width; what lies outside a resource's own blocks is occupied.
#include "sim/searcher.h"

#include <string.h>

#include "base/error.h"
#include "dispatch/maps/runs.h"

enum {
    WORDS = SIM_SEARCHER_BLOCKS / 64,
    LEVELS = 13 // runs of 1, 2, ... 4,096
};

struct wide {
    uint64_t word[WORDS];
};

// First fit in falling order: the first of a period is its largest, and decides
// how many equal segments there may be.
hd_status sim_searcher_init(struct sim_searcher *searcher, unsigned width,
                            const unsigned *blocks, unsigned count,
                            struct hd_error *error)
{
    if (width == 0 || width > SIM_SEARCHER_BLOCKS)
        return hdi_fail(error, HD_EINVAL,
                        "searcher: a width of %u blocks; 1 to %d are possible",
                        width, SIM_SEARCHER_BLOCKS);
    if (count > SIM_SEARCHER_MAPS)
        return hdi_fail(error, HD_EINVAL,
                        "searcher: %u resources; at most %d are possible",
                        count, SIM_SEARCHER_MAPS);

    struct sim_searcher s = {.width = width, .maps = count};
    unsigned in_period[SIM_SEARCHER_MAPS] = {0};
    unsigned largest[SIM_SEARCHER_MAPS] = {0};
    bool placed[SIM_SEARCHER_MAPS] = {false};

    for (unsigned done = 0; done < count; done++) {
        unsigned next = count;
        for (unsigned i = 0; i < count; i++) {
            if (!placed[i] && (next == count || blocks[i] > blocks[next]))
                next = i;
        }
        if (blocks[next] == 0 || blocks[next] > width)
            return hdi_fail(error, HD_EINVAL,
                            "searcher: resource %u has %u blocks; 1 to the "
                            "width %u are possible",
                            next, blocks[next], width);
        // Falling sizes: the first resource of a period is its largest.
        unsigned period = 0;
        while (in_period[period] > 0 &&
               width / (in_period[period] + 1) < largest[period])
            period++;
        if (in_period[period] == 0)
            largest[period] = blocks[next];
        s.map[next].blocks = blocks[next];
        s.map[next].period = period;
        s.map[next].first = in_period[period]++; // its place; scaled below
        if (period >= s.periods)
            s.periods = period + 1;
        placed[next] = true;
    }
    for (unsigned period = 0; period < s.periods; period++)
        s.segment[period] = width / in_period[period];
    for (unsigned i = 0; i < count; i++)
        s.map[i].first *= s.segment[s.map[i].period];
    *searcher = s;
    return HD_OK;
}

// What is not filled stays 0, occupied.
static void load(const struct sim_searcher *searcher,
                 const uint64_t *const *maps, unsigned period,
                 struct wide *state)
{
    memset(state, 0, sizeof(*state));
    for (unsigned i = 0; i < searcher->maps; i++) {
        if (searcher->map[i].period != period)
            continue;
        for (unsigned b = 0; b < searcher->map[i].blocks; b++) {
            unsigned at = searcher->map[i].first + b;
            uint64_t bit = maps[i][b / 64] >> (b % 64) & 1;
            state->word[at / 64] |= bit << (at % 64);
        }
    }
}

static void shift_down(struct wide *to, const struct wide *from, unsigned by)
{
    unsigned words = by / 64, bits = by % 64;

    for (unsigned i = 0; i < WORDS; i++) {
        uint64_t low = i + words < WORDS ? from->word[i + words] : 0;
        uint64_t high = i + words + 1 < WORDS ? from->word[i + words + 1] : 0;
        to->word[i] = bits ? low >> bits | high << (64 - bits) : low;
    }
}

// Clear the places whose `by`-th neighbour upwards is in another segment.
static void mask_borders(struct wide *state, unsigned width, unsigned segment,
                         unsigned by)
{
    for (unsigned first = 0; first < width; first += segment) {
        unsigned end = first + segment < width ? first + segment : width;
        unsigned cut = by < end - first ? end - by : first;
        hdi_map_clear_blocks(state->word, cut, end - cut);
    }
}

static bool any_in(const struct wide *state, unsigned first, unsigned length)
{
    struct wide inside = {{0}};
    uint64_t any = 0;

    hdi_map_set_blocks(inside.word, first, length);
    for (unsigned i = 0; i < WORDS; i++)
        any |= inside.word[i] & state->word[i];
    return any != 0;
}

void sim_searcher_steps(const struct sim_searcher *searcher,
                        const uint64_t *const *maps, unsigned *found)
{
    for (unsigned period = 0; period < searcher->periods; period++) {
        unsigned segment = searcher->segment[period];
        struct wide shifted, running;

        load(searcher, maps, period, &shifted);
        running = shifted;
        for (unsigned i = 0; i < searcher->maps; i++) {
            if (searcher->map[i].period == period)
                found[i] = 0;
        }
        for (unsigned shift = 0; shift < segment; shift++) {
            if (shift > 0) {
                struct wide one;
                shift_down(&one, &shifted, 1);
                mask_borders(&one, searcher->width, segment, 1);
                shifted = one;
                for (unsigned i = 0; i < WORDS; i++)
                    running.word[i] &= shifted.word[i];
            }
            for (unsigned i = 0; i < searcher->maps; i++) {
                if (searcher->map[i].period == period &&
                    any_in(&running, searcher->map[i].first, segment))
                    found[i] = shift + 1;
            }
        }
    }
}

// Erosions by powers of two, made once for the whole width; then for each
// resource the largest power that still leaves a start, and so on downwards.
void sim_searcher_find(const struct sim_searcher *searcher,
                       const uint64_t *const *maps, unsigned *found)
{
    for (unsigned period = 0; period < searcher->periods; period++) {
        unsigned segment = searcher->segment[period], levels = 1;
        struct wide eroded[LEVELS], shifted;

        load(searcher, maps, period, &eroded[0]);
        for (; levels < LEVELS && 1u << levels <= segment; levels++) {
            unsigned by = 1u << (levels - 1);
            shift_down(&shifted, &eroded[levels - 1], by);
            mask_borders(&shifted, searcher->width, segment, by);
            for (unsigned i = 0; i < WORDS; i++)
                eroded[levels].word[i] =
                    eroded[levels - 1].word[i] & shifted.word[i];
        }
        for (unsigned i = 0; i < searcher->maps; i++) {
            if (searcher->map[i].period != period)
                continue;
            // Starts of runs of `length`; erosions already end at borders.
            struct wide starts, longer;
            unsigned length = 0;

            memset(&starts, 0, sizeof(starts));
            hdi_map_set_blocks(starts.word, searcher->map[i].first, segment);
            for (unsigned level = levels; level-- > 0;) {
                bool any = false;

                if (length + (1u << level) > segment)
                    continue;
                shift_down(&longer, &eroded[level], length);
                mask_borders(&longer, searcher->width, segment, length);
                for (unsigned w = 0; w < WORDS; w++) {
                    longer.word[w] &= starts.word[w];
                    any |= longer.word[w] != 0;
                }
                if (any) {
                    starts = longer;
                    length += 1u << level;
                }
            }
            found[i] = length;
        }
    }
}
