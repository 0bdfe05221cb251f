// Numbers that look random and come again with the same seed.
#ifndef HDI_GRAPH_PLAN_RANDOM_H
#define HDI_GRAPH_PLAN_RANDOM_H

#include <stdint.h>

// Its owner is one thread. Not for secrets; the remainder prefers small numbers
// by a share of limit / 2^64, which does not matter here.
struct hdi_search_random {
    uint64_t state;
};

static inline void hdi_random_seed(struct hdi_search_random *random,
                                   uint64_t seed)
{
    random->state = seed;
}

// A number below `limit`, which is not 0 (SplitMix64: Steele, Lea, Flood,
// 2014).
static inline uint64_t hdi_random(struct hdi_search_random *random,
                                  uint64_t limit)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % limit;
}

#endif
