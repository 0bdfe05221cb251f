// The words of patterns in C, for the files that define some; print.c gives
// them to kernels.
#ifndef HEDDLE_TESTS_KERNELS_PATTERN_WORDS_H
#define HEDDLE_TESTS_KERNELS_PATTERN_WORDS_H

#include "tests/kernels/pattern.h"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// The type of an index is one of 32 or 64 bits, with a sign or not, in a
// kernel: no result depends on which.
typedef long position;

struct three {
    uint x, y, z;
};

struct four {
    uint n;
    ushort h[2];
    uint w[2];
};

#define global
#define ITEMS   (lane->items)
#define BARRIER // no phase goes past one

// A function and its text.
#define PHASE(name, ...)                                                  \
    static void name##_run(struct pattern_lane *lane, uint32_t s)         \
    {                                                                     \
        const position id = lane->id, l = lane->line;                     \
        const uint n = lane->n, a = lane->a, b = lane->b;                 \
        const uint n0 = lane->numbers[0], n1 = lane->numbers[1];          \
        const uint *const from = lane->from;                              \
        uint *const to = lane->to, *const shared = lane->shared;          \
        uint r = lane->result, t = lane->kept;                            \
        (void)id, (void)l, (void)n, (void)a, (void)b, (void)n0, (void)n1, \
            (void)from;                                                   \
        (void)to, (void)shared, (void)s;                                  \
        __VA_ARGS__                                                       \
        lane->result = r;                                                 \
        lane->kept = t;                                                   \
    }                                                                     \
    static const char name##_text[] = #__VA_ARGS__;

#define GIVEN(name)             \
    {                           \
        name##_text, name##_run \
    }
#define NO_NUMBERS       .loop = PATTERN_ONCE
#define RANGE(from, to)  .least[0] = (from), .most[0] = (to)
#define SECOND(from, to) .least[1] = (from), .most[1] = (to)

#endif
