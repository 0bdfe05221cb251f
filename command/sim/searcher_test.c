// A shared searcher gives every resource the answer it would get alone.
#include "sim/searcher.h"

#include "base/random.h"
#include "dispatch/maps/runs.h"
#include "tests/check.h"

static struct hdi_random random_state;

static void segments_lie_as_in_the_example(void)
{
    // 128 wide: 128 blocks alone, then 64 in the low half, 48 in the high one.
    unsigned blocks[] = {48, 128, 64};
    struct sim_searcher searcher;
    struct hd_error error;

    CHECK_OK(sim_searcher_init(&searcher, 128, blocks, 3, &error), error);
    CHECK(searcher.periods == 2);
    CHECK(searcher.map[1].period == 0 && searcher.map[1].first == 0);
    CHECK(searcher.map[2].period == 1 && searcher.map[2].first == 0);
    CHECK(searcher.map[0].period == 1 && searcher.map[0].first == 64);
}

static void answers_do_not_cross_borders(void)
{
    for (unsigned round = 0; round < 300; round++) {
        unsigned width = 16u << hdi_random_below(&random_state, 5);
        unsigned count = 1 + hdi_random_below(&random_state, 6);
        unsigned blocks[6], steps[6], found[6];
        uint64_t map[6][8];
        const uint64_t *maps[6];
        struct sim_searcher searcher;
        struct hd_error error;

        for (unsigned i = 0; i < count; i++) {
            blocks[i] = 1 + hdi_random_below(&random_state,
                                             hdi_random_below(&random_state, 2)
                                                 ? width
                                                 : width / 4);
            memset(map[i], 0, sizeof(map[i]));
            for (unsigned b = 0; b < blocks[i]; b++) {
                if (hdi_random_below(&random_state, 8) > round % 3)
                    hdi_map_set_blocks(map[i], b, 1);
            }
            maps[i] = map[i];
        }
        CHECK_OK(sim_searcher_init(&searcher, width, blocks, count, &error),
                 error);
        sim_searcher_steps(&searcher, maps, steps);
        sim_searcher_find(&searcher, maps, found);
        for (unsigned i = 0; i < count; i++) {
            CHECK(steps[i] == hdi_run_scan(map[i], blocks[i]));
            CHECK(found[i] == steps[i]);
        }
    }
}

static void too_wide_is_refused(void)
{
    unsigned blocks[] = {64, 129};
    struct sim_searcher searcher;
    struct hd_error error;

    CHECK_FAILS(sim_searcher_init(&searcher, 128, blocks, 2, &error), HD_EINVAL,
                error, "resource 1 has 129 blocks");
}

int main(void)
{
    hdi_random_seed(&random_state, 2);
    segments_lie_as_in_the_example();
    answers_do_not_cross_borders();
    too_wide_is_refused();
    return 0;
}
