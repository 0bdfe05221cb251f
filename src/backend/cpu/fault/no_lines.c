// Of a build without libdw.
#include "backend/cpu/fault/lines.h"

const char *hdi_lines_description(void)
{
    return "none: this build has no libdw to read them";
}

bool hdi_lines_find(const void *image, size_t size, uint64_t address,
                    char *file, size_t file_size, uint32_t *line)
{
    (void)image;
    (void)size;
    (void)address;
    (void)file;
    (void)file_size;
    (void)line;
    return false;
}
