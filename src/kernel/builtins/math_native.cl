// native_ and half_ functions. Native ones of sines, exponentials, logarithms and
// reciprocal roots have limits that docs/kernels.md tells and take a part of the
// time; the others are the instruction where there is one, or the function itself.
#include "real.h"

#define SAME_1(prefix, f)                           \
    float __attribute__((overloadable)) f(float x); \
    FN float prefix##_##f(float x)                  \
    {                                               \
        return f(x);                                \
    }                                               \
    UNARY(float, prefix##_##f, float)
#define BOTH(f) SAME_1(native, f) SAME_1(half, f)
SAME_1(half, cos)
SAME_1(half, exp)
SAME_1(half, exp2)
SAME_1(half, exp10)
SAME_1(half, log)
SAME_1(half, log2)
SAME_1(half, log10)
SAME_1(half, rsqrt)
SAME_1(half, sin)
BOTH(sqrt)
SAME_1(half, tan)

// Sines: less whole half turns, of which the first two parts of pi have so few
// bits that up to 2^13 of them are taken off without rounding.
#define PI_0 0x1.92p+1f
#define PI_1 0x1.fbp-11f
#define PI_LOW 0x1.5110b4p-21f

// sin(r), |r| <= pi / 2 or little more; the absolute error is below 2^-22.
INNER float native_sin_of(float r)
{
    float z = r * r;
    float p = MAD(MAD(MAD(2.61018403e-06f, z, -0.000198117281f), z,
                      0.00833309746f),
                  z, -0.166666609f);
    return MAD(r * z, p, r);
}
INNER float less_half_turns(float x, float turns)
{
    return MAD(turns, -PI_LOW, MAD(turns, -PI_1, MAD(turns, -PI_0, x)));
}
// `x` or -x, where n is odd.
INNER float turned(float x, int n)
{
    return as_float(as_int(x) ^ n << 31);
}
FN float native_sin(float x)
{
    int n;
    float turns = nearest(x * (float)ONE_PI, &n);
    return turned(native_sin_of(less_half_turns(x, turns)), n);
}
FN float native_cos(float x)
{
    int n;
    float turns = nearest(MAD(x, (float)ONE_PI, -0.5f), &n) + 0.5f;
    return turned(native_sin_of(less_half_turns(x, turns)), n + 1);
}
FN float native_tan(float x)
{
    return native_sin(x) / native_cos(x);
}

// 2^x; below 2^-125 it is 0. The relative error is below 2^-21.
FN float native_exp2(float x)
{
    int n;
    float y = choose(x < -126.0f, -126.0f, choose(x > 128.0f, 128.0f, x));
    float m = nearest(y, &n), f = y - m;
    float p = MAD(MAD(MAD(MAD(0.00134004322f, f, 0.00967217174f), f,
                          0.0555032721f),
                      f, 0.240222281f),
                  f, 0.693147207f);
    float result = as_float(as_int(MAD(f, p, 1.0f)) + (n << 23));
    return choose(x < 128, choose(x < -125, 0.0f, result), x * INFINITE_F);
}
FN float native_exp(float x)
{
    return native_exp2(x * (float)LOG2_E);
}
FN float native_exp10(float x)
{
    return native_exp2(x * 0x1.a934fp1f);
}

// The relative error is below 2^-20; numbers below 2^-126 count as about that.
FN float native_log2(float x)
{
    int bits = as_int(x), n = (bits - 0x3f3504f3) >> 23;
    float f = as_float(bits - (n << 23)) - 1;
    float p = MAD(MAD(MAD(-0.146203534f, f, 0.234209851f), f, -0.248821806f), f,
                  0.287075611f);
    p = MAD(MAD(MAD(MAD(p, f, -0.360241986f), f, 0.480924039f), f,
                -0.721352759f),
            f, 1.44269496f);
    float result = MAD(f, p, (float)n);
    return choose(x > 0, choose(x == INFINITE_F, x, result),
                  choose(x == 0, -INFINITE_F, NOT_A_NUMBER_F));
}
FN float native_log(float x)
{
    return native_log2(x) * (float)(LN2_HIGH + LN2_LOW);
}
FN float native_log10(float x)
{
    return native_log2(x) * 0x1.344136p-2f;
}

// Within 2 units in the last place: an estimate and Newton's steps, which the
// code generator makes of this. They know no zero, no infinity, and those of
// short estimates no subnormal number.
FN float native_rsqrt(float x)
{
    _Pragma("clang fp contract(fast) reciprocal(on)");
    bool is_small = x < 0x1p-126f;
    float y = 1 / __builtin_sqrtf(choose(is_small, x * 0x1p24f, x));
    y = choose(is_small, y * 0x1p12f, y);
    return choose(x == 0, INFINITE_F, choose(x == INFINITE_F, 0.0f, y));
}
UNARY(float, native_rsqrt, float)
UNARY(float, native_sin, float)
UNARY(float, native_cos, float)
UNARY(float, native_tan, float)
UNARY(float, native_exp, float)
UNARY(float, native_exp2, float)
UNARY(float, native_exp10, float)
UNARY(float, native_log, float)
UNARY(float, native_log2, float)
UNARY(float, native_log10, float)

#define QUOTIENTS(prefix)                        \
    FN float prefix##_divide(float x, float y)   \
    {                                            \
        return x / y;                            \
    }                                            \
    FN float prefix##_recip(float x)             \
    {                                            \
        return 1 / x;                            \
    }                                            \
    UNARY(float, prefix##_recip, float)          \
    BINARY(float, prefix##_divide, float, float) \
    BINARY(float, prefix##_powr, float, float)
float __attribute__((overloadable)) powr(float x, float y);
FN float native_powr(float x, float y)
{
    return native_exp2(y * native_log2(x));
}
FN float half_powr(float x, float y)
{
    return powr(x, y);
}
QUOTIENTS(native)
QUOTIENTS(half)
