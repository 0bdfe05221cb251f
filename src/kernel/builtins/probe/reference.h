// What tests of the math builtins share: functions that the C library lacks, in
// long double, and the error of a result in units in its last place.
#ifndef HDI_BUILTINS_REFERENCE_H
#define HDI_BUILTINS_REFERENCE_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/check.h"

#define PI_L 3.14159265358979323846264338327950288L

static long double acospi_reference(long double x)
{
    return acosl(x) / PI_L;
}

static long double asinpi_reference(long double x)
{
    return asinl(x) / PI_L;
}

static long double atanpi_reference(long double x)
{
    return atanl(x) / PI_L;
}

static long double atan2pi_reference(long double y, long double x)
{
    return atan2l(y, x) / PI_L;
}

static long double sinpi_reference(long double x)
{
    if (isinf(x))
        return NAN;
    if (truncl(x) == x)
        return copysignl(0, x);
    long double r = fmodl(x, 2);
    long double a = fabsl(r), s = a > 1 ? -1 : 1;
    a = a > 1 ? a - 1 : a;
    a = a > 0.5L ? 1 - a : a;
    s *= a > 0.25L ? cosl((0.5L - a) * PI_L) : sinl(a * PI_L);
    return signbit(x) ? -s : s;
}

static long double cospi_reference(long double x)
{
    long double a = fmodl(fabsl(x), 2);
    a = a > 1 ? 2 - a : a;
    long double s = a > 0.5L ? -1 : 1;
    a = a > 0.5L ? 1 - a : a;
    if (a == 0.5L)
        return 0;
    return s * (a > 0.25L ? sinl((0.5L - a) * PI_L) : cosl(a * PI_L));
}

static long double tanpi_reference(long double x)
{
    if (isinf(x))
        return NAN;
    long double r = fabsl(fmodl(x, 2));
    if (r == 0.5L || r == 1.5L)
        return (r == 0.5L) == !signbit(x) ? INFINITY : -INFINITY;
    if (truncl(x) == x)
        return copysignl(0, r == 1 ? -x : x);
    return sinpi_reference(x) / cospi_reference(x);
}

static long double rsqrt_reference(long double x)
{
    return 1 / sqrtl(x);
}

static long double maxmag_reference(long double x, long double y)
{
    long double a = fabsl(x), b = fabsl(y);
    return a > b ? x : b > a ? y : fmaxl(x, y);
}

static long double minmag_reference(long double x, long double y)
{
    long double a = fabsl(x), b = fabsl(y);
    return a < b ? x : b < a ? y : fminl(x, y);
}

static long double powr_reference(long double x, long double y)
{
    if (x < 0 || isnan(x) || isnan(y) || (x == 0 && y == 0) ||
        (x == 1 && isinf(y)) || (isinf(x) && y == 0))
        return NAN;
    return powl(fabsl(x), y);
}

static long double ldexp_reference(long double x, int y)
{
    return ldexpl(x, y);
}

static long double pown_reference(long double x, int y)
{
    return powl(x, y);
}

static long double rootn_reference(long double x, int y)
{
    bool odd = y & 1;
    if (y == 0 || (x < 0 && !odd))
        return NAN;
    long double r = powl(fabsl(x), 1 / (long double)y);
    return odd && signbit(x) ? -r : r;
}

struct format {
    const char *name;
    int digits;        // of the mantissa
    int least;         // the exponent of the least number
    long double above; // where rounding gives infinity
};

// The error of `got` [units in the last place of the format]; infinite where
// one of them is special and the other is not.
static double error_of(const struct format *format, long double got,
                       long double right)
{
    if (isnan(right) || isnan(got))
        return isnan(right) && isnan(got) ? 0 : INFINITY;
    if (fabsl(right) >= format->above)
        right = copysignl(INFINITY, right);
    if (got == right)
        return right == 0 && signbit(got) != signbit(right) ? INFINITY : 0;
    // Infinity stands for the number that would come after the largest.
    long double limit = ldexpl(1, ilogbl(format->above) + 1);
    if (isinf(right))
        right = copysignl(limit, right);
    if (isinf(got))
        got = copysignl(limit, got);
    int exponent =
        right == 0 ? format->least : ilogbl(right) - format->digits + 1;
    if (exponent < format->least)
        exponent = format->least;
    return (double)fabsl(ldexpl(got - right, -exponent));
}

struct worst {
    double error;
    long double x, y, got, right;
};

static void note(struct worst *worst, double error, long double x,
                 long double y, long double got, long double right)
{
    if (error > worst->error)
        *worst = (struct worst){error, x, y, got, right};
}

static int failures;

static void report(const char *name, const struct format *format,
                   const struct worst *worst, double bound)
{
    bool bad = worst->error > bound;
    printf("%-10s %-6s %8.3f %6.1f  at %.12La, %.12La%s\n", name, format->name,
           worst->error, bound, worst->x, worst->y, bad ? "  TOO LARGE" : "");
    if (bad) {
        printf("    got %.12La, right %.12La\n", worst->got, worst->right);
        failures++;
    }
}

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

#endif
