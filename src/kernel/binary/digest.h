// BLAKE2b of anything, 32 bytes, with or without a key.
#ifndef HDI_KERNEL_BINARY_DIGEST_H
#define HDI_KERNEL_BINARY_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Both in bytes. The sizes are equal so that a digest may be the key of another
// (cache.c).
enum {
    HDI_DIGEST_SIZE = 32,
    HDI_KEY_SIZE = 32
};

// A span of somebody else's memory.
struct hdi_bytes {
    const void *data;
    size_t size; // [bytes]
};

// False in a build without libb2: then there are no binaries and no cache.
bool hdi_digest_is_there(void);

// `key` is HDI_KEY_SIZE bytes or NULL.
void hdi_digest(const uint8_t *key, const struct hdi_bytes *spans, size_t count,
                uint8_t digest[HDI_DIGEST_SIZE]);

#endif
