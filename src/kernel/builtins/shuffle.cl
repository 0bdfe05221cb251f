// Shuffles. A component is picked by choices between halves, which are nothing
// once the mask is constant, as it mostly is.
#include "vector.h"

#define PICK_N(T, n, half_n)                                            \
    INNER T pick(T##n x, uint i)                                        \
    {                                                                   \
        return choose((i & half_n) != 0, pick(x.hi, i), pick(x.lo, i)); \
    }
#define PICK(T)                                  \
    INNER T pick(T##2 x, uint i)                 \
    {                                            \
        return choose((i & 1) != 0, x.s1, x.s0); \
    }                                            \
    PICK_N(T, 4, 2)                              \
    PICK_N(T, 8, 4)                              \
    PICK_N(T, 16, 8)
#define ONE(i) pick(from, (uint)by.s##i)
#define TWO(i)                                                     \
    choose(((uint)by.s##i & size) != 0, pick(more, (uint)by.s##i), \
           pick(from, (uint)by.s##i))
#define ROW_2(X)  X(0), X(1)
#define ROW_4(X)  ROW_2(X), X(2), X(3)
#define ROW_8(X)  ROW_4(X), X(4), X(5), X(6), X(7)
#define ROW_16(X) ROW_8(X), X(8), X(9), X(a), X(b), X(c), X(d), X(e), X(f)
#define SHUFFLE_NM(n, m, T, U)                      \
    FN T##n shuffle(T##m from, U##n by)             \
    {                                               \
        return (T##n)(ROW_##n(ONE));                \
    }                                               \
    FN T##n shuffle2(T##m from, T##m more, U##n by) \
    {                                               \
        const uint size = m;                        \
        return (T##n)(ROW_##n(TWO));                \
    }
#define SHUFFLE_N(n, T, U) \
    SHUFFLE_NM(n, 2, T, U) \
    SHUFFLE_NM(n, 4, T, U) SHUFFLE_NM(n, 8, T, U) SHUFFLE_NM(n, 16, T, U)
#define SHUFFLE(T, U)  \
    PICK(T)            \
    SHUFFLE_N(2, T, U) \
    SHUFFLE_N(4, T, U) \
    SHUFFLE_N(8, T, U) \
    SHUFFLE_N(16, T, U)
#define SHUFFLE_INTEGER(T, U, S, BITS, LOW, HIGH) SHUFFLE(T, U)
INTEGERS(SHUFFLE_INTEGER)
SHUFFLE(half, ushort)
SHUFFLE(float, uint)
SHUFFLE(double, ulong)
