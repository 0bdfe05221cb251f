// Heddle's binary format: compiled programs as bytes, in .hdb files and in the
// cache.
//
//     magic, version, frame version, size of the rest, digest, builds
//
// The digest covers all other bytes. It is keyed in the cache, so that nobody
// who lacks the key can make an entry, and plain in files that users hand in,
// where it only finds damage. Nothing behind it is looked at before it is
// right; even then every length is checked against what is left.
#ifndef HDI_KERNEL_BINARY_CONTAINER_H
#define HDI_KERNEL_BINARY_CONTAINER_H

#include "backend/backend.h"
#include "base/text.h"
#include "heddle/status.h"
#include "kernel/binary/digest.h"
#include "kernel/build.h"

// Changes with every change of the format; a binary of another version is
// refused, and an entry of the cache compiled again. No version reads another:
// a compilation is cheaper than code that reads old formats.
#define HDI_CONTAINER_VERSION 11

// Larger files are not read at all.
enum {
    HDI_CONTAINER_MAX = 1 << 30 // [bytes]
};

// By its first bytes: no promise that the rest can be read.
bool hdi_container_is(const void *data, size_t size);

// Append builds of one program, for one processor each. `digests` belong to the
// files of the first, in order; with NULL, and of the others, the names of the
// files are left out. False: no memory.
bool hdi_container_write(const struct hdi_build *builds, uint32_t count,
                         const uint8_t (*digests)[HDI_DIGEST_SIZE],
                         const uint8_t *key, struct hdi_text *text);

// Read all builds into an array that the caller clears and frees; there is one
// at least. `name` is for messages. `digests`, optional, receives an array for
// the caller to free, of the first.
//
// HD_EFORMAT, HD_ENOMEM.
hd_status hdi_container_read_all(const void *data, size_t size,
                                 const uint8_t *key, const char *name,
                                 struct hdi_build **builds, uint32_t *count,
                                 uint8_t (**digests)[HDI_DIGEST_SIZE],
                                 struct hd_error *error);

// Read the build that fits the device best; `can` NULL: the first.
//
// HD_ENOTSUP (none fits) as well.
hd_status hdi_container_read(const void *data, size_t size, const uint8_t *key,
                             const struct hdi_capabilities *can,
                             const char *name, struct hdi_build *build,
                             uint8_t (**digests)[HDI_DIGEST_SIZE],
                             struct hd_error *error);

#endif
