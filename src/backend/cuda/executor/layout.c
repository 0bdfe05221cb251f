#include "backend/cuda/executor/layout.h"

// FAT_TILES: of twice the registers half as many fit. REGISTER_UNIT: threads
// get registers in such portions.
enum {
    MAX_THREADS = 1024, // of a block
    LEAN_TILES = 8,     // of a block at most
    FAT_TILES = 4,
    REGISTER_UNIT = 8
};

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned most(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

// Registers of a thread: those of its class, unless a block has fewer for it.
static int registers_of(const struct cuda_room *room, unsigned threads,
                        unsigned class)
{
    unsigned wanted =
        class == HDX_LEAN ? CUDA_LEAN_REGISTERS : CUDA_FAT_REGISTERS;
    unsigned there = room->registers / threads / REGISTER_UNIT * REGISTER_UNIT;

    return (int)least(wanted, there);
}

static unsigned most_of_block(const struct cuda_room *room, unsigned threads,
                              unsigned class)
{
    unsigned tiles = class == HDX_LEAN ? LEAN_TILES : FAT_TILES;
    unsigned registers = (unsigned)registers_of(room, threads, class) * threads;

    tiles = least(tiles, MAX_THREADS / threads);
    return most(1, least(tiles, room->registers / registers));
}

// Spread over their part of `blocks`.
// As many blocks as the class has a share of `blocks`, or more where its tiles
// do not fit them. Then tiles are dealt out evenly.
static void spread(struct cuda_layout *l, const struct cuda_room *room,
                   unsigned class, unsigned blocks)
{
    struct cuda_tiles *t = &l->of[class];
    unsigned fit = most_of_block(room, l->threads, class);

    t->registers = registers_of(room, l->threads, class);
    t->blocks = least(t->count, most(blocks * t->count / l->tiles,
                                     (t->count + fit - 1) / fit));
    t->per_block = t->count > 0 ? (t->count + t->blocks - 1) / t->blocks : 1;
    t->blocks = (t->count + t->per_block - 1) / t->per_block;
    t->module = l->modules;
    l->modules += t->blocks;
    for (unsigned i = 0; i < t->count; i++) {
        l->module_of[t->first + i] = t->module + i / t->per_block;
        l->class_of[t->first + i] = class;
    }
}

// What is left of shared memory is the first-level cache.
// Half of the multiprocessor's, in whole KiB.
static unsigned local_bytes(const struct cuda_room *room)
{
    unsigned bytes =
        least(room->shared / 2, room->shared_of_block - (unsigned)HDX_BASE);

    return bytes / 1024 * 1024;
}

// Lean tiles first, then fat ones, in numbers and in modules. One third is fat,
// as kernels with many registers are fewer.
bool cuda_layout_make(struct cuda_layout *l, const struct cuda_room *room,
                      unsigned tiles, unsigned threads)
{
    unsigned fat = (tiles + 2) / 3;

    *l = (struct cuda_layout){
        .tiles = tiles, .threads = threads, .module_bytes = local_bytes(room)};
    l->of[HDX_LEAN].count = tiles - fat;
    l->of[HDX_FAT] = (struct cuda_tiles){.first = tiles - fat, .count = fat};
    if (tiles > CUDA_MAX_UNITS)
        return false;
    for (unsigned c = 0; c < HDX_CLASSES; c++)
        spread(l, room, c, room->multiprocessors / 2);
    return l->modules <= room->multiprocessors;
}
