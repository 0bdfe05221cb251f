// Every instruction set this processor has gives what a plain loop gives.
#include "dispatch/lanes.h"

#include "dispatch/random.h"
#include "tests/check.h"

static struct hdi_random random_state;

static uint64_t bits(void) // about three in four set
{
    return hdi_random_next(&random_state) | hdi_random_next(&random_state);
}

static bool is_free(const uint64_t *maps, unsigned lane, unsigned block)
{
    return maps[block / 64 * HDI_LANES + lane] >> (block % 64) & 1;
}

// Lowest runs first, block by block.
static bool take_plainly(const uint64_t *maps, const uint16_t *length,
                         const uint16_t *count, uint64_t *taken)
{
    memset(taken, 0, HDI_LANE_WORDS * sizeof(*taken));
    for (unsigned lane = 0; lane < HDI_LANES; lane++) {
        unsigned found = 0;

        for (unsigned at = 0;
             found < count[lane] && at + length[lane] <= 128;) {
            unsigned n = 0;
            while (n < length[lane] && is_free(maps, lane, at + n))
                n++;
            if (n < length[lane]) {
                at++;
                continue;
            }
            for (n = 0; n < length[lane]; n++, at++)
                taken[at / 64 * HDI_LANES + lane] |= UINT64_C(1) << (at % 64);
            found++;
        }
        if (found < count[lane])
            return false;
    }
    return true;
}

static void runs_are_taken_lowest_first(const struct hdi_lanes *lanes)
{
    unsigned fitted = 0;

    for (unsigned round = 0; round < 100000; round++) {
        uint64_t maps[HDI_LANE_WORDS], got[HDI_LANE_WORDS];
        uint64_t wanted[HDI_LANE_WORDS];
        uint16_t length[HDI_LANES], count[HDI_LANES];

        for (unsigned i = 0; i < HDI_LANE_WORDS; i++)
            maps[i] = round % 7 == 0 ? ~UINT64_C(0)
                      : round % 2    ? bits()
                                     : bits() | bits();
        for (unsigned i = 0; i < HDI_LANES; i++) {
            unsigned most = round % 7 == 0 ? 128 : 8;
            count[i] = (uint16_t)hdi_random_below(&random_state, 4);
            length[i] = (uint16_t)(hdi_random_below(&random_state, most) + 1);
            if (count[i] > 1 && most == 128)
                length[i] = (uint16_t)(1 + length[i] / count[i] / 2);
            if (count[i] == 0 && round % 2)
                length[i] = 0;
        }
        bool fits = take_plainly(maps, length, count, wanted);
        CHECK(lanes->take(maps, length, count, got) == fits);
        CHECK(!fits || memcmp(got, wanted, sizeof(got)) == 0);
        fitted += fits;
    }
    CHECK(fitted > 10000 && fitted < 95000);
}

enum {
    LINES = 2 * HDI_ROW,
    MANY = 70,
    TURNS = 3
};

static uint16_t level[MANY * LINES], need[MANY * TURNS * LINES];

static bool covers(const uint16_t *has, const uint16_t *needs, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++) {
        if (has[i] < needs[i])
            return false;
    }
    return true;
}

static void matches_look_at_every_line(const struct hdi_lanes *lanes)
{
    for (unsigned round = 0; round < 200; round++) {
        unsigned lines = round % 2 ? HDI_ROW : LINES, stride = TURNS * lines;
        uint8_t turn[MANY];
        uint64_t fits[2] = {0, 0};
        unsigned count = 0;

        for (unsigned i = 0; i < MANY * LINES; i++)
            level[i] = (uint16_t)(100 + hdi_random_below(&random_state, 65000));
        for (unsigned i = 0; i < MANY * TURNS * LINES; i++)
            need[i] = hdi_random_below(&random_state, 40)
                          ? (uint16_t)hdi_random_below(&random_state, 100)
                          : (uint16_t)hdi_random_next(&random_state);
        for (unsigned m = 0; m < MANY; m++)
            turn[m] = (uint8_t)hdi_random_below(&random_state, TURNS);

        unsigned got = lanes->row(level, need, turn, lines, lines, MANY, fits);
        for (unsigned m = 0; m < MANY; m++) {
            bool fit = covers(level + m * lines, need + turn[m] * lines, lines);
            CHECK((fits[m / 64] >> (m % 64) & 1) == fit);
            count += fit;
        }
        CHECK(got == count);
        lanes->column(level, need, stride, lines, MANY, fits);
        for (unsigned c = 0; c < MANY; c++)
            CHECK((fits[c / 64] >> (c % 64) & 1) ==
                  covers(level, need + c * stride, lines));
    }
}

static void the_best_is_the_lowest_of_the_largest(const struct hdi_lanes *lanes)
{
    enum {
        WORDS = 3,
        ALL = 64 * WORDS
    };
    int32_t scores[ALL];
    uint64_t fits[WORDS];

    for (unsigned round = 0; round < 20000; round++) {
        unsigned wanted = ALL;

        for (unsigned m = 0; m < ALL; m++)
            scores[m] = (int32_t)hdi_random_below(&random_state, 9) - 4;
        for (unsigned w = 0; w < WORDS; w++)
            fits[w] = round % 3 == w ? 0 : bits() & bits() & bits();
        if (round % 10 == 0)
            memset(fits, 0, sizeof(fits));
        for (unsigned m = 0; m < ALL; m++) {
            if ((fits[m / 64] >> (m % 64) & 1) &&
                (wanted == ALL || scores[m] > scores[wanted]))
                wanted = m;
        }
        CHECK(lanes->best(fits, scores, WORDS) == wanted);
    }
}

static void sums_and_masks_are_exact(const struct hdi_lanes *lanes)
{
    uint64_t maps[24], taken[24], before[24];
    int32_t weight[LINES], sum = 0;

    for (unsigned i = 0; i < LINES; i++) {
        weight[i] = (int32_t)hdi_random_below(&random_state, 2000) - 1000;
        level[i] = (uint16_t)hdi_random_below(&random_state, 30000);
        sum += weight[i] * level[i];
    }
    CHECK(lanes->score(level, weight, LINES) == sum);
    for (unsigned i = 0; i < 24; i++) {
        maps[i] = before[i] = bits();
        taken[i] = maps[i] & bits();
    }
    lanes->clear(maps, taken, 24);
    for (unsigned i = 0; i < 24; i++)
        CHECK(maps[i] == (before[i] & ~taken[i]));
    lanes->set(maps, taken, 24);
    CHECK(memcmp(maps, before, sizeof(maps)) == 0);
}

int main(void)
{
    const struct hdi_lanes *lanes;

    for (unsigned i = 0; (lanes = hdi_lanes_at(i)); i++) {
        hdi_random_seed(&random_state, 5);
        runs_are_taken_lowest_first(lanes);
        matches_look_at_every_line(lanes);
        the_best_is_the_lowest_of_the_largest(lanes);
        sums_and_masks_are_exact(lanes);
    }
    CHECK(hdi_lanes() == hdi_lanes_at(0));
    return 0;
}
