// C11 atomic functions. On the pointers of every address space; those on local
// memory are made plain by the work-group compiler. Scopes need no code: a
// processor's caches are coherent.
#include "vector.h"

#define generic __generic
#define SPACES(X, ...) \
    X(global, __VA_ARGS__) X(local, __VA_ARGS__) X(generic, __VA_ARGS__)
#define EXPECTED(X, ...)   \
    X(global, __VA_ARGS__) \
    X(local, __VA_ARGS__) X(private, __VA_ARGS__) X(generic, __VA_ARGS__)

// Fences order this work-item's own accesses; from acquire on a load, and for
// release before a store, the processor does the rest.
INNER void after(memory_order order)
{
    if (order != memory_order_relaxed && order != memory_order_release)
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
INNER void before(memory_order order)
{
    if (order != memory_order_relaxed && order != memory_order_acquire)
        __atomic_thread_fence(__ATOMIC_RELEASE);
}
INNER void between(memory_order order)
{
    if (order == memory_order_seq_cst)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

FN void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order,
                               memory_scope scope)
{
    // A work-group is on one thread; work-groups share global memory only.
    if (order == memory_order_relaxed || scope == memory_scope_work_item)
        return;
    if ((flags & CLK_GLOBAL_MEM_FENCE) && order == memory_order_seq_cst)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else
        __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

// The same with the order, and with order and scope.
#define EXPLICIT_0(A, R, f, T)                                                 \
    FN R f(volatile A T *p)                                                    \
    {                                                                          \
        return f##_explicit(p, memory_order_seq_cst);                          \
    }                                                                          \
    FN R f##_explicit(volatile A T *p, memory_order order, memory_scope scope) \
    {                                                                          \
        (void)scope;                                                           \
        return f##_explicit(p, order);                                         \
    }
#define EXPLICIT_1(A, R, f, T, V)                                   \
    FN R f(volatile A T *p, V value)                                \
    {                                                               \
        return f##_explicit(p, value, memory_order_seq_cst);        \
    }                                                               \
    FN R f##_explicit(volatile A T *p, V value, memory_order order, \
                      memory_scope scope)                           \
    {                                                               \
        (void)scope;                                                \
        return f##_explicit(p, value, order);                       \
    }

// V is the value's type, B the integer of its size that memory is seen as.
#define PLAIN(A, T, V, B)                                             \
    FN void atomic_init(volatile A T *p, V value)                     \
    {                                                                 \
        *(volatile A B *)p = as_##B(value);                           \
    }                                                                 \
    FN V atomic_load_explicit(volatile A T *p, memory_order order)    \
    {                                                                 \
        between(order);                                               \
        B value = *(volatile A B *)p;                                 \
        after(order);                                                 \
        return as_##V(value);                                         \
    }                                                                 \
    EXPLICIT_0(A, V, atomic_load, T)                                  \
    FN void atomic_store_explicit(volatile A T *p, V value,           \
                                  memory_order order)                 \
    {                                                                 \
        before(order);                                                \
        *(volatile A B *)p = as_##B(value);                           \
        between(order);                                               \
    }                                                                 \
    EXPLICIT_1(A, void, atomic_store, T, V)                           \
    FN V atomic_exchange_explicit(volatile A T *p, V value,           \
                                  memory_order order)                 \
    {                                                                 \
        (void)order;                                                  \
        return as_##V(__sync_swap((volatile A B *)p, as_##B(value))); \
    }                                                                 \
    EXPLICIT_1(A, V, atomic_exchange, T, V)                           \
    EXPECTED(COMPARE_BOTH, A, T, V, B)
#define COMPARE_BOTH(E, A, T, V, B)                        \
    COMPARE(atomic_compare_exchange_strong, E, A, T, V, B) \
    COMPARE(atomic_compare_exchange_weak, E, A, T, V, B)
#define COMPARE(f, E, A, T, V, B)                                        \
    FN bool f(volatile A T *p, E V *expected, V value)                   \
    {                                                                    \
        B wanted = as_##B(*expected);                                    \
        B found = __sync_val_compare_and_swap((volatile A B *)p, wanted, \
                                              as_##B(value));            \
        *expected = as_##V(found);                                       \
        return found == wanted;                                          \
    }                                                                    \
    FN bool f##_explicit(volatile A T *p, E V *expected, V value,        \
                         memory_order success, memory_order failure)     \
    {                                                                    \
        (void)success;                                                   \
        (void)failure;                                                   \
        return f(p, expected, value);                                    \
    }                                                                    \
    FN bool f##_explicit(volatile A T *p, E V *expected, V value,        \
                         memory_order success, memory_order failure,     \
                         memory_scope scope)                             \
    {                                                                    \
        (void)success;                                                   \
        (void)failure;                                                   \
        (void)scope;                                                     \
        return f(p, expected, value);                                    \
    }
SPACES(PLAIN, atomic_int, int, int)
SPACES(PLAIN, atomic_uint, uint, uint)
SPACES(PLAIN, atomic_long, long, long)
SPACES(PLAIN, atomic_ulong, ulong, ulong)
SPACES(PLAIN, atomic_half, half, ushort)
SPACES(PLAIN, atomic_float, float, uint)
SPACES(PLAIN, atomic_double, double, ulong)

// clang declares what is stored in an atomic_half as one.
#define STORE_BITS(A, p, value, order)            \
    before(order);                                \
    *(volatile A ushort *)p = *(ushort *)&(value); \
    between(order)
#define STORE_HALF(A, u)                                                    \
    FN void atomic_store(volatile A atomic_half *p, atomic_half value)      \
    {                                                                       \
        STORE_BITS(A, p, value, memory_order_seq_cst);                      \
    }                                                                       \
    FN void atomic_store_explicit(volatile A atomic_half *p,                \
                                  atomic_half value, memory_order order)    \
    {                                                                       \
        STORE_BITS(A, p, value, order);                                     \
    }                                                                       \
    FN void atomic_store_explicit(volatile A atomic_half *p,                \
                                  atomic_half value, memory_order order,    \
                                  memory_scope scope)                       \
    {                                                                       \
        (void)scope;                                                        \
        STORE_BITS(A, p, value, order);                                     \
    }
SPACES(STORE_HALF, )

#define FETCH(A, name, op, T, V, M)                                \
    FN V atomic_fetch_##name##_explicit(volatile A T *p, M value,  \
                                        memory_order order)        \
    {                                                              \
        (void)order;                                               \
        return __sync_fetch_and_##op((volatile A V *)p, (V)value); \
    }                                                              \
    EXPLICIT_1(A, V, atomic_fetch_##name, T, M)
#define FETCHES(A, T, V, u)     \
    FETCH(A, add, add, T, V, V) \
    FETCH(A, sub, sub, T, V, V) \
    FETCH(A, or, or, T, V, V)   \
    FETCH(A, xor, xor, T, V, V) \
    FETCH(A, and, and, T, V, V)
#define EXTREMES(A, T, V, u)       \
    FETCH(A, min, u##min, T, V, V) \
    FETCH(A, max, u##max, T, V, V)
SPACES(FETCHES, atomic_int, int, )
SPACES(FETCHES, atomic_uint, uint, u)
SPACES(FETCHES, atomic_long, long, )
SPACES(FETCHES, atomic_ulong, ulong, u)
SPACES(EXTREMES, atomic_int, int, )
SPACES(EXTREMES, atomic_uint, uint, u)

// uintptr_t is moved by ptrdiff_t.
#define FETCH_POINTER(A, unused)                  \
    FETCH(A, add, add, atomic_ulong, ulong, long) \
    FETCH(A, sub, sub, atomic_ulong, ulong, long)
SPACES(FETCH_POINTER, )

// Without an instruction: by trying until nobody came between.
#define FETCH_TRIED(A, name, T, V, B, result)                            \
    FN V atomic_fetch_##name##_explicit(volatile A T *p, V y,            \
                                        memory_order order)              \
    {                                                                    \
        (void)order;                                                     \
        B seen = *(volatile A B *)p, found;                              \
        for (;; seen = found) {                                          \
            V x = as_##V(seen);                                          \
            found = __sync_val_compare_and_swap((volatile A B *)p, seen, \
                                                as_##B((V)(result)));    \
            if (found == seen)                                           \
                return x;                                                \
        }                                                                \
    }                                                                    \
    EXPLICIT_1(A, V, atomic_fetch_##name, T, V)
#define FETCH_FLOATS(A, T, V, B)                       \
    FETCH_TRIED(A, add, T, V, B, x + y)                \
    FETCH_TRIED(A, sub, T, V, B, x - y)                \
    FETCH_TRIED(A, min, T, V, B, __builtin_fmin(x, y)) \
    FETCH_TRIED(A, max, T, V, B, __builtin_fmax(x, y))
#define FETCH_LONGS(A, T, V)                          \
    FETCH_TRIED(A, min, T, V, V, choose(x < y, x, y)) \
    FETCH_TRIED(A, max, T, V, V, choose(x > y, x, y))
SPACES(FETCH_LONGS, atomic_long, long)
SPACES(FETCH_LONGS, atomic_ulong, ulong)
SPACES(FETCH_FLOATS, atomic_half, half, ushort)
SPACES(FETCH_FLOATS, atomic_float, float, uint)
SPACES(FETCH_FLOATS, atomic_double, double, ulong)

#define FLAG(A, unused)                                                  \
    FN bool atomic_flag_test_and_set_explicit(volatile A atomic_flag *p, \
                                              memory_order order)        \
    {                                                                    \
        (void)order;                                                     \
        return __sync_swap((volatile A int *)p, 1) != 0;                 \
    }                                                                    \
    EXPLICIT_0(A, bool, atomic_flag_test_and_set, atomic_flag)           \
    FN void atomic_flag_clear_explicit(volatile A atomic_flag *p,        \
                                       memory_order order)               \
    {                                                                    \
        before(order);                                                   \
        *(volatile A int *)p = 0;                                        \
        between(order);                                                  \
    }                                                                    \
    EXPLICIT_0(A, void, atomic_flag_clear, atomic_flag)
SPACES(FLAG, )
