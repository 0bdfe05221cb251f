// Work-group functions on GPUs: all work-items at once, in steps that double
// how many values one of them has folded (Hillis and Steele, 1986). The values
// lie in memory of the group; as on every device, the fold of floating-point
// numbers has no order that the standard gives.
#include "../collective.h"
#include "device.h"

local void *hdu_lanes_memory(void);

FN_PLAIN uint item_of(void)
{
    return (uint)get_local_linear_id();
}

#define FOLD(T, op, identity, result)                          \
    FN_PLAIN T both_##op##_##T(T x, T y)                       \
    {                                                          \
        return result;                                         \
    }                                                          \
    GROUP T work_group_scan_inclusive_##op(T x)                \
    {                                                          \
        local T *all = (local T *)hdu_lanes_memory();          \
        uint item = item_of(), items = hdu_word(ITEMS);        \
        barrier(CLK_LOCAL_MEM_FENCE);                          \
        all[item] = x;                                         \
        barrier(CLK_LOCAL_MEM_FENCE);                          \
        for (uint step = 1; step < items; step *= 2) {         \
            T before = all[item >= step ? item - step : item]; \
            barrier(CLK_LOCAL_MEM_FENCE);                      \
            if (item >= step)                                  \
                all[item] = x = both_##op##_##T(before, x);    \
            barrier(CLK_LOCAL_MEM_FENCE);                      \
        }                                                      \
        return x;                                              \
    }                                                          \
    GROUP T work_group_scan_exclusive_##op(T x)                \
    {                                                          \
        local T *all = (local T *)hdu_lanes_memory();          \
        uint item = item_of();                                 \
        work_group_scan_inclusive_##op(x);                     \
        T before = item == 0 ? identity : all[item - 1];       \
        barrier(CLK_LOCAL_MEM_FENCE);                          \
        return before;                                         \
    }                                                          \
    GROUP T work_group_reduce_##op(T x)                        \
    {                                                          \
        local T *all = (local T *)hdu_lanes_memory();          \
        work_group_scan_inclusive_##op(x);                     \
        T last = all[hdu_word(ITEMS) - 1];                     \
        barrier(CLK_LOCAL_MEM_FENCE);                          \
        return last;                                           \
    }
#define BROADCAST(T)                                                    \
    GROUP T work_group_broadcast(T x, size_t a, size_t b, size_t c)     \
    {                                                                   \
        local T *all = (local T *)hdu_lanes_memory();                   \
        uint from = (uint)((c * hdu_word(SIZE_Y) + b) * hdu_word(SIZE_X) + a); \
        barrier(CLK_LOCAL_MEM_FENCE);                                   \
        if (item_of() == from)                                          \
            *all = x;                                                   \
        barrier(CLK_LOCAL_MEM_FENCE);                                   \
        T found = *all;                                                 \
        barrier(CLK_LOCAL_MEM_FENCE);                                   \
        return found;                                                   \
    }                                                                   \
    GROUP T work_group_broadcast(T x, size_t a, size_t b)               \
    {                                                                   \
        return work_group_broadcast(x, a, b, 0);                        \
    }                                                                   \
    GROUP T work_group_broadcast(T x, size_t a)                         \
    {                                                                   \
        return work_group_broadcast(x, a, 0, 0);                        \
    }
#define GROUP_TYPE(T, LOWEST, HIGHEST)         \
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
