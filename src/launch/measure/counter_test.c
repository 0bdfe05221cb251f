// Cache misses, where the processor counts them and the system lets it be read;
// most virtual machines do not.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "launch/measure/misses.h"
#include "tests/check.h"

// Memory that is larger than any cache is missed at every line.
int main(void)
{
    enum {
        SIZE = 512 << 20
    };
    const struct hdi_misses_source source = hdi_misses_of_cache();
    struct hdi_misses misses = {0};
    uint64_t bytes;
    int refused = hdi_misses_try(&source);

    if (refused != 0) {
        char reason[128];
        snprintf(reason, sizeof(reason),
                 "the processor's misses cannot be counted: %s",
                 strerror(refused));
        SKIP(reason);
    }
    char *memory = malloc(SIZE);
    CHECK(memory);
    memset(memory, 1, SIZE);
    CHECK(hdi_misses_begin(&misses, &source, hdi_now()));
    for (size_t i = 0, at = 0; i < SIZE / 64; i++, at = at * 5 + 1)
        ((volatile char *)memory)[at * 64 % SIZE]++;
    CHECK(hdi_misses_end(&misses, &source, hdi_now(), &bytes));
    CHECK(bytes > SIZE / 4);
    free(memory);
    hdi_misses_close(&misses);
    return 0;
}
