#include "backend/cpu/block.h"

#include "backend/frame.h"
#include "base/memory.h"

bool hdi_cpu_block_reserve(struct hdi_cpu_block *block, uint64_t size)
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
    hdi_cpu_block_free(block);
    *block = (struct hdi_cpu_block){memory, larger};
    return true;
}

void *hdi_cpu_block_at_end(const struct hdi_cpu_block *block, uint64_t size)
{
    if (size == 0)
        return block->memory;
    return (char *)block->memory +
           (block->size - hdi_round_up(size, HDI_FRAME_ALIGNMENT));
}

void hdi_cpu_block_free(struct hdi_cpu_block *block)
{
    hdi_unmap(block->memory, block->size);
    *block = (struct hdi_cpu_block){0};
}
