// Memory for the groups that one core runs: local memory, or the room for
// values that live across barriers. Made with the core, as large as suits its
// caches, grown when a kernel needs more, reused by group after group, with an
// inaccessible range on either side.
//
// The memory of a group ends where the block ends, so an access past it faults.
// Before it lies a margin of known bytes, in which writes are found afterwards.
#ifndef HDI_BACKEND_CPU_BLOCK_H
#define HDI_BACKEND_CPU_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

//     inaccessible | ...... | margin | the group's `size` bytes | inaccessible
//                  ^ memory                                    ^ memory + size
struct hdi_cpu_block {
    void *memory;
    uint64_t size; // [bytes]
};

// False without memory; the block is then as it was.
bool hdi_cpu_block_reserve(struct hdi_cpu_block *block, uint64_t size);

// The last `size` bytes of it, at most those reserved, aligned to 128: whoever
// writes past them leaves the block and faults. The margin before them is made.
void *hdi_cpu_block_at_end(const struct hdi_cpu_block *block, uint64_t size);

// The first byte of the margin before these `size` bytes that was written;
// NULL: none was.
const void *hdi_cpu_block_damage(const struct hdi_cpu_block *block,
                                 uint64_t size);
void hdi_cpu_block_free(struct hdi_cpu_block *block);

#endif
