// Relational functions: 1 for true in a scalar, -1 in a vector. Those of
// integers work on bits.
#include "vector.h"

#define COMPARE_N(n, f, T, I)        \
    FN I##n f(T##n x, T##n y)        \
    {                                \
        return -(I##n)(MAP2_##n(f)); \
    }
#define TEST_N(n, f, T, I)           \
    FN I##n f(T##n x)                \
    {                                \
        return -(I##n)(MAP1_##n(f)); \
    }
#define COMPARE(f, condition, T, I) \
    FN int f(T x, T y)              \
    {                               \
        return condition;           \
    }                               \
    WIDTHS(COMPARE_N, f, T, I)
#define TEST(f, condition, T, I) \
    FN int f(T x)                \
    {                            \
        return condition;        \
    }                            \
    WIDTHS(TEST_N, f, T, I)

// Bits as integers: one compiler option must not take infinities away.
#define FLOATS(T, I, SIGN, INF, LEAST)                                        \
    COMPARE(isequal, x == y, T, I)                                            \
    COMPARE(isnotequal, x != y, T, I)                                         \
    COMPARE(isgreater, x > y, T, I)                                           \
    COMPARE(isgreaterequal, x >= y, T, I)                                     \
    COMPARE(isless, x < y, T, I)                                              \
    COMPARE(islessequal, x <= y, T, I)                                        \
    COMPARE(islessgreater, (x < y) | (x > y), T, I)                           \
    COMPARE(isordered, (x == x) & (y == y), T, I)                             \
    COMPARE(isunordered, (x != x) | (y != y), T, I)                           \
    TEST(isfinite, (as_##I(x) & ~(SIGN)) < INF, T, I)                         \
    TEST(isinf, (as_##I(x) & ~(SIGN)) == INF, T, I)                           \
    TEST(isnan, (as_##I(x) & ~(SIGN)) > INF, T, I)                            \
    TEST(isnormal,                                                            \
         ((as_##I(x) & ~(SIGN)) >= LEAST) & ((as_##I(x) & ~(SIGN)) < INF), T, \
         I)                                                                   \
    TEST(signbit, as_##I(x) < 0, T, I)                                        \
    FN T bitselect(T x, T y, T z)                                             \
    {                                                                         \
        return as_##T(                                                        \
            (I)((as_##I(x) & ~as_##I(z)) | (as_##I(y) & as_##I(z))));         \
    }                                                                         \
    WIDTHS(WHOLE_BITS_OF, T, I)
#define WHOLE_BITS_OF(n, T, I)                                        \
    FN T##n bitselect(T##n x, T##n y, T##n z)                         \
    {                                                                 \
        I##n mask = as_##I##n(z);                                     \
        return as_##T##n(as_##I##n(x) & ~mask | as_##I##n(y) & mask); \
    }
FLOATS(half, short, SHRT_MIN, 0x7c00, 0x0400)
FLOATS(float, int, INT_MIN, 0x7f800000, 0x00800000)
FLOATS(double, long, LONG_MIN, 0x7ff0000000000000, 0x0010000000000000)

#define BITS(T, U, S, BITS, LOW, HIGH)  \
    FN T bitselect(T x, T y, T z)       \
    {                                   \
        return (T)((x & ~z) | (y & z)); \
    }                                   \
    WIDTHS(WHOLE_BITS, T)
#define WHOLE_BITS(n, T)                      \
    FN T##n bitselect(T##n x, T##n y, T##n z) \
    {                                         \
        return x & ~z | y & z;                \
    }
INTEGERS(BITS)

#define OR_2(v) (v.s0 | v.s1)
#define OR_3(v) (OR_2(v) | v.s2)
#define OR_4(v) (OR_2(v) | v.s2 | v.s3)
#define OR_8(v) (OR_4(v) | v.s4 | v.s5 | v.s6 | v.s7)
#define OR_16(v) \
    (OR_8(v) | v.s8 | v.s9 | v.sa | v.sb | v.sc | v.sd | v.se | v.sf)
#define AND_2(v) (v.s0 & v.s1)
#define AND_3(v) (AND_2(v) & v.s2)
#define AND_4(v) (AND_2(v) & v.s2 & v.s3)
#define AND_8(v) (AND_4(v) & v.s4 & v.s5 & v.s6 & v.s7)
#define AND_16(v) \
    (AND_8(v) & v.s8 & v.s9 & v.sa & v.sb & v.sc & v.sd & v.se & v.sf)
#define ANY_N(n, T)                 \
    FN int any(T##n x)              \
    {                               \
        return (T)(OR_##n(x)) < 0;  \
    }                               \
    FN int all(T##n x)              \
    {                               \
        return (T)(AND_##n(x)) < 0; \
    }
#define ANY(T, U, S, BITS, LOW, HIGH) \
    FN int any(T x)                   \
    {                                 \
        return x < 0;                 \
    }                                 \
    FN int all(T x)                   \
    {                                 \
        return x < 0;                 \
    }                                 \
    WIDTHS(ANY_N, T)
SIGNED(ANY)

// Scalars choose by the value of z, vectors by the highest bits of z.
#define SELECT_N(n, T, S, U)                                      \
    FN T##n select(T##n x, T##n y, S##n z)                        \
    {                                                             \
        return as_##T##n(z < (S)0 ? as_##S##n(y) : as_##S##n(x)); \
    }                                                             \
    FN T##n select(T##n x, T##n y, U##n z)                        \
    {                                                             \
        return select(x, y, as_##S##n(z));                        \
    }
#define SELECT(T, S, U)              \
    FN T select(T x, T y, S z)       \
    {                                \
        return choose(z != 0, y, x); \
    }                                \
    FN T select(T x, T y, U z)       \
    {                                \
        return choose(z != 0, y, x); \
    }                                \
    WIDTHS(SELECT_N, T, S, U)
#define SELECT_INTEGER(T, U, S, BITS, LOW, HIGH) SELECT(T, S, U)
INTEGERS(SELECT_INTEGER)
SELECT(half, short, ushort)
SELECT(float, int, uint)
SELECT(double, long, ulong)
