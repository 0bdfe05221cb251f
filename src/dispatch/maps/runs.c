// Longest and first free runs. Invariant: bits from `blocks` up are 0, so a run
// never leaves its map.
//
// The exact form keeps the blocks that end a run of the length found so far
// (shifted one up: where the next block would be) and tries to add ever smaller
// powers of two to all of them at once; the erosions by powers of two are made
// once. Words are solved on their own and joined at their borders.
#include "dispatch/maps/runs.h"

#include <string.h>

#include "dispatch/maps/lanes.h"

unsigned hdi_run_scan(const uint64_t *map, unsigned blocks)
{
    unsigned best = 0, run = 0;

    for (unsigned i = 0; i < blocks; i++) {
        if (map[i / 64] >> (i % 64) & 1) {
            run++;
            if (run > best)
                best = run;
        } else {
            run = 0;
        }
    }
    return best;
}

// `run` is carried over the border of words, and ends at a zero.
unsigned hdi_run_walk(const uint64_t *map, unsigned blocks)
{
    unsigned best = 0, run = 0;

    for (unsigned i = 0; i < hdi_map_words(blocks); i++) {
        uint64_t word = map[i];
        unsigned left = 64; // bits of the word not yet walked over

        while (left > 0) {
            if (word == 0) {
                run = 0;
                break;
            }
            unsigned zeros = (unsigned)__builtin_ctzll(word);
            if (zeros > 0) {
                run = 0;
                word >>= zeros;
                left -= zeros;
            }
            unsigned ones = ~word == 0 ? 64 : (unsigned)__builtin_ctzll(~word);
            run += ones;
            if (run > best)
                best = run;
            left -= ones;
            // A shift by 64 is not defined; a full word is finished anyway.
            word = ones == 64 ? 0 : word >> ones;
            if (left > 0)
                run = 0;
        }
    }
    return best;
}

unsigned hdi_run_exact(const uint64_t *map, unsigned blocks)
{
    return hdi_lanes()->run(map, hdi_map_words(blocks));
}

static bool is_power_of_two(unsigned n)
{
    return (n & (n - 1)) == 0;
}

void hdi_map_keep_groups(const uint64_t *map, unsigned blocks, unsigned group,
                         uint64_t *kept)
{
    unsigned words = hdi_map_words(blocks);

    if (is_power_of_two(group) && group <= 64) {
        for (unsigned i = 0; i < words; i++)
            kept[i] = hdi_word_keep_groups(map[i], group);
        return;
    }
    // Other groups may cross words.
    uint64_t copy[HDI_MAX_BLOCKS / 64];
    memcpy(copy, map, words * sizeof(*copy));
    memcpy(kept, map, words * sizeof(*kept));
    for (unsigned first = 0; first < blocks; first += group) {
        bool whole = true;

        for (unsigned i = first; i < first + group; i++)
            whole &= copy[i / 64] >> (i % 64) & 1;
        if (!whole)
            hdi_map_clear_blocks(kept, first, group);
    }
}

unsigned hdi_run_grouped(const uint64_t *map, unsigned blocks, unsigned group)
{
    uint64_t kept[HDI_MAX_BLOCKS / 64];

    if (group <= 1)
        return hdi_run_exact(map, blocks);
    hdi_map_keep_groups(map, blocks, group, kept);
    return hdi_run_exact(kept, blocks);
}

unsigned hdi_run_sampled(unsigned exact, const uint16_t *shifts, unsigned count)
{
    unsigned low = 0, high = count; // the answer is a shift before `high`

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (shifts[middle] < exact)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? 0 : shifts[low - 1] + 1u;
}

// From run to run, a word at a time where it is all free or all taken.
static unsigned first_of_any_size(const uint64_t *map, unsigned blocks,
                                  unsigned length, unsigned align)
{
    unsigned i = 0;

    while (i < blocks) {
        uint64_t word = map[i / 64] >> (i % 64);
        if (word == 0) {
            i = (i / 64 + 1) * 64;
            continue;
        }
        i += (unsigned)__builtin_ctzll(word);
        unsigned start = i, end = i;
        while (end < blocks) { // to the next occupied block
            uint64_t taken = ~map[end / 64] >> (end % 64);
            if (taken != 0) {
                end += (unsigned)__builtin_ctzll(taken);
                break;
            }
            end = (end / 64 + 1) * 64;
        }
        if (end > blocks)
            end = blocks;
        start = (start + align - 1) / align * align;
        if (start < end && end - start >= length)
            return start;
        i = end;
    }
    return HDI_NO_RUN;
}

unsigned hdi_run_first(const uint64_t *map, unsigned blocks, unsigned length,
                       unsigned align)
{
    return first_of_any_size(map, blocks, length, align);
}

// Apply to every word of blocks start .. start + length - 1 its mask.
#define FOR_WORDS(start, length, word, mask)                          \
    for (unsigned at_ = (start), end_ = (start) + (length), word, n_; \
         at_ < end_ &&                                                \
         (word = at_ / 64, n_ = 64 - at_ % 64,                        \
         n_ = n_ < end_ - at_ ? n_ : end_ - at_,                      \
         mask = (n_ == 64 ? ~UINT64_C(0) : (UINT64_C(1) << n_) - 1)   \
                << (at_ % 64),                                        \
         true);                                                       \
         at_ += n_)

void hdi_map_set_blocks(uint64_t *map, unsigned start, unsigned length)
{
    uint64_t mask;

    FOR_WORDS(start, length, word, mask)
    map[word] |= mask;
}

void hdi_map_clear_blocks(uint64_t *map, unsigned start, unsigned length)
{
    uint64_t mask;

    FOR_WORDS(start, length, word, mask)
    map[word] &= ~mask;
}
