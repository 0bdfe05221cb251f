// Geometric functions. Those of floats go through double, where nothing that
// comes from floats overflows; doubles are scaled by a power of two.
#include "vector.h"

#define SUM_2(v) (v.x + v.y)
#define SUM_3(v) (SUM_2(v) + v.z)
#define SUM_4(v) (SUM_2(v) + (v.z + v.w))
#define GEOMETRIC_WIDTHS(F, ...) \
    F(2, __VA_ARGS__) F(3, __VA_ARGS__) F(4, __VA_ARGS__)

#define WIDE_2(v)   ((double2)(v.x, v.y))
#define WIDE_3(v)   ((double3)(v.x, v.y, v.z))
#define WIDE_4(v)   ((double4)(v.x, v.y, v.z, v.w))
#define NARROW_2(v) ((float2)(v.x, v.y))
#define NARROW_3(v) ((float3)(v.x, v.y, v.z))
#define NARROW_4(v) ((float4)(v.x, v.y, v.z, v.w))

FN float dot(float x, float y)
{
    return x * y;
}
FN double dot(double x, double y)
{
    return x * y;
}
#define DOT_N(n, T)          \
    FN T dot(T##n x, T##n y) \
    {                        \
        T##n p = x * y;      \
        return SUM_##n(p);   \
    }
GEOMETRIC_WIDTHS(DOT_N, float)
GEOMETRIC_WIDTHS(DOT_N, double)

#define CROSS(T)                                         \
    FN T##3 cross(T##3 x, T##3 y)                        \
    {                                                    \
        return x.yzx * y.zxy - x.zxy * y.yzx;            \
    }                                                    \
    FN T##4 cross(T##4 x, T##4 y)                        \
    {                                                    \
        return (T##4)(x.yzx * y.zxy - x.zxy * y.yzx, 0); \
    }
CROSS(float)
CROSS(double)

// The power of two that brings the largest component near 1.
INNER double scale_of(double largest)
{
    long exponent = (as_long(largest) >> 52) & 0x7ff;
    exponent = choose(exponent < 64, (long)64, exponent);
    exponent = choose(exponent > 1980, (long)1980, exponent);
    return as_double((2046 - exponent) << 52);
}

FN float length(float x)
{
    return __builtin_fabsf(x);
}
FN double length(double x)
{
    return __builtin_fabs(x);
}
FN float normalize(float x)
{
    return choose((x == 0) | (x != x), x, __builtin_copysignf(1, x));
}
FN double normalize(double x)
{
    return choose((x == 0) | (x != x), x, __builtin_copysign(1, x));
}

#define LARGEST_2(v) __builtin_fmax(__builtin_fabs(v.x), __builtin_fabs(v.y))
#define LARGEST_3(v) __builtin_fmax(LARGEST_2(v), __builtin_fabs(v.z))
#define LARGEST_4(v) __builtin_fmax(LARGEST_3(v), __builtin_fabs(v.w))
#define UNIT(c) \
    choose(infinite, __builtin_copysign((c) - (c) == 0 ? 0.0 : 1.0, c), c)
#define UNIT_2(v) ((double2)(UNIT(v.x), UNIT(v.y)))
#define UNIT_3(v) ((double3)(UNIT(v.x), UNIT(v.y), UNIT(v.z)))
#define UNIT_4(v) ((double4)(UNIT(v.x), UNIT(v.y), UNIT(v.z), UNIT(v.w)))

// Components that are infinite count as 1 and the others then as 0.
#define LENGTH_N(n, T)                                             \
    FN float length(float##n x)                                    \
    {                                                              \
        double##n w = WIDE_##n(x);                                 \
        return (float)__builtin_sqrt(dot(w, w));                   \
    }                                                              \
    FN double length(double##n x)                                  \
    {                                                              \
        double s = scale_of(LARGEST_##n(x));                       \
        x *= s;                                                    \
        return __builtin_sqrt(dot(x, x)) / s;                      \
    }                                                              \
    FN float##n normalize(float##n x)                              \
    {                                                              \
        double##n w = WIDE_##n(x);                                 \
        bool infinite = LARGEST_##n(w) == __builtin_inf();         \
        w = UNIT_##n(w);                                           \
        double s = dot(w, w);                                      \
        w *= 1.0 / __builtin_sqrt(choose(s == 0, 1.0, s));         \
        return NARROW_##n(w);                                      \
    }                                                              \
    FN double##n normalize(double##n x)                            \
    {                                                              \
        double largest = LARGEST_##n(x);                           \
        bool infinite = largest == __builtin_inf();                \
        double##n w = UNIT_##n(x);                                 \
        w *= choose(infinite, 1.0, scale_of(largest));             \
        double s = dot(w, w);                                      \
        return w / __builtin_sqrt(choose(s == 0, 1.0, s));         \
    }                                                              \
    FN float fast_length(float##n x)                               \
    {                                                              \
        return __builtin_sqrtf(dot(x, x));                         \
    }                                                              \
    FN float##n fast_normalize(float##n x)                         \
    {                                                              \
        float s = dot(x, x);                                       \
        return x * (1 / __builtin_sqrtf(choose(s == 0, 1.0f, s))); \
    }
GEOMETRIC_WIDTHS(LENGTH_N, )

FN float fast_length(float x)
{
    return __builtin_fabsf(x);
}
FN float fast_normalize(float x)
{
    return normalize(x);
}

#define DISTANCE(T)                  \
    FN float fast_distance(T x, T y) \
    {                                \
        return fast_length(x - y);   \
    }
#define DISTANCE_N(n, T)          \
    FN T distance(T##n x, T##n y) \
    {                             \
        return length(x - y);     \
    }
DISTANCE(float)
DISTANCE(float2)
DISTANCE(float3)
DISTANCE(float4)
DISTANCE_N(, float)
DISTANCE_N(, double)
GEOMETRIC_WIDTHS(DISTANCE_N, float)
GEOMETRIC_WIDTHS(DISTANCE_N, double)
