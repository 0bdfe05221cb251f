// Vectors in memory that need not be aligned, and halves in memory.
#include "half.h"

#define SPACES(X, ...)     \
    X(global, __VA_ARGS__) \
    X(local, __VA_ARGS__) X(private, __VA_ARGS__) X(generic, __VA_ARGS__)
// `generic` is a word of the compiler's only with two underscores.
#define generic __generic

#define UNALIGNED_N(n, T) \
    typedef T##n T##n##_unaligned __attribute__((aligned(sizeof(T))));
#define LOAD_N(A, n, T)                                       \
    FN T##n vload##n(size_t offset, const A T *p)             \
    {                                                         \
        return *(const A T##n##_unaligned *)(p + offset * n); \
    }
#define STORE_N(A, n, T)                             \
    FN void vstore##n(T##n x, size_t offset, A T *p) \
    {                                                \
        *(A T##n##_unaligned *)(p + offset * n) = x; \
    }
// A vector of 3 in memory is as large as one of 4.
#define LOAD_3(A, T)                            \
    FN T##3 vload3(size_t offset, const A T *p) \
    {                                           \
        p += offset * 3;                        \
        return (T##3)(p[0], p[1], p[2]);        \
    }
#define STORE_3(A, T)                              \
    FN void vstore3(T##3 x, size_t offset, A T *p) \
    {                                              \
        p += offset * 3;                           \
        p[0] = x.s0;                               \
        p[1] = x.s1;                               \
        p[2] = x.s2;                               \
    }
#define LOADS(A, T) \
    LOAD_N(A, 2, T) \
    LOAD_3(A, T) LOAD_N(A, 4, T) LOAD_N(A, 8, T) LOAD_N(A, 16, T)
#define STORES(A, T) \
    STORE_N(A, 2, T) \
    STORE_3(A, T) STORE_N(A, 4, T) STORE_N(A, 8, T) STORE_N(A, 16, T)
#define MEMORY(T)                                                           \
    UNALIGNED_N(2, T)                                                       \
    UNALIGNED_N(4, T) UNALIGNED_N(8, T) UNALIGNED_N(16, T) SPACES(LOADS, T) \
        LOADS(constant, T) SPACES(STORES, T)
#define MEMORY_OF(T, U, S, BITS, LOW, HIGH) MEMORY(T)
INTEGERS(MEMORY_OF)
MEMORY(half)
MEMORY(float)
MEMORY(double)

#define HALF_AT(i) __builtin_load_halff(p + i)
#define ROW_2(X)   X(0), X(1)
#define ROW_3(X)   ROW_2(X), X(2)
#define ROW_4(X)   ROW_3(X), X(3)
#define ROW_8(X)   ROW_4(X), X(4), X(5), X(6), X(7)
#define ROW_16(X)  ROW_8(X), X(8), X(9), X(10), X(11), X(12), X(13), X(14), X(15)
#define LOAD_HALF_N(A, n, step, name)                   \
    FN float##n name##n(size_t offset, const A half *p) \
    {                                                   \
        p += offset * step;                             \
        return (float##n)(ROW_##n(HALF_AT));            \
    }
#define LOAD_HALF(A, unused)                                                \
    FN float vload_half(size_t offset, const A half *p)                     \
    {                                                                       \
        return __builtin_load_halff(p + offset);                            \
    }                                                                       \
    FN float vloada_half(size_t offset, const A half *p)                    \
    {                                                                       \
        return __builtin_load_halff(p + offset);                            \
    }                                                                       \
    LOAD_HALF_N(A, 2, 2, vload_half)                                        \
    LOAD_HALF_N(A, 3, 3, vload_half) LOAD_HALF_N(A, 4, 4, vload_half)       \
        LOAD_HALF_N(A, 8, 8, vload_half) LOAD_HALF_N(A, 16, 16, vload_half) \
            LOAD_HALF_N(A, 2, 2, vloada_half)                               \
                LOAD_HALF_N(A, 3, 4, vloada_half)                           \
                    LOAD_HALF_N(A, 4, 4, vloada_half)                       \
                        LOAD_HALF_N(A, 8, 8, vloada_half)                   \
                            LOAD_HALF_N(A, 16, 16, vloada_half)
SPACES(LOAD_HALF, )
LOAD_HALF(constant, )

#define STORE_HALF_N(A, T, n, step, name, suffix)                  \
    FN void name##n##suffix(T##n x, size_t offset, A half *p)      \
    {                                                              \
        A ushort *to = (A ushort *)p + offset * step;              \
        ushort##n bits = (ushort##n)(MAP1_##n(half_bits##suffix)); \
        vstore##n(bits, 0, to);                                    \
    }
#define STORE_HALF(A, T, suffix)                                \
    FN void vstore_half##suffix(T x, size_t offset, A half *p)  \
    {                                                           \
        ((A ushort *)p)[offset] = half_bits##suffix(x);         \
    }                                                           \
    FN void vstorea_half##suffix(T x, size_t offset, A half *p) \
    {                                                           \
        ((A ushort *)p)[offset] = half_bits##suffix(x);         \
    }                                                           \
    STORE_HALF_N(A, T, 2, 2, vstore_half, suffix)               \
    STORE_HALF_N(A, T, 3, 3, vstore_half, suffix)               \
    STORE_HALF_N(A, T, 4, 4, vstore_half, suffix)               \
    STORE_HALF_N(A, T, 8, 8, vstore_half, suffix)               \
    STORE_HALF_N(A, T, 16, 16, vstore_half, suffix)             \
    STORE_HALF_N(A, T, 2, 2, vstorea_half, suffix)              \
    STORE_HALF_N(A, T, 3, 4, vstorea_half, suffix)              \
    STORE_HALF_N(A, T, 4, 4, vstorea_half, suffix)              \
    STORE_HALF_N(A, T, 8, 8, vstorea_half, suffix)              \
    STORE_HALF_N(A, T, 16, 16, vstorea_half, suffix)
#define STORE_HALVES(A, T)                                               \
    STORE_HALF(A, T, )                                                   \
    STORE_HALF(A, T, _rte) STORE_HALF(A, T, _rtz) STORE_HALF(A, T, _rtp) \
        STORE_HALF(A, T, _rtn)
SPACES(STORE_HALVES, float)
SPACES(STORE_HALVES, double)
