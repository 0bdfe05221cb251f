// Fields of bits, their order, and dot products of bytes.
#include "vector.h"

#define LOW_BITS(U, BITS, n) ((n) >= BITS ? (U) ~(U)0 : (U)(((U)1 << (n)) - 1))

// A field of no bits is 0, and one that reaches beyond the type is undefined.
#define FIELDS(T, U, S, BITS, LOW, HIGH)                                  \
    FN T bit_reverse(T x)                                                 \
    {                                                                     \
        return (T)__builtin_bitreverse##BITS((U)x);                       \
    }                                                                     \
    UNARY(T, bit_reverse, T)                                              \
    FN T bitfield_insert(T x, T y, uint from, uint n)                     \
    {                                                                     \
        U mask = (U)(LOW_BITS(U, BITS, n) << (from & (BITS - 1)));        \
        U moved = (U)((U)y << (from & (BITS - 1)));                       \
        return (T)(((U)x & (U)~mask) | (moved & mask));                   \
    }                                                                     \
    FN U bitfield_extract_unsigned(T x, uint from, uint n)                \
    {                                                                     \
        return (U)((U)x >> (from & (BITS - 1))) & LOW_BITS(U, BITS, n);   \
    }                                                                     \
    FN S bitfield_extract_signed(T x, uint from, uint n)                  \
    {                                                                     \
        uint unused = (BITS - n) & (BITS - 1);                            \
        S high = (S)((U)bitfield_extract_unsigned(x, from, n) << unused); \
        return (S)(high >> unused);                                       \
    }                                                                     \
    WIDTHS(FIELDS_N, T, U, S)
#define FIELDS_N(w, T, U, S)                                     \
    FN T##w bitfield_insert(T##w x, T##w y, uint from, uint n)   \
    {                                                            \
        T##w r;                                                  \
        for (int i = 0; i < w; i++)                              \
            r[i] = bitfield_insert(x[i], y[i], from, n);         \
        return r;                                                \
    }                                                            \
    FN U##w bitfield_extract_unsigned(T##w x, uint from, uint n) \
    {                                                            \
        U##w r;                                                  \
        for (int i = 0; i < w; i++)                              \
            r[i] = bitfield_extract_unsigned(x[i], from, n);     \
        return r;                                                \
    }                                                            \
    FN S##w bitfield_extract_signed(T##w x, uint from, uint n)   \
    {                                                            \
        S##w r;                                                  \
        for (int i = 0; i < w; i++)                              \
            r[i] = bitfield_extract_signed(x[i], from, n);       \
        return r;                                                \
    }
INTEGERS(FIELDS)

// R is the type of the result; no sum of four products overflows it.
#define DOT(R, kind, A, B, LOW, HIGH)                                      \
    FN R dot(A##4 x, B##4 y)                                               \
    {                                                                      \
        return (R)x.s0 * (R)y.s0 + (R)x.s1 * (R)y.s1 + (R)x.s2 * (R)y.s2 + \
               (R)x.s3 * (R)y.s3;                                          \
    }                                                                      \
    FN R dot_acc_sat(A##4 x, B##4 y, R z)                                  \
    {                                                                      \
        long sum = (long)dot(x, y) + (long)z;                              \
        return (R)choose(sum < LOW, (long)LOW,                             \
                         choose(sum > HIGH, (long)HIGH, sum));             \
    }                                                                      \
    FN R dot_4x8packed_##kind##_##R(uint x, uint y)                        \
    {                                                                      \
        return dot(as_##A##4(x), as_##B##4(y));                            \
    }                                                                      \
    FN R dot_acc_sat_4x8packed_##kind##_##R(uint x, uint y, R z)           \
    {                                                                      \
        return dot_acc_sat(as_##A##4(x), as_##B##4(y), z);                 \
    }
DOT(uint, uu, uchar, uchar, 0, UINT_MAX)
DOT(int, ss, char, char, INT_MIN, INT_MAX)
DOT(int, us, uchar, char, INT_MIN, INT_MAX)
DOT(int, su, char, uchar, INT_MIN, INT_MAX)
