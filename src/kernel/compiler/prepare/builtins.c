#include "kernel/compiler/prepare/builtins.h"

#include <stdlib.h>
#include <string.h>

#include "tools.h"

// HDI_BUILTINS is the path in the build folder of what builtins/parts.cmake
// makes. A line of the index is "FUNCTION OFFSET SIZE"; lines are sorted.
__asm__(".section .rodata\n"
        ".balign 16\n"
        "hdi_builtins_begin:\n"
        ".incbin \"" HDI_BUILTINS ".bc\"\n"
        "hdi_builtins_index:\n"
        ".incbin \"" HDI_BUILTINS ".index\"\n"
        "hdi_builtins_index_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char hdi_builtins_begin[], hdi_builtins_index[],
    hdi_builtins_index_end[];

// As strcmp(), the name in a line ending at its blank.
static int compare(const char *function, const char *line)
{
    while (*function && *function == *line) {
        function++;
        line++;
    }
    return *function || *line != ' '
               ? (unsigned char)*function - (unsigned char)*line
               : 0;
}

bool hdi_builtins_find(const char *function, struct hdi_builtins *part)
{
    const char *low = hdi_builtins_index, *high = hdi_builtins_index_end;

    // Whole lines: the one wanted begins in [low, high).
    while (low < high) {
        const char *line = low + (high - low) / 2;
        while (line > low && line[-1] != '\n')
            line--;
        int order = compare(function, line);
        if (order < 0) {
            high = line;
            continue;
        }
        const char *blank = strchr(line, ' ');
        if (order > 0) {
            low = strchr(blank, '\n') + 1;
            continue;
        }
        char *size;
        part->data = hdi_builtins_begin + strtoul(blank, &size, 10);
        part->size = strtoul(size, NULL, 10);
        return true;
    }
    return false;
}
