// What the host and the tiles of the persistent executor share.
//
// A tile is a row of threads of one block: threadIdx.x is the rank in it,
// threadIdx.y which tile of the block it is. Each has a desk in memory of the
// host that the GPU sees; its mailbox is that of every unit
// (backend/mailbox.h), with one part for each task, since all threads of a tile
// run one work-group together.
//
// The block's shared memory begins with a struct hdi_device_launch for each of
// its tiles, which is where compiled kernels look; a struct hdx_tile for each
// follows, then the local memory of each.
#ifndef HDI_BACKEND_CUDA_TILE_H
#define HDI_BACKEND_CUDA_TILE_H

#include "backend/device_launch.h"
#include "backend/list.h"
#include "backend/mailbox.h"

enum {
    HDX_TILES = 2,        // of a block, 7 at most: each needs two barriers
    HDX_WARP = 32,        // threads; work-groups are multiples of it
    HDX_LOCAL = 16 << 10, // local memory of a tile [bytes]
    HDX_ARGS = HDI_DEVICE_MAX - HDI_DEVICE_ARGS // of one task [bytes]
};

struct hdx_desk {
    struct hdi_mailbox mailbox;
    // Work-groups that were begun, of all tasks: a tile that hangs stands
    // still.
    _Alignas(128) hdi_word heartbeat; // the tile
    // Tasks up to this number are not wanted any more: the tile leaves them
    // between work-groups.
    _Alignas(128) hdi_word stop;                                  // the host
    _Alignas(128) unsigned char args[HDI_MAILBOX_RING][HDX_ARGS]; // the host
};

// How it is started; the parameter of hdx_serve.
struct hdx_start {
    uint64_t desks; // struct hdx_desk for each tile, the block's side by side
    uint64_t print; // as in hdi_device_launch
    uint64_t list; // address of a word in memory of the GPU: the list that idle
                   // tiles may help with, 0: none
    uint32_t mode; // enum hdi_mailbox_mode
    uint32_t tiles; // in all: the last block may have some without a desk
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
};

#define HDX_SHARED                                               \
    (HDX_TILES * (sizeof(struct hdi_device_launch) +             \
                  (sizeof(struct hdx_tile) + 127) / 128 * 128) + \
     256 + HDX_TILES * HDX_LOCAL)

#endif
