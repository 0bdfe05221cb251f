// Every form of the longest free run against the bit-by-bit scan: all maps of
// small resources, random ones of large resources, on every instruction set.
#include "dispatch/maps/runs.h"

#include "base/random.h"
#include "dispatch/maps/lanes.h"
#include "tests/check.h"
#include "tests/dispatch/run_steps.h"

enum {
    SMALL = 14
};

static struct hdi_random random_state;

static const struct hdi_steps steps[] = {
    {HDI_SHIFT_DOWN, HDI_FREE_IS_ONE},
    {HDI_SHIFT_UP, HDI_FREE_IS_ONE},
    {HDI_SHIFT_DOWN, HDI_FREE_IS_ZERO},
    {HDI_SHIFT_UP, HDI_FREE_IS_ZERO},
};

// Runs of up to `longest` blocks, free with a chance of `percent`.
static void fill(uint64_t *map, unsigned blocks, unsigned longest,
                 unsigned percent)
{
    memset(map, 0, hdi_map_words(blocks) * sizeof(*map));
    for (unsigned i = 0; i < blocks;) {
        unsigned length = 1 + hdi_random_below(&random_state, longest);
        bool free = hdi_random_below(&random_state, 100) < percent;

        if (length > blocks - i)
            length = blocks - i;
        if (free)
            hdi_map_set_blocks(map, i, length);
        i += length;
    }
}

static unsigned scan_groups(const uint64_t *map, unsigned blocks,
                            unsigned group)
{
    unsigned run = 0, best = 0;

    for (unsigned first = 0; first < blocks; first += group) {
        bool free = true;
        for (unsigned i = first; i < first + group; i++)
            free &= map[i / 64] >> (i % 64) & 1;
        run = free ? run + group : 0;
        if (run > best)
            best = run;
    }
    return best;
}

static unsigned scan_first(const uint64_t *map, unsigned blocks,
                           unsigned length, unsigned align)
{
    for (unsigned start = 0; start + length <= blocks; start += align) {
        unsigned i = 0;
        while (i < length && (map[(start + i) / 64] >> ((start + i) % 64) & 1))
            i++;
        if (i == length)
            return start;
    }
    return HDI_NO_RUN;
}

static void all_forms_agree(const uint64_t *map, unsigned blocks,
                            const uint16_t *shifts, unsigned shift_count)
{
    unsigned exact = hdi_run_scan(map, blocks);

    CHECK(hdi_run_walk(map, blocks) == exact);
    CHECK(hdi_run_exact(map, blocks) == exact);
    const struct hdi_simd *lanes;
    for (unsigned i = 0; (lanes = hdi_lanes_at(i)); i++)
        CHECK(lanes->run(map, hdi_map_words(blocks)) == exact);

    for (unsigned i = 0; i < 4; i++) {
        CHECK(hdi_run_exact_steps(map, blocks, steps[i]) == exact);
        unsigned sampled =
            hdi_run_sampled_steps(map, blocks, shifts, shift_count, steps[i]);
        CHECK(sampled <= exact);
        CHECK(hdi_run_sampled(exact, shifts, shift_count) == sampled);
    }
    for (unsigned group = 1; group <= blocks && group <= 128; group++) {
        if (blocks % group != 0)
            continue;
        unsigned found = scan_groups(map, blocks, group);
        CHECK(hdi_run_grouped(map, blocks, group) == found);
        CHECK(found <= exact && found % group == 0);
        CHECK(hdi_run_grouped_steps(map, blocks, group, steps[group % 4]) ==
              found);
    }
}

static void forms_agree_on_all_small_maps(void)
{
    for (unsigned blocks = 1; blocks <= SMALL; blocks++) {
        uint16_t shifts[SMALL];
        unsigned count = 0;
        for (unsigned shift = 0; shift < blocks; shift = shift * 2 + 1)
            shifts[count++] = (uint16_t)shift;
        for (uint64_t map = 0; map < 1u << blocks; map++)
            all_forms_agree(&map, blocks, shifts, count);
    }
}

// All up to 16, then fewer and fewer.
static unsigned choose_shifts(unsigned blocks, uint16_t *shifts)
{
    unsigned count = 0, step = 1;

    for (unsigned shift = 0; shift < blocks; shift += step) {
        shifts[count++] = (uint16_t)shift;
        if (shift == 16u * step)
            step *= 2;
    }
    return count;
}

static void forms_agree_on_large_maps(void)
{
    static const unsigned sizes[] = {63,  64,  65,   127,  128,  129, 192,
                                     256, 500, 1023, 1024, 2048, 4096};
    uint64_t map[64];
    static uint16_t shifts[4096];

    for (unsigned s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        unsigned blocks = sizes[s];
        unsigned count = choose_shifts(blocks, shifts);
        unsigned repeats = blocks > 1024 ? 12 : 60;
        for (unsigned i = 0; i < repeats; i++) {
            unsigned longest = 1 + hdi_random_below(&random_state, blocks);
            fill(map, blocks, i % 2 ? longest : 8,
                 10 + hdi_random_below(&random_state, 90));
            all_forms_agree(map, blocks, shifts, count);
        }
        memset(map, 0, sizeof(map));
        all_forms_agree(map, blocks, shifts, count);
        hdi_map_set_blocks(map, 0, blocks);
        CHECK(hdi_run_exact(map, blocks) == blocks);
        all_forms_agree(map, blocks, shifts, count);
    }
}

static void eight_maps_at_once_agree(void)
{
    uint64_t maps[HDI_LANE_WORDS];
    uint16_t found[HDI_LANES];
    const struct hdi_simd *lanes;

    for (unsigned round = 0; round < 20000; round++) {
        for (unsigned i = 0; i < HDI_LANES; i++) {
            uint64_t one[2] = {0, 0};
            fill(one, i % 2 ? 128 : 1 + hdi_random_below(&random_state, 128),
                 1 + hdi_random_below(&random_state, 128), 70);
            maps[i] = one[0];
            maps[HDI_LANES + i] = one[1];
        }
        for (unsigned i = 0; (lanes = hdi_lanes_at(i)); i++) {
            for (unsigned group = 1; group <= 64; group *= 2) {
                lanes->runs(maps, group, found);
                for (unsigned lane = 0; lane < HDI_LANES; lane++) {
                    uint64_t one[2] = {maps[lane], maps[HDI_LANES + lane]};
                    CHECK(found[lane] == scan_groups(one, 128, group));
                }
            }
        }
    }
}

static void first_run_is_the_lowest(void)
{
    uint64_t map[8];

    for (unsigned round = 0; round < 20000; round++) {
        unsigned blocks = 16 * (1 + hdi_random_below(&random_state, 32));
        unsigned align = 1u << hdi_random_below(&random_state, 5);
        unsigned length = 1 + hdi_random_below(&random_state, blocks / 2);

        fill(map, blocks, 2 * length, 60);
        CHECK(hdi_run_first(map, blocks, length, align) ==
              scan_first(map, blocks, length, align));
    }
}

static void table_reads_what_a_scan_reads(void)
{
    enum {
        BITS = 12
    };
    static uint8_t table[1 << BITS];

    hdi_steps_table(table, BITS);
    for (uint64_t map = 0; map < 1u << BITS; map++) {
        for (unsigned i = 0; i < 4; i++) {
            uint64_t sequence;
            hdi_steps_sequence(&map, BITS, steps[i], &sequence);
            CHECK(table[sequence] == hdi_run_scan(&map, BITS));
            // A run of i + 1 has one of i in it: 0...01...1.
            CHECK((sequence & (sequence + 1)) == 0);
        }
    }
}

// 128 blocks in groups of 4, each block free with probability 1/2.
static void grouped_search_misses_as_published(void)
{
    double group = 1 - 1.0 / 16, unit = 1;
    for (int i = 0; i < 32; i++)
        unit *= group;
    double module = 1 - (1 - unit) * (1 - unit) * (1 - unit) * (1 - unit);
    double all = 1;
    for (int i = 0; i < 16; i++)
        all *= module;
    CHECK(unit > 0.1265 && unit < 0.1275);
    CHECK(module > 0.418 && module < 0.419); // published cut, not rounded
    CHECK(all > 8.5e-7 && all < 9.5e-7);

    // And so it comes out of the search itself.
    enum {
        MODULES = 100000
    };
    unsigned units_without = 0, modules_without = 0;
    for (unsigned m = 0; m < MODULES; m++) {
        bool without = false;
        for (unsigned q = 0; q < 4; q++) {
            uint64_t map[2] = {hdi_random_next(&random_state),
                               hdi_random_next(&random_state)};
            bool none = hdi_run_grouped(map, 128, 4) == 0;
            units_without += none;
            without |= none;
        }
        modules_without += without;
    }
    // Five standard deviations.
    double a = units_without / (4.0 * MODULES);
    double b = modules_without / (double)MODULES;
    CHECK(a > unit - 0.0027 && a < unit + 0.0027);
    CHECK(b > module - 0.0078 && b < module + 0.0078);
}

int main(void)
{
    hdi_random_seed(&random_state, 1);
    forms_agree_on_all_small_maps();
    forms_agree_on_large_maps();
    eight_maps_at_once_agree();
    first_run_is_the_lowest();
    table_reads_what_a_scan_reads();
    grouped_search_misses_as_published();
    return 0;
}
