// Loops over arrays of halves with one builtin in each.
#include "probe.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define ROW(call) \
    for (SIZE i = 0; i < n; i++)                                \
        r[i] = call;
#define LOOP_1(name, call)                                                 \
    __attribute__((noinline)) void probe_##name##_half(SIZE n, IN(half) x, \
                                                       OUT(half) r)        \
    {                                                                      \
        ROW(call)                                                    \
    }
#define LOOP_2(name, T, call)                                   \
    __attribute__((noinline)) void probe_##name##_half(         \
        SIZE n, IN(half) x, IN(T) y, OUT(half) r)               \
    {                                                           \
        ROW(call)                                         \
    }
#define REAL_1(name, reference, single, twice) LOOP_1(name, name(x[i]))
#define REAL_2(name, reference, single, twice) \
    LOOP_2(name, half, name(x[i], y[i]))
#define EITHER_2(name, reference)        REAL_2(name, reference, 0, 0)
#define REAL_INT(name, reference, bound) LOOP_2(name, int, name(x[i], y[i]))
#include "math.def"
LOOP_2(nextafter, half, nextafter(x[i], y[i]))
LOOP_2(add, half, x[i] + y[i])
LOOP_2(multiply, half, x[i] * y[i])
LOOP_2(divide, half, x[i] / y[i])
void probe_fma_half(SIZE n, IN(half) x, IN(half) y, IN(half) z, OUT(half) r)
{
    ROW(fma(x[i], y[i], z[i]))
}

// Conversions in all modes: `how` is 0 for the default, then rte, rtz, rtp, rtn.
#define FROM(S)                                        \
    void half_of_##S(SIZE n, int how, IN(S) x, OUT(half) r) \
    {                                                  \
        ROW(how == 0   ? convert_half(x[i])            \
            : how == 1 ? convert_half_rte(x[i])        \
            : how == 2 ? convert_half_rtz(x[i])        \
            : how == 3 ? convert_half_rtp(x[i])        \
                       : convert_half_rtn(x[i]))       \
    }
FROM(int)
FROM(uint)
FROM(long)
FROM(ulong)
FROM(float)
FROM(double)
#define TO(D)                                          \
    void half_to_##D(SIZE n, int how, IN(half) x, OUT(D) r) \
    {                                                  \
        ROW(how == 0   ? convert_##D##_sat(x[i])       \
            : how == 1 ? convert_##D##_sat_rte(x[i])   \
            : how == 2 ? convert_##D##_sat_rtz(x[i])   \
            : how == 3 ? convert_##D##_sat_rtp(x[i])   \
                       : convert_##D##_sat_rtn(x[i]))  \
    }
TO(char)
TO(ushort)
TO(int)
TO(ulong)

// Relations and choices, as in exact.cl.
void half_relations(SIZE n, IN(half) x, IN(half) y, OUT(int) r)
{
    ROW(isequal(x[i], y[i]) | isnotequal(x[i], y[i]) << 1 |
        isgreater(x[i], y[i]) << 2 | isgreaterequal(x[i], y[i]) << 3 |
        isless(x[i], y[i]) << 4 | islessequal(x[i], y[i]) << 5 |
        islessgreater(x[i], y[i]) << 6 | isordered(x[i], y[i]) << 7 |
        isunordered(x[i], y[i]) << 8 | isfinite(x[i]) << 9 |
        isinf(x[i]) << 10 | isnan(x[i]) << 11 | isnormal(x[i]) << 12 |
        signbit(x[i]) << 13)
}
