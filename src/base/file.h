// Files: what the system's own calls leave to be done every time.
#ifndef HDI_BASE_FILE_H
#define HDI_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

// Write all of `data`, however often the system takes only a part of it or is
// interrupted. False with errno set when it fails.
bool hdi_write_all(int file, const void *data, size_t size);

#endif
