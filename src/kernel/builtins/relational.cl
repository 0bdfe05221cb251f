// Relational functions: comparisons, tests, selections.
#include "base.h"

// Of scalars the answer is 0 or 1, of vectors 0 or all bits set.
#define COMPARE(name, expression, T, I)                                        \
    int OVERLOAD name(T a, T b)                                                \
    {                                                                          \
        return expression;                                                     \
    }                                                                          \
    WIDTHS(COMPARE_N, name, expression, T, I)
#define COMPARE_N(n, name, expression, T, I)                                   \
    I##n OVERLOAD name(T##n a, T##n b)                                         \
    {                                                                          \
        return expression;                                                     \
    }
#define TEST(name, T, I)                                                       \
    int OVERLOAD name(T a)                                                     \
    {                                                                          \
        return test_##name(a);                                                 \
    }                                                                          \
    WIDTHS(TEST_N, name, T, I)
#define TEST_N(n, name, T, I)                                                  \
    I##n OVERLOAD name(T##n a)                                                 \
    {                                                                          \
        I##n r;                                                                \
        for (int i = 0; i < n; i++)                                            \
            r[i] = -(I)test_##name(a[i]);                                      \
        return r;                                                              \
    }

// By the bits: the user's -cl-finite-math-only does not reach in here, and
// neither do assumptions about NaN.
#define TESTS(T, I, EXPONENT)                                                  \
    FN OVERLOAD int test_isnan(T a)                                            \
    {                                                                          \
        return (as_##I(a) & ~((I)1 << (sizeof(I) * 8 - 1))) > (I)EXPONENT;     \
    }                                                                          \
    FN OVERLOAD int test_isinf(T a)                                            \
    {                                                                          \
        return (as_##I(a) & ~((I)1 << (sizeof(I) * 8 - 1))) == (I)EXPONENT;    \
    }                                                                          \
    FN OVERLOAD int test_isfinite(T a)                                         \
    {                                                                          \
        return (as_##I(a) & (I)EXPONENT) != (I)EXPONENT;                       \
    }                                                                          \
    FN OVERLOAD int test_isnormal(T a)                                         \
    {                                                                          \
        I exponent = as_##I(a) & (I)EXPONENT;                                  \
        return (exponent != (I)EXPONENT) & (exponent != 0);                    \
    }                                                                          \
    FN OVERLOAD int test_signbit(T a)                                          \
    {                                                                          \
        return as_##I(a) < 0;                                                  \
    }                                                                          \
    TEST(isnan, T, I)                                                          \
    TEST(isinf, T, I)                                                          \
    TEST(isfinite, T, I)                                                       \
    TEST(isnormal, T, I)                                                       \
    TEST(signbit, T, I)                                                        \
    COMPARE(isequal, a == b, T, I)                                             \
    COMPARE(isnotequal, a != b, T, I)                                          \
    COMPARE(isgreater, a > b, T, I)                                            \
    COMPARE(isgreaterequal, a >= b, T, I)                                      \
    COMPARE(isless, a < b, T, I)                                               \
    COMPARE(islessequal, a <= b, T, I)                                         \
    COMPARE(islessgreater, (a < b) | (a > b), T, I)                            \
    COMPARE(isordered, (a == a) & (b == b), T, I)                              \
    COMPARE(isunordered, (a != a) | (b != b), T, I)
TESTS(float, int, 0x7f800000)
TESTS(double, long, 0x7ff0000000000000)

#define ANY_N(n, T)                                                            \
    int OVERLOAD any(T##n a)                                                   \
    {                                                                          \
        T all = a[0];                                                          \
        for (int i = 1; i < n; i++)                                            \
            all |= a[i];                                                       \
        return all < 0;                                                        \
    }                                                                          \
    int OVERLOAD all(T##n a)                                                   \
    {                                                                          \
        T all = a[0];                                                          \
        for (int i = 1; i < n; i++)                                            \
            all &= a[i];                                                       \
        return all < 0;                                                        \
    }
#define ANY(T)                                                                 \
    int OVERLOAD any(T a)                                                      \
    {                                                                          \
        return a < 0;                                                          \
    }                                                                          \
    int OVERLOAD all(T a)                                                      \
    {                                                                          \
        return a < 0;                                                          \
    }                                                                          \
    WIDTHS(ANY_N, T)
ANY(char)
ANY(short)
ANY(int)
ANY(long)

#define SELECT_N(n, T, S, U)                                                   \
    T##n OVERLOAD select(T##n a, T##n b, S##n c)                               \
    {                                                                          \
        T##n r;                                                                \
        for (int i = 0; i < n; i++)                                            \
            r[i] = c[i] < 0 ? b[i] : a[i];                                     \
        return r;                                                              \
    }                                                                          \
    T##n OVERLOAD select(T##n a, T##n b, U##n c)                               \
    {                                                                          \
        return select(a, b, as_##S##n(c));                                     \
    }                                                                          \
    T##n OVERLOAD bitselect(T##n a, T##n b, T##n c)                            \
    {                                                                          \
        return as_##T##n((as_##U##n(a) & ~as_##U##n(c)) |                      \
                         (as_##U##n(b) & as_##U##n(c)));                       \
    }
#define SELECT(T, S, U)                                                        \
    T OVERLOAD select(T a, T b, S c)                                           \
    {                                                                          \
        return c ? b : a;                                                      \
    }                                                                          \
    T OVERLOAD select(T a, T b, U c)                                           \
    {                                                                          \
        return c ? b : a;                                                      \
    }                                                                          \
    T OVERLOAD bitselect(T a, T b, T c)                                        \
    {                                                                          \
        return as_##T(                                                         \
            (U)((as_##U(a) & ~as_##U(c)) | (as_##U(b) & as_##U(c))));          \
    }                                                                          \
    WIDTHS(SELECT_N, T, S, U)
SELECT(char, char, uchar)
SELECT(uchar, char, uchar)
SELECT(short, short, ushort)
SELECT(ushort, short, ushort)
SELECT(int, int, uint)
SELECT(uint, int, uint)
SELECT(long, long, ulong)
SELECT(ulong, long, ulong)
SELECT(float, int, uint)
SELECT(double, long, ulong)
