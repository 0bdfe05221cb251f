// A small random generator whose whole state is one word that the caller owns,
// so that equal seeds give equal decisions (xorshift64*, Vigna 2016; the seed
// goes through splitmix64 so that near seeds give far streams).
#ifndef HDI_BASE_RANDOM_H
#define HDI_BASE_RANDOM_H

#include <stdint.h>

struct hdi_random {
    uint64_t state; // never 0
};

static inline void hdi_random_seed(struct hdi_random *random, uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    random->state = z ? z : 1;
}

static inline uint64_t hdi_random_next(struct hdi_random *random)
{
    uint64_t x = random->state;

    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return x * 0x2545f4914f6cdd1du;
}

// Uniform in 0 .. n - 1; n > 0.
// By the upper half, without a division: the lower bits are the weaker ones.
static inline uint32_t hdi_random_below(struct hdi_random *random, uint32_t n)
{
    return (uint32_t)(((hdi_random_next(random) >> 32) * n) >> 32);
}

// The same for any n; the remainder prefers small numbers by a share of n /
// 2^64.
static inline uint64_t hdi_random_below64(struct hdi_random *random, uint64_t n)
{
    return hdi_random_next(random) % n;
}

// Uniform in [0, 1).
static inline double hdi_random_unit(struct hdi_random *random)
{
    return (double)(hdi_random_next(random) >> 11) * 0x1p-53;
}

#endif
