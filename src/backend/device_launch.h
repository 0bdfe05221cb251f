// What the code of a kernel on a GPU is told about its launch.
//
// A kernel `blur` is compiled for GPUs twice. `hdk_blur` is an entry that the
// driver launches: it takes one parameter, this record with the packed
// arguments behind it, and its blocks are the work-groups from `first` on.
// `hdt_blur` is a function without parameters that one tile of the persistent
// executor (tile.h) calls for each work-group; it finds the record of its tile
// at the beginning of the block's shared memory, and `first` is the work-group.
//
// The offsets are ABI: generated code has them built in, as
// HDI_DEVICE_VERSION says. Shared by the host (C), tiles (C for nvptx64) and
// the compiler.
#ifndef HDI_BACKEND_DEVICE_LAUNCH_H
#define HDI_BACKEND_DEVICE_LAUNCH_H

#include <stdint.h>

// An image is PTX with comments: a line with the version, one for each kernel
// with the bytes of its packed arguments, and one between the PTX of entries
// and that of tiles.
#define HDI_DEVICE_IMAGE  "// heddle ptx "
#define HDI_DEVICE_KERNEL "// kernel "
#define HDI_DEVICE_TILES  "\n// heddle tiles\n"

enum {
    HDI_DEVICE_VERSION = 1,
    HDI_DEVICE_ARGS = 144,    // where arguments begin in an entry's parameter
    HDI_DEVICE_MAX = 4096,    // of that parameter [bytes]: what all GPUs take
    HDI_DEVICE_ALIGNMENT = 16 // of it
};

struct hdi_device_launch {
    uint64_t global[3];      // [work-items]
    uint64_t offset[3];      // of the global ids
    uint32_t local_size[3];  // enqueued
    uint32_t group_count[3]; // of the whole launch
    uint32_t first[3];
    uint32_t dims;
    uint32_t size[3]; // of the work-groups at hand: those at an edge may be
                      // smaller
    uint32_t items;   // their product
    // Of a tile alone.
    uint32_t local;   // where local memory begins, in shared memory
    uint32_t barrier; // number of the work-group's own barrier
    uint64_t args;    // address of the arguments
    //
    uint64_t print; // address of a struct hdi_print_ring; 0: nothing is printed
    uint64_t reserved[2];
};

_Static_assert(sizeof(struct hdi_device_launch) == HDI_DEVICE_ARGS,
               "arguments follow the record");

// Where kernels write what they print: whole records, one after the other, in
// memory that both sides see. `head` is claimed by work-items; `tail` is the
// host's. Both count bytes from the beginning of time. A record that is there
// has its size in its first word, the last that is written; the host clears
// what it has read.
struct hdi_print_ring {
    uint64_t head;
    uint64_t tail;
    uint64_t capacity; // of the records, a power of 2 [bytes]
    uint64_t lost;     // calls for which there was no room
    // Records follow.
};

struct hdi_print_record {
    uint32_t size;   // with this head, a multiple of 8; 0: not there yet
    uint32_t format; // bytes of the format with its 0; 0: no text, only a gap
    uint32_t args;   // bytes of struct hdi_print_arg and what belongs to them
    uint32_t count;  // of arguments
    // The arguments, then the format.
};

#endif
