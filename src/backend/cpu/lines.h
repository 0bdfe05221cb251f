// Which source line an instruction of an image comes from: a reader of the line
// tables (DWARF 5) that the compiler leaves in every image. It is read when a
// kernel has faulted, so it may be slow; and it may be damaged, so every length
// is checked.
#ifndef HDI_BACKEND_CPU_LINES_H
#define HDI_BACKEND_CPU_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// `address` is relative to where the image is loaded. False: the image does not
// tell.
bool hdi_lines_find(const void *image, size_t size, uint64_t address,
                    char *file, size_t file_size, uint32_t *line);

#endif
