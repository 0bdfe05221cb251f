// Invariant: every kept shift is reachable from the current one in the current
// step, so doubling the step never loses one.
#include "sim/samples.h"

#include <stdbool.h>
#include <stddef.h>

// A length is kept when it is needed more often than `limit`.
struct wanted {
    const uint64_t *needed; // by length
    double limit;
};

static bool is_kept(const struct wanted *wanted, unsigned shift)
{
    return (double)wanted->needed[shift + 1] > wanted->limit;
}

// Whether all kept shifts above `from` are a multiple of `step` away from it.
static bool reaches_all(const struct wanted *wanted, unsigned blocks,
                        unsigned from, unsigned step)
{
    for (unsigned shift = from + 1; shift < blocks; shift++) {
        if (is_kept(wanted, shift) && (shift - from) % step != 0)
            return false;
    }
    return true;
}

static bool may_double(const struct wanted *wanted, unsigned blocks,
                       unsigned from, unsigned step)
{
    if (!wanted->needed)
        return from + 1 >= 16 * step;
    return reaches_all(wanted, blocks, from, 2 * step);
}

// Greedy: from each shift the largest step, a power of two, that loses nothing.
unsigned sim_samples_choose(unsigned blocks, const uint64_t *needed,
                            double threshold, uint16_t *shifts)
{
    struct wanted wanted = {.needed = needed};
    unsigned count = 0, step = 1, shift = 0;

    if (needed) {
        double total = 0;
        for (unsigned length = 1; length <= blocks; length++)
            total += (double)needed[length];
        wanted.limit = threshold * total;
        // Nothing below the first kept shift needs an answer.
        while (shift + 1 < blocks && !is_kept(&wanted, shift))
            shift++;
        if (!is_kept(&wanted, shift))
            shift = 0;
    }
    while (shift < blocks) {
        shifts[count++] = (uint16_t)shift;
        while (step < blocks && may_double(&wanted, blocks, shift, step))
            step *= 2;
        shift += step;
    }
    return count;
}
