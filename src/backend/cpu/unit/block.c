#include "backend/cpu/unit/block.h"

#include <string.h>

#include "backend/frame.h"
#include "base/memory.h"

// Any value that programs seldom write; a kernel that writes just it there is
// not found. The margin is a multiple of the alignment, which it keeps.
enum {
    MARGIN = HDI_FRAME_ALIGNMENT, // [bytes]
    MARGIN_BYTE = 0xa5
};

// What was in it goes: groups find their memory without values anyway.
bool hdi_cpu_block_reserve(struct hdi_cpu_block *block, uint64_t size)
{
    if (size > INT64_MAX) // it would wrap around below
        return false;
    if (size == 0 || size + MARGIN <= block->size)
        return true;

    // At least twice as much, so that growing is rare.
    uint64_t larger = hdi_round_up(size + MARGIN, hdi_page_size());
    if (larger < 2 * block->size)
        larger = 2 * block->size;
    void *memory = hdi_map(larger);
    if (!memory)
        return false;
    hdi_cpu_block_free(block);
    *block = (struct hdi_cpu_block){memory, larger};
    return true;
}

static char *begin(const struct hdi_cpu_block *block, uint64_t size)
{
    return (char *)block->memory +
           (block->size - hdi_round_up(size, HDI_FRAME_ALIGNMENT));
}

void *hdi_cpu_block_at_end(const struct hdi_cpu_block *block, uint64_t size)
{
    if (size == 0)
        return block->memory;
    char *memory = begin(block, size);

    memset(memory - MARGIN, MARGIN_BYTE, MARGIN);
    return memory;
}

const void *hdi_cpu_block_damage(const struct hdi_cpu_block *block,
                                 uint64_t size)
{
    if (size == 0)
        return NULL;
    const unsigned char *memory = (const unsigned char *)begin(block, size);
    const unsigned char *at = memory - MARGIN;

    // As a rule all bytes are the first one: this is looked at after each run.
    if (*at == MARGIN_BYTE && memcmp(at, at + 1, MARGIN - 1) == 0)
        return NULL;
    while (*at == MARGIN_BYTE)
        at++;
    return at;
}

void hdi_cpu_block_free(struct hdi_cpu_block *block)
{
    hdi_unmap(block->memory, block->size);
    *block = (struct hdi_cpu_block){0};
}
