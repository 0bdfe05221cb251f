#include "backend/cpu/fault/lines.h"

#include <elfutils/libdw.h>
#include <elfutils/version.h>
#include <stdio.h>

#define TEXT_OF(n) #n
#define TEXT(n)    TEXT_OF(n)

const char *hdi_lines_description(void)
{
    return "libdw of elfutils 0." TEXT(_ELFUTILS_VERSION);
}

// Ask one unit of compilation: of those in an image each has a line table.
static bool find_in(Dwarf_Die *unit, Dwarf_Addr address, char *file,
                    size_t file_size, uint32_t *line)
{
    Dwarf_Line *row = dwarf_getsrc_die(unit, address);
    int number = 0;

    // Line 0: code that comes from no line.
    if (!row || dwarf_lineno(row, &number) != 0 || number <= 0)
        return false;
    const char *path = dwarf_linesrc(row, NULL, NULL);
    if (!path)
        return false;
    snprintf(file, file_size, "%s", path);
    *line = (uint32_t)number;
    return true;
}

bool hdi_lines_find(const void *image, size_t size, uint64_t address,
                    char *file, size_t file_size, uint32_t *line)
{
    bool found = false;
    Elf *elf = NULL;
    Dwarf *dwarf = NULL;
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;

    // libelf takes memory it may write, and does not with what it only reads.
    elf_version(EV_CURRENT);
    elf = elf_memory((char *)(uintptr_t)image, size);
    if (elf)
        dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    while (dwarf && !found &&
           dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
        found = find_in(&die, address, file, file_size, line);
    if (dwarf)
        dwarf_end(dwarf);
    if (elf)
        elf_end(elf);
    return found;
}
