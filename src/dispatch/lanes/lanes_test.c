// Every instruction set this processor has gives what a plain loop gives.
#include "dispatch/maps/lanes.h"

#include "base/random.h"
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

static struct hdi_run_bounds bounds_of(const uint16_t *length,
                                       const uint16_t *count)
{
    struct hdi_run_bounds bounds = {0};

    for (unsigned i = 0; i < HDI_LANES; i++) {
        bounds.length = length[i] > bounds.length ? length[i] : bounds.length;
        bounds.count = count[i] > bounds.count ? count[i] : bounds.count;
    }
    return bounds;
}

static void runs_are_taken_lowest_first(const struct hdi_simd *lanes)
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
        CHECK(lanes->take(maps, length, count, bounds_of(length, count), got) ==
              fits);
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
static uint16_t pages[64 * LINES];

static bool covers(const uint16_t *has, const uint16_t *needs, unsigned lines)
{
    for (unsigned i = 0; i < lines; i++) {
        if (has[i] < needs[i])
            return false;
    }
    return true;
}

static void matches_look_at_every_line(const struct hdi_simd *lanes)
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
        for (unsigned c = 0; c < 64; c++) {
            uint16_t *page = pages + (size_t)c / HDI_PAGE * HDI_PAGE * lines;
            for (unsigned i = 0; i < lines; i++)
                page[hdi_page_place(c, i)] = need[c * stride + i];
        }
        uint64_t column =
            lanes->column(level, pages, HDI_PAGE * lines, lines, 64);
        for (unsigned c = 0; c < 64; c++)
            CHECK((column >> c & 1) == covers(level, need + c * stride, lines));
    }
}

static void the_best_is_the_lowest_of_the_largest(const struct hdi_simd *lanes)
{
    enum {
        WORDS = 3,
        ALL = 64 * WORDS
    };
    int32_t scores[ALL];
    uint64_t fits[WORDS];

    for (unsigned round = 0; round < 20000; round++) {
        static const unsigned sizes[] = {16, 64, ALL, 5, 33, 130};
        unsigned modules = sizes[round % 6], wanted = ALL;

        for (unsigned m = 0; m < ALL; m++)
            scores[m] = (int32_t)hdi_random_below(&random_state, 9) - 4;
        for (unsigned w = 0; w < WORDS; w++)
            fits[w] = round % 9 == w ? 0 : bits() & bits() & bits();
        if (round % 10 == 0)
            memset(fits, 0, sizeof(fits));
        for (unsigned m = modules; m < ALL; m++)
            fits[m / 64] &= ~(UINT64_C(1) << m % 64);
        for (unsigned m = 0; m < modules; m++) {
            if ((fits[m / 64] >> (m % 64) & 1) &&
                (wanted == ALL || scores[m] > scores[wanted]))
                wanted = m;
        }
        unsigned got = lanes->best(fits, scores, modules);
        CHECK(wanted == ALL ? got >= modules : got == wanted);
    }
}

static void a_bit_is_spread_over_channels(const struct hdi_simd *lanes)
{
    enum {
        CHANNELS = 13,
        ROOM = 16
    };

    for (unsigned round = 0; round < 2000; round++) {
        unsigned words = 1 + round % 3, bit = round % 64;
        uint64_t fits[ROOM * 3] = {0}, before[ROOM * 3];
        uint64_t now = bits() & bits() & ((UINT64_C(1) << CHANNELS) - 1);

        for (unsigned i = 0; i < CHANNELS * words; i++)
            fits[i] = round % 5 ? bits() & bits() & bits() & bits()
                                : (uint64_t)(i % 2) << bit;
        memcpy(before, fits, sizeof(fits));
        uint64_t any = lanes->spread(fits, words, bit, now, CHANNELS);
        for (unsigned i = 0; i < CHANNELS * words; i++) {
            uint64_t wanted = before[i];
            if (i % words == 0) {
                wanted &= ~(UINT64_C(1) << bit);
                wanted |= (now >> i / words & 1) << bit;
                CHECK((any >> i / words & 1) == (wanted != 0));
            }
            CHECK(fits[i] == wanted);
        }
        CHECK(any >> CHANNELS == 0);
    }
}

static void a_search_writes_its_lines_only(const struct hdi_simd *lanes)
{
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t maps[HDI_LANE_WORDS];
        uint16_t found[HDI_LANES], levels[LINES], before[LINES];
        unsigned count = 1 + round % HDI_LANES, lane = round % 7 * HDI_LANES;

        for (unsigned i = 0; i < HDI_LANE_WORDS; i++)
            maps[i] = round % 9 == i % 9 ? ~UINT64_C(0) : bits();
        for (unsigned i = 0; i < LINES; i++)
            levels[i] = before[i] = (uint16_t)hdi_random_next(&random_state);
        lanes->runs(maps, 1, found);
        lanes->search(maps, count, levels, lane);
        memcpy(before + lane, found, count * sizeof(*found));
        CHECK(memcmp(levels, before, sizeof(levels)) == 0);
    }
}

// As all at once, with lanes from `lanes` on left alone.
static void few_runs_are_taken_alike(const struct hdi_simd *lanes)
{
    for (unsigned round = 0; round < 20000; round++) {
        uint64_t maps[HDI_LANE_WORDS], got[HDI_LANE_WORDS];
        uint64_t wanted[HDI_LANE_WORDS];
        uint16_t length[HDI_LANES], count[HDI_LANES], some[HDI_LANES] = {0};
        unsigned here = 1 + round % HDI_LANES;
        unsigned longest = round % 3 ? 8 : 128;

        for (unsigned i = 0; i < HDI_LANE_WORDS; i++)
            maps[i] = longest == 8 ? bits() | bits()
                                   : ~(bits() & bits() & bits() & bits() &
                                       bits() & bits() & bits());
        for (unsigned i = 0; i < HDI_LANES; i++) {
            count[i] = (uint16_t)hdi_random_below(&random_state, 4);
            length[i] =
                (uint16_t)(hdi_random_below(&random_state, longest) + 1);
        }
        memcpy(some, count, here * sizeof(*some));
        bool fits = take_plainly(maps, length, some, wanted);
        CHECK(lanes->take_few(maps, length, count, here,
                              bounds_of(length, count), got) == fits);
        CHECK(!fits || memcmp(got, wanted, sizeof(got)) == 0);
    }
}

static void sums_are_exact(const struct hdi_simd *lanes)
{
    enum {
        AT = 21,
        ROOM = 32
    };
    int32_t weight[LINES], scores[ROOM], spaces[ROOM];
    uint32_t share[LINES];

    for (unsigned round = 0; round < 100; round++) {
        unsigned lines = round % 2 ? HDI_ROW : LINES;
        int32_t sum = 0;
        uint64_t space = 0;

        for (unsigned i = 0; i < ROOM; i++)
            scores[i] = spaces[i] = (int32_t)i;
        for (unsigned i = 0; i < LINES; i++) {
            weight[i] = (int32_t)hdi_random_below(&random_state, 2000) - 1000;
            level[i] = (uint16_t)hdi_random_below(&random_state, 1000);
            share[i] = hdi_random_below(&random_state, 1u << 30);
            sum += i < lines ? weight[i] * level[i] : 0;
            space += i < lines ? (uint64_t)share[i] * level[i] : 0;
        }
        lanes->score(level, weight, lines, scores, AT);
        lanes->space(level, share, lines, spaces, AT);
        for (unsigned i = 0; i < ROOM; i++) {
            CHECK(scores[i] == (i == AT ? sum : (int32_t)i));
            CHECK(spaces[i] == (i == AT ? (int32_t)(space >> 16) : (int32_t)i));
        }
    }
}

static void what_is_occupied_comes_back(const struct hdi_simd *lanes)
{
    uint64_t maps[24], taken[24], before[24];
    uint16_t levels[LINES], lines[LINES], all[LINES];

    for (unsigned counts = 0; counts <= LINES; counts++) {
        struct hdi_room room = {.maps = maps,
                                .level = levels,
                                .words = 24,
                                .counts = counts,
                                .lines = LINES};
        for (unsigned i = 0; i < 24; i++) {
            maps[i] = before[i] = bits();
            taken[i] = maps[i] & bits();
        }
        for (unsigned i = 0; i < LINES; i++) {
            lines[i] = (uint16_t)hdi_random_below(&random_state, 3);
            levels[i] = all[i] = (uint16_t)(lines[i] + i);
        }
        lanes->occupy(&room, taken, lines);
        for (unsigned i = 0; i < 24; i++)
            CHECK(maps[i] == (before[i] & ~taken[i]));
        for (unsigned i = 0; i < LINES; i++)
            CHECK(levels[i] == (i < counts ? all[i] : i));
        lanes->give(&room, taken, lines);
        CHECK(memcmp(maps, before, sizeof(maps)) == 0);
        for (unsigned i = 0; i < LINES; i++)
            CHECK(levels[i] ==
                  (i < counts && lines[i] > 0 ? UINT16_MAX : all[i]));
    }
}

int main(void)
{
    const struct hdi_simd *lanes;

    for (unsigned i = 0; (lanes = hdi_lanes_at(i)); i++) {
        hdi_random_seed(&random_state, 5);
        runs_are_taken_lowest_first(lanes);
        matches_look_at_every_line(lanes);
        the_best_is_the_lowest_of_the_largest(lanes);
        few_runs_are_taken_alike(lanes);
        a_search_writes_its_lines_only(lanes);
        a_bit_is_spread_over_channels(lanes);
        sums_are_exact(lanes);
        what_is_occupied_comes_back(lanes);
    }
    CHECK(hdi_lanes() == hdi_lanes_at(0));
    return 0;
}
