#include "base/memory.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

static void pages_are_zeroed_and_aligned(void)
{
    size_t size = 3 * hdi_page_size() + 1;
    unsigned char *m = hdi_map(size);

    CHECK(m && (uintptr_t)m % hdi_page_size() == 0);
    for (size_t i = 0; i < size; i++)
        CHECK(m[i] == 0);
    memset(m, 1, size);
    hdi_unmap(m, size);
    hdi_unmap(NULL, 5);
}

// A child that does so must die.
static void nobody_may(bool write, volatile char *at)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(2); // a sanitizer would tell of the fault at length
        if (write)
            *at = 1;
        else
            (void)*at;
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static void pages_are_guarded(long offset)
{
    char *m = hdi_map(1);

    CHECK(m);
    nobody_may(false, m + offset);
    hdi_unmap(m, 1);
}

static void views_are_read(size_t size)
{
    char *m = hdi_map_shared(size), *view = hdi_map_view(m, size);

    CHECK(m && view && m != view);
    for (size_t i = 0; i < size; i++) {
        CHECK(m[i] == 0 && view[i] == 0);
        m[i] = (char)i;
    }
    for (size_t i = 0; i < size; i++)
        CHECK(view[i] == (char)i);
    nobody_may(true, view);
    nobody_may(true, view + size - 1);
    nobody_may(false, view - 1);
    nobody_may(false, view + hdi_round_up(size, hdi_page_size()));
    hdi_unmap(view, size);
    memset(m, 5, size);
    hdi_unmap(m, size);
}

static void other_memory_has_no_views(void)
{
    char *m = hdi_map(10);

    CHECK(m && !hdi_map_view(m, 10));
    m[0] = 1;
    hdi_unmap(m, 10);
}

// Loads at the place of a store, modulo 1 MiB, wait for it.
static void mappings_are_spread_out(size_t size)
{
    enum {
        COUNT = 16,
        MEGABYTE = 1 << 20
    };
    char *m[COUNT];
    int alike = 0;

    for (int i = 0; i < COUNT; i++) {
        m[i] = hdi_map(size);
        CHECK(m[i]);
        for (int j = 0; j < i; j++)
            alike += (uintptr_t)m[i] % MEGABYTE == (uintptr_t)m[j] % MEGABYTE;
    }
    CHECK(alike < COUNT / 2); // of 120 pairs
    for (int i = 0; i < COUNT; i++)
        hdi_unmap(m[i], size);
}

static void impossible_sizes_fail(void)
{
    uint64_t product;

    CHECK(hdi_map(SIZE_MAX) == NULL);
    CHECK(hdi_map(SIZE_MAX / 4) == NULL);
    CHECK(hdi_map_shared(SIZE_MAX / 4) == NULL);
    CHECK(hdi_multiply(1ull << 31, 1ull << 32, &product));
    CHECK(product == 1ull << 63);
    CHECK(!hdi_multiply(1ull << 32, 1ull << 32, &product));
}

int main(void)
{
    pages_are_zeroed_and_aligned();
    pages_are_guarded(-1);
    pages_are_guarded((long)hdi_page_size());
    views_are_read(1);
    views_are_read(3 * hdi_page_size() + 1);
    other_memory_has_no_views();
    mappings_are_spread_out(1);
    mappings_are_spread_out(16 << 20);
    mappings_are_spread_out(30 << 20);
    impossible_sizes_fail();
    return 0;
}
