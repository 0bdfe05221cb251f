// Whether this is the process that made a pool, or a child that fork() left
// without its threads.
//
// A page that the kernel clears in the child tells, at the price of a load: no
// system call, no handler, nothing global.
#ifndef HDI_STEAL_WORKER_ORIGIN_H
#define HDI_STEAL_WORKER_ORIGIN_H

#include <stdbool.h>
#include <sys/mman.h>

#include "base/memory.h"

struct hdi_origin {
    unsigned char *page; // 1 in the process that made it
};

static inline bool hdi_origin_init(struct hdi_origin *origin)
{
    origin->page = hdi_map(1);
    if (!origin->page)
        return false;
    // A kernel that cannot (before 4.14) leaves the 1, and the child waits.
    madvise(origin->page, hdi_page_size(), MADV_WIPEONFORK);
    *origin->page = 1;
    return true;
}

static inline void hdi_origin_destroy(struct hdi_origin *origin)
{
    if (origin->page)
        hdi_unmap(origin->page, 1);
}

static inline bool hdi_origin_is_here(const struct hdi_origin *origin)
{
    return *origin->page == 1;
}

#endif
