// Integer functions.
#include "vector.h"

#define ALL(T, U, S, BITS, LOW, HIGH)                                \
    FN U abs_diff(T x, T y)                                          \
    {                                                                \
        return choose(x > y, (U)((U)x - (U)y), (U)((U)y - (U)x));    \
    }                                                                \
    FN T hadd(T x, T y)                                              \
    {                                                                \
        return (T)((x & y) + ((x ^ y) >> 1));                        \
    }                                                                \
    FN T rhadd(T x, T y)                                             \
    {                                                                \
        return (T)((x | y) - ((x ^ y) >> 1));                        \
    }                                                                \
    FN T clz(T x)                                                    \
    {                                                                \
        return (T)__builtin_clzg((U)x, BITS);                        \
    }                                                                \
    FN T ctz(T x)                                                    \
    {                                                                \
        return (T)__builtin_ctzg((U)x, BITS);                        \
    }                                                                \
    FN T popcount(T x)                                               \
    {                                                                \
        return (T)__builtin_popcountg((U)x);                         \
    }                                                                \
    FN T max(T x, T y)                                               \
    {                                                                \
        return choose(x > y, x, y);                                  \
    }                                                                \
    FN T min(T x, T y)                                               \
    {                                                                \
        return choose(x < y, x, y);                                  \
    }                                                                \
    FN T clamp(T x, T y, T z)                                        \
    {                                                                \
        return min(max(x, y), z);                                    \
    }                                                                \
    FN T rotate(T x, T y)                                            \
    {                                                                \
        U by = (U)y & (BITS - 1);                                    \
        return (T)((U)x << by | (U)x >> ((BITS - by) & (BITS - 1))); \
    }                                                                \
    UNARY(T, clz, T)                                                 \
    UNARY(T, ctz, T)                                                 \
    UNARY(T, popcount, T)                                            \
    WIDTHS(WHOLE, T, U, S, BITS)                                     \
    BINARY_SCALAR(T, max, T, T)                                      \
    BINARY_SCALAR(T, min, T, T)                                      \
    WIDTHS(CLAMP_SCALAR, T)
// What whole vectors do at once: kernels may keep theirs.
#define WHOLE(n, T, U, S, BITS)                                                \
    FN T##n max(T##n x, T##n y)                                                \
    {                                                                          \
        return x > y ? x : y;                                                  \
    }                                                                          \
    FN T##n min(T##n x, T##n y)                                                \
    {                                                                          \
        return x < y ? x : y;                                                  \
    }                                                                          \
    FN T##n clamp(T##n x, T##n y, T##n z)                                      \
    {                                                                          \
        return min(max(x, y), z);                                              \
    }                                                                          \
    FN T##n rotate(T##n x, T##n y)                                             \
    {                                                                          \
        U##n bits = as_##U##n(x), by = as_##U##n(y) & (U)(BITS - 1);           \
        return as_##T##n(bits << by | bits >> ((U)BITS - by & (U)(BITS - 1))); \
    }                                                                          \
    FN T##n hadd(T##n x, T##n y)                                               \
    {                                                                          \
        return as_##T##n(as_##U##n(x & y) + as_##U##n((x ^ y) >> (T)1));       \
    }                                                                          \
    FN T##n rhadd(T##n x, T##n y)                                              \
    {                                                                          \
        return as_##T##n(as_##U##n(x | y) - as_##U##n((x ^ y) >> (T)1));       \
    }                                                                          \
    FN U##n abs_diff(T##n x, T##n y)                                           \
    {                                                                          \
        return x > y ? as_##U##n(x) - as_##U##n(y)                             \
                     : as_##U##n(y) - as_##U##n(x);                            \
    }
#define CLAMP_SCALAR(n, T)                     \
    FN T##n clamp(T##n x, T y, T z)            \
    {                                          \
        return clamp(x, (T##n)(y), (T##n)(z)); \
    }
INTEGERS(ALL)

#define ABS(T, U, S, BITS, LOW, HIGH)              \
    FN U abs(T x)                                  \
    {                                              \
        return choose(x < 0, (U)(0 - (U)x), (U)x); \
    }                                              \
    UNARY(U, abs, T)
INTEGERS(ABS)

// W has twice the bits.
#define HIGH_HALF(T, W, BITS)            \
    FN T mul_hi(T x, T y)                \
    {                                    \
        return (T)((W)x * (W)y >> BITS); \
    }
HIGH_HALF(char, int, 8)
HIGH_HALF(uchar, uint, 8)
HIGH_HALF(short, int, 16)
HIGH_HALF(ushort, uint, 16)
HIGH_HALF(int, long, 32)
HIGH_HALF(uint, ulong, 32)

FN ulong mul_hi(ulong x, ulong y)
{
    ulong x0 = (uint)x, x1 = x >> 32, y0 = (uint)y, y1 = y >> 32;
    ulong middle = x1 * y0 + (x0 * y0 >> 32);
    ulong other = x0 * y1 + (uint)middle;
    return x1 * y1 + (middle >> 32) + (other >> 32);
}

FN long mul_hi(long x, long y)
{
    // A negative factor is 2^64 too large when read as unsigned.
    return (long)(mul_hi((ulong)x, (ulong)y) - ((ulong)(x >> 63) & (ulong)y) -
                  ((ulong)(y >> 63) & (ulong)x));
}

#define SATURATE(T, W, LOW, HIGH)                  \
    FN T mad_sat(T x, T y, T z)                    \
    {                                              \
        W sum = (W)x * (W)y + (W)z;                \
        return (T)clamp(sum, (W)(LOW), (W)(HIGH)); \
    }
SATURATE(char, int, CHAR_MIN, CHAR_MAX)
SATURATE(uchar, uint, 0, UCHAR_MAX)
SATURATE(short, int, SHRT_MIN, SHRT_MAX)
SATURATE(ushort, uint, 0, USHRT_MAX)
SATURATE(int, long, INT_MIN, INT_MAX)
SATURATE(uint, ulong, 0, UINT_MAX)

FN ulong mad_sat(ulong x, ulong y, ulong z)
{
    ulong low = x * y, sum = low + z;
    return choose((mul_hi(x, y) != 0) | (sum < low), (ulong)ULONG_MAX, sum);
}

FN long mad_sat(long x, long y, long z)
{
    ulong low = (ulong)x * (ulong)y, sum = low + (ulong)z;
    long high = mul_hi(x, y) + (z >> 63) + (sum < low);
    return choose(high == (long)sum >> 63, (long)sum,
                  choose(high < 0, (long)LONG_MIN, (long)LONG_MAX));
}

// What is smaller than int is promoted, where nothing saturates.
#define SMALL_SUMS(T, LOW, HIGH)                     \
    FN T add_sat(T x, T y)                           \
    {                                                \
        return (T)clamp((int)x + (int)y, LOW, HIGH); \
    }                                                \
    FN T sub_sat(T x, T y)                           \
    {                                                \
        return (T)clamp((int)x - (int)y, LOW, HIGH); \
    }
SMALL_SUMS(char, CHAR_MIN, CHAR_MAX)
SMALL_SUMS(uchar, 0, UCHAR_MAX)
SMALL_SUMS(short, SHRT_MIN, SHRT_MAX)
SMALL_SUMS(ushort, 0, USHRT_MAX)
#define SUMS(T)                                     \
    FN T add_sat(T x, T y)                          \
    {                                               \
        return __builtin_elementwise_add_sat(x, y); \
    }                                               \
    FN T sub_sat(T x, T y)                          \
    {                                               \
        return __builtin_elementwise_sub_sat(x, y); \
    }
SUMS(int)
SUMS(uint)
SUMS(long)
SUMS(ulong)

#define SUMS_AND_PRODUCTS(T, U, S, BITS, LOW, HIGH) \
    FN T mad_hi(T x, T y, T z)                      \
    {                                               \
        return (T)(mul_hi(x, y) + z);               \
    }                                               \
    BINARY(T, mul_hi, T, T)                         \
    BINARY(T, add_sat, T, T)                        \
    BINARY(T, sub_sat, T, T)                        \
    TERNARY(T, mad_hi, T, T, T)                     \
    TERNARY(T, mad_sat, T, T, T)
INTEGERS(SUMS_AND_PRODUCTS)

// The low half of the product, which overflows. Outside of 24 bits the result
// is ours to choose.
#define SHORT_PRODUCTS(T)                        \
    FN T mul24(T x, T y)                         \
    {                                            \
        return (T)((uint)x * (uint)y);           \
    }                                            \
    FN T mad24(T x, T y, T z)                    \
    {                                            \
        return (T)((uint)x * (uint)y + (uint)z); \
    }                                            \
    WIDTHS(WHOLE_SHORT, T)
#define WHOLE_SHORT(n, T)                                                \
    FN T##n mul24(T##n x, T##n y)                                        \
    {                                                                    \
        return as_##T##n(as_uint##n(x) * as_uint##n(y));                 \
    }                                                                    \
    FN T##n mad24(T##n x, T##n y, T##n z)                                \
    {                                                                    \
        return as_##T##n(as_uint##n(x) * as_uint##n(y) + as_uint##n(z)); \
    }
SHORT_PRODUCTS(int)
SHORT_PRODUCTS(uint)

#define UPSAMPLE(R, T, U, BITS)               \
    FN R upsample(T x, U y)                   \
    {                                         \
        return (R)((R)((R)x << BITS) | (R)y); \
    }                                         \
    BINARY(R, upsample, T, U)
UPSAMPLE(short, char, uchar, 8)
UPSAMPLE(ushort, uchar, uchar, 8)
UPSAMPLE(int, short, ushort, 16)
UPSAMPLE(uint, ushort, ushort, 16)
UPSAMPLE(long, int, uint, 32)
UPSAMPLE(ulong, uint, uint, 32)
