// Digests of a few numbers, equal wherever they are made.
#ifndef HDI_FIELD_MAP_MIX_H
#define HDI_FIELD_MAP_MIX_H

#include <stdint.h>

static inline uint64_t hdi_mix(uint64_t digest, uint64_t value)
{
    // splitmix64's finaliser (Steele, Lea, Flood, OOPSLA 2014).
    digest = (digest ^ value) + 0x9e3779b97f4a7c15u;
    digest = (digest ^ digest >> 30) * 0xbf58476d1ce4e5b9u;
    digest = (digest ^ digest >> 27) * 0x94d049bb133111ebu;
    return digest ^ digest >> 31;
}

#endif
