// Sets of small numbers, one bit each.
#ifndef HDI_KERNEL_COMPILER_IR_BITS_H
#define HDI_KERNEL_COMPILER_IR_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void hdi_bit_set(uint64_t *words, size_t i)
{
    words[i / 64] |= UINT64_C(1) << i % 64;
}

static inline bool hdi_bit(const uint64_t *words, size_t i)
{
    return words[i / 64] >> i % 64 & 1;
}

#endif
