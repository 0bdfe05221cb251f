// Memory that this thread will write soon, and another core has written.
#ifndef HDI_BASE_EXPECT_H
#define HDI_BASE_EXPECT_H

#include <stddef.h>

enum {
    HDI_LINE = 64 // [bytes]
};

// Have these lines of the cache fetched meanwhile, to be written. Any address.
static inline void hdi_expect(const char *memory, size_t size)
{
    for (size_t i = 0; i < size; i += HDI_LINE) {
#if defined(__x86_64__)
        // For the builtin compilers fetch lines to be read, where they do not
        // know the processor, and a store would fetch them again. Those that
        // lack the instruction take it for none.
        __asm__ __volatile__("prefetchw %0" : : "m"(memory[i]));
#else
        __builtin_prefetch(memory + i, 1);
#endif
    }
}

#endif
