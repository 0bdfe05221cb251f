// The call between Heddle and a compiled kernel: one frame per chunk.
//
// A kernel named `blur` is compiled to one function
//
//     void hdk_blur(const struct hdi_frame *frame);
//
// that runs every work-group of the box `first .. first + count` on the calling
// thread (or unit), x fastest. The offsets are ABI: generated code has them
// built in, and HDI_FRAME_VERSION is part of the key of every cached image.
#ifndef HDI_BACKEND_FRAME_H
#define HDI_BACKEND_FRAME_H

#include <stddef.h>
#include <stdint.h>

enum {
    HDI_FRAME_VERSION = 1
};

struct hdi_frame {
    // Arguments, each at the offset the compiler chose (hdi_arg.offset). A
    // value lies there as in memory; a global or constant pointer as 8 bytes of
    // device address; a local pointer as 8 bytes: its offset in `local`.
    const void *args;
    char *local; // local memory of the unit: the kernel's variables first
    char *saved; // room for values kept across barriers
    uint64_t global[3];     // [work-items]
    uint64_t offset[3];     // of the global ids
    uint32_t local_size[3]; // enqueued; the last group of an axis may have less
    uint32_t group_count[3];     // of the whole launch
    uint32_t first[3], count[3]; // this chunk [work-groups]
    uint32_t dims;
    uint32_t reserved;
};

_Static_assert(sizeof(void *) == 8, "frames are for 64-bit machines");
_Static_assert(offsetof(struct hdi_frame, global) == 24, "ABI");
_Static_assert(offsetof(struct hdi_frame, local_size) == 72, "ABI");
_Static_assert(offsetof(struct hdi_frame, first) == 96, "ABI");
_Static_assert(offsetof(struct hdi_frame, dims) == 120, "ABI");
_Static_assert(sizeof(struct hdi_frame) == 128, "ABI");

#endif
