// Common, geometric and relational functions of floating-point numbers, and
// those of the math functions that are one instruction or a few.
#include "base.h"

#define REAL(T, I)                                                             \
    T OVERLOAD fabs(T a)                                                       \
    {                                                                          \
        return __builtin_elementwise_abs(a);                                   \
    }                                                                          \
    T OVERLOAD sqrt(T a)                                                       \
    {                                                                          \
        return __builtin_elementwise_sqrt(a);                                  \
    }                                                                          \
    T OVERLOAD rsqrt(T a)                                                      \
    {                                                                          \
        return (T)1 / sqrt(a);                                                 \
    }                                                                          \
    T OVERLOAD floor(T a)                                                      \
    {                                                                          \
        return __builtin_elementwise_floor(a);                                 \
    }                                                                          \
    T OVERLOAD ceil(T a)                                                       \
    {                                                                          \
        return __builtin_elementwise_ceil(a);                                  \
    }                                                                          \
    T OVERLOAD trunc(T a)                                                      \
    {                                                                          \
        return __builtin_elementwise_trunc(a);                                 \
    }                                                                          \
    T OVERLOAD rint(T a)                                                       \
    {                                                                          \
        return __builtin_elementwise_rint(a);                                  \
    }                                                                          \
    T OVERLOAD copysign(T a, T sign)                                           \
    {                                                                          \
        return __builtin_elementwise_copysign(a, sign);                        \
    }                                                                          \
    T OVERLOAD round(T a)                                                      \
    {                                                                          \
        T whole = trunc(a);                                                    \
        T more = fabs(a - whole) >= (T)0.5 ? (T)1 : (T)0;                      \
        return copysign(whole + copysign(more, a), a);                         \
    }                                                                          \
    T OVERLOAD fma(T a, T b, T c)                                              \
    {                                                                          \
        return __builtin_elementwise_fma(a, b, c);                             \
    }                                                                          \
    T OVERLOAD mad(T a, T b, T c)                                              \
    {                                                                          \
        return __builtin_elementwise_fma(a, b, c);                             \
    }                                                                          \
    T OVERLOAD fmin(T a, T b)                                                  \
    {                                                                          \
        return b < a || a != a ? b : a;                                        \
    }                                                                          \
    T OVERLOAD fmax(T a, T b)                                                  \
    {                                                                          \
        return b > a || a != a ? b : a;                                        \
    }                                                                          \
    T OVERLOAD min(T a, T b)                                                   \
    {                                                                          \
        return b < a ? b : a;                                                  \
    }                                                                          \
    T OVERLOAD max(T a, T b)                                                   \
    {                                                                          \
        return a < b ? b : a;                                                  \
    }                                                                          \
    T OVERLOAD clamp(T a, T low, T high)                                       \
    {                                                                          \
        return min(max(a, low), high);                                         \
    }                                                                          \
    T OVERLOAD mix(T a, T b, T t)                                              \
    {                                                                          \
        return a + (b - a) * t;                                                \
    }                                                                          \
    T OVERLOAD step(T edge, T a)                                               \
    {                                                                          \
        return a < edge ? (T)0 : (T)1;                                         \
    }                                                                          \
    T OVERLOAD smoothstep(T low, T high, T a)                                  \
    {                                                                          \
        T t = clamp((a - low) / (high - low), (T)0, (T)1);                     \
        return t * t * ((T)3 - (T)2 * t);                                      \
    }                                                                          \
    T OVERLOAD sign(T a)                                                       \
    {                                                                          \
        return a != a ? (T)0 : copysign(a == (T)0 ? (T)0 : (T)1, a);           \
    }                                                                          \
    T OVERLOAD degrees(T a)                                                    \
    {                                                                          \
        return a * (T)57.295779513082320877;                                   \
    }                                                                          \
    T OVERLOAD radians(T a)                                                    \
    {                                                                          \
        return a * (T)0.017453292519943295769;                                 \
    }                                                                          \
    T OVERLOAD fdim(T a, T b)                                                  \
    {                                                                          \
        return a != a || b != b ? a + b : a > b ? a - b : (T)0;                \
    }                                                                          \
    T OVERLOAD maxmag(T a, T b)                                                \
    {                                                                          \
        return fabs(a) > fabs(b)   ? a                                         \
               : fabs(b) > fabs(a) ? b                                         \
                                   : fmax(a, b);                               \
    }                                                                          \
    T OVERLOAD minmag(T a, T b)                                                \
    {                                                                          \
        return fabs(a) < fabs(b)   ? a                                         \
               : fabs(b) < fabs(a) ? b                                         \
                                   : fmin(a, b);                               \
    }                                                                          \
    WIDTHS(EACH_1, fabs, T, T)                                                 \
    WIDTHS(EACH_1, sqrt, T, T)                                                 \
    WIDTHS(EACH_1, rsqrt, T, T)                                                \
    WIDTHS(EACH_1, floor, T, T)                                                \
    WIDTHS(EACH_1, ceil, T, T)                                                 \
    WIDTHS(EACH_1, trunc, T, T)                                                \
    WIDTHS(EACH_1, rint, T, T)                                                 \
    WIDTHS(EACH_1, round, T, T)                                                \
    WIDTHS(EACH_1, sign, T, T)                                                 \
    WIDTHS(EACH_1, degrees, T, T)                                              \
    WIDTHS(EACH_1, radians, T, T)                                              \
    WIDTHS(EACH_2, copysign, T, T, T)                                          \
    WIDTHS(EACH_2, fdim, T, T, T)                                              \
    WIDTHS(EACH_2, maxmag, T, T, T)                                            \
    WIDTHS(EACH_2, minmag, T, T, T)                                            \
    WIDTHS(EACH_3, fma, T, T, T, T)                                            \
    WIDTHS(EACH_3, mad, T, T, T, T)                                            \
    WIDTHS(EACH_2, fmin, T, T, T)                                              \
    WIDTHS(EACH_2, fmax, T, T, T)                                              \
    WIDTHS(LAST_2, fmin, T)                                                    \
    WIDTHS(LAST_2, fmax, T)                                                    \
    WIDTHS(EACH_2, min, T, T, T)                                               \
    WIDTHS(EACH_2, max, T, T, T)                                               \
    WIDTHS(LAST_2, min, T)                                                     \
    WIDTHS(LAST_2, max, T)                                                     \
    WIDTHS(EACH_3, clamp, T, T, T, T)                                          \
    WIDTHS(LAST_3, clamp, T)                                                   \
    WIDTHS(EACH_3, mix, T, T, T, T)                                            \
    WIDTHS(MIX_LAST, T)                                                        \
    WIDTHS(EACH_2, step, T, T, T)                                              \
    WIDTHS(STEP_FIRST, T)                                                      \
    WIDTHS(EACH_3, smoothstep, T, T, T, T)                                     \
    WIDTHS(SMOOTHSTEP_FIRST, T)                                                \
    WIDTHS(REMAINING, T, I)                                                    \
    T OVERLOAD fract(T a, __private T *whole)                                  \
    {                                                                          \
        *whole = floor(a);                                                     \
        return fmin(a - *whole, (T)1 - (sizeof(T) == 4 ? (T)0x1p-24            \
                                                       : (T)0x1p-53));         \
    }                                                                          \
    /* Geometry */                                                             \
    T OVERLOAD dot(T a, T b)                                                   \
    {                                                                          \
        return a * b;                                                          \
    }                                                                          \
    T OVERLOAD length(T a)                                                     \
    {                                                                          \
        return fabs(a);                                                        \
    }                                                                          \
    T OVERLOAD distance(T a, T b)                                              \
    {                                                                          \
        return fabs(a - b);                                                    \
    }                                                                          \
    T OVERLOAD normalize(T a)                                                  \
    {                                                                          \
        return sign(a);                                                        \
    }                                                                          \
    T##3 OVERLOAD cross(T##3 a, T##3 b)                                        \
    {                                                                          \
        return a.yzx * b.zxy - a.zxy * b.yzx;                                  \
    }                                                                          \
    T##4 OVERLOAD cross(T##4 a, T##4 b)                                        \
    {                                                                          \
        return (T##4)(cross(a.xyz, b.xyz), (T)0);                              \
    }                                                                          \
    GEOMETRY(T, 2) GEOMETRY(T, 3) GEOMETRY(T, 4)

#define MIX_LAST(n, T)                                                         \
    T##n OVERLOAD mix(T##n a, T##n b, T t)                                     \
    {                                                                          \
        return mix(a, b, (T##n)(t));                                           \
    }
#define STEP_FIRST(n, T)                                                       \
    T##n OVERLOAD step(T edge, T##n a)                                         \
    {                                                                          \
        return step((T##n)(edge), a);                                          \
    }
#define SMOOTHSTEP_FIRST(n, T)                                                 \
    T##n OVERLOAD smoothstep(T low, T high, T##n a)                            \
    {                                                                          \
        return smoothstep((T##n)(low), (T##n)(high), a);                       \
    }
#define REMAINING(n, T, I)                                                     \
    T##n OVERLOAD fract(T##n a, __private T##n *whole)                         \
    {                                                                          \
        *whole = floor(a);                                                     \
        return fmin(a - *whole, (T)1 - (sizeof(T) == 4 ? (T)0x1p-24            \
                                                       : (T)0x1p-53));         \
    }
#define GEOMETRY(T, n)                                                         \
    T OVERLOAD dot(T##n a, T##n b)                                             \
    {                                                                          \
        T sum = a[0] * b[0];                                                   \
        for (int i = 1; i < n; i++)                                            \
            sum = fma(a[i], b[i], sum);                                        \
        return sum;                                                            \
    }                                                                          \
    /* Scaled by the largest component, so that no square overflows. */        \
    T OVERLOAD length(T##n a)                                                  \
    {                                                                          \
        T most = fabs(a[0]);                                                   \
        for (int i = 1; i < n; i++)                                            \
            most = max(most, fabs(a[i]));                                      \
        T scale = most > (T)0 && most < (T)INFINITY ? most : (T)1;             \
        T##n b = a / scale;                                                    \
        return scale * sqrt(dot(b, b));                                        \
    }                                                                          \
    T OVERLOAD distance(T##n a, T##n b)                                        \
    {                                                                          \
        return length(a - b);                                                  \
    }                                                                          \
    T##n OVERLOAD normalize(T##n a)                                            \
    {                                                                          \
        T l = length(a);                                                       \
        return l > (T)0 ? a / l : a;                                           \
    }
REAL(float, int)
REAL(double, long)

float OVERLOAD fast_length(float a)
{
    return fabs(a);
}

float OVERLOAD fast_distance(float a, float b)
{
    return fabs(a - b);
}

float OVERLOAD fast_normalize(float a)
{
    return sign(a);
}

#define FAST(n, T)                                                             \
    T OVERLOAD fast_length(T##n a)                                             \
    {                                                                          \
        return sqrt(dot(a, a));                                                \
    }                                                                          \
    T OVERLOAD fast_distance(T##n a, T##n b)                                   \
    {                                                                          \
        return fast_length(a - b);                                             \
    }                                                                          \
    T##n OVERLOAD fast_normalize(T##n a)                                       \
    {                                                                          \
        T square = dot(a, a);                                                  \
        return square > (T)0 ? a * rsqrt(square) : a;                          \
    }
FAST(2, float)
FAST(3, float)
FAST(4, float)
