#include "graph/plan/placement.h"

#include "base/random.h"
#include "tests/check.h"

enum {
    MAX = 600
};

static struct hd_error error;
static const uint64_t long_time = UINT64_C(60) * 1000000000; // [ns]

static void make(const struct hdi_life *lives, uint32_t count,
                 uint64_t capacity, uint64_t time, struct hdi_placement *p)
{
    struct hdi_placement_params params = {.capacity = capacity, .time = time};

    CHECK_OK(hdi_placement_make(lives, count, &params, p, &error), error);
    CHECK_OK(hdi_placement_check(lives, count, p, &error), error);
    CHECK(p->height >= p->bound && p->greedy >= p->height);
}

static void what_never_meets_shares_memory(void)
{
    struct hdi_life lives[] = {{0, 2, 100}, {2, 4, 100}, {4, 6, 60}, {0, 6, 8}};
    struct hdi_placement p;

    make(lives, 4, 0, 0, &p);
    CHECK(p.height == 108 && p.bound == 108);
    hdi_placement_free(&p);
}

static void nothing_takes_no_memory(void)
{
    struct hdi_placement p;

    make(NULL, 0, 0, 0, &p);
    CHECK(p.height == 0);
    hdi_placement_free(&p);
}

// Cut a rectangle into lives again and again: it can be filled without a gap,
// which greedy orders hardly ever do.
static uint32_t cut(struct hdi_life *lives, uint32_t count, uint64_t width,
                    uint64_t height, uint64_t seed)
{
    uint64_t bottom[MAX];
    struct hdi_random random;
    uint32_t n = 1;

    hdi_random_seed(&random, seed);
    lives[0] = (struct hdi_life){0, width, height};
    bottom[0] = 0;
    while (n < count) {
        uint32_t i = (uint32_t)hdi_random_below64(&random, n);
        struct hdi_life *life = &lives[i];
        if (hdi_random_below64(&random, 2) == 0 &&
            life->upper - life->lower > 1) {
            uint64_t at =
                life->lower + 1 +
                hdi_random_below64(&random, life->upper - life->lower - 1);
            lives[n] = (struct hdi_life){at, life->upper, life->size};
            bottom[n++] = bottom[i];
            life->upper = at;
        } else if (life->size > 1) {
            uint64_t at = 1 + hdi_random_below64(&random, life->size - 1);
            lives[n] =
                (struct hdi_life){life->lower, life->upper, life->size - at};
            bottom[n++] = bottom[i] + at;
            life->size = at;
        }
    }
    return n;
}

static void the_search_fills_what_can_be_filled(void)
{
    struct hdi_life lives[MAX];
    uint32_t better = 0;

    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hdi_placement p;
        uint32_t count = cut(lives, 40, 50, 1000, seed);
        make(lives, count, 1000, long_time, &p);
        CHECK(p.height == 1000 && p.bound == 1000);
        better += p.greedy > p.height;
        hdi_placement_free(&p);
    }
    CHECK(better > 0);
}

// Whether lives from `at` on can be placed below `capacity`: tries all offsets.
static bool can(const struct hdi_life *lives, uint32_t count, uint32_t at,
                uint64_t *offset, uint64_t capacity)
{
    if (at == count)
        return true;
    for (offset[at] = 0; offset[at] + lives[at].size <= capacity;
         offset[at]++) {
        bool free = true;
        for (uint32_t i = 0; i < at && free; i++)
            free = lives[i].upper <= lives[at].lower ||
                   lives[at].upper <= lives[i].lower ||
                   offset[i] + lives[i].size <= offset[at] ||
                   offset[at] + lives[at].size <= offset[i];
        if (free && can(lives, count, at + 1, offset, capacity))
            return true;
    }
    return false;
}

static void check_least(const struct hdi_life *lives, uint32_t count,
                        uint64_t above)
{
    struct hdi_placement p;
    uint64_t offset[MAX], least;

    make(lives, count, 0, long_time, &p);
    for (least = p.bound; !can(lives, count, 0, offset, least);)
        least++;
    CHECK(p.height == least && least - p.bound == above);
    hdi_placement_free(&p);
}

// Most need no more than lives at one time; one that does is found in some ten
// thousand.
static void the_least_height_is_found(void)
{
    static const struct hdi_life tight[] = {
        {2, 4, 2}, {10, 17, 3}, {7, 10, 3}, {4, 5, 4}, {6, 8, 2},  {5, 13, 3},
        {0, 4, 5}, {1, 11, 2},  {5, 6, 4},  {0, 7, 1}, {9, 12, 3}, {2, 9, 1}};

    check_least(tight, 12, 1);
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct hdi_life lives[9];
        struct hdi_random random;
        hdi_random_seed(&random, seed);
        for (uint32_t i = 0; i < 9; i++) {
            lives[i].lower = hdi_random_below64(&random, 9);
            lives[i].upper =
                lives[i].lower + 1 + hdi_random_below64(&random, 5);
            lives[i].size = 1 + hdi_random_below64(&random, 3);
        }
        check_least(lives, 9, 0);
    }
}

static void many_lives_are_placed(void)
{
    static struct hdi_life lives[20000];
    struct hdi_random random;
    struct hdi_placement p;

    hdi_random_seed(&random, 7);
    for (uint32_t i = 0; i < 20000; i++)
        lives[i] =
            (struct hdi_life){i, i + 1 + hdi_random_below64(&random, 20),
                              64 * (1 + hdi_random_below64(&random, 100))};
    make(lives, 20000, 0, 1000000, &p);
    CHECK(p.height < 2 * p.bound);
    hdi_placement_free(&p);
}

// Things of any size that are made one after another out of recent ones, as
// passes make them: packed to within 1 % of the bound without a search.
static void programs_are_packed(void)
{
    enum {
        MANY = 1000,
        RECENT = 16
    };
    static struct hdi_life lives[MANY];
    struct hdi_random random;
    uint32_t recent[RECENT];
    struct hdi_placement p;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        hdi_random_seed(&random, seed);
        for (uint32_t i = 0; i < MANY; i++) {
            uint64_t size = UINT64_C(8) << hdi_random_below64(&random, 9);
            lives[i] = (struct hdi_life){
                i, i + UINT64_C(1),
                128 * (size + hdi_random_below64(&random, size))};
            for (int k = 0; k < 3 && i >= RECENT; k++)
                lives[recent[hdi_random_below64(&random, RECENT)]].upper =
                    i + UINT64_C(1);
            recent[i < RECENT ? i : hdi_random_below64(&random, RECENT)] = i;
        }
        make(lives, MANY, 0, 0, &p);
        uint64_t goal = p.bound + p.bound / 100;
        hdi_placement_free(&p);
        make(lives, MANY, goal, long_time, &p);
        CHECK(p.height <= goal && p.nodes == 0);
        hdi_placement_free(&p);
    }
}

static void lives_that_are_wrong_are_refused(void)
{
    struct hdi_placement p;
    struct hdi_placement_params params = {0};
    struct hdi_life none[] = {{3, 3, 1}};
    struct hdi_life large[] = {{0, 1, UINT64_C(1) << 62},
                               {0, 1, UINT64_C(1) << 62}};

    CHECK_FAILS(hdi_placement_make(none, 1, &params, &p, &error), HD_EINVAL,
                error, "life 0 ends at 3");
    CHECK_FAILS(hdi_placement_make(large, 2, &params, &p, &error), HD_ELIMIT,
                error, "too large");
}

static void the_validator_sees_what_is_wrong(void)
{
    struct hdi_life lives[] = {{0, 2, 10}, {1, 3, 10}};
    struct hdi_placement p;

    make(lives, 2, 0, 0, &p);
    CHECK(p.height == 20);
    uint64_t kept = p.offset[1];
    p.offset[1] = 5;
    CHECK_FAILS(hdi_placement_check(lives, 2, &p, &error), HD_EGRAPH, error,
                "lives 0 and 1 share bytes");
    p.offset[1] = kept;
    p.height = 19;
    CHECK_FAILS(hdi_placement_check(lives, 2, &p, &error), HD_EGRAPH, error,
                "above the height 19");
    hdi_placement_free(&p);
}

int main(void)
{
    what_never_meets_shares_memory();
    nothing_takes_no_memory();
    the_search_fills_what_can_be_filled();
    the_least_height_is_found();
    many_lives_are_placed();
    programs_are_packed();
    lives_that_are_wrong_are_refused();
    the_validator_sees_what_is_wrong();
}
