// What the math functions share.
#ifndef HDI_BUILTINS_REAL_H
#define HDI_BUILTINS_REAL_H

#include "polynomials.h"
#include "vector.h"

#define INFINITE_F     __builtin_inff()
#define INFINITE       __builtin_inf()
#define NOT_A_NUMBER_F as_float(0x7fc00000)
#define NOT_A_NUMBER   as_double(0x7ff8000000000000)

// Fused where the machine has an instruction for it.
#define MAD_OF(T)                                          \
    INNER T MAD(T x, T y, T z)                             \
    {                                                      \
        _Pragma("clang fp contract(on)") return x * y + z; \
    }
MAD_OF(float)
MAD_OF(double)
#undef MAD_OF

// The scalar function as one of vectors, for float and double.
#define UNARY_REAL(f) UNARY(float, f, float) UNARY(double, f, double)
#define BINARY_REAL(f) \
    BINARY(float, f, float, float) BINARY(double, f, double, double)
#define TERNARY_REAL(f)                    \
    TERNARY(float, f, float, float, float) \
    TERNARY(double, f, double, double, double)

// A function of float that is the one of double, rounded.
#define BY_DOUBLE(f)                \
    FN float f(float x)             \
    {                               \
        return (float)f((double)x); \
    }
#define BY_DOUBLE_2(f)                         \
    FN float f(float x, float y)               \
    {                                          \
        return (float)f((double)x, (double)y); \
    }

// 2^n for exponents of normal numbers.
INNER float power_of_two(int n)
{
    return as_float((n + 127) << 23);
}
INNER double power_of_two(long n)
{
    return as_double((n + 1023) << 52);
}

// x * 2^n in two steps, the first exact: n may be twice as large as that, and
// what becomes subnormal is rounded once.
INNER float scale(float x, int n)
{
    int half_n = n >> 1;
    return x * power_of_two(half_n) * power_of_two(n - half_n);
}
INNER double scale(double x, long n)
{
    long half_n = n >> 1;
    return x * power_of_two(half_n) * power_of_two(n - half_n);
}

// Round to an integer that is small, as value and as int: what is added moves
// the integer into the lowest bits.
INNER float nearest(float x, int *n)
{
    float moved = x + 0x1.8p23f;
    *n = as_int(moved) - as_int(0x1.8p23f);
    return moved - 0x1.8p23f;
}
INNER double nearest(double x, long *n)
{
    double moved = x + 0x1.8p52;
    *n = as_long(moved) - as_long(0x1.8p52);
    return moved - 0x1.8p52;
}

// A small integer as double: there is no instruction for long.
INNER double small(long n)
{
    return as_double(n + as_long(0x1.8p52)) - 0x1.8p52;
}

INNER float magnitude(float x)
{
    return __builtin_fabsf(x);
}
INNER double magnitude(double x)
{
    return __builtin_fabs(x);
}
INNER float with_sign(float x, float sign)
{
    return __builtin_copysignf(x, sign);
}
INNER double with_sign(double x, double sign)
{
    return __builtin_copysign(x, sign);
}

// A number in two doubles.
struct pair {
    double high, low;
};
INNER struct pair sum_of(double x, double y)
{
    double sum = x + y, y_part = sum - x;
    return (struct pair){sum, (x - (sum - y_part)) + (y - y_part)};
}
// |x| >= |y|
INNER struct pair sum_ordered(double x, double y)
{
    double sum = x + y;
    return (struct pair){sum, y - (sum - x)};
}
// Not with fma, which is a call where there is no instruction.
INNER struct pair product_of(double x, double y)
{
    double x1 = as_double(as_long(x) & ~0x7ffffffL), x0 = x - x1;
    double y1 = as_double(as_long(y) & ~0x7ffffffL), y0 = y - y1;
    double product = x * y;
    double low = ((x1 * y1 - product) + x1 * y0 + x0 * y1) + x0 * y0;
    return (struct pair){product, low};
}

#endif
