// The longest run of free blocks in a resource's state.
//
// A state ("map") of n blocks is n bits, bit i of word i / 64 is block i,
// 1 = free; bits from n up are 0. These are the fast forms; the
// forms that follow the hardware's steps one by one are in tests/dispatch, and
// a test says that both agree.
#ifndef HDI_DISPATCH_MAPS_RUNS_H
#define HDI_DISPATCH_MAPS_RUNS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HDI_MAX_BLOCKS = 32768 // of one resource
};

#define HDI_NO_RUN UINT32_MAX

static inline unsigned hdi_map_words(unsigned blocks)
{
    return (blocks + 63) / 64;
}

// Look at one block after the other: what the others are measured against.
unsigned hdi_run_scan(const uint64_t *map, unsigned blocks);

// Walk from border to border by counting trailing zeros: best on maps with few
// runs.
unsigned hdi_run_walk(const uint64_t *map, unsigned blocks);

// Exact, in steps that grow with the logarithm of the run.
unsigned hdi_run_exact(const uint64_t *map, unsigned blocks);

// Grouped: the longest run of whole groups, in blocks. `group` divides
// `blocks`.
unsigned hdi_run_grouped(const uint64_t *map, unsigned blocks, unsigned group);

// Sampled: `shifts` ascend. What a searcher that tests only these shifts
// answers for a map whose longest run is `exact`.
unsigned hdi_run_sampled(unsigned exact, const uint16_t *shifts,
                         unsigned count);

// Leave a group's bits set only where the whole group is free.
void hdi_map_keep_groups(const uint64_t *map, unsigned blocks, unsigned group,
                         uint64_t *kept);

// The lowest block, a multiple of `align`, where `length` free blocks start;
// HDI_NO_RUN when there is none. length > 0.
unsigned hdi_run_first(const uint64_t *map, unsigned blocks, unsigned length,
                       unsigned align);

// Set or clear `length` blocks from `start`.
void hdi_map_set_blocks(uint64_t *map, unsigned start, unsigned length);
void hdi_map_clear_blocks(uint64_t *map, unsigned start, unsigned length);

#endif
