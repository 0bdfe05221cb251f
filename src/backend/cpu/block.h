// Memory for the groups that one core runs: local memory, or the room for
// values that live across barriers. Allocated when first needed, grown when a
// kernel needs more, reused by group after group (spec K9), with an
// inaccessible range on either side (K10).
#ifndef HDI_BACKEND_CPU_BLOCK_H
#define HDI_BACKEND_CPU_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct hdi_cpu_block {
    void *memory;
    uint64_t size; // [bytes]
};

// False without memory; the block is then as it was.
bool hdi_cpu_block_reserve(struct hdi_cpu_block *block, uint64_t size);

// The last `size` bytes of it, at most those reserved, aligned to 128: whoever
// writes past them leaves the block and faults.
void *hdi_cpu_block_at_end(const struct hdi_cpu_block *block, uint64_t size);
void hdi_cpu_block_free(struct hdi_cpu_block *block);

#endif
