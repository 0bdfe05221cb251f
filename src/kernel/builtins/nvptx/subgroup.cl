// Sub-groups on GPUs are warps: values go from lane to lane. Which lanes take
// part is said to each instruction that does it, and the GPU waits for them: all
// of them where the function is for all or the compiler knows that all come;
// else those that are active, as the GPU keeps them together.
#include "../collective.h"
#include "device.h"

#define SIZE 32

// Lanes of this warp that have a work-item.
FN_PLAIN uint lanes_there(void)
{
    uint left = hdu_word(ITEMS) - ((uint)get_local_linear_id() & ~31u);
    return left < 32 ? (1u << left) - 1 : ~0u;
}

GROUP uint hdi_active(void)
{
    uint here = lanes_there();
    if (!hdu_whole())
        __asm__ volatile("activemask.b32 %0;" : "=r"(here) : : "memory");
    return here;
}

// Those that meet: all of the sub-group, or those that are here.
__attribute__((convergent, always_inline)) void hdu_sub_group_meet(int all)
{
    hdu_meet_lanes(all ? lanes_there() : hdi_active());
}

// Another lane's value, of those of the mask `meet`, which all come here.
static GROUP uint take(uint x, uint lane, uint meet)
{
    uint y;
    __asm__ volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
                     : "=r"(y)
                     : "r"(x), "r"(lane), "r"(meet));
    return y;
}
static GROUP ulong take(ulong x, uint lane, uint meet)
{
    uint low = take((uint)x, lane, meet);
    return (ulong)take((uint)(x >> 32), lane, meet) << 32 | low;
}
#define TAKE(T, BITS, WORD)                                              \
    static GROUP T take(T x, uint lane, uint meet)                       \
    {                                                                    \
        WORD bits = (WORD)__builtin_astype(x, BITS);                     \
        return __builtin_astype((BITS)take(bits, lane, meet), T);        \
    }
TAKE(char, uchar, uint)
TAKE(uchar, uchar, uint)
TAKE(short, ushort, uint)
TAKE(ushort, ushort, uint)
TAKE(half, ushort, uint)
TAKE(int, uint, uint)
TAKE(float, uint, uint)
TAKE(long, ulong, ulong)
TAKE(double, ulong, ulong)

#define SHARE(T, x, who)                                     \
    T offer = x;                                             \
    uint self = (uint)get_local_linear_id() % SIZE;          \
    uint meet = who ? lanes_there() : hdi_active();          \
    uint size = get_sub_group_size();                        \
    (void)size;                                              \
    (void)self
#define LANE(i) take(offer, i, meet)

#include "../subgroup.cl"
