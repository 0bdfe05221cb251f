// Step by step. Invariant: `running` is the AND (or, with the other polarity,
// the OR) of the state shifted by 0 .. i, vacated places being occupied.
#include "tests/dispatch/run_steps.h"

#include <string.h>

#include "dispatch/maps/runs.h"

// Shift `from` by one place; `fill` is what an occupied block looks like.
static void shift_one(uint64_t *state, unsigned blocks,
                      enum hdi_shift_direction direction, bool fill)
{
    unsigned words = hdi_map_words(blocks), top = (blocks - 1) % 64;

    if (direction == HDI_SHIFT_DOWN) {
        for (unsigned i = 0; i < words; i++)
            state[i] = state[i] >> 1 | (i + 1 < words ? state[i + 1] << 63 : 0);
        state[words - 1] &= ~(UINT64_C(1) << top);
        state[words - 1] |= (uint64_t)fill << top;
    } else {
        for (unsigned i = words; i-- > 0;)
            state[i] =
                state[i] << 1 | (i > 0 ? state[i - 1] >> 63 : (uint64_t)fill);
    }
}

static uint64_t word_mask(unsigned blocks, unsigned word)
{
    unsigned left = blocks - word * 64;

    return left >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << left) - 1;
}

static bool or_reduced(const uint64_t *state, unsigned blocks)
{
    uint64_t any = 0;

    for (unsigned i = 0; i < hdi_map_words(blocks); i++)
        any |= state[i] & word_mask(blocks, i);
    return any != 0;
}

static bool and_reduced(const uint64_t *state, unsigned blocks)
{
    bool all = true;

    for (unsigned i = 0; i < hdi_map_words(blocks); i++)
        all &= (state[i] | ~word_mask(blocks, i)) == ~UINT64_C(0);
    return all;
}

// At most `blocks` shifts of all words: quadratic in the size of the map.
void hdi_steps_sequence(const uint64_t *map, unsigned blocks,
                        struct hdi_steps steps, uint64_t *sequence)
{
    bool inverted = steps.polarity == HDI_FREE_IS_ZERO;
    unsigned words = hdi_map_words(blocks);
    uint64_t shifted[HDI_STEP_WORDS], running[HDI_STEP_WORDS];

    memset(sequence, 0, words * sizeof(*sequence));
    for (unsigned i = 0; i < words; i++)
        shifted[i] = inverted ? ~map[i] : map[i];
    memcpy(running, shifted, words * sizeof(*running));

    for (unsigned shift = 0; shift < blocks; shift++) {
        if (shift > 0) {
            shift_one(shifted, blocks, steps.direction, inverted);
            for (unsigned i = 0; i < words; i++) {
                if (inverted)
                    running[i] |= shifted[i];
                else
                    running[i] &= shifted[i];
            }
        }
        bool found = inverted ? !and_reduced(running, blocks)
                              : or_reduced(running, blocks);
        sequence[shift / 64] |= (uint64_t)found << (shift % 64);
    }
}

unsigned hdi_steps_read(const uint64_t *sequence, unsigned bits)
{
    for (unsigned i = bits; i-- > 0;) {
        if (sequence[i / 64] >> (i % 64) & 1)
            return i + 1;
    }
    return 0;
}

void hdi_steps_table(uint8_t *table, unsigned bits)
{
    for (uint32_t sequence = 0; sequence < UINT32_C(1) << bits; sequence++) {
        uint64_t word = sequence;
        table[sequence] = (uint8_t)hdi_steps_read(&word, bits);
    }
}

unsigned hdi_run_exact_steps(const uint64_t *map, unsigned blocks,
                             struct hdi_steps steps)
{
    uint64_t sequence[HDI_STEP_WORDS];

    hdi_steps_sequence(map, blocks, steps, sequence);
    return hdi_steps_read(sequence, blocks);
}

// A map of whole groups first, then the exact search over groups.
unsigned hdi_run_grouped_steps(const uint64_t *map, unsigned blocks,
                               unsigned group, struct hdi_steps steps)
{
    uint64_t groups[HDI_STEP_WORDS] = {0};
    unsigned count = blocks / group;

    for (unsigned g = 0; g < count; g++) {
        bool free = true;

        for (unsigned i = g * group; i < (g + 1) * group; i++)
            free &= map[i / 64] >> (i % 64) & 1;
        groups[g / 64] |= (uint64_t)free << (g % 64);
    }
    return group * hdi_run_exact_steps(groups, count, steps);
}

unsigned hdi_run_sampled_steps(const uint64_t *map, unsigned blocks,
                               const uint16_t *shifts, unsigned count,
                               struct hdi_steps steps)
{
    uint64_t sequence[HDI_STEP_WORDS];

    hdi_steps_sequence(map, blocks, steps, sequence);
    for (unsigned i = count; i-- > 0;) {
        if (sequence[shifts[i] / 64] >> (shifts[i] % 64) & 1)
            return shifts[i] + 1u;
    }
    return 0;
}
