// One clock for all times: monotonic nanoseconds.
#ifndef HDI_BASE_CLOCK_H
#define HDI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hdi_now(void) // [ns]
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
