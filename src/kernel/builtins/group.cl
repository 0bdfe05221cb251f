// Work-group functions. The work-items of a group come one after the other, in
// the order of their linear ids, between two barriers: each folds its value
// into one in local memory, so that what is there when it comes is the scan.
//
// A function hdu_fold_... is kept whole until the loops over work-items are
// written, so that nobody takes it apart into a load for all and a store for
// all. It is told the work-item, which makes its result differ between them.
#include "collective.h"

local void *hdu_group_memory(void);

#define IN_GROUP(T, x, act)                       \
    local T *all = (local T *)hdu_group_memory(); \
    size_t item = get_local_linear_id();          \
    barrier(CLK_LOCAL_MEM_FENCE);                 \
    act;                                          \
    barrier(CLK_LOCAL_MEM_FENCE)

#define FOLD(T, op, identity, result)                               \
    T hdu_fold_##op##_##T(local T *all, T y, size_t item)           \
    {                                                               \
        T x = item == 0 ? identity : *all;                          \
        *all = result;                                              \
        return x;                                                   \
    }                                                               \
    GROUP T work_group_reduce_##op(T x)                             \
    {                                                               \
        IN_GROUP(T, x, hdu_fold_##op##_##T(all, x, item));          \
        return *all;                                                \
    }                                                               \
    GROUP T work_group_scan_exclusive_##op(T x)                     \
    {                                                               \
        T before;                                                   \
        IN_GROUP(T, x, before = hdu_fold_##op##_##T(all, x, item)); \
        return before;                                              \
    }                                                               \
    GROUP T work_group_scan_inclusive_##op(T y)                     \
    {                                                               \
        T x = work_group_scan_exclusive_##op(y);                    \
        return result;                                              \
    }
#define BROADCAST(T)                                      \
    GROUP T work_group_broadcast(T x, size_t a)           \
    {                                                     \
        return work_group_broadcast(x, a, 0, 0);          \
    }                                                     \
    GROUP T work_group_broadcast(T x, size_t a, size_t b) \
    {                                                     \
        return work_group_broadcast(x, a, b, 0);          \
    }
#define BROADCAST_3(T)                                                     \
    GROUP T work_group_broadcast(T x, size_t a, size_t b, size_t c)        \
    {                                                                      \
        size_t from = (c * get_local_size(1) + b) * get_local_size(0) + a; \
        IN_GROUP(T, x, if (item == from) *all = x);                        \
        return *all;                                                       \
    }
#define GROUP_TYPE(T, LOWEST, HIGHEST)         \
    BROADCAST_3(T)                             \
    BROADCAST(T)                               \
    FOLD(T, add, (T)0, x + y)                  \
    FOLD(T, min, HIGHEST, choose(y < x, y, x)) \
    FOLD(T, max, LOWEST, choose(y > x, y, x))
GROUP_TYPE(int, INT_MIN, INT_MAX)
GROUP_TYPE(uint, 0, UINT_MAX)
GROUP_TYPE(long, LONG_MIN, LONG_MAX)
GROUP_TYPE(ulong, 0, ULONG_MAX)
GROUP_TYPE(half, -(half)INFINITY, (half)INFINITY)
GROUP_TYPE(float, -INFINITY, INFINITY)
GROUP_TYPE(double, -(double)INFINITY, (double)INFINITY)

GROUP int work_group_any(int x)
{
    return work_group_reduce_max((int)(x != 0));
}
GROUP int work_group_all(int x)
{
    return work_group_reduce_min((int)(x != 0));
}
