#include "base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
    GUARD = 1 << 20 // on either side; address space costs nothing [bytes]
};

size_t hdi_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t whole_pages(size_t size)
{
    size_t page = hdi_page_size();
    if (size == 0)
        return page;
    if (size > SIZE_MAX / 2)
        return 0;
    return hdi_round_up(size, page);
}

void *hdi_map(size_t size)
{
    size_t inside = whole_pages(size);
    if (inside == 0)
        return NULL;

    char *outside = mmap(NULL, inside + 2 * GUARD, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (outside == MAP_FAILED)
        return NULL;
    if (mprotect(outside + GUARD, inside, PROT_READ | PROT_WRITE) != 0) {
        munmap(outside, inside + 2 * GUARD);
        return NULL;
    }
    return outside + GUARD;
}

void hdi_unmap(void *memory, size_t size)
{
    if (!memory)
        return;

    munmap((char *)memory - GUARD, whole_pages(size) + 2 * GUARD);
}
