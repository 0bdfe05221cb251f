// Files: what the system's own calls leave to be done every time.
#ifndef HDI_BASE_FILE_H
#define HDI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "heddle/status.h"

// Write all of `data`, however often the system takes only a part of it or is
// interrupted. False with errno set when it fails.
bool hdi_write_all(int file, const void *data, size_t size);

// Append the file's bytes; the caller frees the text in any case. HD_ENOENT,
// HD_EIO, HD_ELIMIT (more than `most` bytes), HD_ENOMEM.
hd_status hdi_read_file(const char *path, size_t most, struct hdi_text *text,
                        struct hd_error *error);

// Write a file that is there whole or not at all, also after a crash: beside
// `path`, then renamed.
// A link is followed; what is no regular file (a pipe, a device) is written
// into, not replaced; what was there keeps its mode. HD_EIO, HD_ENOMEM.
hd_status hdi_write_file(const char *path, const void *data, size_t size,
                         struct hd_error *error);

// Have the names in a file's folder last: after rename() they are in memory
// only. HD_EIO.
hd_status hdi_sync_folder_of(const char *path, struct hd_error *error);

#endif
