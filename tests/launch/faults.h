// For tests: page faults, which every kernel counts, instead of cache misses.
#ifndef HDI_TESTS_LAUNCH_FAULTS_H
#define HDI_TESTS_LAUNCH_FAULTS_H

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/measure/misses.h"
#include "tests/check.h"

enum {
    PAGES = 4096
};

// As many bytes as a page has.
static inline struct hdi_misses_source faults(void)
{
    return (struct hdi_misses_source){PERF_TYPE_SOFTWARE,
                                      PERF_COUNT_SW_PAGE_FAULTS,
                                      (uint64_t)sysconf(_SC_PAGESIZE)};
}

// Memory that no page is behind yet.
static inline char *map_pages(void)
{
    size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(pages != MAP_FAILED);
    madvise(pages, size, MADV_NOHUGEPAGE);
    return pages;
}

static inline void unmap_pages(char *pages)
{
    munmap(pages, PAGES * (size_t)sysconf(_SC_PAGESIZE));
}

#endif
