// The gamma function of floats and its logarithm, by Stirling's series from 8
// on; below that 8 steps of the recurrence lead there. What the logarithm
// loses next to its zeros at 1 and 2 OpenCL allows.
#include "real.h"

double __attribute__((overloadable)) exp(double x);
double __attribute__((overloadable)) log(double x);
double __attribute__((overloadable)) pow(double x, double y);
double __attribute__((overloadable)) sinpi(double x);

// log gamma(x) = this - log(product), x > 0
INNER double stirling(double x, double *product)
{
    bool low = x < 8;
    double p =
        x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7);
    double z = choose(low, x + 8, x), w = 1 / z, s = w * w;
    *product = choose(low, p, 1.0);
    // The Bernoulli numbers B(2k) / (2k (2k - 1)).
    double series = -3617.0 / 122400;
    series = MAD(series, s, 1.0 / 156);
    series = MAD(series, s, -691.0 / 360360);
    series = MAD(series, s, 1.0 / 1188);
    series = MAD(series, s, -1.0 / 1680);
    series = MAD(series, s, 1.0 / 1260);
    series = MAD(series, s, -1.0 / 360);
    series = MAD(series, s, 1.0 / 12);
    // log(2 pi) / 2
    return MAD(z - 0.5, log(z), -z) + (0x1.d67f1c864beb5p-1 + series * w);
}

INNER double lgamma_of(double x, int *sign)
{
    double a = magnitude(x), product;
    double up = stirling(a, &product) - log(product);
    double sine = sinpi(a);
    // gamma(a) gamma(-a) = -pi / (a sin(pi a))
    double down = log(2 * PI_2 / (a * magnitude(sine))) - up;
    bool negative = as_long(x) < 0;
    double floor = __builtin_floor(x);
    double half_floor = floor * 0.5;
    bool odd = __builtin_floor(half_floor) != half_floor;
    *sign = choose(negative & (odd | (x == 0)), -1, 1);
    double result = choose(negative, down, up);
    bool pole = (negative & (floor == x)) | (x == 0) | (a == INFINITE);
    return choose(x != x, x, choose(pole, INFINITE, result));
}
FN double lgamma(double x)
{
    int sign;
    return lgamma_of(x, &sign);
}
BY_DOUBLE(lgamma)
UNARY_REAL(lgamma)

FN float tgamma(float x)
{
    double w = (double)x, a = magnitude(w), product;
    double up = exp(stirling(choose(a > 200, 200.0, a), &product)) / product;
    double down = -2 * PI_2 / (a * sinpi(a) * up);
    double result = choose(w < 0, down, up);
    bool none = (w < 0) & (__builtin_floor(w) == w);
    float r = choose(none, NOT_A_NUMBER_F, (float)result);
    r = choose(x == 0, with_sign(INFINITE_F, x), r);
    return choose(x != x, x, choose(x == INFINITE_F, x, r));
}
UNARY(float, tgamma, float)

// gamma(x) of doubles, x > 0, as two factors, either of which a double holds:
// by the power itself, since the logarithm of a large result has not its
// digits.
INNER double gamma_factors(double x, double *other)
{
    bool low = x < 8;
    double p =
        x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7);
    double z = choose(low, x + 8, x), w = 1 / z, s = w * w;
    // What the sum has lost, times the slope of the logarithm.
    double lost = choose(low, x - (z - 8), 0.0) * (log(z) - 0.5 * w);
    double series = -3617.0 / 122400;
    series = MAD(series, s, 1.0 / 156);
    series = MAD(series, s, -691.0 / 360360);
    series = MAD(series, s, 1.0 / 1188);
    series = MAD(series, s, -1.0 / 1680);
    series = MAD(series, s, 1.0 / 1260);
    series = MAD(series, s, -1.0 / 360);
    series = MAD(series, s, 1.0 / 12);
    double power = pow(z, 0.5 * z - 0.25);
    *other = power * exp(-z) / choose(low, p, 1.0);
    // sqrt(2 pi)
    return power * 0x1.40d931ff62706p1 * exp(series * w + lost);
}

FN double tgamma(double x)
{
    double a = magnitude(x), second;
    double first = gamma_factors(choose(a > 190, 190.0, a), &second);
    // gamma(a) gamma(-a) = -pi / (a sin(pi a))
    double down = -2 * PI_2 / sinpi(a) / first / second / a;
    bool none = (x < 0) & (__builtin_floor(x) == x);
    double r = choose(x < 0, down, first * second);
    r = choose(none, NOT_A_NUMBER, r);
    r = choose(a < 0x1p-60, 1 / x, r);
    return choose(x != x, x, choose(x == INFINITE, x, r));
}
UNARY(double, tgamma, double)

#define LGAMMA_1(A, T)                     \
    FN T lgamma_r(T x, A int *sign)        \
    {                                      \
        int s;                             \
        T r = (T)lgamma_of((double)x, &s); \
        *sign = s;                         \
        return r;                          \
    }
#define ONE(i) r.s##i = lgamma_of((double)x.s##i, &one), s.s##i = one
#define ROW_2  ONE(0), ONE(1)
#define ROW_3  ROW_2, ONE(2)
#define ROW_4  ROW_3, ONE(3)
#define ROW_8  ROW_4, ONE(4), ONE(5), ONE(6), ONE(7)
#define ROW_16 \
    ROW_8, ONE(8), ONE(9), ONE(a), ONE(b), ONE(c), ONE(d), ONE(e), ONE(f)
#define LGAMMA_N(n, A, T)                    \
    FN T##n lgamma_r(T##n x, A int##n *sign) \
    {                                        \
        T##n r;                              \
        int##n s;                            \
        int one;                             \
        ROW_##n;                             \
        *sign = s;                           \
        return r;                            \
    }
#define LGAMMA(A, T)    LGAMMA_1(A, T) WIDTHS(LGAMMA_N, A, T)
#define LGAMMA_SPACE(A) LGAMMA(A, float) LGAMMA(A, double)
LGAMMA_SPACE(global)
LGAMMA_SPACE(local)
LGAMMA_SPACE(private)
LGAMMA_SPACE(__generic)
