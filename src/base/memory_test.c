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

// A child that reads just outside must die.
static void pages_are_guarded(long offset)
{
    volatile char *m = hdi_map(1);
    CHECK(m);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(2); // a sanitizer would tell of the fault at length
        (void)m[offset];
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    hdi_unmap((void *)m, 1);
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
    CHECK(hdi_multiply(1ull << 31, 1ull << 32, &product));
    CHECK(product == 1ull << 63);
    CHECK(!hdi_multiply(1ull << 32, 1ull << 32, &product));
}

int main(void)
{
    pages_are_zeroed_and_aligned();
    pages_are_guarded(-1);
    pages_are_guarded((long)hdi_page_size());
    mappings_are_spread_out(1);
    mappings_are_spread_out(16 << 20);
    mappings_are_spread_out(30 << 20);
    impossible_sizes_fail();
    return 0;
}
