// Halves as bits, and from other types in every rounding mode. The instruction
// rounds to nearest; the others step from there.
#ifndef HDI_BUILTINS_HALF_H
#define HDI_BUILTINS_HALF_H

#include "vector.h"

INNER ushort nearest_half(float x)
{
    ushort h;
    __builtin_store_halff(x, (half *)&h);
    return h;
}
INNER float of_half(ushort bits)
{
    return __builtin_load_halff((const half *)&bits);
}
INNER ushort half_up(float x)
{
    ushort bits = nearest_half(x);
    // Away from zero when positive, towards it when negative; -0 is the end.
    ushort next = (ushort)choose((bits & 0x8000) != 0, bits - 1, bits + 1);
    next = choose((bits & 0x7fff) == 0, (ushort)1, next);
    return choose(of_half(bits) < x, next, bits);
}
INNER ushort half_down(float x)
{
    return half_up(-x) ^ 0x8000;
}
INNER ushort half_bits(float x)
{
    return nearest_half(x);
}
INNER ushort half_bits_rte(float x)
{
    return nearest_half(x);
}
INNER ushort half_bits_rtp(float x)
{
    return half_up(x);
}
INNER ushort half_bits_rtn(float x)
{
    return half_down(x);
}
INNER ushort half_bits_rtz(float x)
{
    return choose(x < 0, half_up(x), half_down(x));
}
// Of a double: to float with the last bit set when something was lost, from
// where rounding to half goes as it would have from the double.
INNER float odd_float(double x)
{
    float f = (float)x;
    uint bits = as_uint(f);
    double away = __builtin_fabs((double)f) - __builtin_fabs(x);
    uint toward = bits - 1;
    uint truncated = choose(away > 0, toward, bits);
    return as_float(choose((away > 0) | (away < 0), truncated | 1, bits));
}
#define HALF_OF_DOUBLE(suffix)                  \
    INNER ushort half_bits##suffix(double x)    \
    {                                           \
        return half_bits##suffix(odd_float(x)); \
    }
HALF_OF_DOUBLE()
HALF_OF_DOUBLE(_rte)
HALF_OF_DOUBLE(_rtz)
HALF_OF_DOUBLE(_rtp)
HALF_OF_DOUBLE(_rtn)
#undef HALF_OF_DOUBLE

#endif
