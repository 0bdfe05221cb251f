// Arrays in files: NumPy's format (.npy, versions 1 to 3), and bytes as they
// are.
//
// NumPy's last axis is the fastest, ours the first: shape (2, 3) has width 3.
// A vector's components are one more, last axis of the file.
#ifndef COMMAND_ARRAY_H
#define COMMAND_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/graph.h"
#include "heddle/status.h"

#define ARRAY_BYTES (UINT64_C(1) << 36) // most that is read [bytes]

struct array {
    struct hd_shape shape; // `type` is a string constant
    uint64_t size;         // [bytes]
    void *data;            // free()
};

// Whether a file is for the functions below: by the ending of its name, .npy,
// .npz, .raw or .bin,  or because its place ends in '@' and a type:
// "a.dat@float4,64".
bool array_is_one(const char *place);

// Read "FILE.npy", "FILE.npz:NAME", the same with "@TYPE", to see its elements
// as such vectors, or "FILE@TYPE,WIDTH[,HEIGHT[,DEPTH]]", bytes without a
// header.
//
// Errors: HD_EINVAL (the place), HD_ENOENT, HD_EIO, HD_EFORMAT (a file that is
//         damaged, too short or too long, or of a type that kernels have not),
//         HD_ELIMIT, HD_ENOMEM
hd_status array_read(const char *place, struct array *array,
                     struct hd_error *error);

// Write the elements of `buffer`: with NumPy's header when the name ends in
// .npy. The file appears whole or not at all.
hd_status array_write(const char *path, const struct hd_shape *shape,
                      const struct hd_buffer *buffer, struct hd_error *error);

#endif
