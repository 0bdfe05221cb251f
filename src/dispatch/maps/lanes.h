// The few loops of dispatch that are worth wide registers, once per instruction
// set; every set gives the same results bit for bit.
//
// What one loop writes another reads a moment later as whole registers; a
// narrower store would keep that load waiting until it has left the core. So
// levels, scores and maps are written in whole rows too.
//
// lanes/base.c is the portable one (plain vectors: SSE2, NEON); on x86-64 the
// same text is compiled again for AVX2 and AVX-512. Which one runs is read from
// the processor, not configured.
#ifndef HDI_DISPATCH_MAPS_LANES_H
#define HDI_DISPATCH_MAPS_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HDI_LANES = 8,       // maps searched together
    HDI_LANE_WORDS = 16, // their low words, then their high words
    HDI_ROW = 32,        // rows are padded to this many 16-bit numbers
    HDI_PAGE = 8         // channels whose needs lie side by side
};

struct hdi_decision;
struct hdi_dispatcher;

// A round of all steps below, when some channel has a head: see
// hdi_dispatcher_round(). False: nothing may go.
typedef bool hdi_decide(struct hdi_dispatcher *dispatcher, uint64_t now,
                        struct hdi_decision *decision);

// Of one module: maps and levels.
struct hdi_room {
    uint64_t *maps;
    uint16_t *level;
    uint32_t words;  // of maps: a multiple of 8
    uint32_t counts; // first line that is a count
    uint32_t lines;  // padded
};

// The largest length and count of all runs a group takes. It is known before
// the module is, so that no loop's end is guessed wrong behind what chose the
// module.
struct hdi_run_bounds {
    uint16_t length;
    uint16_t count;
};

struct hdi_simd {
    const char *name;

    // The longest run of a map of any length.
    unsigned (*run)(const uint64_t *map, unsigned words);

    // The longest runs of 8 maps of up to 128 blocks: low words first, then the
    // high ones. A `group` that is a power of two up to 64 asks for whole
    // groups; 1 for the exact run.
    void (*runs)(const uint64_t maps[HDI_LANE_WORDS], unsigned group,
                 uint16_t found[HDI_LANES]);

    // In each of 8 maps of up to 128 blocks find count[i] free runs of
    // length[i] blocks, lowest first; `taken` gets their bits. False: some map
    // has not so many. length[i] > 0 wherever count[i] > 0.
    bool (*take)(const uint64_t maps[HDI_LANE_WORDS],
                 const uint16_t length[HDI_LANES],
                 const uint16_t count[HDI_LANES], struct hdi_run_bounds bounds,
                 uint64_t taken[HDI_LANE_WORDS]);

    // The same of the first `count` of 8 maps, exact, into the levels of lines
    // `lane` and up; `lane` is a multiple of 8.
    void (*search)(const uint64_t maps[HDI_LANE_WORDS], unsigned count,
                   uint16_t *level, unsigned lane);

    // As take(), for the first `lanes` of 8 maps.
    bool (*take_few)(const uint64_t maps[HDI_LANE_WORDS],
                     const uint16_t *length, const uint16_t *count,
                     unsigned lanes, struct hdi_run_bounds bounds,
                     uint64_t taken[HDI_LANE_WORDS]);

    // scores[module] = sum over lines of weight x level; the caller sees that
    // it fits.
    void (*score)(const uint16_t *level, const int32_t *weight, unsigned lines,
                  int32_t *scores, unsigned module);

    // spaces[module] = (sum over lines of share x level) / 2^16.
    void (*space)(const uint16_t *level, const uint32_t *share, unsigned lines,
                  int32_t *spaces, unsigned module);

    // What `taken` and `lines` say is given back, or taken: the bits of maps,
    // and the levels of all lines from `counts` on. The levels of runs given
    // back become UINT16_MAX.
    void (*give)(const struct hdi_room *room, const uint64_t *taken,
                 const uint16_t *lines);
    void (*occupy)(const struct hdi_room *room, const uint64_t *taken,
                   const uint16_t *lines);

    // One need against every module: bit m of `fits` is set when for every line
    // level[m * lines + line] >= need[turn[m] * stride + line]. `lines` is
    // padded, `fits` has whole words. Returns how many fit.
    unsigned (*row)(const uint16_t *level, const uint16_t *need,
                    const uint8_t *turn, unsigned stride, unsigned lines,
                    unsigned modules, uint64_t *fits);

    // One module against every need: bit c of the answer is set when
    // level[line] >= need of channel c for every line. `lines` is padded;
    // the pages of the channels, at most 64, are `stride` apart.
    uint64_t (*column)(const uint16_t *level, const uint16_t *pages,
                       unsigned stride, unsigned lines, unsigned channels);

    // Set bit `bit` of fits[c * words] to bit c of `now`, for up to 64 c. Bit c
    // of the answer is set when fits[c * words] is not 0 then. `fits` has room
    // for a multiple of 8 channels.
    uint64_t (*spread)(uint64_t *fits, unsigned words, unsigned bit,
                       uint64_t now, unsigned channels);

    // One of the set bits of `words` words, of which there is one at least:
    // which of them is what the upper half of `random` says.
    unsigned (*draw)(const uint64_t *set, unsigned words, uint64_t random);

    // The lowest m whose bit is set and that has the largest score, all above
    // INT32_MIN; `modules` or more if none. `score` has a multiple of 64.
    unsigned (*best)(const uint64_t *fits, const int32_t *score,
                     unsigned modules);

    // What decides for a dispatcher of this size and order.
    hdi_decide *(*decider)(const struct hdi_dispatcher *dispatcher);
};

// The best one this processor has. Never NULL.
const struct hdi_simd *hdi_lanes(void);

// All that this processor can run, for tests. NULL past the last.
const struct hdi_simd *hdi_lanes_at(unsigned index);

// Where the need of a channel of a page is: words of four lines, those of all
// channels together, so that one comparison is with all of them.
static inline size_t hdi_page_place(uint32_t channel, uint32_t line)
{
    return (size_t)(line / 4 * HDI_PAGE + channel % HDI_PAGE) * 4 + line % 4;
}

// Keep bits only where a whole group is free; `group` a power of two up to 64.
static inline uint64_t hdi_word_keep_groups(uint64_t word, unsigned group)
{
    uint64_t borders = 1; // every group's lowest bit

    for (unsigned step = group; step < 64; step *= 2)
        borders |= borders << step;
    for (unsigned step = 1; step < group; step *= 2)
        word &= word >> step;
    word &= borders;
    for (unsigned step = 1; step < group; step *= 2)
        word |= word << step;
    return word;
}

__extension__ typedef unsigned __int128 hdi_wide;

// Take the runs that begin at the `count` lowest of `starts` that do not touch.
static inline bool hdi_take_at(hdi_wide starts, unsigned length, unsigned count,
                               hdi_wide *taken)
{
    *taken = 0;
    for (; count > 0; count--) {
        hdi_wide start = starts & -starts;
        hdi_wide run = (length < 128 ? start << length : 0) - start;
        if (start == 0)
            return false;
        *taken |= run;
        starts &= ~run; // the others that begin in it
    }
    return true;
}

// take() for a single map of two words.
static inline bool hdi_take_one(uint64_t low, uint64_t high, unsigned length,
                                unsigned count, hdi_wide *taken)
{
    unsigned have = 1; // where a run of so many begins

    for (; have < 64 && 2 * have <= length; have *= 2) {
        low &= low >> have | high << (64 - have);
        high &= high >> have;
    }
    hdi_wide starts = (hdi_wide)high << 64 | low;
    return hdi_take_at(starts & starts >> (length - have), length, count,
                       taken);
}

#endif
