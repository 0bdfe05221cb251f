// For tests: the mappings of the process.
#ifndef HDI_TESTS_MAPPINGS_H
#define HDI_TESTS_MAPPINGS_H

#include <stdio.h>

#include "tests/check.h"

static inline int count_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int c, count = 0;

    CHECK(maps);
    while ((c = getc(maps)) != EOF)
        count += c == '\n';
    fclose(maps);
    return count;
}

#endif
