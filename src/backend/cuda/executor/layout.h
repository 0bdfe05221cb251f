// Which tiles the persistent executor has, and on which multiprocessors.
//
// A block of tiles takes a multiprocessor for itself, and is a module: its
// tiles share its local memory. Tiles of one class are side by side in the
// order of their numbers. They are spread over half of the multiprocessors, so
// that ordinary launches find the others free; over more where they need them.
#ifndef HDI_BACKEND_CUDA_LAYOUT_H
#define HDI_BACKEND_CUDA_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/tile.h"

// How many registers a thread of a tile may have. What a tile keeps in them
// while a kernel runs that kernel saves, so it needs no more than it does alone
// (tests/cuda/assemble/registers.sh).
enum {
    CUDA_LEAN_REGISTERS = 64,
    CUDA_FAT_REGISTERS = 128
};

// What a GPU has.
struct cuda_room {
    unsigned multiprocessors;
    unsigned registers;       // of each
    unsigned shared;          // of each [bytes]
    unsigned shared_of_block; // at most, of a block
};

// Those of one class.
struct cuda_tiles {
    unsigned first, count; // their numbers
    unsigned per_block, blocks;
    unsigned module; // of the first block
    int registers;   // of a thread, at most
};

struct cuda_layout {
    unsigned tiles, threads; // of each
    unsigned modules;
    unsigned module_bytes; // local memory of a module
    struct cuda_tiles of[HDX_CLASSES];
    // Of each tile.
    uint32_t module_of[CUDA_MAX_UNITS], class_of[CUDA_MAX_UNITS];
};

// Lay out so many tiles of so many threads, a multiple of 32 up to 1,024. A
// third of them are fat, rounded up. False: they do not fit.
bool cuda_layout_make(struct cuda_layout *layout, const struct cuda_room *room,
                      unsigned tiles, unsigned threads);

static inline unsigned cuda_layout_class(const struct cuda_layout *layout,
                                         unsigned tile)
{
    return layout->class_of[tile];
}

#endif
