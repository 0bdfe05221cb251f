// native_ and half_ functions: the instruction where there is one, else the
// function itself.
#include "real.h"

#define SAME_1(prefix, f)                           \
    float __attribute__((overloadable)) f(float x); \
    FN float prefix##_##f(float x)                  \
    {                                               \
        return f(x);                                \
    }                                               \
    UNARY(float, prefix##_##f, float)
#define BOTH(f) SAME_1(native, f) SAME_1(half, f)
BOTH(cos)
BOTH(exp)
BOTH(exp2)
BOTH(exp10)
BOTH(log)
BOTH(log2)
BOTH(log10)
BOTH(rsqrt)
BOTH(sin)
BOTH(sqrt)
BOTH(tan)

#define QUOTIENTS(prefix)                        \
    FN float prefix##_divide(float x, float y)   \
    {                                            \
        return x / y;                            \
    }                                            \
    FN float prefix##_recip(float x)             \
    {                                            \
        return 1 / x;                            \
    }                                            \
    UNARY(float, prefix##_recip, float)          \
    BINARY(float, prefix##_divide, float, float) \
    BINARY(float, prefix##_powr, float, float)
float __attribute__((overloadable)) powr(float x, float y);
float __attribute__((overloadable)) exp2(float x);
float __attribute__((overloadable)) log2(float x);
FN float native_powr(float x, float y)
{
    return exp2(y * log2(x));
}
FN float half_powr(float x, float y)
{
    return powr(x, y);
}
QUOTIENTS(native)
QUOTIENTS(half)
