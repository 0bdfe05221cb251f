// Pieces of kernels as people write them, which rules of the compiler look for:
// guards before an index, records, sums in memory, trees and butterflies in
// local memory. Each is OpenCL C and C alike: its text goes into kernels, and
// compiled it is what the interpreter carries out.
#ifndef HEDDLE_TESTS_KERNELS_PATTERN_H
#define HEDDLE_TESTS_KERNELS_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PATTERN_NUMBERS = 2,
    PATTERN_FROM = 4096,  // words that all may read
    PATTERN_BEFORE = 128, // words of a plane before the work-items'
    // Words that one pattern of a kernel writes: work-items have up to four.
    PATTERN_PLANE = PATTERN_BEFORE + 4 * 1280 + 128,
    PATTERN_PLANES = 6
};

// What a phase sees of a work-item.
struct pattern_lane {
    uint32_t id;          // in the launch
    uint32_t line, items; // in the work-group, and of it
    uint32_t n;           // the kernel's argument
    uint32_t a, b;        // any number; the same for the work-group
    uint32_t numbers[PATTERN_NUMBERS];
    const uint32_t *from;  // PATTERN_FROM words
    uint32_t *to;          // behind PATTERN_BEFORE words
    uint32_t *shared;      // local memory: 1024 words
    uint32_t result, kept; // of the pattern; from phase to phase
};

// `step` is the loop's variable, where the phase is part of one.
struct pattern_phase {
    const char *text; // NULL: there is none
    void (*run)(struct pattern_lane *lane, uint32_t step);
};

enum pattern_loop {
    PATTERN_ONCE,
    PATTERN_UP,   // for (uint s = 1; s < ITEMS; s *= 2)
    PATTERN_DOWN, // for (uint s = 1u << n % n0; s > 0; s /= 2)
    PATTERN_HALF  // for (uint s = ITEMS / 2; s > 0; s /= 2)
};

// first; then, where work-items meet in it, barrier, a loop over
// { turn[0]; barrier; turn[1]; barrier }, last, barrier.
struct pattern {
    const char *name;
    struct pattern_phase first, turn[2], last;
    enum pattern_loop loop;
    bool meets;
    bool is_same; // the result, for the whole group
    // From where to where the numbers are; of masks, powers of two, of which
    // one is taken.
    uint32_t least[PATTERN_NUMBERS], most[PATTERN_NUMBERS];
    bool is_mask[PATTERN_NUMBERS];
};

extern const struct pattern patterns_alone[], patterns_together[];
extern const unsigned patterns_alone_count, patterns_together_count;

static inline uint32_t pattern_begin(const struct pattern *p,
                                     const struct pattern_lane *any)
{
    return p->loop == PATTERN_UP     ? 1
           : p->loop == PATTERN_DOWN ? 1u << any->n % any->numbers[0]
           : p->loop == PATTERN_HALF ? any->items / 2
                                     : 0;
}

static inline bool pattern_goes_on(const struct pattern *p, uint32_t step,
                                   uint32_t items)
{
    return p->loop == PATTERN_UP ? step < items : step > 0;
}

static inline uint32_t pattern_next(const struct pattern *p, uint32_t step)
{
    return p->loop == PATTERN_UP ? 2 * step : step / 2;
}

// What memory begins with.
static inline uint32_t pattern_from(uint32_t i)
{
    return (i + 1) * 0x9e3779b1u >> 3;
}

static inline uint32_t pattern_to(uint32_t i)
{
    return (i ^ 0x2545) * 0x01000193u;
}

#endif
