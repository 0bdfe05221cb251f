// Every builtin on vectors of every width against the same builtin on each of
// their components. A function wide_NAME_TYPES gives 0, or the width at which
// they differ. The functions on single numbers have references of their own
// (exact_test.c, builtins_test.c, half_test.c, common_test.c).
#include "probe.h"
#include "wide.h"
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define FN static __attribute__((overloadable))
#define WIDTHS(F, ...)                                                         \
    F(2, __VA_ARGS__)                                                          \
    F(3, __VA_ARGS__) F(4, __VA_ARGS__) F(8, __VA_ARGS__) F(16, __VA_ARGS__)
#define ROUNDS 8

// Argument `a` of type T, vector number k.
#define AT(T, a)      ((IN(T))(in + (WIDE_##T * WIDE_ARGUMENTS + a) * WIDE_SECTION))
#define LOAD(n, T, a) vload##n(k, AT(T, a))

#define SAME(T)                \
    FN bool same(T x, T y)     \
    {                          \
        return x == y;         \
    }
SAME(char)
SAME(uchar)
SAME(short)
SAME(ushort)
SAME(int)
SAME(uint)
SAME(long)
SAME(ulong)
#define SAME_REAL(T, U)                                         \
    FN bool same(T x, T y)                                      \
    {                                                           \
        return as_##U(x) == as_##U(y) || (x != x && y != y);    \
    }
SAME_REAL(half, ushort)
SAME_REAL(float, uint)
SAME_REAL(double, ulong)

// For each width: `given` are declarations of vectors, `wide` the call, `one`
// the call for component i; both give the same type.
#define COMPARE(n, R, given, wide, one)       \
    for (SIZE k = 0; k < ROUNDS; k++) {       \
        given;                                \
        R##n r = wide;                        \
        for (int i = 0; i < n; i++)           \
            if (!same(r[i], (R)(one)))        \
                return n;                     \
    }
#define FUNCTION(name, N, ...)      \
    int wide_##name(IN(uchar) in)   \
    {                               \
        WIDTHS(N, __VA_ARGS__)      \
        return 0;                   \
    }
#define X(n, T)     T##n x = LOAD(n, T, 0)
#define XY(n, T, U) X(n, T), y = LOAD(n, U, 1)

#define ONE_N(n, f, T, R) COMPARE(n, R, X(n, T), f(x), f(x[i]))
#define ONE(f, T, R)      FUNCTION(f##_##T, ONE_N, f, T, R)
#define TWO_N(n, f, T, U, R)                               \
    COMPARE(n, R, X(n, T); U##n y = LOAD(n, U, 1), f(x, y), \
            f(x[i], y[i]))
#define TWO(f, T, U, R) FUNCTION(f##_##T, TWO_N, f, T, U, R)
#define THREE_N(n, f, T, U, V, R)                                            \
    COMPARE(n, R, X(n, T); U##n y = LOAD(n, U, 1); V##n z = LOAD(n, V, 2),   \
            f(x, y, z), f(x[i], y[i], z[i]))
#define THREE(f, T, U, V, R) FUNCTION(f##_##T, THREE_N, f, T, U, V, R)

// One number stands for a vector of it.
#define LAST_N(n, f, T, U) \
    COMPARE(n, T, X(n, T); U y = AT(U, 1)[k], f(x, y), f(x[i], y))
#define LAST(f, T, U) FUNCTION(f##_last_##T, LAST_N, f, T, U)
#define LAST_TWO_N(n, f, T)                                             \
    COMPARE(n, T, X(n, T); T y = AT(T, 1)[k]; T z = AT(T, 2)[k],        \
            f(x, y, z), f(x[i], y, z))
#define LAST_TWO(f, T, U) FUNCTION(f##_last_two_##T, LAST_TWO_N, f, T)
#define LAST_OF_THREE_N(n, f, T)                                           \
    COMPARE(n, T, X(n, T); T##n y = LOAD(n, T, 1); T z = AT(T, 2)[k],      \
            f(x, y, z), f(x[i], y[i], z))
#define LAST_OF_THREE(f, T) FUNCTION(f##_last_##T, LAST_OF_THREE_N, f, T)
#define FIRST_OF_TWO_N(n, f, T) \
    COMPARE(n, T, X(n, T); T y = AT(T, 1)[k], f(y, x), f(y, x[i]))
#define FIRST_OF_TWO(f, T) FUNCTION(f##_first_##T, FIRST_OF_TWO_N, f, T)
#define FIRST_TWO_N(n, f, T)                                            \
    COMPARE(n, T, X(n, T); T y = AT(T, 1)[k]; T z = AT(T, 2)[k],        \
            f(y, z, x), f(y, z, x[i]))
#define FIRST_TWO(f, T) FUNCTION(f##_first_two_##T, FIRST_TWO_N, f, T)

// The highest bit of a component chooses, and any bit of a number.
#define SELECT_N(n, T, C)                                                      \
    COMPARE(n, T, X(n, T); T##n y = LOAD(n, T, 1); C##n z = LOAD(n, C, 2),     \
            select(x, y, z),                                                   \
            select(x[i], y[i], (C)(z[i] >> (8 * sizeof(C) - 1) & 1)))
#define SELECT(T, C) FUNCTION(select_##T##_##C, SELECT_N, T, C)
#define FIELDS_N(n, T, U, S)                                                   \
    COMPARE(n, T, X(n, T); T##n y = LOAD(n, T, 1); uint a = k; uint b = k / 2, \
            bitfield_insert(x, y, a, b), bitfield_insert(x[i], y[i], a, b))    \
    COMPARE(n, S, X(n, T); uint a = k; uint b = k / 2,                         \
            bitfield_extract_signed(x, a, b),                                  \
            bitfield_extract_signed(x[i], a, b))                               \
    COMPARE(n, U, X(n, T); uint a = k; uint b = k / 2,                         \
            bitfield_extract_unsigned(x, a, b),                                \
            bitfield_extract_unsigned(x[i], a, b))
#define FIELDS(T, U, S) FUNCTION(fields_##T, FIELDS_N, T, U, S)

#define RELATION_1_N(n, f, T, S) COMPARE(n, S, X(n, T), f(x), -(S)f(x[i]))
#define RELATION_1(f, T, S)      FUNCTION(f##_##T, RELATION_1_N, f, T, S)
#define RELATION_2_N(n, f, T, S)                              \
    COMPARE(n, S, X(n, T); T##n y = LOAD(n, T, 1);            \
            y = k & 1 ? x : y, f(x, y), -(S)f(x[i], y[i]))
#define RELATION_2(f, T, S) FUNCTION(f##_##T, RELATION_2_N, f, T, S)

#define GROUP_N(n, f, T)                                              \
    for (SIZE k = 0; k < ROUNDS; k++) {                               \
        T##n x = LOAD(n, T, 0);                                       \
        int some = 0, every = 1;                                      \
        if (k < 2 * n)                                                \
            x = k % 2 ? -1 : 0;                                       \
        x[k / 2 % n] ^= (T)((ulong)(k & 4) << (8 * sizeof(T) - 3));   \
        for (int i = 0; i < n; i++) {                                 \
            some |= x[i] < 0;                                         \
            every &= x[i] < 0;                                        \
        }                                                             \
        if (any(x) != some || all(x) != every)                        \
            return n;                                                 \
    }
#define GROUP(f, T) FUNCTION(f##_##T, GROUP_N, f, T)

// A second result, through a pointer to each kind of memory.
#define ALSO_AT(n, T, U, also, wide, one)              \
    for (SIZE k = 0; k < ROUNDS; k++) {                \
        T##n x = LOAD(n, T, 0), y = LOAD(n, T, 1);     \
        T##n r = wide;                                 \
        U##n second = *also;                           \
        for (int i = 0; i < n; i++) {                  \
            U part;                                    \
            T right = one;                             \
            if (!same(r[i], right) ||                  \
                !same(second[i], part))                \
                return n;                              \
        }                                              \
        (void)y;                                       \
    }
#define ALSO_IN(n, T, U, wide, one)                                          \
    {                                                                        \
        U##n own;                                                            \
        private U##n *to = &own;                                             \
        ALSO_AT(n, T, U, to, wide, one)                                      \
    }                                                                        \
    {                                                                        \
        U##n own;                                                            \
        __generic U##n *to = &own;                                           \
        ALSO_AT(n, T, U, to, wide, one)                                      \
    }                                                                        \
    {                                                                        \
        global U##n *to = (global U##n *)out;                                \
        ALSO_AT(n, T, U, to, wide, one)                                      \
    }                                                                        \
    {                                                                        \
        local U##n *to = (local U##n *)(SIZE)out;                            \
        ALSO_AT(n, T, U, to, wide, one)                                      \
    }
#define ALSO_FUNCTION(f, N, T, U)                        \
    int wide_##f##_##T(IN(uchar) in, OUT(uchar) out)     \
    {                                                    \
        WIDTHS(N, f, T, U)                               \
        return 0;                                        \
    }
#define ALSO_N(n, f, T, U)   ALSO_IN(n, T, U, f(x, to), f(x[i], &part))
#define ALSO_2_N(n, f, T, U) ALSO_IN(n, T, U, f(x, y, to), f(x[i], y[i], &part))
#define ALSO(f, T, U)        ALSO_FUNCTION(f, ALSO_N, T, U)
#define ALSO_2(f, T, U)      ALSO_FUNCTION(f, ALSO_2_N, T, U)

#define CONVERT_HOW(n, S, D, how)                      \
    COMPARE(n, D, X(n, S), convert_##D##n##how(x),     \
            convert_##D##how(x[i]))
#define CONVERT_N(n, S, D, sat)     \
    CONVERT_HOW(n, S, D, sat)       \
    CONVERT_HOW(n, S, D, sat##_rte) \
    CONVERT_HOW(n, S, D, sat##_rtz) \
    CONVERT_HOW(n, S, D, sat##_rtp) \
    CONVERT_HOW(n, S, D, sat##_rtn)
#define CONVERT(S, D)  FUNCTION(convert_##D##_##S, CONVERT_N, S, D, )
#define SATURATE(S, D) FUNCTION(saturate_##D##_##S, CONVERT_N, S, D, _sat)

// Vectors in memory lie where their components do, and need no alignment but
// theirs.
#define MEMORY_AT(n, A, T)                                   \
    {                                                        \
        A T *to = (A T *)(SIZE)out + 1;                      \
        for (SIZE k = 0; k < ROUNDS; k++) {                  \
            T##n x = LOAD(n, T, 0);                          \
            vstore##n(x, k, to);                             \
            T##n r = vload##n(k, (const A T *)to);           \
            for (int i = 0; i < n; i++)                      \
                if (!same(r[i], AT(T, 0)[k * n + i]) ||      \
                    !same(to[k * n + i], r[i]))              \
                    return n;                                \
        }                                                    \
    }
#define MEMORY_N(n, T)                                                  \
    MEMORY_AT(n, global, T) MEMORY_AT(n, local, T)                      \
    MEMORY_AT(n, private, T) MEMORY_AT(n, __generic, T)                 \
    for (SIZE k = 0; k < ROUNDS; k++) {                                 \
        T##n r = vload##n(k, (constant T *)(SIZE)AT(T, 0) + 1);         \
        for (int i = 0; i < n; i++)                                     \
            if (!same(r[i], AT(T, 0)[k * n + i + 1]))                   \
                return n;                                               \
    }
#define MEMORY(T)                                     \
    int wide_memory_##T(IN(uchar) in, OUT(uchar) out) \
    {                                                 \
        WIDTHS(MEMORY_N, T)                           \
        return 0;                                     \
    }

#define SHUFFLE_NM(n, m, T, U)                                          \
    for (SIZE k = 0; k < ROUNDS; k++) {                                 \
        T##m x = LOAD(m, T, 0), y = LOAD(m, T, 1);                      \
        U##n by = LOAD(n, U, 2);                                        \
        T##n one = shuffle(x, by), two = shuffle2(x, y, by);            \
        for (int i = 0; i < n; i++) {                                   \
            uint at = (uint)by[i] & (2 * m - 1);                        \
            T near = x[at & (m - 1)], far = y[at & (m - 1)];            \
            if (!same(one[i], near) ||                                  \
                !same(two[i], (T)(at < m ? near : far)))                \
                return n;                                               \
        }                                                               \
    }
#define SHUFFLE_N(n, T, U)                              \
    SHUFFLE_NM(n, 2, T, U) SHUFFLE_NM(n, 4, T, U)       \
    SHUFFLE_NM(n, 8, T, U) SHUFFLE_NM(n, 16, T, U)
#define SHUFFLE(T, U)                        \
    int wide_shuffle_##T(IN(uchar) in)       \
    {                                        \
        SHUFFLE_N(2, T, U)                   \
        SHUFFLE_N(4, T, U)                   \
        SHUFFLE_N(8, T, U)                   \
        SHUFFLE_N(16, T, U)                  \
        return 0;                            \
    }

// Halves in memory; vectors of 3 lie apart like 4 where they are aligned.
#define HALVES_HOW(n, A, T, how)                                            \
    {                                                                       \
        A half *to = (A half *)(SIZE)out;                                   \
        const int step = n == 3 ? 4 : n;                                    \
        for (SIZE k = 0; k < ROUNDS; k++) {                                 \
            T##n x = LOAD(n, T, 0);                                         \
            vstore_half##n##how(x, k, to + 1);                              \
            vstorea_half##n##how(x, k, to + 256);                           \
            float##n r = vload_half##n(k, (const A half *)to + 1);          \
            float##n a = vloada_half##n(k, (const A half *)to + 256);       \
            for (int i = 0; i < n; i++) {                                   \
                vstore_half##how(x[i], i, to + 512);                        \
                float right = vload_half(i, (const A half *)to + 512);      \
                if (!same(r[i], right) || !same(a[i], right) ||             \
                    !same(to[k * n + i + 1], to[512 + i]) ||                \
                    !same(to[k * step + i + 256], to[512 + i]))             \
                    return n;                                               \
            }                                                               \
        }                                                                   \
    }
#define HALVES_AT(n, A, T)                                              \
    HALVES_HOW(n, A, T, ) HALVES_HOW(n, A, T, _rte)                     \
    HALVES_HOW(n, A, T, _rtz) HALVES_HOW(n, A, T, _rtp)                 \
    HALVES_HOW(n, A, T, _rtn)
#define HALVES_N(n, T)                                      \
    HALVES_AT(n, global, T) HALVES_AT(n, local, T)          \
    HALVES_AT(n, private, T) HALVES_AT(n, __generic, T)
#define HALVES(T)                                        \
    int wide_halves_##T(IN(uchar) in, OUT(uchar) out)    \
    {                                                    \
        WIDTHS(HALVES_N, T)                              \
        return 0;                                        \
    }
#include "wide.def"
