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
    impossible_sizes_fail();
    return 0;
}
