// Trigonometric functions and their inverses.
//
// Arguments are reduced as Payne and Hanek found: of 2 / pi only those bits are
// multiplied that make neither whole turns nor less than what is kept. The bits
// are taken by a shift of constants, so every finite argument has the same cost
// and none is a special case.
#include "real.h"

// In units of a quarter turn: x = (quadrant + rest) pi / 2.
struct angle_f {
    int quadrant;
    float rest; // [radians], at most pi / 4
};
struct angle {
    long quadrant;
    double high, low; // [radians]
};

#define SHIFT_IN(a, b, by) ((a) << (by) | ((b) >> 1) >> (31 - (by)))

INNER struct angle_f reduce(float x)
{
    uint bits = as_uint(x) & 0x7fffffff;
    uint m = (bits & 0x7fffff) | 0x800000;
    // |x| = m 2^(shift - 30); of 0 and 2 / pi the first `shift` bits go.
    uint shift = (bits >> 23) - 120;
    bool by_128 = (shift & 128) != 0, by_64 = (shift & 64) != 0;
    bool by_32 = (shift & 32) != 0;
    uint by = shift & 31;
    uint a0 = choose(by_128, TWO_PI_3, 0u);
    uint a1 = choose(by_128, TWO_PI_4, TWO_PI_0);
    uint a2 = choose(by_128, TWO_PI_5, TWO_PI_1);
    uint a3 = choose(by_128, TWO_PI_6, TWO_PI_2);
    uint b0 = choose(by_64, a2, a0), b1 = choose(by_64, a3, a1);
    uint b2 = choose(by_64, TWO_PI_3, a2), b3 = choose(by_64, TWO_PI_4, a3);
    uint b4 = choose(by_64, TWO_PI_5, TWO_PI_3);
    uint c0 = choose(by_32, b1, b0), c1 = choose(by_32, b2, b1);
    uint c2 = choose(by_32, b3, b2), c3 = choose(by_32, b4, b3);
    uint d0 = SHIFT_IN(c0, c1, by), d1 = SHIFT_IN(c1, c2, by);
    uint d2 = SHIFT_IN(c2, c3, by);
    ulong turn =
        ((ulong)(m * d0) << 32) + (ulong)m * d1 + ((ulong)m * d2 >> 32);
    // The first 2 bits are the quadrant; rounded to the nearest.
    ulong part = turn << 2;
    int high = (int)(part >> 32), low = (int)((uint)part >> 1);
    int quadrant = (int)(turn >> 62) + choose(high < 0, 1, 0);
    float rest = MAD((float)high, (float)(PI_2 * 0x1p-32),
                     (float)low * (float)(PI_2 * 0x1p-63));
    bool negative = x < 0, is_small = bits <= 0x3f490fda;
    quadrant = choose(negative, -quadrant, quadrant);
    rest = choose(negative, -rest, rest);
    // Infinities and NaN become NaN.
    return (struct angle_f){choose(is_small, 0, quadrant),
                            choose(is_small, x, rest + (x - x))};
}

INNER double of_uint(uint x)
{
    return as_double((ulong)x | as_ulong(0x1p52)) - 0x1p52;
}

INNER struct angle reduce(double x)
{
    ulong bits = as_ulong(x) & 0x7fffffffffffffff;
    uint m0 = (uint)bits, m1 = ((uint)(bits >> 32) & 0xfffff) | 0x100000;
    // |x| = m 2^(shift - 62); of 64 zeros and 2 / pi the first bits go.
    uint shift = (uint)(bits >> 52) - 1013;
    bool by_1024 = (shift & 1024) != 0, by_512 = (shift & 512) != 0;
    bool by_256 = (shift & 256) != 0, by_128 = (shift & 128) != 0;
    bool by_64 = (shift & 64) != 0, by_32 = (shift & 32) != 0;
    uint by = shift & 31;
#define A(to, here, there) uint a##to = choose(by_1024, there, here);
    A(0, 0u, TWO_PI_30)
    A(1, 0u, TWO_PI_31)
    A(2, TWO_PI_0, TWO_PI_32)
    A(3, TWO_PI_1, TWO_PI_33)
    A(4, TWO_PI_2, TWO_PI_34)
    A(5, TWO_PI_3, TWO_PI_35)
    A(6, TWO_PI_4, TWO_PI_36)
#undef A
#define B(to, here, there) uint b##to = choose(by_512, there, here);
    B(0, a0, TWO_PI_14)
    B(1, a1, TWO_PI_15)
    B(2, a2, TWO_PI_16)
    B(3, a3, TWO_PI_17)
    B(4, a4, TWO_PI_18)
    B(5, a5, TWO_PI_19)
    B(6, a6, TWO_PI_20)
    B(7, TWO_PI_5, TWO_PI_21)
    B(8, TWO_PI_6, TWO_PI_22)
    B(9, TWO_PI_7, TWO_PI_23)
    B(10, TWO_PI_8, TWO_PI_24)
    B(11, TWO_PI_9, TWO_PI_25)
    B(12, TWO_PI_10, TWO_PI_26)
    B(13, TWO_PI_11, TWO_PI_27)
    B(14, TWO_PI_12, TWO_PI_28)
    B(15, TWO_PI_13, TWO_PI_29)
    B(16, TWO_PI_14, TWO_PI_30)
    B(17, TWO_PI_15, TWO_PI_31)
    B(18, TWO_PI_16, TWO_PI_32)
    B(19, TWO_PI_17, TWO_PI_33)
    B(20, TWO_PI_18, TWO_PI_34)
    B(21, TWO_PI_19, TWO_PI_35)
#undef B
#define C(to, there) uint c##to = choose(by_256, b##there, b##to);
    C(0, 8)
    C(1, 9)
    C(2, 10)
    C(3, 11)
    C(4, 12)
    C(5, 13)
    C(6, 14)
    C(7, 15)
    C(8, 16)
    C(9, 17)
    C(10, 18)
    C(11, 19)
    C(12, 20)
    C(13, 21)
#undef C
#define D(to, there) uint d##to = choose(by_128, c##there, c##to);
    D(0, 4)
    D(1, 5)
    D(2, 6)
    D(3, 7)
    D(4, 8)
    D(5, 9)
    D(6, 10)
    D(7, 11)
    D(8, 12)
    D(9, 13)
#undef D
#define E(to, there) uint e##to = choose(by_64, d##there, d##to);
    E(0, 2)
    E(1, 3)
    E(2, 4)
    E(3, 5)
    E(4, 6)
    E(5, 7)
    E(6, 8)
    E(7, 9)
#undef E
#define F(to, there) uint f##to = choose(by_32, e##there, e##to);
    F(0, 1)
    F(1, 2)
    F(2, 3)
    F(3, 4)
    F(4, 5)
    F(5, 6)
    F(6, 7)
#undef F
    uint g0 = SHIFT_IN(f0, f1, by), g1 = SHIFT_IN(f1, f2, by);
    uint g2 = SHIFT_IN(f2, f3, by), g3 = SHIFT_IN(f3, f4, by);
    uint g4 = SHIFT_IN(f4, f5, by), g5 = SHIFT_IN(f5, f6, by);
    // m times them, the highest words dropped: p0 is the first.
    ulong s = (ulong)m0 * g4 + ((ulong)m0 * g5 >> 32);
    ulong t = (ulong)m1 * g5 + (uint)s;
    ulong carry = (s >> 32) + (t >> 32);
#define WORD(p, g_k, g_next)          \
    s = (ulong)m0 * g_k + carry;      \
    t = (ulong)m1 * g_next + (uint)s; \
    carry = (s >> 32) + (t >> 32);    \
    uint p = (uint)t;
    WORD(p3, g3, g4)
    WORD(p2, g2, g3)
    WORD(p1, g1, g2)
    uint p0 = m0 * g0 + m1 * g1 + (uint)carry;
#undef WORD
    uint q0 = SHIFT_IN(p0, p1, 2), q1 = SHIFT_IN(p1, p2, 2);
    uint q2 = SHIFT_IN(p2, p3, 2), q3 = p3 << 2;
    long quadrant = (long)(p0 >> 30) + choose((int)q0 < 0, 1L, 0L);
    struct pair r =
        sum_ordered((double)(int)q0 * 0x1p-32, of_uint(q1) * 0x1p-64);
    r.low += of_uint(q2) * 0x1p-96 + of_uint(q3) * 0x1p-128;
    r = sum_ordered(r.high, r.low);
    struct pair turn = product_of(r.high, PI_2);
    turn.low += r.high * PI_2_REST + r.low * PI_2;
    turn = sum_ordered(turn.high, turn.low);
    bool negative = x < 0, is_small = bits <= as_ulong(PI_2 * 0.5);
    quadrant = choose(negative, -quadrant, quadrant);
    turn.high = choose(negative, -turn.high, turn.high);
    turn.low = choose(negative, -turn.low, turn.low);
    return (struct angle){choose(is_small, 0L, quadrant),
                          choose(is_small, x, turn.high + (x - x)),
                          choose(is_small, 0.0, turn.low)};
}

// 0 keeps its sign.
INNER float sin_of(float r)
{
    float z = r * r;
    return with_sign(MAD(z * r, SIN_F(z), r), r);
}
INNER float cos_of(float r)
{
    float z = r * r, half_z = 0.5f * z, c = 1 - half_z;
    return c + MAD(z * z, COS_F(z), (1 - c) - half_z);
}
INNER double sin_of(double r, double rest)
{
    double z = r * r;
    double s = r + (rest + MAD(z * r, SIN_D(z), -0.5 * z * rest));
    return with_sign(s, r);
}
INNER double cos_of(double r, double rest)
{
    double z = r * r, half_z = 0.5 * z, c = 1 - half_z;
    return c + (((1 - c) - half_z) + MAD(z * z, COS_D(z), -r * rest));
}

#define SIN(T, I, angle, s, c)                                \
    FN T sin(T x)                                             \
    {                                                         \
        struct angle a = reduce(x);                           \
        T y = choose((a.quadrant & 1) != 0, c, s);            \
        return choose((a.quadrant & 2) != 0, -y, y);          \
    }                                                         \
    FN T cos(T x)                                             \
    {                                                         \
        struct angle a = reduce(x);                           \
        T y = choose((a.quadrant & 1) != 0, s, c);            \
        return choose(((a.quadrant + 1) & 2) != 0, -y, y);    \
    }                                                         \
    FN T tan(T x)                                             \
    {                                                         \
        struct angle a = reduce(x);                           \
        T ys = s, yc = c;                                     \
        bool odd = (a.quadrant & 1) != 0;                     \
        return choose(odd, -yc, ys) / choose(odd, ys, yc);    \
    }                                                         \
    INNER T sincos_of(T x, T *cosine)                         \
    {                                                         \
        struct angle a = reduce(x);                           \
        T ys = s, yc = c;                                     \
        bool odd = (a.quadrant & 1) != 0;                     \
        T y = choose(odd, ys, yc);                            \
        *cosine = choose(((a.quadrant + 1) & 2) != 0, -y, y); \
        y = choose(odd, yc, ys);                              \
        return choose((a.quadrant & 2) != 0, -y, y);          \
    }
SIN(float, int, angle_f, sin_of(a.rest), cos_of(a.rest))
SIN(double, long, angle, sin_of(a.high, a.low), cos_of(a.high, a.low))
UNARY_REAL(sin)
UNARY_REAL(cos)
UNARY_REAL(tan)

#define SINCOS_1(A, T)             \
    FN T sincos(T x, A T *cosine)  \
    {                              \
        T c, s = sincos_of(x, &c); \
        *cosine = c;               \
        return s;                  \
    }
#define SINCOS_N(n, A, T)                  \
    FN T##n sincos(T##n x, A T##n *cosine) \
    {                                      \
        *cosine = cos(x);                  \
        return sin(x);                     \
    }
#define SINCOS(A, T)    SINCOS_1(A, T) WIDTHS(SINCOS_N, A, T)
#define SINCOS_SPACE(A) SINCOS(A, float) SINCOS(A, double)
SINCOS_SPACE(global)
SINCOS_SPACE(local)
SINCOS_SPACE(private)
SINCOS_SPACE(__generic)

// Of x pi: the reduction is exact.
#define PI_PARTS                                       \
    double y = x - 2 * __builtin_rint(x * 0.5);        \
    long n;                                            \
    double m = nearest(2 * y, &n);                     \
    struct pair p = product_of(y - 0.5 * m, 2 * PI_2); \
    p.low += (y - 0.5 * m) * (2 * PI_2_REST);
FN double sinpi(double x)
{
    PI_PARTS
    double r =
        choose((n & 1) != 0, cos_of(p.high, p.low), sin_of(p.high, p.low));
    r = choose((n & 2) != 0, -r, r);
    // Of infinity y is no number, and not 0 as that of whole numbers.
    return choose(__builtin_trunc(y) == y, with_sign(0, x), r);
}
FN double cospi(double x)
{
    PI_PARTS
    double r =
        choose((n & 1) != 0, sin_of(p.high, p.low), cos_of(p.high, p.low));
    r = choose(((n + 1) & 2) != 0, -r, r);
    return choose(r == 0, 0.0, r);
}
FN double tanpi(double x)
{
    PI_PARTS
    double s = sin_of(p.high, p.low), c = cos_of(p.high, p.low);
    bool odd = (n & 1) != 0;
    double t = choose(odd, -c, s) / choose(odd, s, c);
    // Of n: 0 with the sign of (-1)^n x; of n + 1/2: infinite, as (-1)^n.
    double zero = with_sign(0, x) * choose((n & 2) != 0, -1.0, 1.0);
    double pole = choose((n & 2) != 0, -INFINITE, INFINITE);
    bool whole = y - 0.5 * m == 0;
    return choose(whole, choose(odd, pole, zero), t);
}
BY_DOUBLE(sinpi)
BY_DOUBLE(cospi)
BY_DOUBLE(tanpi)
UNARY_REAL(sinpi)
UNARY_REAL(cospi)
UNARY_REAL(tanpi)

// atan(y / x) for y, x >= 0, not both 0 or infinite, by the angle between
// (x, y) and the nearest of 0, pi / 4 and pi / 2.
#define ATAN_OF(T, POLYNOMIAL, C)                                              \
    INNER T atan_of(T y, T x)                                                  \
    {                                                                          \
        bool high = y > x * (T)2.414213562373095;                              \
        bool middle = (y > x * (T)0.4142135623730951) & !high;                 \
        T up = choose(high, -x, choose(middle, y - x, y));                     \
        T down = choose(high, y, choose(middle, y + x, x));                    \
        T from = choose(high, (T)PI_2, choose(middle, (T)(PI_2 * 0.5), (T)0)); \
        T rest = choose(high, (T)(C), choose(middle, (T)((C) * 0.5), (T)0));   \
        T t = up / down, z = t * t;                                            \
        return from + (t + MAD(z * t, POLYNOMIAL(z), rest));                   \
    }
ATAN_OF(float, ATAN_F, PI_2 - (double)(float)PI_2)
ATAN_OF(double, ATAN_D, PI_2_REST)

FN float atan(float x)
{
    return with_sign(atan_of(magnitude(x), 1.0f), x);
}
FN double atan(double x)
{
    return with_sign(atan_of(magnitude(x), 1.0), x);
}
// Scaled by powers of two so that neither end of the range is reached.
#define ATAN2(T, LARGE, SMALL, UP)                                             \
    FN T atan2(T y, T x)                                                       \
    {                                                                          \
        T a = magnitude(x), b = magnitude(y);                                  \
        bool same = (a == b) & ((a == 0) | (a - a != 0));                      \
        bool large = (a > (T)LARGE) | (b > (T)LARGE);                          \
        bool is_small = (a < (T)SMALL) & (b < (T)SMALL);                       \
        T by = choose(large, (T)0.125, choose(is_small, (T)UP, (T)1));         \
        T x1 = choose(same, choose(a == 0, (T) !(as_##T##_negative(x)), (T)1), \
                      a * by);                                                 \
        T y1 = choose(same, choose(a == 0, (T)0, (T)1), b * by);               \
        x1 = choose(same & (a == 0), (T)1, x1);                                \
        T t = atan_of(y1, x1);                                                 \
        /* On the axis itself a quarter turn is exact: nothing to mirror. */   \
        bool mirrored = as_##T##_negative(x) & ((a != 0) | (b == 0));          \
        t = choose(mirrored,                                                   \
                   (T)(2 * PI_2) - (t - (T)(2 * (PI_2 - (double)(T)PI_2) +     \
                                            2 * PI_2_REST)),                   \
                   t);                                                         \
        return with_sign(choose((x != x) | (y != y), x + y, t), y);            \
    }
#define as_float_negative(x)  (as_int(x) < 0)
#define as_double_negative(x) (as_long(x) < 0)
ATAN2(float, 0x1p124, 0x1p-100, 0x1p25)
ATAN2(double, 0x1p1020, 0x1p-960, 0x1p60)
UNARY_REAL(atan)
BINARY_REAL(atan2)

// By asin up to 1/2, beyond through asin(sqrt((1 - x) / 2)).
#define ASIN_OF(T, POLYNOMIAL, ROOT, C)                           \
    FN T asin(T x)                                                \
    {                                                             \
        T a = magnitude(x);                                       \
        bool far = a > (T)0.5;                                    \
        T z = choose(far, (1 - a) * (T)0.5, a * a);               \
        T s = choose(far, ROOT(z), a);                            \
        T p = z * s * POLYNOMIAL(z);                              \
        T beyond = (T)PI_2 - (2 * s + (2 * p - (T)(C)));          \
        return with_sign(choose(far, beyond, s + p), x);          \
    }                                                             \
    FN T acos(T x)                                                \
    {                                                             \
        T a = magnitude(x);                                       \
        bool far = a > (T)0.5, negative = x < 0;                  \
        T z = choose(far, (1 - a) * (T)0.5, a * a);               \
        T s = choose(far, ROOT(z), x);                            \
        T p = z * s * POLYNOMIAL(z);                              \
        T near = (T)PI_2 - (s + (p - (T)(C)));                    \
        T twice = 2 * (s + p);                                    \
        T other = (T)(2 * PI_2) - (twice - (T)(2 * (C)));         \
        return choose(far, choose(negative, other, twice), near); \
    }
ASIN_OF(float, ASIN_F, __builtin_sqrtf, PI_2 - (double)(float)PI_2)
ASIN_OF(double, ASIN_D, __builtin_sqrt, PI_2_REST)
UNARY_REAL(asin)
UNARY_REAL(acos)

#define OVER_PI(f)            \
    FN double f##pi(double x) \
    {                         \
        return f(x) * ONE_PI; \
    }                         \
    BY_DOUBLE(f##pi)          \
    UNARY_REAL(f##pi)
OVER_PI(asin)
OVER_PI(acos)
OVER_PI(atan)
FN double atan2pi(double y, double x)
{
    return atan2(y, x) * ONE_PI;
}
BY_DOUBLE_2(atan2pi)
BINARY_REAL(atan2pi)
