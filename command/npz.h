// Arrays in NumPy's .npz files: ZIP archives of .npy files, as numpy.savez
// writes them.
#ifndef COMMAND_NPZ_H
#define COMMAND_NPZ_H

#include <stdbool.h>
#include <stdio.h>

#include "heddle/status.h"

// Whether the place is "FILE.npz" or "FILE.npz:NAME".
bool npz_is_one(const char *place);

// Open the array NAME of the file, or its only one. `*memory` is what it is
// read from: free() it after fclose().
//
// Errors: HD_ENOENT (no such file or array), HD_EIO, HD_EFORMAT (damaged, or
//         compressed), HD_ELIMIT (4 GiB or more), HD_ENOMEM
hd_status npz_open(const char *place, FILE **file, void **memory,
                   struct hd_error *error);

// Write an archive of one array, "arr_0", as numpy.savez names it: `data` is
// what a .npy file would hold.
//
// Errors: HD_ELIMIT (4 GiB or more)
hd_status npz_write(const void *data, size_t size, FILE *file,
                    struct hd_error *error);

#endif
