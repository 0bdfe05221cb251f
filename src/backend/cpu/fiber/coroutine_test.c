// Where coroutines lie: whatever came before, they do not overlap, and where
// that costs nothing there is nothing behind each.
#include "backend/cpu/fiber/coroutine.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "tests/check.h"
#include "tests/mappings.h"

enum {
    KIB = 1024
};

// Linux before 6.13.
static bool is_old;

int __real_madvise(void *memory, size_t size, int advice);
int __wrap_madvise(void *memory, size_t size, int advice);

int __wrap_madvise(void *memory, size_t size, int advice)
{
    if (!is_old)
        return __real_madvise(memory, size, advice);
    errno = EINVAL;
    return -1;
}

static bool can_be_read(const char *at)
{
    static int ends[2];
    char c;

    if (ends[1] == 0)
        CHECK(pipe(ends) == 0);
    return write(ends[1], at, 1) == 1 && read(ends[0], &c, 1) == 1;
}

static bool is_apart(const struct hdi_coroutines *c, size_t index)
{
    const char *at = hdi_coroutines_at(c, index);
    const char *page = at - (uintptr_t)at % hdi_page_size();

    return !can_be_read(page - hdi_page_size()) &&
           !can_be_read(page + hdi_round_up((size_t)(at + c->size - page),
                                            hdi_page_size()));
}

// All of them can be written, and none is another.
static void use(const struct hdi_coroutines *c, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memset(hdi_coroutines_at(c, i), (int)(i % 251), c->size);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *at = (unsigned char *)hdi_coroutines_at(c, i);
        CHECK((uintptr_t)at % (c->size & -c->size) % hdi_page_size() == 0);
        for (size_t k = 0; k < c->size; k++)
            CHECK(at[k] == i % 251);
    }
}

static void reserve(struct hdi_coroutines *c, size_t count, size_t most,
                    uint64_t size)
{
    CHECK(hdi_coroutines_reserve(c, count, most, size));
    CHECK(c->size >= size);
    use(c, count);
}

static void few_or_large_ones_lie_apart(void)
{
    static const struct {
        size_t count, size;
        bool apart;
    } cases[] = {
        {1, 64, true},           {20, 192, true},
        {256, 320, true},        {256, 5000, true},
        {257, 320, false},       {1024, 192, false},
        {1024, 5 * KIB, true},   {16, 100 * KIB, true},
        {300, 100 * KIB, false}, // more than is kept
        {9, 64, true},           {8192, 64, false},
    };
    struct hdi_coroutines c = {0};

    for (int round = 0; round < 2; round++)
        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
            struct hdi_coroutines fresh = {0};
            reserve(&c, cases[k].count, cases[k].count, cases[k].size);
            reserve(&fresh, cases[k].count, cases[k].count, cases[k].size);
            CHECK((c.area == &c.apart) == cases[k].apart);
            CHECK((fresh.area == &fresh.apart) == cases[k].apart);
            for (size_t i = 0; cases[k].apart && i < cases[k].count; i++)
                CHECK(is_apart(&fresh, i));
            CHECK(cases[k].apart ||
                  hdi_coroutines_at(&fresh, 1) ==
                      hdi_coroutines_at(&fresh, 0) + fresh.size);
            hdi_coroutines_trim(&fresh);
            CHECK((fresh.together.memory == NULL) ==
                  (cases[k].apart || cases[k].size == 100 * KIB));
            hdi_coroutines_free(&fresh);
        }
    hdi_coroutines_free(&c);
}

static void with_guard_pages_all_end_there(void)
{
    struct hdi_coroutines c = {.guard = true};
    static const size_t counts[] = {3, 1024, 50};

    for (size_t i = 0; i < 3; i++) {
        reserve(&c, counts[i], counts[i], 96 << i);
        for (size_t k = 0; k < counts[i]; k++) {
            const char *end = hdi_coroutines_at(&c, k) + c.size;
            CHECK((uintptr_t)end % hdi_page_size() == 0 && !can_be_read(end));
        }
    }
    hdi_coroutines_free(&c);
}

// Groups at the edges are smaller, and several kernels take turns.
static void what_fits_stays_where_it_is(void)
{
    struct hdi_coroutines c = {0};

    reserve(&c, 256, 256, 6000);
    reserve(&c, 1024, 1024, 192);
    const char *apart = c.apart.memory, *together = c.together.memory;
    for (size_t i = 1; i < 256; i += 5) {
        reserve(&c, i, 256, 6000 - 16 * i);
        CHECK(c.area == &c.apart);
        reserve(&c, i * 4, 1024, 192 - i % 3 * 64);
        CHECK(c.area == &c.together);
    }
    CHECK(apart == c.apart.memory && together == c.together.memory);
    // Nor do they take turns in being too small.
    hdi_coroutines_free(&c);
    reserve(&c, 16, 16, 100 * KIB);
    reserve(&c, 256, 256, 64);
    apart = c.apart.memory;
    reserve(&c, 16, 16, 100 * KIB);
    reserve(&c, 256, 256, 64);
    reserve(&c, 16, 16, 100 * KIB);
    CHECK(c.apart.memory == apart);
    hdi_coroutines_free(&c);
}

static long most_mappings(void)
{
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    long most;

    if (!file || fscanf(file, "%ld", &most) != 1)
        most = 65530;
    if (file)
        fclose(file);
    return most;
}

// The process keeps most of its mappings, and units share the rest; those that
// come too late have what they need all the same.
static void many_units_lie_side_by_side(void)
{
    enum {
        UNITS = 64,
        COUNT = 256
    };
    static struct hdi_coroutines units[UNITS];
    int before = count_mappings();
    long most = most_mappings();
    int apart = 0;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < UNITS; i++) {
            reserve(&units[i], COUNT - 1, COUNT, 128);
            reserve(&units[i], COUNT, COUNT, 128);
            apart += units[i].area == &units[i].apart;
        }
        CHECK(count_mappings() < before + most / 4 + 4 * UNITS);
        CHECK(apart >= (round + 1) * (most / 4 / 2 / COUNT - 1));
        CHECK(apart < (round + 1) * UNITS || most / 4 / 2 >= UNITS * COUNT);
        for (int i = 0; i < UNITS; i++)
            hdi_coroutines_free(&units[i]);
    }
}

static void what_is_too_much_fails(void)
{
    struct hdi_coroutines c = {0};

    CHECK(!hdi_coroutines_reserve(&c, 8, 8, UINT64_MAX / 2));
    CHECK(!hdi_coroutines_reserve(&c, 8192, 8192, 1ull << 40));
    reserve(&c, 8, 8, 64);
    hdi_coroutines_free(&c);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        few_or_large_ones_lie_apart();
        with_guard_pages_all_end_there();
        what_fits_stays_where_it_is();
        what_is_too_much_fails();
        is_old = true;
    }
    many_units_lie_side_by_side();
    return 0;
}
