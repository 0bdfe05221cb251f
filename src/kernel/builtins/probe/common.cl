// Common and geometric functions of each type, and integer functions of few
// bits, in loops over doubles: what comes in is exact in each type.
#include "probe.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define LOOP(name, T, call)                                               \
    void common_##name##_##T(SIZE n, IN(double) from, OUT(double) to)     \
    {                                                                     \
        for (SIZE i = 0; i < n; i++) {                                    \
            T x = (T)from[3 * i], y = (T)from[3 * i + 1],                 \
              z = (T)from[3 * i + 2];                                     \
            (void)y, (void)z;                                             \
            to[i] = (double)(call);                                       \
        }                                                                 \
    }
#define COMMON(T)                             \
    LOOP(degrees, T, degrees(x))              \
    LOOP(radians, T, radians(x))              \
    LOOP(sign, T, sign(x))                    \
    LOOP(max, T, max(x, y))                   \
    LOOP(min, T, min(x, y))                   \
    LOOP(clamp, T, clamp(x, min(y, z), max(y, z))) \
    LOOP(step, T, step(x, y))                 \
    LOOP(mix, T, mix(x, y, z))                \
    LOOP(smoothstep, T, smoothstep(min(x, y) - 1, max(x, y), z))
COMMON(half)
COMMON(float)
COMMON(double)
#define SELECT(T, C) LOOP(select_##C, T, select(x, y, (C)z))
SELECT(half, short)
SELECT(half, ushort)
SELECT(float, int)
SELECT(float, uint)
SELECT(double, long)
SELECT(double, ulong)
SELECT(char, char)
SELECT(ushort, ushort)
SELECT(int, int)
SELECT(ulong, long)

LOOP(mul24, int, mul24(x, y))
LOOP(mul24, uint, mul24(x & 0xff, y & 0xff))
LOOP(mad24, int, mad24(x, y, z))
LOOP(mad24, uint, mad24(x & 0xff, y & 0xff, z))
LOOP(upsample, char, upsample(x, (uchar)y))
LOOP(upsample, uchar, upsample(x, y))
LOOP(upsample, short, upsample(x, (ushort)y))
LOOP(upsample, ushort, upsample(x, y))
LOOP(upsample, int, upsample(x, (uint)y))
LOOP(upsample, uint, upsample(x, y))

// Two vectors of `n` out of eight numbers; a third, of the result's four.
#define VECTOR(n, T, from)                                           \
    T##n x, y;                                                       \
    for (int c = 0; c < n; c++) {                                    \
        ((T *)&x)[c] = (T)(from)[c];                                 \
        ((T *)&y)[c] = (T)(from)[4 + c];                             \
    }
#define ONE_NUMBER(name, n, T, call)                                        \
    void geometric_##name##_##n##_##T(SIZE count, IN(double) from,          \
                                      OUT(double) to)                       \
    {                                                                       \
        for (SIZE i = 0; i < count; i++) {                                  \
            VECTOR(n, T, from + 8 * i)                                      \
            to[4 * i] = (double)(call);                                     \
        }                                                                   \
    }
#define ONE_VECTOR(name, n, T, call)                                        \
    void geometric_##name##_##n##_##T(SIZE count, IN(double) from,          \
                                      OUT(double) to)                       \
    {                                                                       \
        for (SIZE i = 0; i < count; i++) {                                  \
            VECTOR(n, T, from + 8 * i)                                      \
            T##n r = call;                                                  \
            for (int c = 0; c < n; c++)                                     \
                to[4 * i + c] = (double)((T *)&r)[c];                       \
        }                                                                   \
    }
#define GEOMETRIC(n, T)                          \
    ONE_NUMBER(dot, n, T, dot(x, y))             \
    ONE_NUMBER(length, n, T, length(x))          \
    ONE_NUMBER(distance, n, T, distance(x, y))   \
    ONE_VECTOR(normalize, n, T, normalize(x))
#define FAST(n, T)                                         \
    ONE_NUMBER(fast_length, n, T, fast_length(x))          \
    ONE_NUMBER(fast_distance, n, T, fast_distance(x, y))   \
    ONE_VECTOR(fast_normalize, n, T, fast_normalize(x))
typedef half half1;
typedef float float1;
typedef double double1;
#define WIDTHS(F, T) F(1, T) F(2, T) F(3, T) F(4, T)
WIDTHS(GEOMETRIC, half)
WIDTHS(GEOMETRIC, float)
WIDTHS(GEOMETRIC, double)
WIDTHS(FAST, float)
#define CROSS(T)                         \
    ONE_VECTOR(cross, 3, T, cross(x, y)) \
    ONE_VECTOR(cross, 4, T, cross(x, y))
CROSS(half)
CROSS(float)
CROSS(double)
