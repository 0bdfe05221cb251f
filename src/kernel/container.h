// Heddle's binary format: compiled programs as bytes, in .hdb files and in the
// cache.
//
//     magic, version, frame version, size of the rest, digest, builds
//
// The digest covers all other bytes. It is keyed in the cache, so that nobody
// who lacks the key can make an entry, and plain in files that users hand in,
// where it only finds damage. Nothing behind it is looked at before it is
// right; even then every length is checked against what is left.
#ifndef HDI_KERNEL_CONTAINER_H
#define HDI_KERNEL_CONTAINER_H

#include "base/text.h"
#include "heddle/status.h"
#include "kernel/build.h"
#include "kernel/digest.h"

enum {
    HDI_CONTAINER_VERSION = 2,
    HDI_CONTAINER_MOST = 1 << 30 // [bytes]
};

bool hdi_container_is(const void *data, size_t size);

// Append the build. `digests` belong to its files, in order; with NULL the
// names of the files are left out. False: no memory.
bool hdi_container_write(const struct hdi_build *build,
                         const uint8_t (*digests)[HDI_DIGEST_SIZE],
                         const uint8_t *key, struct hdi_text *text);

// Read the build for `target` and `cpu` ("" target: the first), or a library,
// which is for all. `name` is for
// messages. `digests`, optional, receives an array for the caller to free.
//
// HD_EFORMAT, HD_ENOTSUP (no code for this processor), HD_ENOMEM.
hd_status hdi_container_read(const void *data, size_t size, const uint8_t *key,
                             const char *target, const char *cpu,
                             const char *name, struct hdi_build *build,
                             uint8_t (**digests)[HDI_DIGEST_SIZE],
                             struct hd_error *error);

#endif
