// Loops with one exact builtin in each.
#include "probe.h"

#define LOOP(R, name, T, call)                             \
    void name(SIZE n, IN(T) x, IN(T) y, IN(T) z, OUT(R) r) \
    {                                                      \
        for (SIZE i = 0; i < n; i++)                       \
            r[i] = call;                                   \
    }
#define LOOP_1(R, name, T) LOOP(R, exact_##name##_##T, T, name(x[i]))
#define LOOP_2(R, name, T) LOOP(R, exact_##name##_##T, T, name(x[i], y[i]))
#define LOOP_3(R, name, T) \
    LOOP(R, exact_##name##_##T, T, name(x[i], y[i], z[i]))
#define ALL_TYPES(LOOP, name)                                                  \
    LOOP(char, name, char)                                                     \
    LOOP(uchar, name, uchar) LOOP(short, name, short)                          \
        LOOP(ushort, name, ushort) LOOP(int, name, int) LOOP(uint, name, uint) \
            LOOP(long, name, long) LOOP(ulong, name, ulong)
#define INTEGER_1(name) ALL_TYPES(LOOP_1, name)
#define INTEGER_2(name) ALL_TYPES(LOOP_2, name)
#define INTEGER_3(name) ALL_TYPES(LOOP_3, name)
#include "exact.def"

// All conversions to D of an array: `how` is 0 for the default, then rte, rtz,
// rtp, rtn.
#define CONVERT(D, S)                                             \
    void convert_##D##_of_##S(SIZE n, int how, IN(S) x, OUT(D) r) \
    {                                                             \
        for (SIZE i = 0; i < n; i++)                              \
            r[i] = how == 0   ? convert_##D(x[i])                 \
                   : how == 1 ? convert_##D##_rte(x[i])           \
                   : how == 2 ? convert_##D##_rtz(x[i])           \
                   : how == 3 ? convert_##D##_rtp(x[i])           \
                              : convert_##D##_rtn(x[i]);          \
    }
#define CONVERT_SAT(D, S)                                          \
    void saturate_##D##_of_##S(SIZE n, int how, IN(S) x, OUT(D) r) \
    {                                                              \
        for (SIZE i = 0; i < n; i++)                               \
            r[i] = how == 0   ? convert_##D##_sat(x[i])            \
                   : how == 1 ? convert_##D##_sat_rte(x[i])        \
                   : how == 2 ? convert_##D##_sat_rtz(x[i])        \
                   : how == 3 ? convert_##D##_sat_rtp(x[i])        \
                              : convert_##D##_sat_rtn(x[i]);       \
    }
#define FROM(F, D)                                                       \
    F(D, char)                                                           \
    F(D, uchar) F(D, short) F(D, ushort) F(D, int) F(D, uint) F(D, long) \
        F(D, ulong) F(D, float) F(D, double)
#define INTEGER(T, U, bits, is_signed) FROM(CONVERT, T) FROM(CONVERT_SAT, T)
#include "types.def"
FROM(CONVERT, float)
FROM(CONVERT, double)

// A bit for each relation of x and y, and for each property of x.
#define RELATIONS(T)                                                           \
    void relations_##T(SIZE n, IN(T) x, IN(T) y, OUT(int) r)                   \
    {                                                                          \
        for (SIZE i = 0; i < n; i++)                                           \
            r[i] =                                                             \
                isequal(x[i], y[i]) | isnotequal(x[i], y[i]) << 1 |            \
                isgreater(x[i], y[i]) << 2 | isgreaterequal(x[i], y[i]) << 3 | \
                isless(x[i], y[i]) << 4 | islessequal(x[i], y[i]) << 5 |       \
                islessgreater(x[i], y[i]) << 6 | isordered(x[i], y[i]) << 7 |  \
                isunordered(x[i], y[i]) << 8 | isfinite(x[i]) << 9 |           \
                isinf(x[i]) << 10 | isnan(x[i]) << 11 | isnormal(x[i]) << 12 | \
                signbit(x[i]) << 13;                                           \
    }
RELATIONS(float)
RELATIONS(double)

// Vectors of 3 packed by vload3 and vstore3, chosen by the sign of each.
void select_3(SIZE n, IN(int) x, IN(int) y, OUT(int) r)
{
    for (SIZE i = 0; i < n; i++) {
        int3 a = vload3(i, x), b = vload3(i, y);
        vstore3(select(a, b, isless(convert_float3(a), convert_float3(b))), i,
                r);
    }
}
// The largest of 16, the long way round.
void any_all_16(SIZE n, IN(char) x, OUT(int) r)
{
    for (SIZE i = 0; i < n; i++) {
        char16 v = vload16(i, x);
        r[i] = any(v) | all(v) << 1;
    }
}
void shuffle_reverse(SIZE n, IN(ushort) x, OUT(ushort) r)
{
    for (SIZE i = 0; i < n; i++) {
        ushort8 v = vload8(i, x);
        vstore8(shuffle2(v.lo, v.hi, (ushort8)(7, 6, 5, 4, 3, 2, 1, 0)), i, r);
    }
}
void halves_of_float(SIZE n, int how, IN(float) x, OUT(half) r)
{
    for (SIZE i = 0; i < n; i++) {
        if (how == 0)
            vstore_half(x[i], i, r);
        else if (how == 1)
            vstore_half_rte(x[i], i, r);
        else if (how == 2)
            vstore_half_rtz(x[i], i, r);
        else if (how == 3)
            vstore_half_rtp(x[i], i, r);
        else
            vstore_half_rtn(x[i], i, r);
    }
}
void halves_of_double(SIZE n, int how, IN(double) x, OUT(half) r)
{
    for (SIZE i = 0; i < n; i++) {
        if (how == 0)
            vstore_half(x[i], i, r);
        else if (how == 1)
            vstore_half_rte(x[i], i, r);
        else if (how == 2)
            vstore_half_rtz(x[i], i, r);
        else if (how == 3)
            vstore_half_rtp(x[i], i, r);
        else
            vstore_half_rtn(x[i], i, r);
    }
}
void floats_of_half(SIZE n, IN(half) x, OUT(float) r)
{
    for (SIZE i = 0; i < n; i++)
        r[i] = vload_half(i, x);
}

// Parts of numbers, by the functions with pointers.
#define PARTS(T, I)                                                        \
    void parts_##T(SIZE n, IN(T) x, IN(T) y, OUT(T) r)                     \
    {                                                                      \
        for (SIZE i = 0; i < n; i++) {                                     \
            int exponent, quotient;                                        \
            T whole, floored, cosine;                                      \
            r[10 * i] = frexp(x[i], &exponent);                            \
            r[10 * i + 1] = exponent;                                      \
            r[10 * i + 2] = modf(x[i], &whole);                            \
            r[10 * i + 3] = whole;                                         \
            r[10 * i + 4] = fract(x[i], &floored);                         \
            r[10 * i + 5] = floored;                                       \
            r[10 * i + 6] = nextafter(x[i], y[i]);                         \
            r[10 * i + 7] =                                                \
                sincos(x[i], &cosine) == sin(x[i]) && cosine == cos(x[i]); \
            r[10 * i + 8] = remquo(x[i], y[i], &quotient);                 \
            r[10 * i + 9] = quotient & 7;                                  \
        }                                                                  \
    }
PARTS(float, int)
PARTS(double, long)
