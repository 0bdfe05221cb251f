// What all builtins share: the lists of types and the forms that make the
// functions of vectors from the function of one component. Inlined, such a
// vector function is what the compiler's scalarizer would make of it, and the
// loop over work-items is vectorised across it.
//
// No builtin branches, loops, reads a table or calls anything outside: choices
// are choose(), conditions are joined by & and |, which do not branch.
#ifndef HDI_BUILTINS_VECTOR_H
#define HDI_BUILTINS_VECTOR_H

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define FN    __attribute__((overloadable, always_inline))
#define INNER static __attribute__((overloadable, always_inline))

// X(type, unsigned, signed, bits, lowest, highest)
#define SIGNED(X)                                   \
    X(char, uchar, char, 8, CHAR_MIN, CHAR_MAX)     \
    X(short, ushort, short, 16, SHRT_MIN, SHRT_MAX) \
    X(int, uint, int, 32, INT_MIN, INT_MAX)         \
    X(long, ulong, long, 64, LONG_MIN, LONG_MAX)
#define UNSIGNED(X)                            \
    X(uchar, uchar, char, 8, 0, UCHAR_MAX)     \
    X(ushort, ushort, short, 16, 0, USHRT_MAX) \
    X(uint, uint, int, 32, 0, UINT_MAX)        \
    X(ulong, ulong, long, 64, 0, ULONG_MAX)
#define INTEGERS(X) SIGNED(X) UNSIGNED(X)

#define MAP1_2(f) f(x.s0), f(x.s1)
#define MAP1_3(f) MAP1_2(f), f(x.s2)
#define MAP1_4(f) MAP1_3(f), f(x.s3)
#define MAP1_8(f) MAP1_4(f), f(x.s4), f(x.s5), f(x.s6), f(x.s7)
#define MAP1_16(f)                                                            \
    MAP1_8(f), f(x.s8), f(x.s9), f(x.sa), f(x.sb), f(x.sc), f(x.sd), f(x.se), \
        f(x.sf)

#define MAP2_2(f) f(x.s0, y.s0), f(x.s1, y.s1)
#define MAP2_3(f) MAP2_2(f), f(x.s2, y.s2)
#define MAP2_4(f) MAP2_3(f), f(x.s3, y.s3)
#define MAP2_8(f) \
    MAP2_4(f), f(x.s4, y.s4), f(x.s5, y.s5), f(x.s6, y.s6), f(x.s7, y.s7)
#define MAP2_16(f)                                                         \
    MAP2_8(f), f(x.s8, y.s8), f(x.s9, y.s9), f(x.sa, y.sa), f(x.sb, y.sb), \
        f(x.sc, y.sc), f(x.sd, y.sd), f(x.se, y.se), f(x.sf, y.sf)

#define MAP3_2(f) f(x.s0, y.s0, z.s0), f(x.s1, y.s1, z.s1)
#define MAP3_3(f) MAP3_2(f), f(x.s2, y.s2, z.s2)
#define MAP3_4(f) MAP3_3(f), f(x.s3, y.s3, z.s3)
#define MAP3_8(f)                                                             \
    MAP3_4(f), f(x.s4, y.s4, z.s4), f(x.s5, y.s5, z.s5), f(x.s6, y.s6, z.s6), \
        f(x.s7, y.s7, z.s7)
#define MAP3_16(f)                                                            \
    MAP3_8(f), f(x.s8, y.s8, z.s8), f(x.s9, y.s9, z.s9), f(x.sa, y.sa, z.sa), \
        f(x.sb, y.sb, z.sb), f(x.sc, y.sc, z.sc), f(x.sd, y.sd, z.sd),        \
        f(x.se, y.se, z.se), f(x.sf, y.sf, z.sf)

// F(n, ...) for every width of a vector.
#define WIDTHS(F, ...) \
    F(2, __VA_ARGS__)  \
    F(3, __VA_ARGS__) F(4, __VA_ARGS__) F(8, __VA_ARGS__) F(16, __VA_ARGS__)

#define UNARY_N(n, R, f, T)         \
    FN R##n f(T##n x)               \
    {                               \
        return (R##n)(MAP1_##n(f)); \
    }
#define BINARY_N(n, R, f, T, U)     \
    FN R##n f(T##n x, U##n y)       \
    {                               \
        return (R##n)(MAP2_##n(f)); \
    }
#define TERNARY_N(n, R, f, T, U, V)   \
    FN R##n f(T##n x, U##n y, V##n z) \
    {                                 \
        return (R##n)(MAP3_##n(f));   \
    }
#define UNARY(R, f, T)         WIDTHS(UNARY_N, R, f, T)
#define BINARY(R, f, T, U)     WIDTHS(BINARY_N, R, f, T, U)
#define TERNARY(R, f, T, U, V) WIDTHS(TERNARY_N, R, f, T, U, V)

// A scalar argument beside vectors stands for a vector of itself.
#define BINARY_SCALAR_N(n, R, f, T, U) \
    FN R##n f(T##n x, U y)             \
    {                                  \
        return f(x, (U##n)(y));        \
    }
#define BINARY_SCALAR(R, f, T, U) WIDTHS(BINARY_SCALAR_N, R, f, T, U)

#define CHOOSE(T)                       \
    INNER T choose(bool c, T yes, T no) \
    {                                   \
        return c ? yes : no;            \
    }
CHOOSE(char)
CHOOSE(uchar)
CHOOSE(short)
CHOOSE(ushort)
CHOOSE(int)
CHOOSE(uint)
CHOOSE(long)
CHOOSE(ulong)
CHOOSE(half)
CHOOSE(float)
CHOOSE(double)
#undef CHOOSE

#endif
