// Conversions between types, with saturation and rounding; vectors in memory.
#include "base.h"

#define CONVERT_N(n, D, S, suffix)                                             \
    D##n OVERLOAD convert_##D##n##suffix(S##n a)                               \
    {                                                                          \
        D##n r;                                                                \
        for (int i = 0; i < n; i++)                                            \
            r[i] = convert_##D##suffix(a[i]);                                  \
        return r;                                                              \
    }
#define CONVERT(D, S, suffix, expression)                                      \
    D OVERLOAD convert_##D##suffix(S a)                                        \
    {                                                                          \
        return (D)(expression);                                                \
    }                                                                          \
    WIDTHS(CONVERT_N, D, S, suffix)

// From integer to integer: the rounding says nothing.
#define ROUNDED(X, D, S, suffix, e)                                            \
    X(D, S, suffix, e) X(D, S, suffix##_rte, e) X(D, S, suffix##_rtz, e)       \
        X(D, S, suffix##_rtp, e) X(D, S, suffix##_rtn, e)

// The smaller of the two ranges, compared in a type that holds both values
// exactly after a look at the sign.
#define SATURATE(D, S, LOW, HIGH)                                              \
    (a < 0 ? ((LOW) == 0 || (long)a < (long)(LOW) ? (D)(LOW) : (D)a)           \
           : ((ulong)a > (ulong)(HIGH) ? (D)(HIGH) : (D)a))
#define FROM_INTEGER(D, S, LOW, HIGH)                                          \
    ROUNDED(CONVERT, D, S, , a)                                                \
    ROUNDED(CONVERT, D, S, _sat, SATURATE(D, S, LOW, HIGH))

#define IN_RANGE(D, a, LOW, HIGH)                                              \
    (a != a             ? (D)0                                                 \
     : a <= (__typeof__(a))(LOW)  ? (D)(LOW)                                   \
     : a >= (__typeof__(a))(HIGH) ? (D)(HIGH)                                  \
                                  : (D)a)
#define FROM_REAL_ROUNDED(D, S, LOW, HIGH, suffix, rounding)                   \
    CONVERT(D, S, suffix, rounding(a))                                         \
    D OVERLOAD convert_##D##_sat##suffix(S b)                                  \
    {                                                                          \
        S a = rounding(b);                                                     \
        return IN_RANGE(D, a, LOW, HIGH);                                      \
    }                                                                          \
    WIDTHS(CONVERT_N, D, S, _sat##suffix)
#define FROM_REAL(D, S, LOW, HIGH)                                             \
    FROM_REAL_ROUNDED(D, S, LOW, HIGH, , __builtin_elementwise_trunc)          \
    FROM_REAL_ROUNDED(D, S, LOW, HIGH, _rtz, __builtin_elementwise_trunc)      \
    FROM_REAL_ROUNDED(D, S, LOW, HIGH, _rte, __builtin_elementwise_rint)       \
    FROM_REAL_ROUNDED(D, S, LOW, HIGH, _rtp, __builtin_elementwise_ceil)       \
    FROM_REAL_ROUNDED(D, S, LOW, HIGH, _rtn, __builtin_elementwise_floor)

#define TO_INTEGER(D, LOW, HIGH)                                               \
    FROM_INTEGER(D, char, LOW, HIGH)                                           \
    FROM_INTEGER(D, uchar, LOW, HIGH)                                          \
    FROM_INTEGER(D, short, LOW, HIGH)                                          \
    FROM_INTEGER(D, ushort, LOW, HIGH)                                         \
    FROM_INTEGER(D, int, LOW, HIGH)                                            \
    FROM_INTEGER(D, uint, LOW, HIGH)                                           \
    FROM_INTEGER(D, long, LOW, HIGH)                                           \
    FROM_INTEGER(D, ulong, LOW, HIGH)                                          \
    FROM_REAL(D, float, LOW, HIGH)                                             \
    FROM_REAL(D, double, LOW, HIGH)
TO_INTEGER(char, CHAR_MIN, CHAR_MAX)
TO_INTEGER(uchar, 0, UCHAR_MAX)
TO_INTEGER(short, SHRT_MIN, SHRT_MAX)
TO_INTEGER(ushort, 0, USHRT_MAX)
TO_INTEGER(int, INT_MIN, INT_MAX)
TO_INTEGER(uint, 0, UINT_MAX)
TO_INTEGER(long, LONG_MIN, LONG_MAX)
TO_INTEGER(ulong, 0, ULONG_MAX)

// To floating point: rounding to nearest is what the processor does; other
// roundings are missing yet.
#define TO_REAL(D, S) CONVERT(D, S, , a) CONVERT(D, S, _rte, a)
#define TO_REALS(S) TO_REAL(float, S) TO_REAL(double, S)
TO_REALS(char)
TO_REALS(uchar)
TO_REALS(short)
TO_REALS(ushort)
TO_REALS(int)
TO_REALS(uint)
TO_REALS(long)
TO_REALS(ulong)
TO_REALS(float)
TO_REALS(double)

// Vectors at any address that their components may have.
#define LOAD_N(n, T, space)                                                    \
    T##n OVERLOAD vload##n(size_t i, const space T *p)                         \
    {                                                                          \
        typedef T##n __attribute__((aligned(sizeof(T)))) loose;                \
        return *(const space loose *)(p + i * n);                              \
    }
#define LOAD_3(T, space)                                                       \
    T##3 OVERLOAD vload3(size_t i, const space T *p)                           \
    {                                                                          \
        return (T##3)(p[i * 3], p[i * 3 + 1], p[i * 3 + 2]);                   \
    }
#define STORE_N(n, T, space)                                                   \
    void OVERLOAD vstore##n(T##n a, size_t i, space T *p)                      \
    {                                                                          \
        typedef T##n __attribute__((aligned(sizeof(T)))) loose;                \
        *(space loose *)(p + i * n) = a;                                       \
    }
#define STORE_3(T, space)                                                      \
    void OVERLOAD vstore3(T##3 a, size_t i, space T *p)                        \
    {                                                                          \
        p[i * 3] = a.x;                                                        \
        p[i * 3 + 1] = a.y;                                                    \
        p[i * 3 + 2] = a.z;                                                    \
    }
#define LOADS(T, space)                                                        \
    LOAD_N(2, T, space) LOAD_3(T, space) LOAD_N(4, T, space)                   \
    LOAD_N(8, T, space) LOAD_N(16, T, space)
#define STORES(T, space)                                                       \
    STORE_N(2, T, space) STORE_3(T, space) STORE_N(4, T, space)                \
    STORE_N(8, T, space) STORE_N(16, T, space)
#define IN_MEMORY(T)                                                           \
    LOADS(T, __global)                                                         \
    LOADS(T, __local)                                                          \
    LOADS(T, __constant)                                                       \
    LOADS(T, __private)                                                        \
    STORES(T, __global)                                                        \
    STORES(T, __local)                                                         \
    STORES(T, __private)
IN_MEMORY(char)
IN_MEMORY(uchar)
IN_MEMORY(short)
IN_MEMORY(ushort)
IN_MEMORY(int)
IN_MEMORY(uint)
IN_MEMORY(long)
IN_MEMORY(ulong)
IN_MEMORY(float)
IN_MEMORY(double)
