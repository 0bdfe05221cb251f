// Compiled programs on disk, shared by all processes of a user.
//
// An entry is a container (container.h) under the digest of everything its code
// depends on but the included files; those are listed in it, with digests, and
// looked at again at every lookup. Entries appear whole, by rename; anything
// else in the folder is left over from a process that was killed and is removed
// after a while. Any number of threads and processes may look up and store.
//
//     hdi_cache_open()      kernel/program.h; the folder, its key
//     hdi_cache_key()       of everything the code depends on
//     hdi_cache_find()      there: no compilation
//       compile ...         not there
//     hdi_cache_keep()      for the next time
//
// Nothing here is needed for a right result: whatever fails, the program is
// compiled.
#ifndef HDI_KERNEL_BINARY_CACHE_H
#define HDI_KERNEL_BINARY_CACHE_H

#include <time.h>

#include "base/text.h"
#include "kernel/binary/digest.h"
#include "kernel/build.h"
#include "kernel/program.h"

// A digest in hexadecimal digits, which is the name of the file; 0 ends it.
struct hdi_cache_key {
    char name[2 * HDI_DIGEST_SIZE + 1];
};

// The key of what `spans` are together.
//
// See describe_source() in kernel/program/compile.c for what goes in. Too little
// is a wrong program, too much a compilation.
struct hdi_cache_key hdi_cache_key(const struct hdi_bytes *spans, size_t count);

// True when there was an entry that is still right.
//
// `*build` is the caller's to clear, and written with true only. An entry that
// is damaged is removed and told.
bool hdi_cache_find(struct hdi_cache *cache, const struct hdi_cache_key *key,
                    struct hdi_build *build);

// Keep a build that was begun at `began`. Failing is no error: a warning once
// in a while, and the program is compiled again.
//
// `began` is a time of CLOCK_REALTIME, as those of files are. Large builds, and
// builds of files that have just changed, are not kept.
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
//
// For reading, changing and writing as one: hdi_cache_write_note() by itself
// only replaces. Threads of one process exclude each other as processes do,
// since each call opens the file anew.
int hdi_cache_lock(struct hdi_cache *cache, const char *name);
void hdi_cache_unlock(int lock);

#endif
