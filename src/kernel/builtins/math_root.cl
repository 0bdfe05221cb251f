// Roots.
#include "real.h"

FN float sqrt(float x)
{
    return __builtin_sqrtf(x);
}
FN double sqrt(double x)
{
    return __builtin_sqrt(x);
}
FN float rsqrt(float x)
{
    return 1 / __builtin_sqrtf(x);
}
// Where estimates are good: kernel/compiler/emit/quotient.h makes it of this.
FN float __estimated_rsqrt(float x)
{
    _Pragma("clang fp contract(fast) reciprocal(on)");
    return 1 / __builtin_sqrtf(x);
}
#define SAME_ROOT(f)                  \
    FN float __estimated_##f(float x) \
    {                                 \
        return __estimated_rsqrt(x);  \
    }                                 \
    UNARY(float, __estimated_##f, float)
SAME_ROOT(native_rsqrt)
SAME_ROOT(half_rsqrt)
FN double rsqrt(double x)
{
    return 1 / __builtin_sqrt(x);
}

// x = m 2^(3n), 1 <= m < 8; then Newton's steps from a straight guess.
FN double cbrt(double x)
{
    double a = magnitude(x);
    bool is_small = a < 0x1p-1022, none = (a == 0) | (a - a != 0);
    long bits = as_long(choose(is_small, a * 0x1p54, a));
    int exponent = (int)(bits >> 52);
    // (exponent * 43691) >> 17 is a third of it, rounded down, up to 2^15.
    int third = (exponent * 43691) >> 17, rest = exponent - 3 * third;
    double m = as_double((bits & 0xfffffffffffffL) | (long)(1023 + rest) << 52);
    // 1023 is a multiple of 3.
    double n = power_of_two((long)(third - 341 - choose(is_small, 18, 0)));
    // Halley's steps triple the digits: 3 bits at first.
    double y = 0.925 + m * (0.2185 - m * 0.0105);
#define HALLEY                             \
    {                                      \
        double c = y * y * y;              \
        y = y * (c + 2 * m) / (2 * c + m); \
    }
    HALLEY
    HALLEY
    // The last one with the residue in two parts.
    struct pair s = product_of(y, y), c = product_of(s.high, y);
    double residue = ((m - c.high) - c.low) - s.low * y;
    y += residue / (3 * s.high);
    s = product_of(y, y);
    c = product_of(s.high, y);
    residue = ((m - c.high) - c.low) - s.low * y;
    y += residue / (3 * s.high);
#undef HALLEY
    return choose(none, x, with_sign(y * n, x));
}
BY_DOUBLE(cbrt)

FN float hypot(float x, float y)
{
    double a = x, b = y;
    double h = __builtin_sqrt(a * a + b * b);
    bool infinite = (magnitude(x) == INFINITE_F) | (magnitude(y) == INFINITE_F);
    return choose(infinite, INFINITE_F, (float)h);
}
FN double hypot(double x, double y)
{
    double a = magnitude(x), b = magnitude(y);
    bool infinite = (a == INFINITE) | (b == INFINITE);
    bool large = (a > 0x1p500) | (b > 0x1p500);
    bool is_small = (a < 0x1p-400) & (b < 0x1p-400);
    double by = choose(large, 0x1p-540, choose(is_small, 0x1p540, 1.0));
    double back = choose(large, 0x1p540, choose(is_small, 0x1p-540, 1.0));
    a *= by;
    b *= by;
    return choose(infinite, INFINITE, __builtin_sqrt(a * a + b * b) * back);
}

// x^(1/y), defined for y = 0 as NaN and for x < 0 when y is odd. 1 / y is not
// a double: its rest corrects the result.
#define ROOTN(T)                                                              \
    FN T rootn(T x, int y)                                                    \
    {                                                                         \
        double a = magnitude((double)x), d = (double)y, e = 1 / d;            \
        struct pair back = product_of(e, d);                                  \
        double rest = ((1 - back.high) - back.low) / d;                       \
        double n, f = log_of(choose((a == 0) | (a == INFINITE), 1.0, a), &n); \
        double p = pow(a, e);                                                 \
        p = choose((p - p == 0) & (a > 0) & (a < INFINITE),                   \
                   MAD(p * rest, f + n * (LN2_HIGH + LN2_LOW), p), p);        \
        bool odd = (y & 1) != 0, negative = as_long((double)x) < 0;           \
        p = choose(odd & negative, -p, p);                                    \
        bool none = (y == 0) | ((x < 0) & !odd);                              \
        return (T)choose(none, NOT_A_NUMBER, p);                              \
    }
// Enough of a logarithm for a correction.
INNER double log_of(double x, double *n)
{
    long bits = as_long(x);
    long exponent = bits >> 52;
    double f = as_double((bits & 0xfffffffffffffL) | as_long(1.0)) - 1;
    *n = small(exponent - 1023);
    return f * (1.4 - 0.7 * f * (1 - 0.3 * f));
}
double __attribute__((overloadable)) pow(double x, double y);
ROOTN(float)
ROOTN(double)

UNARY_REAL(sqrt)
UNARY_REAL(rsqrt)
UNARY(float, __estimated_rsqrt, float)
UNARY_REAL(cbrt)
BINARY_REAL(hypot)
BINARY(float, rootn, float, int)
BINARY(double, rootn, double, int)
