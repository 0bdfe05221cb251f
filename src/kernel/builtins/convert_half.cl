// Conversions from and to half.
#include "half.h"

#define DECLARED __attribute__((overloadable))

#define NAME_N(n, D, S, suffix)                       \
    FN D##n convert_##D##n##suffix(S##n x)            \
    {                                                 \
        return (D##n)(MAP1_##n(convert_##D##suffix)); \
    }
#define CONVERSION(D, S, suffix, value) \
    FN D convert_##D##suffix(S x)       \
    {                                   \
        return value;                   \
    }                                   \
    WIDTHS(NAME_N, D, S, suffix)

// From half: every half is a float.
#define FROM_HALF(D, suffix)               \
    DECLARED D convert_##D##suffix(float); \
    CONVERSION(D, half, suffix, convert_##D##suffix((float)x))
#define FROM_HALF_ROUNDED(D, sat) \
    FROM_HALF(D, sat)             \
    FROM_HALF(D, sat##_rte)       \
    FROM_HALF(D, sat##_rtz)       \
    FROM_HALF(D, sat##_rtp)       \
    FROM_HALF(D, sat##_rtn)
#define INTEGER_FROM_HALF(T, U, S, BITS, LOW, HIGH) \
    FROM_HALF_ROUNDED(T, )                          \
    FROM_HALF_ROUNDED(T, _sat)
INTEGERS(INTEGER_FROM_HALF)
FROM_HALF_ROUNDED(float, )
FROM_HALF_ROUNDED(double, )

// To half: what is beyond all halves stays so when it is cut to 18 bits, and
// those are exact as floats.
#define CUT_SIGNED(x)                              \
    (float)(int)choose(x > 0x20000, (long)0x20000, \
                       choose(x < -0x20000, (long)-0x20000, x))
#define CUT_UNSIGNED(x) (float)(uint)choose(x > 0x20000, (ulong)0x20000, x)
#define TO_HALF(S, wide, suffix) \
    CONVERSION(half, S, suffix, as_half(half_bits##suffix(wide)))
#define TO_HALF_ROUNDED(S, wide) \
    TO_HALF(S, wide, )           \
    TO_HALF(S, wide, _rte)       \
    TO_HALF(S, wide, _rtz)       \
    TO_HALF(S, wide, _rtp)       \
    TO_HALF(S, wide, _rtn)
TO_HALF_ROUNDED(char, (float)x)
TO_HALF_ROUNDED(uchar, (float)x)
TO_HALF_ROUNDED(short, (float)x)
TO_HALF_ROUNDED(ushort, (float)x)
TO_HALF_ROUNDED(int, CUT_SIGNED((long)x))
TO_HALF_ROUNDED(uint, CUT_UNSIGNED((ulong)x))
TO_HALF_ROUNDED(long, CUT_SIGNED(x))
TO_HALF_ROUNDED(ulong, CUT_UNSIGNED(x))
TO_HALF_ROUNDED(float, x)
TO_HALF_ROUNDED(double, x)
TO_HALF_ROUNDED(half, (float)x)
