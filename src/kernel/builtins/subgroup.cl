// Sub-groups: SIZE work-items with neighbouring linear ids; the last of a group
// may have fewer. They leave their values in memory of the group, meet, and
// take each other's. Functions for work-items that need not all be there first
// find out who is. GPUs have another SIZE, and ways without memory
// (nvptx/subgroup.cl).
#include "collective.h"

#ifndef SIZE
#define SIZE 16
#endif

// A barrier of the sub-group: of all its work-items, or of those that are there.
// The thread form reports those that stay away from ALL.
#define ALL 1
#define SOME 0
__attribute__((convergent)) void hdu_sub_group_meet(int who);
local void *hdu_lanes_memory(void);
local void *hdu_present_memory(void);

// Ids -------------------------------------------------------------------------

INNER uint item_of(void)
{
    return (uint)get_local_linear_id();
}
INNER uint items_of(void)
{
    return (uint)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}
FN uint get_sub_group_local_id(void)
{
    return item_of() % SIZE;
}
FN uint get_sub_group_id(void)
{
    return item_of() / SIZE;
}
FN uint get_max_sub_group_size(void)
{
    return SIZE;
}
FN uint get_num_sub_groups(void)
{
    return (items_of() + SIZE - 1) / SIZE;
}
FN uint get_enqueued_num_sub_groups(void)
{
    return (uint)(get_enqueued_local_size(0) * get_enqueued_local_size(1) *
                      get_enqueued_local_size(2) +
                  SIZE - 1) /
           SIZE;
}
FN uint get_sub_group_size(void)
{
    uint left = items_of() - item_of() / SIZE * SIZE;
    return left < SIZE ? left : SIZE;
}

GROUP void sub_group_barrier(cl_mem_fence_flags flags)
{
    (void)flags;
    hdu_sub_group_meet(ALL);
}
GROUP void sub_group_barrier(cl_mem_fence_flags flags, memory_scope scope)
{
    (void)flags;
    (void)scope;
    hdu_sub_group_meet(ALL);
}

// Lanes -----------------------------------------------------------------------

#ifndef SHARE
// The values of the sub-group. Once more they meet before the next ones come.
#define SHARE(T, x, who)                            \
    local T *lanes = (local T *)hdu_lanes_memory(); \
    uint item = item_of(), self = item % SIZE;      \
    hdu_sub_group_meet(who);                        \
    lanes[item] = x;                                \
    hdu_sub_group_meet(who);                        \
    lanes += item - self;                           \
    uint size = get_sub_group_size();               \
    (void)size;                                     \
    (void)self

#define LANE(i) lanes[i]

// A bit for each work-item that takes part.
GROUP uint hdi_active(void)
{
    local uchar *present = (local uchar *)hdu_present_memory();
    uint item = item_of(), first = item / SIZE * SIZE;
    uint size = get_sub_group_size(), mask = 0;

    hdu_sub_group_meet(SOME);
    for (uint i = 0; i < SIZE; i++)
        if (i < size)
            present[first + i] = 0;
    hdu_sub_group_meet(SOME);
    present[item] = 1;
    hdu_sub_group_meet(SOME);
    for (uint i = 0; i < SIZE; i++)
        mask |= i < size && present[first + i] ? 1u << i : 0;
    return mask;
}
#endif

INNER uint below(uint lane)
{
    return SIZE < 32 || lane < 32 ? (1u << lane) - 1 : ~0u;
}
INNER uint first_of(uint mask)
{
    return (uint)__builtin_ctzg(mask, 0);
}

// Another work-item's value; an index that is none gives the own one.
#define AT(i) LANE((i) < size ? (i) : self)

// Ops over the lanes of `mask`, in order.
#define FOLD(T, identity, result, mask)           \
    T x = identity;                               \
    for (uint i = 0; i < SIZE; i++) {             \
        bool takes_part = ((mask) >> i & 1) != 0; \
        T y = LANE(takes_part ? i : self);        \
        T both = result;                          \
        x = takes_part ? both : x;                \
    }                                             \
    return x

#define CLUSTER(n) ((n) >= SIZE ? ~0u : ((1u << (n)) - 1) << self / (n) * (n))

// `kind` of sub_group_KIND, which is for `who`: the lanes of the mask `there`.
#define SCANS(kind, who, there, T, op, identity, result)  \
    GROUP T sub_group_##kind##reduce_##op(T mine)         \
    {                                                     \
        uint mask = there;                                 \
        SHARE(T, mine, who);                              \
        mask &= below(size);                              \
        FOLD(T, identity, result, mask);                  \
    }                                                     \
    GROUP T sub_group_##kind##scan_exclusive_##op(T mine) \
    {                                                     \
        uint mask = there;                                 \
        SHARE(T, mine, who);                              \
        mask &= below(self);                              \
        FOLD(T, identity, result, mask);                  \
    }                                                     \
    GROUP T sub_group_##kind##scan_inclusive_##op(T mine) \
    {                                                     \
        uint mask = there;                                 \
        SHARE(T, mine, who);                              \
        mask &= below(self + 1);                          \
        FOLD(T, identity, result, mask);                  \
    }
#define NON_UNIFORM(T, op, identity, result)                   \
    SCANS(non_uniform_, SOME, hdi_active(), T, op, identity, result) \
    GROUP T sub_group_clustered_reduce_##op(T mine, uint n)    \
    {                                                          \
        uint mask = hdi_active();                              \
        SHARE(T, mine, SOME);                                        \
        mask &= CLUSTER(n) & below(size);                      \
        FOLD(T, identity, result, mask);                       \
    }
#define BOTH(T, op, identity, result)     \
    SCANS(, ALL, ~0u, T, op, identity, result) \
    NON_UNIFORM(T, op, identity, result)

#define BROADCAST_N(n, T, f)                    \
    GROUP T##n sub_group_##f(T##n x, uint lane) \
    {                                           \
        T##n r;                                 \
        for (int i = 0; i < n; i++)             \
            r[i] = sub_group_##f(x[i], lane);   \
        return r;                               \
    }
#define LANES(T)                                                       \
    GROUP T sub_group_broadcast(T x, uint lane)                        \
    {                                                                  \
        SHARE(T, x, ALL);                                                   \
        return AT(lane);                                               \
    }                                                                  \
    GROUP T sub_group_non_uniform_broadcast(T x, uint lane)            \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT(lane);                                               \
    }                                                                  \
    WIDTHS(BROADCAST_N, T, broadcast)                                  \
    WIDTHS(BROADCAST_N, T, non_uniform_broadcast)                      \
    GROUP T sub_group_broadcast_first(T x)                             \
    {                                                                  \
        uint first = first_of(hdi_active());                           \
        SHARE(T, x, SOME);                                                   \
        return LANE(first);                                           \
    }                                                                  \
    GROUP T sub_group_shuffle(T x, uint lane)                          \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT(lane);                                               \
    }                                                                  \
    GROUP T sub_group_shuffle_xor(T x, uint by)                        \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT(self ^ by);                                          \
    }                                                                  \
    GROUP T sub_group_shuffle_up(T x, uint by)                         \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT(self - by);                                          \
    }                                                                  \
    GROUP T sub_group_shuffle_down(T x, uint by)                       \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT(self + by);                                          \
    }                                                                  \
    GROUP T sub_group_rotate(T x, int by)                              \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT((self + (uint)by) % get_max_sub_group_size());       \
    }                                                                  \
    GROUP T sub_group_clustered_rotate(T x, int by, uint n)            \
    {                                                                  \
        SHARE(T, x, SOME);                                                   \
        return AT((self & ~(n - 1)) + ((self + (uint)by) & (n - 1)));  \
    }                                                                  \
    GROUP int sub_group_non_uniform_all_equal(T x)                     \
    {                                                                  \
        uint mask = hdi_active(), first = first_of(mask);              \
        SHARE(T, x, SOME);                                                   \
        bool same = true;                                              \
        for (uint i = 0; i < SIZE; i++)                                \
            same &= !(mask >> i & 1) |                                 \
                    (LANE(mask >> i & 1 ? i : self) == LANE(first)); \
        return same;                                                   \
    }

#define NUMBER(T, LOWEST, HIGHEST)             \
    LANES(T)                                   \
    BOTH(T, add, (T)0, x + y)                  \
    BOTH(T, min, HIGHEST, choose(y < x, y, x)) \
    BOTH(T, max, LOWEST, choose(y > x, y, x))  \
    NON_UNIFORM(T, mul, (T)1, x *y)
#define INTEGER(T, U, S, BITS, LOWEST, HIGHEST) \
    NUMBER(T, LOWEST, HIGHEST)                  \
    NON_UNIFORM(T, and, (T) ~(T)0, x &y)        \
    NON_UNIFORM(T, or, (T)0, x | y)             \
    NON_UNIFORM(T, xor, (T)0, x ^ y)
INTEGERS(INTEGER)
NUMBER(half, -(half)INFINITY, (half)INFINITY)
NUMBER(float, -INFINITY, INFINITY)
NUMBER(double, -(double)INFINITY, (double)INFINITY)
NON_UNIFORM(int, logical_and, 1, (x != 0) & (y != 0))
NON_UNIFORM(int, logical_or, 0, (x != 0) | (y != 0))
NON_UNIFORM(int, logical_xor, 0, (x != 0) ^ (y != 0))

// Votes -----------------------------------------------------------------------

GROUP int sub_group_any(int x)
{
    return sub_group_reduce_max((int)(x != 0));
}
GROUP int sub_group_all(int x)
{
    return sub_group_reduce_min((int)(x != 0));
}
GROUP int sub_group_non_uniform_any(int x)
{
    return sub_group_non_uniform_reduce_max((int)(x != 0));
}
GROUP int sub_group_non_uniform_all(int x)
{
    return sub_group_non_uniform_reduce_min((int)(x != 0));
}
GROUP int sub_group_elect(void)
{
    return first_of(hdi_active()) == get_sub_group_local_id();
}

// Ballots: bits of the work-items in the first component.
GROUP uint4 sub_group_ballot(int x)
{
    uint mine = x != 0 ? 1u << get_sub_group_local_id() : 0;
    return (uint4)(sub_group_non_uniform_reduce_or(mine), 0, 0, 0);
}
FN int sub_group_inverse_ballot(uint4 v)
{
    return v.x >> get_sub_group_local_id() & 1;
}
FN int sub_group_ballot_bit_extract(uint4 v, uint lane)
{
    return choose(lane < SIZE, (int)(v.x >> (lane & 31) & 1), 0);
}
FN uint sub_group_ballot_bit_count(uint4 v)
{
    return (uint)__builtin_popcountg(v.x & below(get_max_sub_group_size()));
}
FN uint sub_group_ballot_inclusive_scan(uint4 v)
{
    return (uint)__builtin_popcountg(v.x & below(get_sub_group_local_id() + 1));
}
FN uint sub_group_ballot_exclusive_scan(uint4 v)
{
    return (uint)__builtin_popcountg(v.x & below(get_sub_group_local_id()));
}
FN uint sub_group_ballot_find_lsb(uint4 v)
{
    return (uint)__builtin_ctzg(v.x & below(get_max_sub_group_size()), 32);
}
FN uint sub_group_ballot_find_msb(uint4 v)
{
    return 31 - (uint)__builtin_clzg(v.x & below(get_max_sub_group_size()), 32);
}

#define MASK(name, bits)                                               \
    FN uint4 get_sub_group_##name##_mask(void)                         \
    {                                                                  \
        uint self = get_sub_group_local_id();                          \
        return (uint4)((bits) & below(get_sub_group_size()), 0, 0, 0); \
    }
MASK(eq, 1u << self)
MASK(ge, ~below(self))
MASK(gt, ~below(self + 1))
MASK(le, below(self + 1))
MASK(lt, below(self))
