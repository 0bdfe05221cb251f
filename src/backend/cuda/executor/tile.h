// What the host and the tiles of the persistent executor share.
//
// Tiles are of two classes, by the registers that a thread may use. Lean ones
// are small, so that many fit on a multiprocessor; fat ones run every kernel
// that lean ones do, and larger ones. Each class is a kernel of its own on the
// GPU, with the same code.
//
// A tile is a row of threads of one block: threadIdx.x is the rank in it,
// threadIdx.y which tile of the block it is. Each has a desk in memory of the
// host that the GPU sees; its mailbox is that of every unit
// (backend/mailbox.h), with one part for each task, since all threads of a tile
// run one work-group together.
//
// The block's shared memory begins with room for a struct hdi_device_launch for
// each of HDX_TILES tiles, which is where compiled kernels look; then for a
// struct hdx_tile for each. From HDX_BASE on it is local memory, of which each
// task says where its own is.
#ifndef HDI_BACKEND_CUDA_TILE_H
#define HDI_BACKEND_CUDA_TILE_H

#include "backend/device_launch.h"
#include "backend/list.h"
#include "backend/mailbox.h"

enum {
    HDX_LEAN,
    HDX_FAT,
    HDX_CLASSES,
    HDX_BOTH = 1 << HDX_LEAN | 1 << HDX_FAT
};

enum {
    HDX_TILES = 8, // of a block at most: each needs two of its 16 barriers
    HDX_WARP = 32, // threads; work-groups are multiples of it
    HDX_ARGS = HDI_DEVICE_MAX - HDI_DEVICE_ARGS // of one task [bytes]
};

struct hdx_desk {
    struct hdi_mailbox mailbox;
    // Work-groups that were begun, of all tasks: a tile that hangs stands
    // still.
    _Alignas(128) hdi_word heartbeat; // the tile
    // While it runs a work-group of a list: which list, else 0, and which pass.
    // When a kernel faults or hangs, the host still sees these.
    hdi_word list, pass; // the tile
    // Tasks up to this number are not wanted any more: the tile leaves them
    // between work-groups.
    _Alignas(128) hdi_word stop;                                  // the host
    _Alignas(128) unsigned char args[HDI_MAILBOX_RING][HDX_ARGS]; // the host
};

// How it is started; the parameter of hdx_serve.
struct hdx_start {
    uint64_t desks; // struct hdx_desk for each tile, the block's side by side
    uint64_t print; // as in hdi_device_launch
    // Addresses of doors in memory of the GPU (struct hdi_list_door): where
    // idle tiles find a list to help with. The first is these tiles', the
    // second that of tiles of the other class, where a list is shown that these
    // can run as well; 0: there are none.
    uint64_t doors[2];
    uint32_t mode;  // enum hdi_mailbox_mode
    uint32_t tiles; // in all: the last block may have some without a desk
    uint32_t first; // number of the first, among those of all classes
    uint32_t unused;
};

// In shared memory.
struct hdx_tile {
    struct hdi_unit_task task;
    struct hdi_unit_shape shape;
    uint32_t stay;   // enum in tile.c
    uint32_t wanted; // of a list: enum hdu_list_next
    uint64_t list;   // that it works on
    uint32_t pass;   // of the list
    uint32_t entry;  // its kernel
    uint32_t region; // of local memory, for the list
    uint32_t unused;
};

// Where local memory begins [bytes].
#define HDX_BASE                                                         \
    ((HDX_TILES *                                                        \
          (sizeof(struct hdi_device_launch) + sizeof(struct hdx_tile)) + \
      127) /                                                             \
     128 * 128)

#endif
