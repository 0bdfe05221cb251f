// convert_DESTINATION[_sat][_rounding](source) for all pairs.
#include "vector.h"

// X(source, ...), in two copies: a list does not expand inside itself.
#define FROM(X, ...)                                                   \
    X(char, __VA_ARGS__)                                               \
    X(uchar, __VA_ARGS__) X(short, __VA_ARGS__) X(ushort, __VA_ARGS__) \
        X(int, __VA_ARGS__) X(uint, __VA_ARGS__) X(long, __VA_ARGS__)  \
            X(ulong, __VA_ARGS__)
#define TO(X)                                                                \
    X(char, CHAR_MIN, CHAR_MAX, 0x1p7)                                       \
    X(uchar, 0, UCHAR_MAX, 0x1p8) X(short, SHRT_MIN, SHRT_MAX, 0x1p15)       \
        X(ushort, 0, USHRT_MAX, 0x1p16) X(int, INT_MIN, INT_MAX, 0x1p31)     \
            X(uint, 0, UINT_MAX, 0x1p32) X(long, LONG_MIN, LONG_MAX, 0x1p63) \
                X(ulong, 0, ULONG_MAX, 0x1p64)

#define NAME_N(n, D, S, suffix)                       \
    FN D##n convert_##D##n##suffix(S##n x)            \
    {                                                 \
        return (D##n)(MAP1_##n(convert_##D##suffix)); \
    }

// As it is, and rounded `how`.
#define CONVERSION(D, S, suffix, value) \
    FN D convert_##D##suffix(S x)       \
    {                                   \
        return value;                   \
    }                                   \
    WIDTHS(NAME_N, D, S, suffix)

#define ALL_ROUNDINGS(D, S, sat, value) \
    CONVERSION(D, S, sat, value)        \
    CONVERSION(D, S, sat##_rte, value)  \
    CONVERSION(D, S, sat##_rtz, value)  \
    CONVERSION(D, S, sat##_rtp, value)  \
    CONVERSION(D, S, sat##_rtn, value)

// Integers to integers. The comparisons narrow to what the types need.
#define SATURATE(D, S, LOW, HIGH)                                   \
    INNER D saturate_##D(S x)                                       \
    {                                                               \
        bool above = (x > (S)0) & ((ulong)x > (ulong)HIGH);         \
        bool below = (x < (S)0) & ((long)x < (long)LOW);            \
        return choose(below, (D)LOW, choose(above, (D)HIGH, (D)x)); \
    }
#define INTEGER(S, D, LOW, HIGH) \
    SATURATE(D, S, LOW, HIGH)    \
    ALL_ROUNDINGS(D, S, , (D)x)  \
    ALL_ROUNDINGS(D, S, _sat, saturate_##D(x))
#define TO_INTEGER(D, LOW, HIGH, END) FROM(INTEGER, D, LOW, HIGH)
TO(TO_INTEGER)

// Floats to integers: x is rounded to an integer already. END is one more than
// the highest, exact in any format.
#define REAL(S, D, LOW, HIGH, END)                                           \
    INNER D saturate_##D(S x)                                                \
    {                                                                        \
        bool above = x >= (S)END, below = x < (S)LOW;                        \
        D inside = (D)choose(above | below | (x != x), (S)0, x);             \
        return choose(above, (D)HIGH, choose(below, (D)LOW, inside));        \
    }                                                                        \
    CONVERSION(D, S, , (D)x)                                                 \
    CONVERSION(D, S, _rte, (D)__builtin_elementwise_rint(x))                 \
    CONVERSION(D, S, _rtz, (D)x)                                             \
    CONVERSION(D, S, _rtp, (D)__builtin_elementwise_ceil(x))                 \
    CONVERSION(D, S, _rtn, (D)__builtin_elementwise_floor(x))                \
    CONVERSION(D, S, _sat, saturate_##D(__builtin_elementwise_trunc(x)))     \
    CONVERSION(D, S, _sat_rte, saturate_##D(__builtin_elementwise_rint(x)))  \
    CONVERSION(D, S, _sat_rtz, saturate_##D(__builtin_elementwise_trunc(x))) \
    CONVERSION(D, S, _sat_rtp, saturate_##D(__builtin_elementwise_ceil(x)))  \
    CONVERSION(D, S, _sat_rtn, saturate_##D(__builtin_elementwise_floor(x)))
#define FROM_REAL(D, LOW, HIGH, END) \
    REAL(float, D, LOW, HIGH, END)   \
    REAL(double, D, LOW, HIGH, END)
TO(FROM_REAL)

// The neighbours of a float.
#define NEIGHBOURS(T, I, LOW)                                                \
    INNER T next_up(T x)                                                     \
    {                                                                        \
        I bits = as_##I(x);                                                  \
        bits = choose(x == 0, (I)1, bits + choose(bits < 0, (I) - 1, (I)1)); \
        return as_##T(bits);                                                 \
    }                                                                        \
    INNER T next_down(T x)                                                   \
    {                                                                        \
        return -next_up(-x);                                                 \
    }
NEIGHBOURS(float, int, INT_MIN)
NEIGHBOURS(double, long, LONG_MIN)

// Round to nearest first; where that went the wrong way, one step back.
#define DIRECTED(D, S, BEYOND, SHORT)                       \
    INNER D up_##D(S x)                                     \
    {                                                       \
        D nearest = (D)x;                                   \
        return choose(SHORT, next_up(nearest), nearest);    \
    }                                                       \
    INNER D down_##D(S x)                                   \
    {                                                       \
        D nearest = (D)x;                                   \
        return choose(BEYOND, next_down(nearest), nearest); \
    }                                                       \
    CONVERSION(D, S, , (D)x)                                \
    CONVERSION(D, S, _rte, (D)x)                            \
    CONVERSION(D, S, _rtp, up_##D(x))                       \
    CONVERSION(D, S, _rtn, down_##D(x))                     \
    CONVERSION(D, S, _rtz, choose(x < 0, up_##D(x), down_##D(x)))

#define EXACT(D, S) ALL_ROUNDINGS(D, S, , (D)x)
EXACT(float, char)
EXACT(float, uchar)
EXACT(float, short)
EXACT(float, ushort)
EXACT(float, float)
EXACT(double, char)
EXACT(double, uchar)
EXACT(double, short)
EXACT(double, ushort)
EXACT(double, int)
EXACT(double, uint)
EXACT(double, float)
EXACT(double, double)
DIRECTED(float, int, (double)nearest > (double)x, (double)nearest < (double)x)
DIRECTED(float, uint, (double)nearest > (double)x, (double)nearest < (double)x)
DIRECTED(float, double, (double)nearest > x, (double)nearest < x)

// Rounded up to END, it is no number of the integer type any more.
#define DIRECTED_64(D, S, END)                                     \
    DIRECTED(D, S, (nearest >= (D)END) | (BACK_64(D, S, END) > x), \
             (nearest < (D)END) & (BACK_64(D, S, END) < x))
#define BACK_64(D, S, END) (S) choose(nearest >= (D)END, (D)0, nearest)
DIRECTED_64(float, long, 0x1p63)
DIRECTED_64(float, ulong, 0x1p64)
DIRECTED_64(double, long, 0x1p63)
DIRECTED_64(double, ulong, 0x1p64)
