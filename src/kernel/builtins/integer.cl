// Integer functions.
#include "base.h"

#define INTEGER(T, U, S)                                                       \
    T OVERLOAD min(T a, T b)                                                   \
    {                                                                          \
        return b < a ? b : a;                                                  \
    }                                                                          \
    T OVERLOAD max(T a, T b)                                                   \
    {                                                                          \
        return a < b ? b : a;                                                  \
    }                                                                          \
    T OVERLOAD clamp(T a, T low, T high)                                       \
    {                                                                          \
        return min(max(a, low), high);                                         \
    }                                                                          \
    U OVERLOAD abs(T a)                                                        \
    {                                                                          \
        return a < (T)0 ? (U)0 - (U)a : (U)a;                                  \
    }                                                                          \
    U OVERLOAD abs_diff(T a, T b)                                              \
    {                                                                          \
        return a < b ? (U)b - (U)a : (U)a - (U)b;                              \
    }                                                                          \
    T OVERLOAD add_sat(T a, T b)                                               \
    {                                                                          \
        return __builtin_elementwise_add_sat(a, b);                            \
    }                                                                          \
    T OVERLOAD sub_sat(T a, T b)                                               \
    {                                                                          \
        return __builtin_elementwise_sub_sat(a, b);                            \
    }                                                                          \
    T OVERLOAD hadd(T a, T b)                                                  \
    {                                                                          \
        return (T)((a >> 1) + (b >> 1) + (a & b & (T)1));                      \
    }                                                                          \
    T OVERLOAD rhadd(T a, T b)                                                 \
    {                                                                          \
        return (T)((a >> 1) + (b >> 1) + ((a | b) & (T)1));                    \
    }                                                                          \
    T OVERLOAD rotate(T a, T by)                                               \
    {                                                                          \
        const U bits = sizeof(T) * 8;                                          \
        U n = (U)by % bits;                                                    \
        return (T)(U)(((U)a << n) | ((U)a >> ((bits - n) % bits)));            \
    }                                                                          \
    T OVERLOAD popcount(T a)                                                   \
    {                                                                          \
        return (T)__builtin_popcountg((U)a);                                   \
    }                                                                          \
    T OVERLOAD clz(T a)                                                        \
    {                                                                          \
        return (T)__builtin_clzg((U)a, (int)sizeof(T) * 8);                    \
    }                                                                          \
    T OVERLOAD ctz(T a)                                                        \
    {                                                                          \
        return (T)__builtin_ctzg((U)a, (int)sizeof(T) * 8);                    \
    }                                                                          \
    WIDTHS(EACH_2, min, T, T, T)                                               \
    WIDTHS(EACH_2, max, T, T, T)                                               \
    WIDTHS(LAST_2, min, T)                                                     \
    WIDTHS(LAST_2, max, T)                                                     \
    WIDTHS(EACH_3, clamp, T, T, T, T)                                          \
    WIDTHS(LAST_3, clamp, T)                                                   \
    WIDTHS(EACH_1, abs, U, T)                                                  \
    WIDTHS(EACH_2, abs_diff, U, T, T)                                          \
    WIDTHS(EACH_2, add_sat, T, T, T)                                           \
    WIDTHS(EACH_2, sub_sat, T, T, T)                                           \
    WIDTHS(EACH_2, hadd, T, T, T)                                              \
    WIDTHS(EACH_2, rhadd, T, T, T)                                             \
    WIDTHS(EACH_2, rotate, T, T, T)                                            \
    WIDTHS(EACH_1, popcount, T, T)                                             \
    WIDTHS(EACH_1, clz, T, T)                                                  \
    WIDTHS(EACH_1, ctz, T, T)
INTEGERS(INTEGER)

// The high half of the product, in a type twice as wide.
#define MUL_HI(T, W)                                                           \
    T OVERLOAD mul_hi(T a, T b)                                                \
    {                                                                          \
        return (T)(((W)a * (W)b) >> (sizeof(T) * 8));                          \
    }                                                                          \
    T OVERLOAD mad_hi(T a, T b, T c)                                           \
    {                                                                          \
        return mul_hi(a, b) + c;                                               \
    }                                                                          \
    WIDTHS(EACH_2, mul_hi, T, T, T)                                            \
    WIDTHS(EACH_3, mad_hi, T, T, T, T)
MUL_HI(char, int)
MUL_HI(uchar, uint)
MUL_HI(short, int)
MUL_HI(ushort, uint)
MUL_HI(int, long)
MUL_HI(uint, ulong)

ulong OVERLOAD mul_hi(ulong a, ulong b)
{
    ulong low = (ulong)(uint)a * (uint)b;
    ulong middle = (a >> 32) * (uint)b + (low >> 32);
    ulong other = (ulong)(uint)a * (b >> 32) + (uint)middle;
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

long OVERLOAD mul_hi(long a, long b)
{
    return (long)(mul_hi((ulong)a, (ulong)b) - (ulong)((a >> 63) & b) -
                  (ulong)((b >> 63) & a));
}

#define MAD_HI_LONG(T)                                                         \
    T OVERLOAD mad_hi(T a, T b, T c)                                           \
    {                                                                          \
        return mul_hi(a, b) + c;                                               \
    }                                                                          \
    WIDTHS(EACH_2, mul_hi, T, T, T)                                            \
    WIDTHS(EACH_3, mad_hi, T, T, T, T)
MAD_HI_LONG(long)
MAD_HI_LONG(ulong)

#define MUL_24(T)                                                              \
    T OVERLOAD mul24(T a, T b)                                                 \
    {                                                                          \
        return a * b;                                                          \
    }                                                                          \
    T OVERLOAD mad24(T a, T b, T c)                                            \
    {                                                                          \
        return a * b + c;                                                      \
    }                                                                          \
    WIDTHS(EACH_2, mul24, T, T, T)                                             \
    WIDTHS(EACH_3, mad24, T, T, T, T)
MUL_24(int)
MUL_24(uint)

#define UPSAMPLE(R, T, L)                                                      \
    R OVERLOAD upsample(T high, L low)                                         \
    {                                                                          \
        return (R)((R)high << (sizeof(T) * 8)) | (R)low;                       \
    }                                                                          \
    WIDTHS(EACH_2, upsample, R, T, L)
UPSAMPLE(short, char, uchar)
UPSAMPLE(ushort, uchar, uchar)
UPSAMPLE(int, short, ushort)
UPSAMPLE(uint, ushort, ushort)
UPSAMPLE(long, int, uint)
UPSAMPLE(ulong, uint, uint)
