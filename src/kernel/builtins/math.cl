// Elementary functions of float, computed in double precision: the result is
// rounded once, at the end, so it is within one unit in the last place, and no
// case needs a branch. Polynomials are the functions' own power series, long
// enough for their reduced ranges.
#include "base.h"

#define LOG2E 1.4426950408889634074
#define LN2   0.69314718055994530942
#define PI    3.14159265358979323846

// Cores in double, for arguments in the range of float ------------------------

FN double power_series_exp(double y) // (exp(y) - 1) / y, |y| <= 0.35
{
    double p = 1.0 / 39916800;
    p = fma(p, y, 1.0 / 3628800);
    p = fma(p, y, 1.0 / 362880);
    p = fma(p, y, 1.0 / 40320);
    p = fma(p, y, 1.0 / 5040);
    p = fma(p, y, 1.0 / 720);
    p = fma(p, y, 1.0 / 120);
    p = fma(p, y, 1.0 / 24);
    p = fma(p, y, 1.0 / 6);
    p = fma(p, y, 0.5);
    return fma(p, y, 1.0);
}

FN double power_of_2(double k) // k is whole, -1000 to 1000
{
    return as_double(((long)k + 1023) << 52);
}

FN double core_exp2(double x)
{
    double limited = min(max(x, -900.0), 900.0);
    double k = rint(limited);
    double y = (limited - k) * LN2;
    double r = fma(power_series_exp(y), y, 1.0) * power_of_2(k);
    return x != x ? x : r;
}

FN double core_expm1(double x)
{
    double limited = min(max(x, -600.0), 600.0);
    double k = rint(limited * LOG2E);
    double y = fma(k, -LN2, limited);
    double scale = power_of_2(k);
    double r = fma(power_series_exp(y) * y, scale, scale - 1.0);
    return x != x ? x : r;
}

FN double core_log(double x)
{
    long bits = as_long(x);
    // The exponent for a mantissa between sqrt(1/2) and sqrt(2).
    long e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    double m = as_double(bits - (e << 52));
    double s = (m - 1.0) / (m + 1.0), t = s * s;
    double p = 1.0 / 19;
    p = fma(p, t, 1.0 / 17);
    p = fma(p, t, 1.0 / 15);
    p = fma(p, t, 1.0 / 13);
    p = fma(p, t, 1.0 / 11);
    p = fma(p, t, 1.0 / 9);
    p = fma(p, t, 1.0 / 7);
    p = fma(p, t, 1.0 / 5);
    p = fma(p, t, 1.0 / 3);
    p = fma(p, t, 1.0);
    double r = fma((double)e, LN2, 2.0 * s * p);
    r = x == (double)INFINITY ? x : r;
    r = x == 0.0 ? -(double)INFINITY : r;
    return x < 0.0 || x != x ? (double)NAN : r;
}

FN double core_log1p(double x) // exact where 1 + x is rounded
{
    double u = 1.0 + x;
    double r = core_log(u) + (x - (u - 1.0)) / u;
    r = u == (double)INFINITY ? u : r;
    r = u <= 0.0 ? core_log(u) : r;
    return x == 0.0 ? x : r;
}

FN double series_sin(double r) // |r| <= 1
{
    double t = r * r;
    double p = 1.0 / 355687428096000.0;
    p = fma(p, t, -1.0 / 1307674368000.0);
    p = fma(p, t, 1.0 / 6227020800.0);
    p = fma(p, t, -1.0 / 39916800);
    p = fma(p, t, 1.0 / 362880);
    p = fma(p, t, -1.0 / 5040);
    p = fma(p, t, 1.0 / 120);
    p = fma(p, t, -1.0 / 6);
    return fma(p * t, r, r);
}

FN double series_cos(double r)
{
    double t = r * r;
    double p = -1.0 / 6402373705728000.0;
    p = fma(p, t, 1.0 / 20922789888000.0);
    p = fma(p, t, -1.0 / 87178291200.0);
    p = fma(p, t, 1.0 / 479001600);
    p = fma(p, t, -1.0 / 3628800);
    p = fma(p, t, 1.0 / 40320);
    p = fma(p, t, -1.0 / 720);
    p = fma(p, t, 1.0 / 24);
    p = fma(p, t, -0.5);
    return fma(p, t, 1.0);
}

struct angle {
    double rest; // -pi/4 to pi/4, or a little more
    long quarter;
};

// Arguments below 2^30: x - k pi/2 with pi/2 in three parts. The first product
// and difference are exact: multiples of 2^-52 below 2.
FN struct angle reduce_small(double x)
{
    double k = rint(x * (2 / PI));
    double r = fma(-k, 0x1.921fb54442d18p+0, x);
    r = fma(-k, 0x1.1a62633145c07p-54, r);
    struct angle a = {r, (long)k};
    return a;
}

// Larger ones: the mantissa times the 96 bits of 2/pi that matter for this
// exponent (Payne and Hanek). Words of 2/pi are chosen, not looked up.
FN struct angle reduce_large(float x)
{
    uint bits = as_uint(x);
    ulong mantissa = (bits & 0x7fffff) | 0x800000;
    int e = (int)(bits >> 23 & 255) - 127 - 23; // x = mantissa 2^e
    uint skip = (uint)max(e - 2, 0);            // whole turns go away
    uint word = skip / 32, shift = skip % 32;
#define WORD(w, a, b, c, d) \
    (w == 0 ? a##u : w == 1 ? b##u : w == 2 ? c##u : d##u)
    ulong w0 = WORD(word, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0);
    ulong w1 = WORD(word, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599);
    ulong w2 = WORD(word, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041);
    ulong w3 = WORD(word, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab);
#undef WORD
    ulong high = (w0 << 32 | w1) << shift | (w2 << shift >> 32);
    ulong low = ((w2 << 32 | w3) << shift) >> 32;
    // The window begins with the bit of weight 2^-(skip + 1), so the product,
    // as a fraction of 2^64, has the weight 2^(e - skip) behind the point.
    ulong product = mantissa * high + (mantissa * low >> 32);
    // Bring the bit of weight 1/2 quarter turn to the top but two.
    uint above = (uint)(e - (int)skip); // 2
    ulong turns = product << above;
    long quarter = (long)(product >> (64 - above));
    double rest = (double)(long)turns * 0x1p-64;
    quarter += (long)turns < 0;
    double sign = as_int(x) < 0 ? -1.0 : 1.0;
    struct angle a = {sign * rest * (PI / 2), as_int(x) < 0 ? -quarter : quarter};
    return a;
}

FN struct angle reduce(float x)
{
    struct angle a = reduce_small(x), b = reduce_large(x);
    bool large = fabs(x) >= 0x1p+28f;
    a.rest = large ? b.rest : a.rest;
    a.quarter = large ? b.quarter : a.quarter;
    a.rest = fabs(x) < INFINITY ? a.rest : (double)NAN;
    return a;
}

FN double sin_of(struct angle a)
{
    double r = a.quarter & 1 ? series_cos(a.rest) : series_sin(a.rest);
    return a.quarter & 2 ? -r : r;
}

FN double cos_of(struct angle a)
{
    a.quarter += 1;
    return sin_of(a);
}

FN double core_atan(double x) // of 0 to infinity
{
    bool over = x > 1.0;
    double t = over ? 1.0 / x : x;
    bool upper = t > 0.41421356237309504880;
    t = upper ? (t - 1.0) / (t + 1.0) : t;
    double s = t * t, p = 1.0 / 29;
    for (int n = 27; n > 0; n -= 2)
        p = fma(p, -s, 1.0 / n);
    double r = t * p + (upper ? PI / 4 : 0.0);
    return over ? PI / 2 - r : r;
}

FN double core_atan2(double y, double x)
{
    double a = fabs(y), b = fabs(x);
    double ratio = a / b;
    ratio = a == b ? 1.0 : ratio;
    ratio = a == 0.0 && b == 0.0 ? 0.0 : ratio;
    double r = core_atan(ratio);
    r = as_long(x) < 0 ? PI - r : r;
    return x != x || y != y ? x + y : copysign(r, y);
}

FN double core_pow(double x, double y) // x above 0
{
    return core_exp2(y * core_log(x) * LOG2E);
}

// Functions of one float ------------------------------------------------------

#define FUNCTION(name, expression)                                             \
    float OVERLOAD name(float x)                                               \
    {                                                                          \
        return (float)(expression);                                            \
    }                                                                          \
    WIDTHS(EACH_1, name, float, float)

FUNCTION(exp, core_exp2((double)x *LOG2E))
FUNCTION(exp2, core_exp2((double)x))
FUNCTION(exp10, core_exp2((double)x * 3.3219280948873623479))
FUNCTION(expm1, x == 0.0f ? x : core_expm1(x))
FUNCTION(log, core_log(x))
FUNCTION(log2, core_log(x) * LOG2E)
FUNCTION(log10, core_log(x) * 0.43429448190325182765)
FUNCTION(log1p, core_log1p(x))
FUNCTION(sin, x == 0.0f ? x : sin_of(reduce(x)))
FUNCTION(cos, cos_of(reduce(x)))
FUNCTION(tan, x == 0.0f ? x : sin_of(reduce(x)) / cos_of(reduce(x)))
FUNCTION(atan, copysign(core_atan(fabs((double)x)), (double)x))
FUNCTION(asin, core_atan2(x, sqrt((1.0 - x) * (1.0 + x))))
FUNCTION(acos, core_atan2(sqrt((1.0 - x) * (1.0 + x)), x))
FUNCTION(atanpi, copysign(core_atan(fabs((double)x)), (double)x) / PI)
FUNCTION(asinpi, core_atan2(x, sqrt((1.0 - x) * (1.0 + x))) / PI)
FUNCTION(acospi, core_atan2(sqrt((1.0 - x) * (1.0 + x)), x) / PI)
FUNCTION(sinh, x == 0.0f ? x : 0.5 * (core_expm1(x) - core_expm1(-(double)x)))
FUNCTION(cosh, 0.5 * (core_exp2((double)x *LOG2E) +
                      core_exp2((double)x * -LOG2E)))

FN double core_tanh(double x)
{
    double e = core_expm1(2.0 * min(max(x, -40.0), 40.0));
    return x != x || x == 0.0 ? x : e / (e + 2.0);
}
FUNCTION(tanh, core_tanh(x))

FN double core_asinh(double x)
{
    double a = fabs(x);
    return copysign(core_log1p(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}
FUNCTION(asinh, fabs(x) == INFINITY ? x : core_asinh(x))
FUNCTION(acosh, x == INFINITY ? x
                : x < 1.0f    ? (double)NAN
                              : core_log1p(((double)x - 1.0) +
                                           sqrt(((double)x - 1.0) *
                                                ((double)x + 1.0))))
FUNCTION(atanh, x == 0.0f ? x
                          : 0.5 * (core_log1p(x) - core_log1p(-(double)x)))
FUNCTION(cbrt, x == 0.0f || !(fabs(x) < INFINITY)
                   ? x
                   : copysign(core_pow(fabs((double)x), 1.0 / 3), (double)x))

// Angles in half turns: whole turns are taken away exactly.
FN struct angle half_turns(float x)
{
    double turn = (double)x - 2.0 * trunc(0.5 * x);
    double k = rint(2.0 * turn);
    struct angle a = {(turn - 0.5 * k) * PI, (long)k};
    return a;
}
FUNCTION(sinpi, trunc(x) == x && fabs(x) < INFINITY
                    ? copysign(0.0f, x)
                    : sin_of(half_turns(x)))
FUNCTION(cospi, 0.0 + cos_of(half_turns(x)))
FUNCTION(tanpi, x == 0.0f ? x : sin_of(half_turns(x)) / cos_of(half_turns(x)))

// Functions of two ------------------------------------------------------------

#define FUNCTION_2(name, expression)                                           \
    float OVERLOAD name(float x, float y)                                      \
    {                                                                          \
        return (float)(expression);                                            \
    }                                                                          \
    WIDTHS(EACH_2, name, float, float, float)

FUNCTION_2(atan2, core_atan2(x, y))
FUNCTION_2(atan2pi, core_atan2(x, y) / PI)

float OVERLOAD hypot(float x, float y)
{
    float r = (float)sqrt((double)x * x + (double)y * y);
    return (fabs(x) == INFINITY) | (fabs(y) == INFINITY) ? INFINITY : r;
}
WIDTHS(EACH_2, hypot, float, float, float)

// x^y with the sign and the special values that IEEE 754 asks for.
FN float signed_pow(float x, float y, bool whole, bool odd)
{
    double a = fabs((double)x);
    double r = core_pow(a, y);
    r = a == 1.0 ? 1.0 : r;
    r = a == 0.0 ? (y < 0.0f ? (double)INFINITY : 0.0) : r;
    r = (x < 0.0f) & !whole & (fabs(x) < INFINITY) ? (double)NAN : r;
    r = (as_int(x) < 0) & odd ? -r : r;
    r = (x != x) | (y != y) ? (double)NAN : r;
    return (y == 0.0f) | (x == 1.0f) ? 1.0f : (float)r;
}

float OVERLOAD pow(float x, float y)
{
    bool whole = trunc(y) == y;
    bool odd = whole & (fabs(y) < 0x1p24f) & (trunc(y * 0.5f) != y * 0.5f);
    return signed_pow(x, y, whole, odd);
}
WIDTHS(EACH_2, pow, float, float, float)

float OVERLOAD powr(float x, float y)
{
    float r = (float)core_pow(x, y);
    r = (x == 0.0f) & (y != 0.0f) ? (y < 0.0f ? INFINITY : 0.0f) : r;
    return x == 1.0f && fabs(y) < INFINITY ? 1.0f : r;
}
WIDTHS(EACH_2, powr, float, float, float)

// A whole number above 2^24 would lose bits as a float.
float OVERLOAD pown(float x, int y)
{
    double a = fabs((double)x);
    double r = core_exp2((double)y * (core_log(a) * LOG2E));
    r = a == 1.0 ? 1.0 : r;
    r = (as_int(x) < 0) & y & 1 ? -r : r;
    return y == 0 ? 1.0f : (float)r;
}
WIDTHS(EACH_2, pown, float, float, int)

float OVERLOAD rootn(float x, int y)
{
    double r = core_exp2(core_log(fabs((double)x)) * LOG2E / y);
    r = x < 0.0f ? (y & 1 ? -r : (double)NAN) : r;
    r = (x == 0.0f) & (as_int(x) < 0) & y & 1 ? -r : r;
    return y == 0 ? NAN : (float)r;
}
WIDTHS(EACH_2, rootn, float, float, int)

float OVERLOAD ldexp(float x, int k)
{
    double limited = (double)min(max(k, -400), 400);
    return (float)((double)x * power_of_2(limited));
}
WIDTHS(EACH_2, ldexp, float, float, int)

float OVERLOAD sincos(float x, __private float *cosine)
{
    *cosine = cos(x);
    return sin(x);
}

// Faster forms may be less exact; these are no different yet.
#define SAME(prefix, name)                                                     \
    float OVERLOAD prefix##name(float x)                                       \
    {                                                                          \
        return name(x);                                                        \
    }                                                                          \
    WIDTHS(EACH_1, prefix##name, float, float)
#define SAME_TWICE(name) SAME(native_, name) SAME(half_, name)
SAME_TWICE(exp)
SAME_TWICE(exp2)
SAME_TWICE(exp10)
SAME_TWICE(log)
SAME_TWICE(log2)
SAME_TWICE(log10)
SAME_TWICE(sin)
SAME_TWICE(cos)
SAME_TWICE(tan)
SAME_TWICE(sqrt)
SAME_TWICE(rsqrt)
#define QUOTIENTS(prefix)                                                      \
    float OVERLOAD prefix##recip(float x)                                      \
    {                                                                          \
        return 1.0f / x;                                                       \
    }                                                                          \
    float OVERLOAD prefix##divide(float x, float y)                            \
    {                                                                          \
        return x / y;                                                          \
    }                                                                          \
    float OVERLOAD prefix##powr(float x, float y)                              \
    {                                                                          \
        return powr(x, y);                                                     \
    }                                                                          \
    WIDTHS(EACH_1, prefix##recip, float, float)                                \
    WIDTHS(EACH_2, prefix##divide, float, float, float)                        \
    WIDTHS(EACH_2, prefix##powr, float, float, float)
QUOTIENTS(native_)
QUOTIENTS(half_)
