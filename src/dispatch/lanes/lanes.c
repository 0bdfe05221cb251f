// Which set of lanes this processor can run, best first.
#include "dispatch/maps/lanes.h"

#include <stdbool.h>

extern const struct hdi_simd hdi_lanes_base;
#ifdef HDI_LANES_X86
extern const struct hdi_simd hdi_lanes_avx2, hdi_lanes_avx512;

// All that avx512.c is compiled for (CMakeLists.txt).
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}
#endif

const struct hdi_simd *hdi_lanes_at(unsigned index)
{
    const struct hdi_simd *can[3];
    unsigned count = 0;

#ifdef HDI_LANES_X86
    if (has_avx512())
        can[count++] = &hdi_lanes_avx512;
    if (has_avx2())
        can[count++] = &hdi_lanes_avx2;
#endif
    can[count++] = &hdi_lanes_base;
    return index < count ? can[index] : (const struct hdi_simd *)0;
}

const struct hdi_simd *hdi_lanes(void)
{
#ifdef HDI_LANES_X86
    if (has_avx512())
        return &hdi_lanes_avx512;
    if (has_avx2())
        return &hdi_lanes_avx2;
#endif
    return &hdi_lanes_base;
}
