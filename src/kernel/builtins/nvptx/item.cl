// Work-item functions, barriers and address spaces on NVIDIA GPUs.
//
// What differs between an ordinary launch and a tile (backend/device_launch.h)
// is decided when the kernel is compiled: hdu_in_tile() is a constant then, and
// hdu_word() and hdu_long() are loads from the launch's record.
#include "../vector.h"
#include "device.h"

#define ID __attribute__((overloadable, always_inline, const))

// One number for each axis; `other` of an axis that is none.
#define AXES(name, T, X, Y, Z, other)              \
    ID size_t name(uint axis)                      \
    {                                              \
        T n = axis == 0 ? (X) : axis == 1 ? (Y) : (Z); \
        return axis < 3 ? n : other;               \
    }

FN_PLAIN uint item_x(void)
{
    uint rank = hdu_thread_x();
    return hdu_in_tile() ? rank % hdu_word(SIZE_X) : rank;
}
FN_PLAIN uint item_y(void)
{
    return hdu_in_tile() ? hdu_thread_x() / hdu_word(SIZE_X) % hdu_word(SIZE_Y)
                         : hdu_thread_y();
}
FN_PLAIN uint item_z(void)
{
    return hdu_in_tile()
               ? hdu_thread_x() / (hdu_word(SIZE_X) * hdu_word(SIZE_Y))
               : hdu_thread_z();
}
FN_PLAIN uint group_x(void)
{
    return hdu_word(FIRST_X) + (hdu_in_tile() ? 0 : hdu_block_x());
}
FN_PLAIN uint group_y(void)
{
    return hdu_word(FIRST_Y) + (hdu_in_tile() ? 0 : hdu_block_y());
}
FN_PLAIN uint group_z(void)
{
    return hdu_word(FIRST_Z) + (hdu_in_tile() ? 0 : hdu_block_z());
}

#define GLOBAL(axis, AXIS)                                         \
    (hdu_long(OFFSET_##AXIS) +                                     \
     ((ulong)group_##axis() * hdu_word(LOCAL_##AXIS) + item_##axis()))

AXES(get_local_id, uint, item_x(), item_y(), item_z(), 0)
AXES(get_group_id, uint, group_x(), group_y(), group_z(), 0)
AXES(get_global_id, ulong, GLOBAL(x, X), GLOBAL(y, Y), GLOBAL(z, Z), 0)
AXES(get_local_size, uint, hdu_word(SIZE_X), hdu_word(SIZE_Y), hdu_word(SIZE_Z),
     1)
AXES(get_enqueued_local_size, uint, hdu_word(LOCAL_X), hdu_word(LOCAL_Y),
     hdu_word(LOCAL_Z), 1)
AXES(get_num_groups, uint, hdu_word(GROUPS_X), hdu_word(GROUPS_Y),
     hdu_word(GROUPS_Z), 1)
AXES(get_global_size, ulong, hdu_long(GLOBAL_X), hdu_long(GLOBAL_Y),
     hdu_long(GLOBAL_Z), 1)
AXES(get_global_offset, ulong, hdu_long(OFFSET_X), hdu_long(OFFSET_Y),
     hdu_long(OFFSET_Z), 0)

ID uint get_work_dim(void)
{
    return hdu_word(DIMS);
}

// The work-items of a group in a tile are its first warps.
__attribute__((overloadable, always_inline, convergent)) void
barrier(cl_mem_fence_flags flags)
{
    (void)flags;
    if (hdu_in_tile())
        hdu_meet_some(hdu_word(BARRIER), hdu_word(ITEMS));
    else
        hdu_meet_all();
}

// What a pointer points to ----------------------------------------------------

#define IN_SPACE(space)                                                  \
    FN_PLAIN bool is_##space(const __generic void *p)                    \
    {                                                                    \
        uint found;                                                      \
        __asm__("%{ .reg .pred q; isspacep." #space                      \
                " q, %1; selp.u32 %0, 1, 0, q; %}"                       \
                : "=r"(found)                                            \
                : "l"(p));                                               \
        return found != 0;                                               \
    }
IN_SPACE(shared)
IN_SPACE(local)

local void *hdu_to_shared(__generic void *p);
global void *hdu_to_global(__generic void *p);

__attribute__((always_inline)) global void *__to_global(__generic void *p)
{
    return (is_shared(p) | is_local(p)) ? 0 : hdu_to_global(p);
}
__attribute__((always_inline)) local void *__to_local(__generic void *p)
{
    return is_shared(p) ? hdu_to_shared(p) : 0;
}
__attribute__((always_inline)) private void *__to_private(__generic void *p)
{
    return is_local(p) ? (private void *)p : 0;
}

#define GET_FENCE(POINTER)                            \
    FN cl_mem_fence_flags get_fence(POINTER p)        \
    {                                                 \
        return is_shared(p)  ? CLK_LOCAL_MEM_FENCE    \
               : is_local(p) ? 0                      \
                             : CLK_GLOBAL_MEM_FENCE;  \
    }
GET_FENCE(__generic void *)
GET_FENCE(const __generic void *)

// The order of accesses to local memory matters to the group alone.
FN void mem_fence(cl_mem_fence_flags flags)
{
    if (flags & CLK_GLOBAL_MEM_FENCE)
        __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
    else if (flags & CLK_LOCAL_MEM_FENCE)
        __asm__ volatile("fence.acq_rel.cta;" ::: "memory");
}
FN void read_mem_fence(cl_mem_fence_flags flags)
{
    mem_fence(flags);
}
FN void write_mem_fence(cl_mem_fence_flags flags)
{
    mem_fence(flags);
}

// What the compiler puts in place of fences of LLVM's, which its code generator
// does not have.
__attribute__((convergent)) void hdu_fence(void)
{
    __asm__ volatile("fence.acq_rel.gpu;" ::: "memory");
}
__attribute__((convergent)) void hdu_fence_all(void)
{
    __asm__ volatile("fence.sc.gpu;" ::: "memory");
}

// Clocks ----------------------------------------------------------------------

ulong hdu_time(void);
ulong hdu_cycles(void);

#define CLOCK(of, counter)                            \
    FN ulong clock_read_##of(void)                    \
    {                                                 \
        return counter();                             \
    }                                                 \
    FN uint2 clock_read_hilo_##of(void)               \
    {                                                 \
        ulong now = counter();                        \
        return (uint2)((uint)now, (uint)(now >> 32)); \
    }
CLOCK(device, hdu_time)
CLOCK(work_group, hdu_cycles)
CLOCK(sub_group, hdu_cycles)
