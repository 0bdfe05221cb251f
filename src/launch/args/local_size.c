#include "launch/args/local_size.h"

#include <stdbool.h>

#include "base/memory.h"

// At most `most` of `n`. When `divide` is set, the largest divisor of `n`,
// unless that wastes more than half of `most`; else the last group is smaller.
static uint32_t part_of(uint64_t n, uint64_t most, bool divide)
{
    if (n <= most)
        return (uint32_t)n;
    if (!divide)
        return (uint32_t)most;

    uint64_t divisor = most;
    while (n % divisor != 0)
        divisor--;
    return (uint32_t)(2 * divisor >= most ? divisor : most);
}

// The axis of lanes gets its share first, then the others what is left of
// `most`.
void hdi_choose_local_size(const uint64_t global[3], uint32_t limit,
                           unsigned workers, unsigned axis, uint32_t local[3])
{
    uint64_t items = 1;
    for (int i = 0; i < 3; i++)
        if (!hdi_multiply(items, global[i], &items))
            items = UINT64_MAX;

    // Rounded up: 21 items on 2 workers are groups of 11 and 10. With so few
    // items an even share matters more than equal groups.
    uint64_t most = items / workers + (items % workers != 0);
    bool plenty = most >= limit;
    if (plenty)
        most = limit;
    for (unsigned i = 0; i < 3; i++) {
        unsigned d = i == 0 ? axis : i == axis ? 0 : i;
        local[d] = part_of(global[d], most > 0 ? most : 1, plenty);
        most /= local[d];
    }
}
