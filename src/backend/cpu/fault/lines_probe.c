// An image with line tables for lines_test: the lines are those of another
// file.
#include "backend/cpu/fault/lines_probe.h"

#line 100 "elsewhere.cl"
int hdi_probe_first(int a)
{
    return a * 3;
}

int hdi_probe_second(int a)
{
    return a + 7;
}
