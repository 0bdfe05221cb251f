// Functions of halves: those of floats, rounded once more. Float has more than
// twice the digits, so sums, products, quotients and roots are as if rounded
// once.
#include "half.h"

#define DECLARED __attribute__((overloadable))

#define HALF_1(f)                 \
    DECLARED float f(float);      \
    FN half f(half x)             \
    {                             \
        return (half)f((float)x); \
    }                             \
    UNARY(half, f, half)
#define HALF_2(f)                           \
    DECLARED float f(float, float);         \
    FN half f(half x, half y)               \
    {                                       \
        return (half)f((float)x, (float)y); \
    }                                       \
    BINARY(half, f, half, half)
#define HALF_3(f)                                     \
    DECLARED float f(float, float, float);            \
    FN half f(half x, half y, half z)                 \
    {                                                 \
        return (half)f((float)x, (float)y, (float)z); \
    }                                                 \
    TERNARY(half, f, half, half, half)
#define HALF_INT(f)                  \
    DECLARED float f(float, int);    \
    FN half f(half x, int n)         \
    {                                \
        return (half)f((float)x, n); \
    }                                \
    BINARY(half, f, half, int)

HALF_1(acos)
HALF_1(acosh)
HALF_1(acospi)
HALF_1(asin)
HALF_1(asinh)
HALF_1(asinpi)
HALF_1(atan)
HALF_1(atanh)
HALF_1(atanpi)
HALF_1(cbrt)
HALF_1(ceil)
HALF_1(cos)
HALF_1(cosh)
HALF_1(cospi)
HALF_1(degrees)
HALF_1(erf)
HALF_1(erfc)
HALF_1(exp)
HALF_1(exp10)
HALF_1(exp2)
HALF_1(expm1)
HALF_1(fabs)
HALF_1(floor)
HALF_1(lgamma)
HALF_1(log)
HALF_1(log10)
HALF_1(log1p)
HALF_1(log2)
HALF_1(logb)
HALF_1(radians)
HALF_1(rint)
HALF_1(round)
HALF_1(rsqrt)
HALF_1(sign)
HALF_1(sin)
HALF_1(sinh)
HALF_1(sinpi)
HALF_1(sqrt)
HALF_1(tan)
HALF_1(tanh)
HALF_1(tanpi)
HALF_1(tgamma)
HALF_1(trunc)
HALF_2(atan2)
HALF_2(atan2pi)
HALF_2(copysign)
HALF_2(fdim)
HALF_2(fmax)
HALF_2(fmin)
HALF_2(fmod)
HALF_2(hypot)
HALF_2(max)
HALF_2(maxmag)
HALF_2(min)
HALF_2(minmag)
HALF_2(pow)
HALF_2(powr)
HALF_2(remainder)
HALF_2(step)
HALF_3(clamp)
HALF_3(mad)
HALF_3(mix)
HALF_3(smoothstep)
HALF_INT(ldexp)
HALF_INT(pown)
HALF_INT(rootn)

BINARY_SCALAR(half, fmax, half, half)
BINARY_SCALAR(half, fmin, half, half)
BINARY_SCALAR(half, max, half, half)
BINARY_SCALAR(half, min, half, half)
BINARY_SCALAR(half, ldexp, half, int)
#define SCALARS(n, unused)                                \
    FN half##n clamp(half##n x, half y, half z)           \
    {                                                     \
        return clamp(x, (half##n)(y), (half##n)(z));      \
    }                                                     \
    FN half##n mix(half##n x, half##n y, half z)          \
    {                                                     \
        return mix(x, y, (half##n)(z));                   \
    }                                                     \
    FN half##n step(half x, half##n y)                    \
    {                                                     \
        return step((half##n)(x), y);                     \
    }                                                     \
    FN half##n smoothstep(half x, half y, half##n z)      \
    {                                                     \
        return smoothstep((half##n)(x), (half##n)(y), z); \
    }
WIDTHS(SCALARS, )

DECLARED int ilogb(float);
FN int ilogb(half x)
{
    return ilogb((float)x);
}
UNARY(int, ilogb, half)

FN half nan(ushort code)
{
    return as_half((ushort)(0x7e00 | (code & 0x1ff)));
}
UNARY(half, nan, ushort)

FN half nextafter(half x, half y)
{
    short bits = as_short(x);
    bool away = (x < y) == (bits >= 0);
    half next = as_half((short)(bits + choose(away, 1, -1)));
    short least = (short)(1 | (as_ushort(y) & 0x8000));
    next = choose((bits & 0x7fff) == 0, as_half(least), next);
    next = choose(x == y, y, next);
    return choose((x != x) | (y != y), nan((ushort)0), next);
}
BINARY(half, nextafter, half, half)

// The product is exact as a double. The sum gets an odd last bit when something
// is lost, from where rounding on goes as from the sum itself.
FN half fma(half x, half y, half z)
{
    double p = (double)((float)x * (float)y), q = (double)(float)z;
    double sum = p + q, q_part = sum - p;
    double low = (p - (sum - q_part)) + (q - q_part);
    long bits = as_long(sum);
    long step = choose((low > 0) == (sum > 0), (long)1, (long)-1);
    bool lost = ((low > 0) | (low < 0)) & ((bits & 1) == 0);
    sum = as_double(choose(lost, bits + step, bits));
    return as_half(half_bits(sum));
}
TERNARY(half, fma, half, half, half)

// Results through pointers: R is the other result's type, W that of floats.
#define OTHER(A, f, R, W, result)            \
    DECLARED float f(float, private W *);    \
    FN half f(half x, A R *other)            \
    {                                        \
        W second;                            \
        half r = (half)f((float)x, &second); \
        *other = (R)second;                  \
        return result;                       \
    }                                        \
    WIDTHS(OTHER_N, A, f, R)
#define OTHER_N(n, A, f, R)                \
    FN half##n f(half##n x, A R##n *other) \
    {                                      \
        half##n r;                         \
        R##n all;                          \
        for (int i = 0; i < n; i++) {      \
            R one;                         \
            r[i] = f(x[i], &one);          \
            all[i] = one;                  \
        }                                  \
        *other = all;                      \
        return r;                          \
    }
#define REMQUO_N(n, A)                                       \
    FN half##n remquo(half##n x, half##n y, A int##n *other) \
    {                                                        \
        half##n r;                                           \
        int##n all;                                          \
        for (int i = 0; i < n; i++) {                        \
            int one;                                         \
            r[i] = remquo(x[i], y[i], &one);                 \
            all[i] = one;                                    \
        }                                                    \
        *other = all;                                        \
        return r;                                            \
    }
#define BELOW_1 as_half((ushort)0x3bff)
#define OTHERS(A)                                             \
    OTHER(A, fract, half, float,                              \
          choose(r < BELOW_1, r, choose(r != r, r, BELOW_1))) \
    OTHER(A, modf, half, float, r)                            \
    OTHER(A, sincos, half, float, r)                          \
    OTHER(A, frexp, int, int, r)                              \
    OTHER(A, lgamma_r, int, int, r)                           \
    FN half remquo(half x, half y, A int *other)              \
    {                                                         \
        int second;                                           \
        half r = (half)remquo((float)x, (float)y, &second);   \
        *other = second;                                      \
        return r;                                             \
    }                                                         \
    WIDTHS(REMQUO_N, A)
DECLARED float remquo(float, float, private int *);
OTHERS(private)
OTHERS(global)
OTHERS(local)
OTHERS(__generic)

// Geometric functions.
#define WIDER_2(v)  ((float2)(v.x, v.y))
#define WIDER_3(v)  ((float3)(v.x, v.y, v.z))
#define WIDER_4(v)  ((float4)(v.x, v.y, v.z, v.w))
#define NARROW_2(v) ((half2)(v.x, v.y))
#define NARROW_3(v) ((half3)(v.x, v.y, v.z))
#define NARROW_4(v) ((half4)(v.x, v.y, v.z, v.w))
#define GEOMETRIC(n)                                       \
    DECLARED float dot(float##n, float##n);                \
    DECLARED float length(float##n);                       \
    DECLARED float distance(float##n, float##n);           \
    DECLARED float##n normalize(float##n);                 \
    FN half dot(half##n x, half##n y)                      \
    {                                                      \
        return (half)dot(WIDER_##n(x), WIDER_##n(y));      \
    }                                                      \
    FN half length(half##n x)                              \
    {                                                      \
        return (half)length(WIDER_##n(x));                 \
    }                                                      \
    FN half distance(half##n x, half##n y)                 \
    {                                                      \
        return (half)distance(WIDER_##n(x), WIDER_##n(y)); \
    }                                                      \
    FN half##n normalize(half##n x)                        \
    {                                                      \
        float##n r = normalize(WIDER_##n(x));              \
        return NARROW_##n(r);                              \
    }
GEOMETRIC(2)
GEOMETRIC(3)
GEOMETRIC(4)
FN half dot(half x, half y)
{
    return x * y;
}
FN half length(half x)
{
    return fabs(x);
}
FN half distance(half x, half y)
{
    return fabs(x - y);
}
DECLARED float normalize(float);
FN half normalize(half x)
{
    return (half)normalize((float)x);
}
DECLARED float3 cross(float3, float3);
FN half3 cross(half3 x, half3 y)
{
    float3 r = cross(WIDER_3(x), WIDER_3(y));
    return NARROW_3(r);
}
FN half4 cross(half4 x, half4 y)
{
    return (half4)(cross(x.xyz, y.xyz), 0);
}
