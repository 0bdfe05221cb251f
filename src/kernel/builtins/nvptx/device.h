// What the builtins of GPUs stand on. Offsets are those of struct
// hdi_device_launch.
#ifndef HDI_BUILTINS_DEVICE_H
#define HDI_BUILTINS_DEVICE_H

#define FN_PLAIN static __attribute__((always_inline))

enum {
    GLOBAL_X = 0,
    GLOBAL_Y = 8,
    GLOBAL_Z = 16,
    OFFSET_X = 24,
    OFFSET_Y = 32,
    OFFSET_Z = 40,
    LOCAL_X = 48,
    LOCAL_Y = 52,
    LOCAL_Z = 56,
    GROUPS_X = 60,
    GROUPS_Y = 64,
    GROUPS_Z = 68,
    FIRST_X = 72,
    FIRST_Y = 76,
    FIRST_Z = 80,
    DIMS = 84,
    SIZE_X = 88,
    SIZE_Y = 92,
    SIZE_Z = 96,
    ITEMS = 100,
    BARRIER = 108,
    PRINT = 120
};

// The compiler replaces these.
__attribute__((const)) uint hdu_word(uint at);
__attribute__((const)) ulong hdu_long(uint at);
__attribute__((const)) bool hdu_in_tile(void);
// Whether all lanes of the warp that have a work-item come here, or none.
__attribute__((convergent)) bool hdu_whole(void);

#define SPECIAL(name, from)                     \
    __attribute__((const)) uint name(void)      \
        __asm__("llvm.nvvm.read.ptx.sreg." from)
SPECIAL(hdu_thread_x, "tid.x");
SPECIAL(hdu_thread_y, "tid.y");
SPECIAL(hdu_thread_z, "tid.z");
SPECIAL(hdu_block_x, "ctaid.x");
SPECIAL(hdu_block_y, "ctaid.y");
SPECIAL(hdu_block_z, "ctaid.z");
SPECIAL(hdu_lane, "laneid");

__attribute__((convergent)) void hdu_meet_all(void) __asm__("llvm.nvvm.barrier0");
__attribute__((convergent)) void
hdu_meet_some(uint number, uint items) __asm__("llvm.nvvm.barrier.sync.cnt");
__attribute__((convergent)) void
hdu_meet_lanes(uint mask) __asm__("llvm.nvvm.bar.warp.sync");

#endif
