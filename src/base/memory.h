// Pages, and checked sizes.
#ifndef HDI_BASE_MEMORY_H
#define HDI_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

size_t hdi_page_size(void); // [bytes]

// What each thread may take at once, if one per processor does, without more
// than half of the machine's memory being taken [bytes].
uint64_t hdi_memory_share(void);

// Map `size` [bytes] of zeroed memory, rounded up to pages, with 1 MiB that is
// inaccessible before and after it: what strays, strays that far. Mappings
// begin at different places modulo 1 MiB, as far as can be. NULL when there is
// none; size 0 gives one page.
void *hdi_map(size_t size);
void hdi_unmap(void *memory, size_t size);

// The same of which there may be views; children of fork() share it. A view is
// the same bytes once more, at an address where they cannot be written, between
// as much that is inaccessible. NULL when there is none, as of other memory.
void *hdi_map_shared(size_t size);
void *hdi_map_view(void *memory, size_t size); // for hdi_unmap()

// a * b, false when it does not fit.
static inline bool hdi_multiply(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

// Zeros. What the compiler makes of a known size takes several times as long.
void hdi_clear(void *memory, size_t size);

static inline uint64_t hdi_round_up(uint64_t n, uint64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

#endif
