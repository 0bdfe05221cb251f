// Exponentials, logarithms, powers and hyperbolic functions.
#include "real.h"

// e^(high + low) 2^n, |high| <= ln 2 / 2 or little more.
INNER float exp_parts(float high, float low, int n)
{
    float r = high + low, rest = (high - r) + low;
    float p = MAD(r * r, EXP_F(r), rest) + r;
    return scale(1 + p, n);
}
INNER double exp_parts(double high, double low, long n)
{
    double r = high + low, rest = (high - r) + low;
    double p = MAD(r * r, EXP_D(r), rest) + r;
    return scale(1 + p, n);
}

// Beyond these the result is 0 or infinite anyway. NaN stays.
#define BETWEEN(x, low, high) choose(x < low, low, choose(x > high, high, x))

FN float exp(float x)
{
    int n;
    float y = BETWEEN(x, -105.0f, 89.0f);
    float m = nearest(y * (float)LOG2_E, &n);
    float r = MAD(m, -(float)LN2_F_HIGH, y);
    return exp_parts(r, m * -(float)LN2_F_LOW, n);
}
FN double exp(double x)
{
    long n;
    double y = BETWEEN(x, -746.0, 710.0);
    double m = nearest(y * LOG2_E, &n);
    double r = MAD(m, -LN2_HIGH, y);
    return exp_parts(r, m * -LN2_LOW, n);
}
FN float exp2(float x)
{
    int n;
    float y = BETWEEN(x, -151.0f, 129.0f);
    float m = nearest(y, &n);
    return exp_parts((y - m) * 0x1.62e43p-1f, (y - m) * -0x1.05c61p-29f, n);
}
FN double exp2(double x)
{
    long n;
    double y = BETWEEN(x, -1076.0, 1025.0);
    double m = nearest(y, &n);
    return exp_parts((y - m) * (LN2_HIGH + LN2_LOW), 0.0, n);
}
FN float exp10(float x)
{
    int n;
    float y = BETWEEN(x, -46.0f, 39.0f);
    float m = nearest(y * 0x1.a934fp1f, &n);
    float r = MAD(m, -(float)LOG10_2_F_HIGH, y);
    float rest = m * -(float)LOG10_2_F_LOW;
    float c = (float)LN_10;
    return exp_parts(
        r * c, MAD(r, (float)(LN_10 - (double)(float)LN_10), rest * c), n);
}
FN double exp10(double x)
{
    long n;
    double y = BETWEEN(x, -324.0, 309.0);
    double m = nearest(y * 0x1.a934f0979a371p1, &n);
    double r = MAD(m, -LOG10_2_HIGH, y);
    double rest = m * -LOG10_2_LOW;
    struct pair p = product_of(r, LN_10);
    return exp_parts(p.high, p.low + rest * LN_10, n);
}
FN double expm1(double x)
{
    long n;
    double y = BETWEEN(x, -50.0, 710.0);
    double m = nearest(y * LOG2_E, &n);
    double high = MAD(m, -LN2_HIGH, y), low = m * LN2_LOW;
    double r = high - low, rest = (high - r) - low;
    double p = MAD(r * r, EXP_D(r), rest) + r;
    // (p + 1 - 2^-n) 2^n; up to 2^53 that difference is exact.
    long least = choose(n > 64, (long)64, n);
    struct pair s = sum_of(1 - power_of_two(-least), p);
    double result = scale(s.high + s.low, n);
    return choose(n == 0, choose(x == 0, x, p), result);
}
BY_DOUBLE(expm1)
UNARY_REAL(exp)
UNARY_REAL(exp2)
UNARY_REAL(exp10)
UNARY_REAL(expm1)

// x = (1 + f) 2^n, sqrt 1/2 <= 1 + f < sqrt 2; x > 0, finite.
INNER float log_parts(float x, int *n)
{
    bool is_small = x < 0x1p-126f;
    int bits = as_int(choose(is_small, x * 0x1p25f, x));
    int exponent = (bits - 0x3f3504f3) >> 23;
    *n = exponent - choose(is_small, 25, 0);
    return as_float(bits - (exponent << 23)) - 1;
}
INNER double log_parts(double x, double *n)
{
    bool is_small = x < 0x1p-1022;
    long bits = as_long(choose(is_small, x * 0x1p54, x));
    int exponent = ((int)(bits >> 32) - 0x3fe6a09e) >> 20;
    *n = (double)(exponent - choose(is_small, 54, 0));
    return as_double(bits - ((long)exponent << 52)) - 1;
}
#define LOG_LIMITS(x, result, NAN, INF)        \
    choose(x > 0, choose(x == INF, x, result), \
           choose(x == 0, -INF, choose(x != x, x, NAN)))
#define LOG_RESULT_F(x, result) \
    LOG_LIMITS(x, result, NOT_A_NUMBER_F, INFINITE_F)
#define LOG_RESULT(x, result) LOG_LIMITS(x, result, NOT_A_NUMBER, INFINITE)

// log(1 + f) = f + this
INNER float log_rest(float f)
{
    float square = f * f;
    return MAD(square * f, LOG1P_F(f), -0.5f * square);
}
INNER double log_rest(double f)
{
    double s = f / (2 + f), z = s * s, half_square = 0.5 * f * f;
    return s * (half_square + z * LOG_D(z)) - half_square;
}

FN float log(float x)
{
    int n;
    float f = log_parts(x, &n), m = (float)n;
    float result =
        MAD(m, (float)LN2_F_HIGH, f + MAD(m, (float)LN2_F_LOW, log_rest(f)));
    return LOG_RESULT_F(x, result);
}
FN double log(double x)
{
    double n;
    double f = log_parts(x, &n);
    double result = MAD(n, LN2_HIGH, f + MAD(n, LN2_LOW, log_rest(f)));
    return LOG_RESULT(x, result);
}
// f with fewer bits and what is missing: products with constants of few bits
// are exact then.
FN float log2(float x)
{
    int n;
    float f = log_parts(x, &n), rest = log_rest(f);
    float high = as_float(as_int(f + rest) & ~0xfff), low = (f - high) + rest;
    float result = (float)n + MAD(high, 0x1.714p0f,
                                  MAD(low, (float)LOG2_E,
                                      high * (float)(LOG2_E - 0x1.714p0)));
    return LOG_RESULT_F(x, result);
}
FN double log2(double x)
{
    double n;
    double f = log_parts(x, &n), rest = log_rest(f);
    double high = as_double(as_long(f + rest) & ~0x7ffffffL);
    double low = (f - high) + rest, c = 0x1.715476p0;
    struct pair s = sum_of(n, high * c);
    double result =
        s.high + (s.low + MAD(low, LOG2_E, high * (LOG2_E - c + LOG2_E_REST)));
    return LOG_RESULT(x, result);
}
FN float log10(float x)
{
    int n;
    float f = log_parts(x, &n), rest = log_rest(f), m = (float)n;
    float high = as_float(as_int(f + rest) & ~0xfff), low = (f - high) + rest;
    float c = 0x1.bccp-2f;
    float result =
        MAD(m, (float)LOG10_2_F_HIGH, high * c) +
        (m * (float)LOG10_2_F_LOW +
         MAD(low, (float)LOG10_E, high * (float)(LOG10_E - 0x1.bccp-2)));
    return LOG_RESULT_F(x, result);
}
FN double log10(double x)
{
    double n;
    double f = log_parts(x, &n), rest = log_rest(f);
    double high = as_double(as_long(f + rest) & ~0x7ffffffL);
    double low = (f - high) + rest, c = 0x1.bcb7b14p-2;
    struct pair s = sum_of(n * LOG10_2_HIGH, high * c);
    double result =
        s.high + (s.low + n * LOG10_2_LOW +
                  MAD(low, LOG10_E, high * (LOG10_E - c + LOG10_E_REST)));
    return LOG_RESULT(x, result);
}
FN double log1p(double x)
{
    double u = 1 + x, n;
    double f = log_parts(u, &n);
    // What the sum lost, as part of u.
    double lost = choose(x < 1, x - (u - 1), 1 - (u - x)) / u;
    lost = choose(u == INFINITE, 0.0, lost);
    f = choose(n == 0, x, f);
    lost = choose(n == 0, 0.0, lost);
    double result = MAD(n, LN2_HIGH, f + (MAD(n, LN2_LOW, lost) + log_rest(f)));
    result = choose(x == 0, x, result);
    return LOG_RESULT(u, result);
}
BY_DOUBLE(log1p)
UNARY_REAL(log)
UNARY_REAL(log2)
UNARY_REAL(log10)
UNARY_REAL(log1p)

// Powers. log of a positive number in two doubles, to about 2^-66.
INNER struct pair log_pair(double x)
{
    double n;
    double f = log_parts(x, &n);
    // s = f / (2 + f): the remainder of the division gives the second part.
    struct pair d = sum_ordered(2.0, f);
    double s = f / d.high;
    struct pair back = product_of(s, d.high);
    double s_low = (((f - back.high) - back.low) - s * d.low) / d.high;
    // 2s + s^3 (2/3 + z ...), the 2/3 in two parts too.
    struct pair z = product_of(s, s);
    z.low += 2 * s * s_low;
    double more = (LOG_D(z.high) - TWO_THIRDS) + TWO_THIRDS_REST;
    struct pair third = sum_ordered(TWO_THIRDS, more);
    struct pair t = product_of(z.high, third.high);
    t.low += z.high * third.low + z.low * third.high;
    struct pair u = product_of(s, t.high);
    u.low += s * t.low + s_low * t.high;
    struct pair a = sum_of(n * LN2_HIGH, 2 * s);
    struct pair b = sum_of(a.high, u.high);
    double low = b.low + (a.low + (u.low + (2 * s_low + n * LN2_LOW)));
    return sum_ordered(b.high, low);
}

// x^y for x > 0 and finite, y not too large.
INNER double power(double x, double y)
{
    struct pair l = log_pair(x);
    struct pair p = product_of(l.high, y);
    double low = p.low + l.low * y;
    bool over = p.high > 710, under = p.high < -746;
    double high = choose(over, 710.0, choose(under, -746.0, p.high));
    low = choose(over | under, 0.0, low);
    long n;
    double m = nearest(high * LOG2_E, &n);
    double r = MAD(m, -LN2_HIGH, high);
    return exp_parts(r, low - m * LN2_LOW, n);
}
INNER double pow_limits(double x, double y, double p)
{
    double a = magnitude(x), b = magnitude(y);
    bool whole = __builtin_trunc(y) == y;
    double half_y = y * 0.5;
    bool odd = whole & (__builtin_trunc(half_y) != half_y) & (b < 0x1p53);
    bool large = (a > 1) == (y > 0);
    bool edge = (a == 0) | (a == INFINITE) | (b > 0x1p70);
    p = choose(edge, choose(large, INFINITE, 0.0), p);
    p = choose(a == 1, 1.0, p);
    p = choose(odd & (as_long(x) < 0), -p, p);
    p = choose((x < 0) & (a < INFINITE) & !whole, NOT_A_NUMBER, p);
    p = choose((x != x) | (y != y), NOT_A_NUMBER, p);
    return choose((x == 1) | (y == 0), 1.0, p);
}
FN double pow(double x, double y)
{
    double bound = choose(magnitude(y) > 0x1p70, 1.0, y);
    return pow_limits(x, y, power(magnitude(x), bound));
}
FN float pow(float x, float y)
{
    double n, a = magnitude((double)x);
    double f = log_parts(a, &n);
    double l = MAD(n, LN2_HIGH, f + MAD(n, LN2_LOW, log_rest(f)));
    double b = choose(magnitude((double)y) > 0x1p70, 1.0, (double)y);
    return (float)pow_limits(x, y, exp(b * l));
}
#define POWN(T)                                                                \
    FN T pown(T x, int y)                                                      \
    {                                                                          \
        return (T)pow((double)x, (double)y);                                   \
    }                                                                          \
    FN T powr(T x, T y)                                                        \
    {                                                                          \
        T p = pow(x, y);                                                       \
        bool none = (x < 0) | (x != x) | (y != y) | ((x == 0) & (y == 0)) |    \
                    ((x == 1) & (y - y != 0)) | ((x - x != 0) & (y == 0));     \
        return choose(none, (T)NOT_A_NUMBER, choose(x == 0, magnitude(p), p)); \
    }                                                                          \
    BINARY(T, pown, T, int)                                                    \
    BINARY(T, powr, T, T)
BINARY_REAL(pow)
POWN(float)
POWN(double)

// Hyperbolic functions.
FN double sinh(double x)
{
    double a = magnitude(x), e = expm1(a);
    double h = 0.5 * (e + e / (e + 1));
    double big = exp(0.5 * a);
    h = choose(a > 40, 0.5 * big * big, h);
    return with_sign(choose(a < 0x1p-28, a, h), x);
}
FN double cosh(double x)
{
    double a = magnitude(x), e = exp(a), big = exp(0.5 * a);
    return choose(a > 40, 0.5 * big * big, 0.5 * e + 0.5 / e);
}
FN double tanh(double x)
{
    double a = magnitude(x), e = expm1(2 * a);
    double t = choose(a > 22, 1.0, e / (e + 2));
    return with_sign(choose(x != x, x, t), x);
}
FN double asinh(double x)
{
    double a = magnitude(x), square = a * a;
    bool big = a > 0x1p28;
    double near = log1p(a + square / (1 + __builtin_sqrt(1 + square)));
    double far = log(a) + (LN2_HIGH + LN2_LOW);
    return with_sign(choose(big, far, near), x);
}
FN double acosh(double x)
{
    double t = x - 1;
    double near = log1p(t + __builtin_sqrt(2 * t + t * t));
    double far = log(x) + (LN2_HIGH + LN2_LOW);
    return choose(x < 1, NOT_A_NUMBER, choose(x > 0x1p28, far, near));
}
FN double atanh(double x)
{
    double a = magnitude(x);
    return with_sign(0.5 * log1p(2 * a / (1 - a)), x);
}
BY_DOUBLE(sinh)
BY_DOUBLE(cosh)
BY_DOUBLE(tanh)
BY_DOUBLE(asinh)
BY_DOUBLE(acosh)
BY_DOUBLE(atanh)
UNARY_REAL(sinh)
UNARY_REAL(cosh)
UNARY_REAL(tanh)
UNARY_REAL(asinh)
UNARY_REAL(acosh)
UNARY_REAL(atanh)
