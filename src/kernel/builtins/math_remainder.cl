// Remainders of doubles. Exponents differ by up to 2098, so 2^difference is
// taken modulo the mantissa of y by squaring: 11 steps whatever the arguments.
#include "real.h"

// Integers below 2^54, without the instruction for it that few machines have.
INNER double of_long(long x)
{
    return small(x >> 27) * 0x1p27 + small(x & 0x7ffffff);
}
INNER long to_long(double x)
{
    double high = __builtin_floor(x * 0x1p-27), low = x - high * 0x1p27;
    return ((as_long(high + 0x1.8p52) - as_long(0x1.8p52)) << 27) +
           (as_long(low + 0x1.8p52) - as_long(0x1.8p52));
}
// a b modulo m, all below 2^53. The quotient may be wrong by 2; the low bits of
// the rest are right all the same, and there are no others.
INNER long modular_product(long a, long b, long m, double m_real)
{
    double q = __builtin_rint(of_long(a) * of_long(b) / m_real);
    long r = a * b - to_long(q) * m;
    r += choose(r < 0, 2 * m, 0L);
    r += choose(r < 0, m, 0L);
    r -= choose(r >= 2 * m, 2 * m, 0L);
    r -= choose(r >= m, m, 0L);
    return r;
}
// |x| = mantissa 2^exponent
INNER long mantissa_of(double x, int *exponent)
{
    double a = magnitude(x);
    bool low = a < 0x1p-1022;
    long bits = as_long(choose(low, a * 0x1p54, a));
    *exponent = (int)(bits >> 52) - 1075 - choose(low, 54, 0);
    return (bits & 0xfffffffffffffL) | 0x10000000000000L;
}

// x - q y for the q that is truncated, or nearest, with its lowest bits.
INNER double remquo_double(double x, double y, bool to_nearest, int *quotient)
{
    int x_exponent, y_exponent;
    double a = magnitude(x), b = magnitude(y);
    bool none = (x - x != 0) | (y == 0) | (y != y);
    bool trivial = (a == 0) | (b == INFINITE) | none;
    long mx = mantissa_of(choose(trivial, 1.0, a), &x_exponent);
    long my = mantissa_of(choose(trivial, 1.0, b), &y_exponent);
    double my_real = of_long(my);
    int difference = x_exponent - y_exponent;
    trivial |= difference < -1;
    // In units of half of y's last place: x = rest 2^up. The last 8 powers of
    // two are kept for the quotient.
    int up = choose(difference < -1, 0, difference + 1);
    int most = choose(up > 8, up - 8, 0);
    // 2^most modulo my, from the highest of its 12 bits.
    long power = 1;
#define SQUARE(bit)                                           \
    power = modular_product(power, power, my, my_real);       \
    power = choose((most >> bit & 1) != 0, 2 * power, power); \
    power -= choose(power >= my, my, 0L);
    SQUARE(11)
    SQUARE(10)
    SQUARE(9)
    SQUARE(8)
    SQUARE(7)
    SQUARE(6)
    SQUARE(5)
    SQUARE(4)
    SQUARE(3)
    SQUARE(2)
    SQUARE(1)
    SQUARE(0)
#undef SQUARE
    long rest = choose(most > 0, modular_product(mx, power, my, my_real), mx);
    rest <<= up - most;
    long unit = 2 * my;
    // Up to 2^62: the first part of it is enough to be wrong by 1.
    double q = __builtin_trunc(small(rest >> 20) * 0x1p20 / (2 * my_real));
    long whole = as_long(q + 0x1.8p52) - as_long(0x1.8p52);
    long r = rest - whole * unit;
    whole += choose(r < 0, -1L, choose(r >= unit, 1L, 0L));
    r += choose(r < 0, unit, choose(r >= unit, -unit, 0L));
    bool next = to_nearest & ((r > my) | ((r == my) & ((whole & 1) != 0)));
    r -= choose(next, unit, 0L);
    whole += choose(next, 1L, 0L);
    double result = scale(of_long(r), (long)(y_exponent - 1));
    result = choose(as_long(x) < 0, -result, result);
    result = choose(r == 0, with_sign(0.0, x), result);
    int low = (int)(whole & 0x7f);
    low = choose((as_long(x) ^ as_long(y)) < 0, -low, low);
    *quotient = choose(trivial, 0, low);
    return choose(none, NOT_A_NUMBER, choose(trivial, x, result));
}
FN double fmod(double x, double y)
{
    int quotient;
    return remquo_double(x, y, false, &quotient);
}
FN double remainder(double x, double y)
{
    int quotient;
    return remquo_double(x, y, true, &quotient);
}
BINARY(double, fmod, double, double)
BINARY(double, remainder, double, double)

#define REMQUO_1(A)                                    \
    FN double remquo(double x, double y, A int *other) \
    {                                                  \
        int o;                                         \
        double r = remquo_double(x, y, true, &o);      \
        *other = o;                                    \
        return r;                                      \
    }
#define ONE(i) r.s##i = remquo_double(x.s##i, y.s##i, true, &one), o.s##i = one
#define ROW_2  ONE(0), ONE(1)
#define ROW_3  ROW_2, ONE(2)
#define ROW_4  ROW_3, ONE(3)
#define ROW_8  ROW_4, ONE(4), ONE(5), ONE(6), ONE(7)
#define ROW_16 \
    ROW_8, ONE(8), ONE(9), ONE(a), ONE(b), ONE(c), ONE(d), ONE(e), ONE(f)
#define REMQUO_N(n, A)                                             \
    FN double##n remquo(double##n x, double##n y, A int##n *other) \
    {                                                              \
        double##n r;                                               \
        int##n o;                                                  \
        int one;                                                   \
        ROW_##n;                                                   \
        *other = o;                                                \
        return r;                                                  \
    }
#define REMQUO(A) REMQUO_1(A) WIDTHS(REMQUO_N, A)
REMQUO(global)
REMQUO(local)
REMQUO(private)
REMQUO(__generic)
