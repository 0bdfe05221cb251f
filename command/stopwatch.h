// Time, for the figures in the report.
#ifndef COMMAND_STOPWATCH_H
#define COMMAND_STOPWATCH_H

#include <stdint.h>
#include <time.h>

// A clock that only goes forward [ns].
static inline uint64_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

// Return the time since `*mark` and start anew [ns].
static inline uint64_t lap(uint64_t *mark)
{
    uint64_t time = now();
    uint64_t passed = time - *mark;

    *mark = time;
    return passed;
}

#endif
