#include "base/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    GUARD = 1 << 20, // on either side; address space costs nothing [bytes]
    // A processor takes a load for one of what was just stored when these bits
    // of their physical addresses are alike, and waits.
    ALIKE = 1 << 20 // [bytes]
};

// 2^64 by the golden ratio: multiples of it lie far apart.
static const uint64_t GOLDEN = 0x9e3779b97f4a7c15;

size_t hdi_page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

// By all processors of the machine, not those of this process: others run
// there.
uint64_t hdi_memory_share(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (pages <= 0 || cores <= 0)
        return UINT64_MAX; // not known
    return (uint64_t)pages * hdi_page_size() / 2 / (uint64_t)cores;
}

void hdi_clear(void *memory, size_t size)
{
    memset(memory, 0, size);
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

// Where memory begins that may begin at `address` or up to 2 * ALIKE later:
// neighbours do not begin at the same place of a megabyte.
// The megabyte's number times the golden ratio, of which the upper half chooses
// a page within it: neighbouring numbers get pages far apart. Without it, large
// mappings would begin at like places, and loads and stores of several arrays
// at one index would look alike to the processor.
static char *spread_out(char *address)
{
    size_t page = hdi_page_size();
    uint64_t at = hdi_round_up((uintptr_t)address, ALIKE);
    uint64_t place = (at / ALIKE * GOLDEN >> 32) * (ALIKE / page) >> 32;

    return address + (at - (uintptr_t)address) + place * page;
}

// Inaccessible memory, and that before and after it. NULL: there is none.
static char *reserve(size_t inside)
{
    size_t all = inside + 2 * GUARD + 2 * ALIKE;

    if (inside == 0)
        return NULL;
    char *outside = mmap(NULL, all, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (outside == MAP_FAILED)
        return NULL;
    char *memory = spread_out(outside + GUARD);
    char *end = memory + inside + GUARD;
    if (memory - GUARD > outside)
        munmap(outside, (size_t)(memory - GUARD - outside));
    munmap(end, (size_t)(outside + all - end)); // never empty
    return memory;
}

// What was reserved, if it could be made accessible.
static void *finish(char *memory, size_t inside, bool ok)
{
    if (ok)
        return memory;
    munmap(memory - GUARD, inside + 2 * GUARD);
    return NULL;
}

void *hdi_map(size_t size)
{
    size_t inside = whole_pages(size);
    char *m = reserve(inside);

    return m ? finish(m, inside,
                      mprotect(m, inside, PROT_READ | PROT_WRITE) == 0)
             : NULL;
}

void *hdi_map_shared(size_t size)
{
    const int kind = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    size_t inside = whole_pages(size);
    char *m = reserve(inside);

    return m ? finish(m, inside,
                      mmap(m, inside, PROT_READ | PROT_WRITE, kind, -1, 0) == m)
             : NULL;
}

// Of memory that is shared, mremap() from 0 bytes makes one more mapping.
void *hdi_map_view(void *memory, size_t size)
{
    const int kind = MREMAP_MAYMOVE | MREMAP_FIXED;
    size_t inside = whole_pages(size);
    char *m = reserve(inside);

    return m ? finish(m, inside,
                      mremap(memory, 0, inside, kind, m) == m &&
                          mprotect(m, inside, PROT_READ) == 0)
             : NULL;
}

void hdi_unmap(void *memory, size_t size)
{
    if (!memory)
        return;

    munmap((char *)memory - GUARD, whole_pages(size) + 2 * GUARD);
}
