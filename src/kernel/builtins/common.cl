// Common functions.
#include "vector.h"

// L makes a constant of the type.
#define COMMON(T, L)                                       \
    FN T max(T x, T y)                                     \
    {                                                      \
        return choose(x < y, y, x);                        \
    }                                                      \
    FN T min(T x, T y)                                     \
    {                                                      \
        return choose(y < x, y, x);                        \
    }                                                      \
    FN T clamp(T x, T y, T z)                              \
    {                                                      \
        return min(max(x, y), z);                          \
    }                                                      \
    FN T degrees(T x)                                      \
    {                                                      \
        return x * L(57.295779513082320876798154814105);   \
    }                                                      \
    FN T radians(T x)                                      \
    {                                                      \
        return x * L(0.017453292519943295769236907684886); \
    }                                                      \
    FN T mix(T x, T y, T z)                                \
    {                                                      \
        return x + (y - x) * z;                            \
    }                                                      \
    FN T step(T x, T y)                                    \
    {                                                      \
        return choose(y < x, L(0.0), L(1.0));              \
    }                                                      \
    FN T smoothstep(T x, T y, T z)                         \
    {                                                      \
        T t = clamp((z - x) / (y - x), L(0.0), L(1.0));    \
        return t * t * (L(3.0) - L(2.0) * t);              \
    }                                                      \
    FN T sign(T x)                                         \
    {                                                      \
        T s = choose(x > L(0.0), L(1.0), x);               \
        s = choose(x < L(0.0), -L(1.0), s);                \
        return choose(x != x, L(0.0), s);                  \
    }                                                      \
    BINARY(T, max, T, T)                                   \
    BINARY(T, min, T, T)                                   \
    BINARY_SCALAR(T, max, T, T)                            \
    BINARY_SCALAR(T, min, T, T)                            \
    TERNARY(T, clamp, T, T, T)                             \
    UNARY(T, degrees, T)                                   \
    UNARY(T, radians, T)                                   \
    TERNARY(T, mix, T, T, T)                               \
    BINARY(T, step, T, T)                                  \
    TERNARY(T, smoothstep, T, T, T)                        \
    UNARY(T, sign, T)                                      \
    WIDTHS(SCALARS, T)
#define SCALARS(n, T)                               \
    FN T##n clamp(T##n x, T y, T z)                 \
    {                                               \
        return clamp(x, (T##n)(y), (T##n)(z));      \
    }                                               \
    FN T##n mix(T##n x, T##n y, T z)                \
    {                                               \
        return mix(x, y, (T##n)(z));                \
    }                                               \
    FN T##n step(T x, T##n y)                       \
    {                                               \
        return step((T##n)(x), y);                  \
    }                                               \
    FN T##n smoothstep(T x, T y, T##n z)            \
    {                                               \
        return smoothstep((T##n)(x), (T##n)(y), z); \
    }
#define SINGLE(c) c##f
#define DOUBLE(c) c
COMMON(float, SINGLE)
COMMON(double, DOUBLE)
