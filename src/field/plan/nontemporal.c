#include "field/plan/nontemporal.h"

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>

enum {
    LINE = 64 // of a cache [bytes]
};

// A store of a part of a line would make the processor read the line after all:
// begin at a line, and write whole ones. Short copies are not worth it.
void hdi_nontemporal_copy(char *to, const char *from, size_t size)
{
    size_t before = (size_t)(-(uintptr_t)to % LINE);

    if (size < 2 * LINE) {
        memcpy(to, from, size);
        return;
    }
    memcpy(to, from, before);
    size_t i = before;
    for (; i + LINE <= size; i += LINE) {
        const __m128i *source = (const void *)(from + i);
        __m128i *target = (void *)(to + i);
        __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2);
        __m128i d = _mm_loadu_si128(source + 3);

        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
    memcpy(to + i, from + i, size - i);
}

// These stores are not ordered with others, so not by a release either: without
// the fence another thread could see a flag before the data.
void hdi_nontemporal_end(void)
{
    _mm_sfence();
}
#else
void hdi_nontemporal_copy(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
}

void hdi_nontemporal_end(void)
{
}
#endif
