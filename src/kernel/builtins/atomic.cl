// Atomic functions of OpenCL C 1.x, fences, and what derives from the work-item
// functions. The work-group compiler makes atomics on local memory plain.
#include "base.h"

// __sync: the newer atomic builtins ask the target what is lock-free, and the
// one that this is compiled for says nothing is.
#define ATOMIC_2(name, op, space, T)                                           \
    T OVERLOAD atomic_##name(volatile space T *p, T value)                     \
    {                                                                          \
        return __sync_fetch_and_##op(p, value);                                \
    }
#define ATOMICS(space, T, u)                                                   \
    ATOMIC_2(add, add, space, T)                                               \
    ATOMIC_2(sub, sub, space, T)                                               \
    ATOMIC_2(min, u##min, space, T)                                            \
    ATOMIC_2(max, u##max, space, T)                                            \
    ATOMIC_2(and, and, space, T)                                               \
    ATOMIC_2(or, or, space, T)                                                 \
    ATOMIC_2(xor, xor, space, T)                                               \
    T OVERLOAD atomic_inc(volatile space T *p)                                 \
    {                                                                          \
        return __sync_fetch_and_add(p, (T)1);                                  \
    }                                                                          \
    T OVERLOAD atomic_dec(volatile space T *p)                                 \
    {                                                                          \
        return __sync_fetch_and_sub(p, (T)1);                                  \
    }                                                                          \
    T OVERLOAD atomic_xchg(volatile space T *p, T value)                       \
    {                                                                          \
        return __sync_swap(p, value);                                          \
    }                                                                          \
    T OVERLOAD atomic_cmpxchg(volatile space T *p, T expected, T value)        \
    {                                                                          \
        return __sync_val_compare_and_swap(p, expected, value);                \
    }
ATOMICS(__global, int, )
ATOMICS(__global, uint, u)
ATOMICS(__local, int, )
ATOMICS(__local, uint, u)

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
