// What -cl-fast-relaxed-math and -cl-unsafe-math-optimizations make of functions
// of float (kernel/compiler/prepare/relaxed.h), within the errors that OpenCL
// allows them then. What LLVM knows as well, quotients and square roots, it
// relaxes by itself.
#include "real.h"

#define OF_FLOAT(f) float __attribute__((overloadable)) f(float x);
OF_FLOAT(exp2)
OF_FLOAT(native_sin)
OF_FLOAT(native_cos)
OF_FLOAT(native_tan)
OF_FLOAT(native_log2)
OF_FLOAT(native_rsqrt)

FN float __relaxed_sin(float x)
{
    return native_sin(x);
}
FN float __relaxed_cos(float x)
{
    return native_cos(x);
}
FN float __relaxed_tan(float x)
{
    return native_tan(x);
}

// Within 3 units in the last place, and 2^-21 near 1. Numbers below 2^-126 keep
// their bits.
FN float __relaxed_log2(float x)
{
    bool is_small = x < 0x1p-126f;
    return native_log2(choose(is_small, x * 0x1p24f, x)) -
           choose(is_small, 24.0f, 0.0f);
}
FN float __relaxed_log(float x)
{
    return __relaxed_log2(x) * (float)(LN2_HIGH + LN2_LOW);
}
FN float __relaxed_log10(float x)
{
    return __relaxed_log2(x) * 0x1.344136p-2f;
}

// Powers are exp2(y log2(x)), negative of negative numbers to an odd power.
INNER float negative_if(bool c, float x)
{
    return as_float(as_int(x) ^ (int)c << 31);
}
FN float __relaxed_powr(float x, float y)
{
    return exp2(y * __relaxed_log2(x));
}
FN float __relaxed_pow(float x, float y)
{
    float half_y = y * 0.5f;
    bool odd = half_y != __builtin_rintf(half_y);
    return negative_if(odd & (x < 0), __relaxed_powr(magnitude(x), y));
}
FN float __relaxed_pown(float x, int y)
{
    return negative_if((y & 1) & (x < 0),
                       __relaxed_powr(magnitude(x), (float)y));
}
FN float __relaxed_rootn(float x, int y)
{
    return negative_if((y & 1) & (x < 0),
                       exp2(__relaxed_log2(magnitude(x)) / (float)y));
}

FN float __relaxed_rsqrt(float x)
{
    return native_rsqrt(x);
}

UNARY(float, __relaxed_sin, float)
UNARY(float, __relaxed_cos, float)
UNARY(float, __relaxed_tan, float)
UNARY(float, __relaxed_log, float)
UNARY(float, __relaxed_log2, float)
UNARY(float, __relaxed_log10, float)
UNARY(float, __relaxed_rsqrt, float)
BINARY(float, __relaxed_pow, float, float)
BINARY(float, __relaxed_powr, float, float)
BINARY(float, __relaxed_pown, float, int)
BINARY(float, __relaxed_rootn, float, int)

#define SINCOS_1(A)                              \
    FN float __relaxed_sincos(float x, A float *cosine) \
    {                                            \
        *cosine = native_cos(x);                 \
        return native_sin(x);                    \
    }
#define SINCOS_N(n, A)                                      \
    FN float##n __relaxed_sincos(float##n x, A float##n *cosine) \
    {                                                       \
        *cosine = __relaxed_cos(x);                         \
        return __relaxed_sin(x);                            \
    }
#define SINCOS(A) SINCOS_1(A) WIDTHS(SINCOS_N, A)
SINCOS(global)
SINCOS(local)
SINCOS(private)
SINCOS(__generic)
