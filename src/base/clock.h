// One clock for all times: monotonic nanoseconds.
#ifndef HDI_BASE_CLOCK_H
#define HDI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

// Some 20 ns, through the vDSO. Never goes back, and stands still while the
// machine sleeps; comparable between threads and processes of one machine.
static inline uint64_t hdi_now(void) // [ns]
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
