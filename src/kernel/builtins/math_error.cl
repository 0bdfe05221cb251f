// Error functions. Of x >= 0, erfc(x) = t e^(p(t) - x^2), t = 2 / (2 + x).
#include "real.h"

INNER double erfc_of(double a)
{
    double x = choose(a > 28, 28.0, a), t = 2 / (2 + x);
    struct pair square = product_of(x, x);
    double p = ERFC_D(2 * t - 1);
    // e^(p - x^2) with all of x^2.
    struct pair power = sum_of(-square.high, p);
    double low = power.low - square.low;
    long n;
    double m = nearest(power.high * LOG2_E, &n);
    double high = MAD(m, -LN2_HIGH, power.high);
    low -= m * LN2_LOW;
    double r = high + low, rest = (high - r) + low;
    return scale(MAD(t, MAD(r * r, EXP_D(r), rest) + r, t), n);
}
FN double erfc(double x)
{
    double c = erfc_of(magnitude(x));
    return choose(x != x, x, choose(x < 0, 2 - c, c));
}
FN double erf(double x)
{
    double a = magnitude(x);
    double far = with_sign(1 - erfc_of(a), x);
    return choose(a < 0.5, x * ERF_D(x * x), choose(x != x, x, far));
}
BY_DOUBLE(erf)
BY_DOUBLE(erfc)
UNARY_REAL(erf)
UNARY_REAL(erfc)
