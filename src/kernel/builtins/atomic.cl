// Atomic functions of OpenCL C 1.x, those of 64 bits, fences, and what derives
// from the work-item functions. The work-group compiler makes atomics on local
// memory plain.
#include "base.h"

// __sync: the newer atomic builtins ask the target what is lock-free, and the
// one that this is compiled for says nothing is. atom_ is the name that the
// extensions of 32 and 64 bits gave.
#define ATOMIC_0(pre, name, op, space, T)                                      \
    T OVERLOAD pre##_##name(volatile space T *p)                               \
    {                                                                          \
        return __sync_fetch_and_##op(p, (T)1);                                 \
    }
#define ATOMIC_1(pre, name, op, space, T)                                      \
    T OVERLOAD pre##_##name(volatile space T *p, T value)                      \
    {                                                                          \
        return __sync_fetch_and_##op(p, value);                                \
    }
#define ATOMICS(pre, space, T)                                                 \
    ATOMIC_1(pre, add, add, space, T)                                          \
    ATOMIC_1(pre, sub, sub, space, T)                                          \
    ATOMIC_1(pre, and, and, space, T)                                          \
    ATOMIC_1(pre, or, or, space, T)                                            \
    ATOMIC_1(pre, xor, xor, space, T)                                          \
    ATOMIC_0(pre, inc, add, space, T)                                          \
    ATOMIC_0(pre, dec, sub, space, T)                                          \
    T OVERLOAD pre##_xchg(volatile space T *p, T value)                        \
    {                                                                          \
        return __sync_swap(p, value);                                          \
    }                                                                          \
    T OVERLOAD pre##_cmpxchg(volatile space T *p, T expected, T value)         \
    {                                                                          \
        return __sync_val_compare_and_swap(p, expected, value);                \
    }
#define EXTREMES(pre, space, T, u)                                             \
    ATOMIC_1(pre, min, u##min, space, T)                                       \
    ATOMIC_1(pre, max, u##max, space, T)
// __sync has no minimum of 64 bits.
#define EXTREME_64(name, op, space, T)                                         \
    T OVERLOAD atom_##name(volatile space T *p, T value)                       \
    {                                                                          \
        T seen = *p, found;                                                    \
        for (;; seen = found) {                                                \
            T next = value op seen ? value : seen;                             \
            found = __sync_val_compare_and_swap(p, seen, next);                \
            if (found == seen)                                                 \
                return seen;                                                   \
        }                                                                      \
    }
#define EVERY(space, T, u)                                                     \
    ATOMICS(atomic, space, T)                                                  \
    ATOMICS(atom, space, T)                                                    \
    EXTREMES(atomic, space, T, u)                                              \
    EXTREMES(atom, space, T, u)
#define EVERY_64(space, T)                                                     \
    ATOMICS(atom, space, T)                                                    \
    EXTREME_64(min, <, space, T)                                               \
    EXTREME_64(max, >, space, T)
EVERY(__global, int, )
EVERY(__global, uint, u)
EVERY(__local, int, )
EVERY(__local, uint, u)
EVERY_64(__global, long)
EVERY_64(__global, ulong)
EVERY_64(__local, long)
EVERY_64(__local, ulong)

float OVERLOAD atomic_xchg(volatile __global float *p, float value)
{
    return as_float(atomic_xchg((volatile __global int *)p, as_int(value)));
}

float OVERLOAD atomic_xchg(volatile __local float *p, float value)
{
    return as_float(atomic_xchg((volatile __local int *)p, as_int(value)));
}

// A work-group is on one thread, so its own memory is in order; other groups
// see global memory.
void OVERLOAD mem_fence(cl_mem_fence_flags flags)
{
    if (flags & CLK_GLOBAL_MEM_FENCE)
        __sync_synchronize();
}

void OVERLOAD read_mem_fence(cl_mem_fence_flags flags)
{
    mem_fence(flags);
}

void OVERLOAD write_mem_fence(cl_mem_fence_flags flags)
{
    mem_fence(flags);
}

__attribute__((convergent)) void OVERLOAD barrier(cl_mem_fence_flags flags);

__attribute__((convergent)) void OVERLOAD
work_group_barrier(cl_mem_fence_flags flags)
{
    barrier(flags);
}

__attribute__((convergent)) void OVERLOAD
work_group_barrier(cl_mem_fence_flags flags, memory_scope scope)
{
    (void)scope;
    barrier(flags);
}

#define ID __attribute__((overloadable, const))
ID size_t get_global_id(uint);
ID size_t get_local_id(uint);
ID size_t get_global_size(uint);
ID size_t get_local_size(uint);
ID size_t get_global_offset(uint);

size_t OVERLOAD get_global_linear_id(void)
{
    return ((get_global_id(2) - get_global_offset(2)) * get_global_size(1) +
            get_global_id(1) - get_global_offset(1)) *
               get_global_size(0) +
           get_global_id(0) - get_global_offset(0);
}

size_t OVERLOAD get_local_linear_id(void)
{
    return (get_local_id(2) * get_local_size(1) + get_local_id(1)) *
               get_local_size(0) +
           get_local_id(0);
}
