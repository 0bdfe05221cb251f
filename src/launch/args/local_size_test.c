#include "launch/args/local_size.h"

#include <stdbool.h>

#include "tests/check.h"

// With lanes along each axis in turn, which takes the place of x.
static bool chosen(uint64_t gx, uint64_t gy, uint64_t gz, unsigned workers,
                   uint32_t x, uint32_t y, uint32_t z)
{
    const uint64_t global[3] = {gx, gy, gz};
    const uint32_t right[3] = {x, y, z};
    uint32_t local[3];
    bool good = true;

    for (unsigned axis = 0; axis < 3; axis++) {
        const uint64_t turned[3] = {global[axis],
                                    axis == 1 ? global[0] : global[1],
                                    axis == 2 ? global[0] : global[2]};
        hdi_choose_local_size(turned, 256, workers, axis, local);
        printf("chosen: %u x %u x %u\n", local[0], local[1], local[2]);
        for (unsigned d = 0; d < 3; d++)
            good &= local[d == 0 ? axis : d == axis ? 0 : d] == right[d];
    }
    return good;
}

// The worked case of the specification.
static void twenty_items_on_two_cores_are_two_groups_of_ten(void)
{
    CHECK(chosen(20, 1, 1, 2, 10, 1, 1));
}

static void every_worker_gets_a_group(void)
{
    CHECK(chosen(20, 1, 1, 20, 1, 1, 1));
    CHECK(chosen(20, 1, 1, 100, 1, 1, 1));
    CHECK(chosen(1, 1, 1, 4, 1, 1, 1));
    CHECK(chosen(8, 8, 1, 2, 8, 4, 1));
}

static void sizes_divide_large_ranges(void)
{
    CHECK(chosen(1024, 1024, 1, 2, 256, 1, 1));
    CHECK(chosen(1000, 1000, 1, 2, 250, 1, 1));
    CHECK(chosen(100, 100, 100, 2, 100, 2, 1));
    CHECK(chosen(1048576, 1, 1, 64, 256, 1, 1));
}

// A prime has no divisor worth taking; the last group is then smaller.
static void primes_leave_a_smaller_last_group(void)
{
    CHECK(chosen(1009, 1, 1, 2, 256, 1, 1));
    CHECK(chosen(21, 1, 1, 2, 11, 1, 1));
    CHECK(chosen(UINT64_MAX, UINT64_MAX, 1, 2, 255, 1, 1));
}

int main(void)
{
    twenty_items_on_two_cores_are_two_groups_of_ten();
    every_worker_gets_a_group();
    sizes_divide_large_ranges();
    primes_leave_a_smaller_last_group();
    return 0;
}
