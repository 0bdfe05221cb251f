// A file that appears whole or not at all: written beside its place under
// another name, then renamed.
#ifndef COMMAND_TARGET_H
#define COMMAND_TARGET_H

#include <stdbool.h>
#include <stdio.h>

#include "heddle/status.h"

struct target {
    const char *path; // as the user wrote it; "-" is standard output
    char *place;      // where it goes, links followed; NULL: written directly
    char *temporary;  // where it is until committed
    FILE *file;
};

// True when `path` means standard output.
bool target_is_output(const char *path);

// Look, before anything is computed, whether target_open() would fail.
hd_status target_check(const char *path, struct hd_error *error);

// Open for writing. End with target_commit() or target_discard().
hd_status target_open(struct target *target, const char *path,
                      struct hd_error *error);

// Make the file appear. Nothing is left behind when that fails.
hd_status target_commit(struct target *target, struct hd_error *error);
void target_discard(struct target *target);

// Open, let `write` write, commit. `write` need not check the stream.
hd_status target_write(const char *path,
                       hd_status (*write)(void *data, FILE *file,
                                          struct hd_error *error),
                       void *data, struct hd_error *error);

#endif
