// Rounding, remainders, parts of numbers and what else is about digits.
#include "real.h"

#define BUILTIN_1(name)                \
    FN float name(float x)             \
    {                                  \
        return __builtin_##name##f(x); \
    }                                  \
    FN double name(double x)           \
    {                                  \
        return __builtin_##name(x);    \
    }                                  \
    UNARY_REAL(name)
BUILTIN_1(fabs)
BUILTIN_1(floor)
BUILTIN_1(ceil)
BUILTIN_1(trunc)
BUILTIN_1(rint)

#define BUILTIN_2(name)                   \
    FN float name(float x, float y)       \
    {                                     \
        return __builtin_##name##f(x, y); \
    }                                     \
    FN double name(double x, double y)    \
    {                                     \
        return __builtin_##name(x, y);    \
    }                                     \
    BINARY_REAL(name)
BUILTIN_2(copysign)
BUILTIN_2(fmin)
BUILTIN_2(fmax)
BINARY_SCALAR(float, fmin, float, float)
BINARY_SCALAR(double, fmin, double, double)
BINARY_SCALAR(float, fmax, float, float)
BINARY_SCALAR(double, fmax, double, double)

FN float fma(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
FN double fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
FN float mad(float x, float y, float z)
{
    return MAD(x, y, z);
}
FN double mad(double x, double y, double z)
{
    return MAD(x, y, z);
}
TERNARY_REAL(fma)
TERNARY_REAL(mad)

// I is the integer of T's size, MANTISSA the bits of its mantissa, BIAS of its
// exponent, UP what makes a subnormal number normal and RAISED by how much.
#define NUMBERS(T, I, MANTISSA, BIAS, UP, RAISED, NAN, INF)                   \
    FN T round(T x)                                                           \
    {                                                                         \
        T whole = trunc(x);                                                   \
        T away = with_sign((T)1, x);                                          \
        T r = whole + choose(magnitude(x - whole) >= (T)0.5, away, (T)0);     \
        return with_sign(choose(magnitude(x) < INF, r, x), x);                \
    }                                                                         \
    FN T fdim(T x, T y)                                                       \
    {                                                                         \
        return choose((x != x) | (y != y), NAN, choose(x > y, x - y, (T)0));  \
    }                                                                         \
    FN T maxmag(T x, T y)                                                     \
    {                                                                         \
        T a = magnitude(x), b = magnitude(y);                                 \
        return choose(a > b, x, choose(b > a, y, fmax(x, y)));                \
    }                                                                         \
    FN T minmag(T x, T y)                                                     \
    {                                                                         \
        T a = magnitude(x), b = magnitude(y);                                 \
        return choose(a < b, x, choose(b < a, y, fmin(x, y)));                \
    }                                                                         \
    FN T nextafter(T x, T y)                                                  \
    {                                                                         \
        I bits = as_##I(x);                                                   \
        bool away = (x < y) == (bits >= 0);                                   \
        T next = as_##T(bits + choose(away, (I)1, (I) - 1));                  \
        next = choose(x == 0, with_sign(as_##T((I)1), y), next);              \
        next = choose(x == y, y, next);                                       \
        return choose((x != x) | (y != y), NAN, next);                        \
    }                                                                         \
    INNER I exponent_of(T x)                                                  \
    {                                                                         \
        T a = magnitude(x);                                                   \
        bool low = a < as_##T((I)1 << MANTISSA);                              \
        I bits = as_##I(choose(low, a * (T)UP, a));                           \
        return (bits >> MANTISSA) - BIAS - choose(low, (I)RAISED, (I)0);      \
    }                                                                         \
    FN int ilogb(T x)                                                         \
    {                                                                         \
        int n = (int)exponent_of(x);                                          \
        n = choose(magnitude(x) == INF, INT_MAX, n);                          \
        return choose((x == 0) | (x != x), choose(x == 0, INT_MIN, INT_MAX),  \
                      n);                                                     \
    }                                                                         \
    FN T logb(T x)                                                            \
    {                                                                         \
        T n = (T)(int)exponent_of(x);                                         \
        n = choose(x == 0, -INF, n);                                          \
        return choose(magnitude(x) < INF, n, x * x);                          \
    }                                                                         \
    FN T ldexp(T x, int n)                                                    \
    {                                                                         \
        /* From where two steps reach both ends, and where the first is    */ \
        /* inexact the result is 0 anyway.                                 */ \
        int raise = choose(magnitude(x) < (T)1, 2 * RAISED, -2 * RAISED);     \
        int most = 3 * BIAS, far = 2 * BIAS - 4;                              \
        n = choose(n > most, most, choose(n < -most, -most, n)) - raise;      \
        n = choose(n > far, far, choose(n < -far, -far, n));                  \
        T y = x * power_of_two((I)raise);                                     \
        return scale(y, (I)n);                                                \
    }                                                                         \
    INNER T fraction_of(T x, int *exponent)                                   \
    {                                                                         \
        T a = magnitude(x);                                                   \
        bool none = (a == 0) | !(a < INF);                                    \
        *exponent = choose(none, 0, (int)exponent_of(x) + 1);                 \
        bool low = a < as_##T((I)1 << MANTISSA);                              \
        I bits = as_##I(choose(low, x * (T)UP, x));                           \
        bits = (bits & ~(((I)2 * BIAS + 1) << MANTISSA)) | ((I)BIAS - 1)      \
                                                               << MANTISSA;   \
        return choose(none, x, as_##T(bits));                                 \
    }                                                                         \
    INNER T fract_of(T x, T *whole)                                           \
    {                                                                         \
        *whole = floor(x);                                                    \
        T f = fmin(x - *whole, as_##T(as_##I((T)1) - 1));                     \
        bool zero = (x == 0) | (magnitude(x) == INF);                         \
        return choose(x != x, x, choose(zero, with_sign((T)0, x), f));        \
    }                                                                         \
    INNER T modf_of(T x, T *whole)                                            \
    {                                                                         \
        *whole = trunc(x);                                                    \
        T f = choose(magnitude(x) == INF, (T)0, x - *whole);                  \
        return with_sign(f, x);                                               \
    }                                                                         \
    BINARY(T, ldexp, T, int)                                                  \
    WIDTHS(LDEXP_SCALAR_N, T)                                                 \
    UNARY(int, ilogb, T)                                                      \
    NUMBER_POINTERS(global, T)                                                \
    NUMBER_POINTERS(local, T)                                                 \
    NUMBER_POINTERS(private, T)                                               \
    NUMBER_POINTERS(__generic, T)
#define LDEXP_SCALAR_N(n, T)          \
    FN T##n ldexp(T##n x, int y)      \
    {                                 \
        return ldexp(x, (int##n)(y)); \
    }

#define POINTER_1(A, f, T, U) \
    FN T f(T x, A U *other)   \
    {                         \
        U o;                  \
        T r = f##_of(x, &o);  \
        *other = o;           \
        return r;             \
    }
#define frexp_of     fraction_of
#define EACH_2(X, g) X(g, 0) X(g, 1)
#define EACH_3(X, g) EACH_2(X, g) X(g, 2)
#define EACH_4(X, g) EACH_3(X, g) X(g, 3)
#define EACH_8(X, g) EACH_4(X, g) X(g, 4) X(g, 5) X(g, 6) X(g, 7)
#define EACH_16(X, g) \
    EACH_8(X, g) X(g, 8) X(g, 9) X(g, a) X(g, b) X(g, c) X(g, d) X(g, e) X(g, f)
#define POINTER_COMPONENT(f, i)    \
    r.s##i = f##_of(x.s##i, &one); \
    o.s##i = one;
#define POINTER_N(n, A, f, T, U)                   \
    FN T##n f(T##n x, A U##n *other)               \
    {                                              \
        T##n r;                                    \
        U##n o;                                    \
        U one;                                     \
        EACH_##n(POINTER_COMPONENT, f) *other = o; \
        return r;                                  \
    }
#define POINTER(A, f, T, U) POINTER_1(A, f, T, U) WIDTHS(POINTER_N, A, f, T, U)
#define NUMBER_POINTERS(A, T) \
    POINTER(A, frexp, T, int) POINTER(A, fract, T, T) POINTER(A, modf, T, T)

NUMBERS(float, int, 23, 127, 0x1p25, 25, NOT_A_NUMBER_F, INFINITE_F)
NUMBERS(double, long, 52, 1023, 0x1p54, 54, NOT_A_NUMBER, INFINITE)
UNARY_REAL(round)
UNARY_REAL(logb)
BINARY_REAL(fdim)
BINARY_REAL(maxmag)
BINARY_REAL(minmag)
BINARY_REAL(nextafter)

FN float nan(uint code)
{
    return as_float(0x7fc00000 | (code & 0x3fffff));
}
FN double nan(ulong code)
{
    return as_double(0x7ff8000000000000 | (code & 0x7ffffffffffff));
}
UNARY(float, nan, uint)
UNARY(double, nan, ulong)

// Remainders of floats: 29 bits of the quotient at a time, where the product
// with y is exact in double. The exponents of floats differ by up to 277, which
// is 10 times.
#define REDUCE(k)                                                    \
    {                                                                \
        double step = b * (k);                                       \
        double q = __builtin_trunc(r / step);                        \
        r -= q * step;                                               \
        r = choose(r < 0, r + step, choose(r >= step, r - step, r)); \
    }
INNER double remainder_of(double a, double b)
{
    double r = a;
    REDUCE(0x1p261)
    REDUCE(0x1p232)
    REDUCE(0x1p203)
    REDUCE(0x1p174)
    REDUCE(0x1p145)
    REDUCE(0x1p116)
    REDUCE(0x1p87)
    REDUCE(0x1p58)
    REDUCE(0x1p29)
    return r;
}
FN float fmod(float x, float y)
{
    double a = magnitude((double)x), b = magnitude((double)y);
    double r = remainder_of(a, b);
    REDUCE(1)
    r = choose(a < b, a, r);
    float result = with_sign((float)r, x);
    bool none = (x - x != 0) | (y == 0) | (y != y);
    return choose(none, NOT_A_NUMBER_F, result);
}
INNER float remquo_of(float x, float y, int *quotient)
{
    double a = magnitude((double)x), b = magnitude((double)y);
    double r = remainder_of(a, b);
    bool infinite = b == INFINITE;
    double divisor = choose(infinite | (b == 0), 1.0, b);
    double q = __builtin_trunc(r / divisor);
    r -= q * divisor;
    q = choose(r < 0, q - 1, choose(r >= divisor, q + 1, q));
    r = choose(r < 0, r + divisor, choose(r >= divisor, r - divisor, r));
    // To the nearest, of two the even quotient.
    bool odd = __builtin_trunc(q * 0.5) * 2 != q;
    bool up = (r > 0.5 * divisor) | ((r == 0.5 * divisor) & odd);
    r = choose(up, r - divisor, r);
    q = choose(up, q + 1, q);
    r = choose(infinite, a, r);
    q = choose(infinite, 0.0, q);
    bool none = (x - x != 0) | (y == 0) | (y != y);
    float result = as_int(x) < 0 ? -(float)r : (float)r;
    int low = (int)(as_long(q + 0x1.8p52) & 0x7f);
    low = choose((as_int(x) ^ as_int(y)) < 0, -low, low);
    *quotient = choose(none, 0, low);
    return choose(none, NOT_A_NUMBER_F, result);
}
FN float remainder(float x, float y)
{
    int quotient;
    return remquo_of(x, y, &quotient);
}
BINARY(float, fmod, float, float)
BINARY(float, remainder, float, float)
#define REMQUO_COMPONENT(f, i)                \
    r.s##i = remquo_of(x.s##i, y.s##i, &one); \
    o.s##i = one;
#define REMQUO_N(n, A)                                          \
    FN float##n remquo(float##n x, float##n y, A int##n *other) \
    {                                                           \
        float##n r;                                             \
        int##n o;                                               \
        int one;                                                \
        EACH_##n(REMQUO_COMPONENT, f) *other = o;               \
        return r;                                               \
    }
#define REMQUO(A)                                   \
    FN float remquo(float x, float y, A int *other) \
    {                                               \
        int o;                                      \
        float r = remquo_of(x, y, &o);              \
        *other = o;                                 \
        return r;                                   \
    }                                               \
    WIDTHS(REMQUO_N, A)
REMQUO(global)
REMQUO(local)
REMQUO(private)
REMQUO(__generic)
