#include "backend/cpu/unit/region.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

struct hdi_mailbox_region *hdi_region_create(uint32_t portions)
{
    struct hdi_mailbox_region *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;

    r->holders = 1;
    r->portions = portions;
    r->taken = calloc(portions, sizeof(*r->taken));
    r->mailboxes = hdi_map(portions * sizeof(*r->mailboxes));
    if (!r->taken || !r->mailboxes) {
        hdi_region_release(r);
        return NULL;
    }
    hdi_debug("made one region of %u mailboxes", portions);
    return r;
}

// Sequentially consistent, as all here: units are opened and closed seldom. The
// last one to let go sees what the others did with the memory.
void hdi_region_release(struct hdi_mailbox_region *region)
{
    if (!region || atomic_fetch_sub(&region->holders, 1) > 1)
        return;

    hdi_unmap(region->mailboxes, region->portions * sizeof(*region->mailboxes));
    free(region->taken);
    free(region);
}

// The flag is claimed before the mailbox is cleared: nobody else looks at it in
// between. What a team that was given up may still write goes to a portion that
// stays taken.
struct hdi_mailbox *hdi_region_take(struct hdi_mailbox_region *region,
                                    uint32_t portion)
{
    if (atomic_exchange(&region->taken[portion], true))
        return NULL;

    atomic_fetch_add(&region->holders, 1);
    memset(&region->mailboxes[portion], 0, sizeof(*region->mailboxes));
    return &region->mailboxes[portion];
}

void hdi_region_give(struct hdi_mailbox_region *region, uint32_t portion)
{
    atomic_store(&region->taken[portion], false);
    hdi_region_release(region);
}
