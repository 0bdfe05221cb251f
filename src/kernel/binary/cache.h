// Compiled programs on disk, shared by all processes of a user.
//
// An entry is a container (container.h) under the digest of everything its code
// depends on but the included files; those are listed in it, with digests, and
// looked at again at every lookup. Entries appear whole, by rename; anything
// else in the folder is left over from a process that was killed and is removed
// after a while. Any number of threads and processes may look up and store.
#ifndef HDI_KERNEL_BINARY_CACHE_H
#define HDI_KERNEL_BINARY_CACHE_H

#include <time.h>

#include "base/text.h"
#include "kernel/binary/digest.h"
#include "kernel/build.h"
#include "kernel/program.h"

struct hdi_cache_key {
    char name[2 * HDI_DIGEST_SIZE + 1];
};

// The key of what `spans` are together.
struct hdi_cache_key hdi_cache_key(const struct hdi_bytes *spans, size_t count);

// True when there was an entry that is still right.
bool hdi_cache_find(struct hdi_cache *cache, const struct hdi_cache_key *key,
                    struct hdi_build *build);

// Keep a build that was begun at `began`. Failing is no error: a warning once
// in a while, and the program is compiled again.
void hdi_cache_keep(struct hdi_cache *cache, const struct hdi_cache_key *key,
                    const struct hdi_build *build, struct timespec began);

// A short text of ours beside the entries, under a plain name. Reading appends
// to `text`; false when it is not there, or not as it was written.
bool hdi_cache_read_note(struct hdi_cache *cache, const char *name,
                         struct hdi_text *text);
bool hdi_cache_write_note(struct hdi_cache *cache, const char *name,
                          const char *data, size_t size);

// Keep other processes from reading and writing a note in turns: a lock for
// hdi_cache_unlock(), or -1 when it cannot be had within a second.
int hdi_cache_lock(struct hdi_cache *cache, const char *name);
void hdi_cache_unlock(int lock);

#endif
