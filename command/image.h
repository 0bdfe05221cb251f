// Pictures in files: read into bytes, written from bytes or floats.
//
// Read: always uchar4 (red, green, blue, alpha), x fastest, top row first,
// values as they stand in the file: no colour profile, gamma or orientation is
// applied.
// Written: what image_form() knows; PNG, or JPEG where the name says so.
#ifndef COMMAND_IMAGE_H
#define COMMAND_IMAGE_H

#include <stdint.h>
#include <stdio.h>

#include "heddle/graph.h"
#include "heddle/status.h"

enum {
    IMAGE_EDGE = 32768 // longest edge that is read [pixels]
};
#define IMAGE_BYTES (UINT64_C(1) << 30) // most that one becomes [bytes]

struct image {
    uint32_t width, height;
    unsigned char *pixels; // width * height * 4 bytes; free()
};

// Read a PNG or JPEG file, told apart by their content. A file that is damaged
// or ends early is an error, never half a picture.
//
// Errors: HD_ENOENT, HD_EIO, HD_EFORMAT, HD_ELIMIT, HD_ENOTSUP (not built in),
//         HD_ENOMEM, HD_ECANCELED
hd_status image_read(const char *path, struct image *image,
                     struct hd_error *error);

// A picture to write: `row` gives row `y` as `channels` bytes per pixel.
struct image_rows {
    uint32_t width, height;
    unsigned channels; // 1 gray, 2 and alpha, 3 RGB, 4 and alpha
    hd_status (*row)(void *data, uint32_t y, unsigned char *to,
                     struct hd_error *error);
    void *data;
};

// Check, before it is computed, that a resource of this shape can be written to
// `path`. `name` is for the message.
hd_status image_check(const char *name, const struct hd_shape *shape,
                      const char *path, struct hd_error *error);

// Write the elements of `buffer` to `path`; the file appears whole or not at
// all.
hd_status image_write(const char *path, const struct hd_shape *shape,
                      const struct hd_buffer *buffer, struct hd_error *error);

// One file format. Differences between them are data.
struct image_codec {
    const char *name;
    int first_byte;         // of every such file
    const char *endings[3]; // of names, up to NULL
    uint32_t edge;          // longest that can be written [pixels]
    // NULL both when not built in. `path` is for messages. Errors of the stream
    // are named by the caller when `file` has its error flag set.
    hd_status (*read)(FILE *file, const char *path, struct image *image,
                      struct hd_error *error);
    hd_status (*write)(FILE *file, const char *path,
                       const struct image_rows *rows, struct hd_error *error);
};

extern const struct image_codec image_png, image_jpeg;

// For codecs: check the size and get the memory of a picture.
hd_status image_allocate(struct image *image, const char *path, uint64_t width,
                         uint64_t height, struct hd_error *error);

#endif
