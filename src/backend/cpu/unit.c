// A unit is the thread that owns it. Local memory and the room for values that
// live across barriers belong to the unit: allocated when first needed, grown
// when a kernel needs more, reused by group after group (spec K9), each with an
// inaccessible page on either side (K10).
#include <stdlib.h>

#include "backend/cpu/cpu.h"
#include "base/memory.h"

struct block {
    void *memory;
    uint64_t size; // [bytes]
};

struct cpu_unit {
    struct hdi_unit unit;
    struct block local, saved;
    uint64_t done; // [chunks]
    hd_status status;
};

static bool block_reserve(struct block *block, uint64_t size)
{
    if (size <= block->size)
        return true;

    // At least twice as much, so that growing is rare.
    uint64_t larger = hdi_round_up(size, hdi_page_size());
    if (larger < 2 * block->size)
        larger = 2 * block->size;
    void *memory = hdi_map(larger);
    if (!memory)
        return false;
    hdi_unmap(block->memory, block->size);
    *block = (struct block){memory, larger};
    return true;
}

hd_status hdi_cpu_unit_open(struct hdi_device *device, unsigned index,
                            struct hdi_unit **unit)
{
    (void)index;
    struct cpu_unit *u = calloc(1, sizeof(*u));
    if (!u)
        return HD_ENOMEM;

    u->unit.device = device;
    *unit = &u->unit;
    return HD_OK;
}

void hdi_cpu_unit_close(struct hdi_unit *unit)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;

    hdi_unmap(u->local.memory, u->local.size);
    hdi_unmap(u->saved.memory, u->saved.size);
    free(u);
}

bool hdi_cpu_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    struct cpu_unit *u = (struct cpu_unit *)unit;

    u->done++;
    if (!block_reserve(&u->local, chunk->local_bytes) ||
        !block_reserve(&u->saved, chunk->saved_bytes)) {
        u->status = HD_ENOMEM;
        return true;
    }
    struct hdi_frame frame = chunk->frame;
    frame.local = u->local.memory;
    frame.saved = u->saved.memory;
    chunk->entry->run(&frame);
    u->status = HD_OK;
    return true;
}

uint64_t hdi_cpu_submitted(const struct hdi_unit *unit)
{
    return ((const struct cpu_unit *)unit)->done;
}

uint64_t hdi_cpu_done(struct hdi_unit *unit)
{
    return ((struct cpu_unit *)unit)->done;
}

hd_status hdi_cpu_status(const struct hdi_unit *unit, uint64_t chunk)
{
    (void)chunk; // one at a time, so this is the last
    return ((const struct cpu_unit *)unit)->status;
}
