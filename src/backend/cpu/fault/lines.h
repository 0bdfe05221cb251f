// Which source line an instruction of an image comes from, as its line tables
// say (DWARF), which libdw of elfutils reads. Only asked when a kernel has
// faulted, so it may be slow; and the image may be damaged: then it does not
// tell.
#ifndef HDI_BACKEND_CPU_LINES_H
#define HDI_BACKEND_CPU_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// `address` is relative to where the image is loaded. False: the image does not
// tell, or this build cannot read it.
bool hdi_lines_find(const void *image, size_t size, uint64_t address,
                    char *file, size_t file_size, uint32_t *line);

// What reads the tables, for people; or why nothing does.
const char *hdi_lines_description(void);

#endif
