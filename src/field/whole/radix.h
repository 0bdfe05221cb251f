// Sorting elements in memory by the unsigned number of 8 bytes they begin with.
#ifndef HDI_FIELD_WHOLE_RADIX_H
#define HDI_FIELD_WHOLE_RADIX_H

#include <stddef.h>
#include <stdint.h>

// `spare` is as large as `elements`; the result is in `elements`.
void hdi_radix_sort(char *elements, char *spare, size_t count, size_t element);

static inline uint64_t hdi_radix_key(const char *element)
{
    uint64_t key;

    __builtin_memcpy(&key, element, sizeof(key));
    return key;
}

#endif
