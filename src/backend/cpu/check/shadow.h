// Who touched a byte last: shadow memory of one work-group.
//
// Memory is followed in lines of 64 bytes, found by address in a hash table.
// What is noted holds until the next barrier: phases are counted, and notes of
// an earlier phase are worth nothing, so nothing is ever cleared between
// groups.
#ifndef HDI_BACKEND_CPU_SHADOW_H
#define HDI_BACKEND_CPU_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HDI_SHADOW_LINE = 64, // [bytes]
    HDI_SHADOW_WRITER = 1,
    HDI_SHADOW_READER = 2,
    HDI_SHADOW_SECOND = 4
};

struct hdi_shadow_byte {
    uint32_t phase;       // of the notes
    uint32_t write_site;  // of `writer`
    uint32_t read_site;   // of `reader`
    uint32_t second_site; // of `second`
    uint16_t writer;      // work-item + 1; 0: none
    uint16_t reader;      // the first to read, likewise
    uint16_t second;      // another one, likewise
    uint16_t atomic;      // HDI_SHADOW_*: which were atomic
    // How many barriers of their sub-groups they had come past, the low bits.
    uint16_t write_met, read_met, second_met;
    uint16_t reserved;
};

// Open addressing, at most three quarters full. Zeroed is empty; lines are
// never taken out one by one.
struct hdi_shadow {
    struct hdi_shadow_line {
        uintptr_t address; // / HDI_SHADOW_LINE; 0: free
        struct hdi_shadow_byte *bytes;
    } *lines;
    uint64_t capacity; // a power of two, or 0
    uint64_t count;
};

// The notes on a line, made when there are none. NULL: no memory.
struct hdi_shadow_byte *hdi_shadow_line(struct hdi_shadow *shadow,
                                        uintptr_t address);

// Forget all lines: they may belong to other memory from now on.
void hdi_shadow_clear(struct hdi_shadow *shadow);

#endif
