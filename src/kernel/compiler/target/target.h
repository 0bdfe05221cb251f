// Main header of target: what differs by processor.
//
// What rules of the compiler ask about the processor that code is made for: how
// wide its vectors are, what its instructions cost. Nothing of that kind stands
// anywhere else. LLVM keeps such costs too, but gives none of them through its
// C interface, and its own are wrong where it counts most (a gather of Zen 4).
#ifndef HDI_KERNEL_COMPILER_TARGET_TARGET_H
#define HDI_KERNEL_COMPILER_TARGET_TARGET_H

#include <stdbool.h>
#include <stdint.h>

enum {
    // An estimate of a reciprocal root that one step makes exact enough [bits].
    HDI_LONG_ESTIMATE = 14
};

// Costs are cycles of one instruction for a whole vector of 32-bit numbers, of
// which arithmetic takes about one. They are of public instruction tables
// (uops.info, Fog's, Arm's optimisation guides), rounded: rules compare sums.
struct hdi_target {
    const char *name; // in words

    // Vectors.
    unsigned vector_bytes; // of the widest that pays
    unsigned registers;
    unsigned kept;      // of them by loops, so that enough are left for what
                        // these do; more where others may come from memory
    bool word_gather;   // gathers and scatters are instructions, under masks
    unsigned gather;    // of words from anywhere
    unsigned scatter;   // of words to anywhere
    unsigned permute;   // of a vector's words by an index each; 0: there is no
                        // such instruction
    unsigned extract;   // of one lane to a general register
    unsigned masked;    // load or store under a mask
    unsigned loads;     // of vectors, in a cycle
    unsigned products;  // fused with a sum, of vectors, in a cycle
    unsigned latency;   // of one, until the next can use it [cycles]
    unsigned root_bits; // of its estimate of a reciprocal root of a float
    unsigned stall;     // of a load from two stores just before
    unsigned look; // of a branch by what a vector has, taken wrongly now and
                   // then

    // Memory.
    unsigned line;     // of the cache [bytes]
    unsigned ways;     // of the nearest cache
    unsigned near_kib; // of the nearest cache

    // Much the same everywhere, as far as is known.
    unsigned shuffle; // of two vectors, to any place
    unsigned retry;   // of a lane whose exchange another one has come before
    unsigned issue;   // instructions of any kind, in a cycle
    unsigned ahead;   // steps of a chain, of which shorter ones overlap with
                      // what follows, since the processor looks ahead past them
};

// `cpu` as LLVM calls it, `features` as "+avx,+avx2,-xop". Of a processor that
// is not known: what its instruction sets are usually like.
struct hdi_target hdi_target_find(const char *triple, const char *cpu,
                                  const char *features);

// 32-bit numbers in a vector: lanes of a chunk.
static inline unsigned hdi_target_lanes(const struct hdi_target *target)
{
    return target->vector_bytes / 4;
}

// Instructions of a block that take no longer than a look whether any lane
// needs them: three in two cycles.
static inline unsigned hdi_target_cheap(const struct hdi_target *target)
{
    return 3 * target->look / 2;
}

// A vector that is loaded and shuffled, once and with a neighbour.
static inline unsigned hdi_target_apart(const struct hdi_target *target)
{
    return 1 + target->shuffle;
}

static inline unsigned hdi_target_near(const struct hdi_target *target)
{
    return 2 + target->shuffle;
}

// An exchange of all lanes at one place, of which one after the other succeeds.
static inline unsigned hdi_target_retries(const struct hdi_target *target)
{
    return hdi_target_lanes(target) * target->retry;
}

// Lanes where a row has `row` work-items, 0: any number.
unsigned hdi_target_lanes_of(const struct hdi_target *target, uint32_t row);

#endif
