// The call between Heddle and a compiled kernel: one frame per chunk.
//
// A kernel named `blur` is compiled to one function
//
//     void hdk_blur(const struct hdi_frame *frame);
//
// that runs every work-group of the box `first .. first + count` on the calling
// thread (or unit), x fastest. In thread form it hands the box on to
// services->run_items(), which calls the kernel's own code once per work-item.
//
// The offsets are ABI: generated code has them built in, and HDI_FRAME_VERSION
// is part of the key of every cached image.
#ifndef HDI_BACKEND_FRAME_H
#define HDI_BACKEND_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define HDI_FRAME_VERSION 10

enum {
    HDI_FRAME_ALIGNMENT = 128 // of `local` and `saved`, and of where they end
};

// Of local memory that units share: nowhere (hdi_chunk.region).
#define HDI_NO_REGION UINT32_MAX

struct hdi_services;
struct hdi_checks;

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
    const struct hdi_services *services;
    uint64_t local_bytes, saved_bytes; // of `local`, `saved`
    const struct hdi_checks *checks;   // of code built for checking: checks.h
};

// One work-item in thread form: what its code reads ids from.
struct hdi_item {
    const struct hdi_frame *frame;
    uint64_t global_id[3];
    uint32_t local_id[3], group_id[3];
    uint32_t local_size[3]; // of its group
    uint32_t state;         // enum hdi_item_state
    uint32_t line;          // of the barrier it waits at
};

enum hdi_item_state {
    HDI_ITEM_RUNS, // or has not begun
    HDI_ITEM_WAITS,
    HDI_ITEM_WAITS_SUB_GROUP,
    HDI_ITEM_ENDED,
    HDI_ITEM_WAITS_GRID,
    HDI_ITEM_WAITS_SOME // of the sub-group
};

enum {
    HDI_ITEMS_MEET = 1,  // it has barriers: each work-item needs a stack, or is
                         // a coroutine
    HDI_ITEMS_GRID = 4,  // those of all groups are there at once, on one unit
                         // or several (meeting.h); the frame's box is the
                         // whole launch, and its memory is shared out equally
                         // among the unit's groups
    HDI_ITEMS_DEBUG = 2, // fresh memory is filled, and a work-item that ends
                         // while others wait is an error
    HDI_FILLER = 0xa5    // what fresh memory is filled with
};

// A kernel in thread form. As a coroutine it has no `run`: start() runs a
// work-item until it waits or has ended, which it writes into the item, and
// keeps in `memory` what is needed later; resume() goes on from there. Without
// memory, start() tells how many bytes it takes, as a pointer.
struct hdi_item_code {
    void (*run)(struct hdi_item *item);
    const char *name;
    uint64_t stack_bytes; // private memory of one work-item, at most
    uint32_t flags;       // HDI_ITEMS_*
    void *(*start)(struct hdi_item *item, void *memory);
    void (*resume)(void *memory);
};

enum {
    HDI_PRINT_INTEGER,
    HDI_PRINT_REAL,
    HDI_PRINT_POINTER
};

// One argument of printf(), followed by its elements and bytes up to a multiple
// of 8, and then by the next argument.
struct hdi_print_arg {
    uint8_t kind, size; // HDI_PRINT_*; of an element [bytes]
    uint8_t lanes;      // elements: 1 of a scalar
    uint8_t reserved[5];
};

// What compiled code calls. Each unit fills in its own, as the first member of
// a structure that the functions know.
struct hdi_services {
    // For debuggers (share/heddle-gdb.py): work-items of the group that runs.
    const void *items;              // each begins with its struct hdi_item
    uint64_t item_size, item_count; // [bytes]; items
    // Run the frame's box, work-item by work-item.
    void (*run_items)(const struct hdi_frame *frame,
                      const struct hdi_item_code *code);
    // Return when the whole group waits here: a barrier on `line`. Within
    // run_items() only.
    void (*wait)(struct hdi_item *item, uint32_t line);
    // The same for its sub-group.
    void (*wait_sub_group)(struct hdi_item *item, uint32_t line);
    // The same for those of the sub-group that come here.
    void (*wait_some)(struct hdi_item *item, uint32_t line);
    // The same for all work-items of the launch.
    void (*wait_grid)(struct hdi_item *item, uint32_t line);
    // printf() with `count` arguments; returns what printf() does.
    int32_t (*print)(const struct hdi_services *services, const char *format,
                     const struct hdi_print_arg *args, uint32_t count);
};

enum {
    HDI_SUB_GROUP = 16,       // work-items with neighbouring linear ids
    HDI_GROUP_ITEMS = 1 << 16 // compiled code relies on no group having more
};

_Static_assert(sizeof(void *) == 8, "frames are for 64-bit machines");
_Static_assert(offsetof(struct hdi_frame, global) == 24, "ABI");
_Static_assert(offsetof(struct hdi_frame, local_size) == 72, "ABI");
_Static_assert(offsetof(struct hdi_frame, first) == 96, "ABI");
_Static_assert(offsetof(struct hdi_frame, dims) == 120, "ABI");
_Static_assert(offsetof(struct hdi_frame, services) == 128, "ABI");
_Static_assert(sizeof(struct hdi_frame) == 160, "ABI");
_Static_assert(offsetof(struct hdi_item, local_id) == 32, "ABI");
_Static_assert(offsetof(struct hdi_services, item_count) == 16, "ABI");
_Static_assert(offsetof(struct hdi_item, state) == 68, "ABI");
_Static_assert(sizeof(struct hdi_item) == 80, "ABI");

#endif
