// The memory that workers and units share: one piece, a portion per unit,
// each a mailbox.
//
// A portion is taken by one team at a time. The region lives as long as its
// device and every team that uses it: a unit that hangs may still write to its
// mailbox when the device is gone.
#ifndef HDI_BACKEND_CPU_REGION_H
#define HDI_BACKEND_CPU_REGION_H

#include <stdatomic.h>

#include "backend/mailbox.h"

// Invariant: `holders` is at least 1 while anybody may touch a mailbox; who
// takes it to 0 frees all. A portion's flag is set by hdi_region_take() and
// cleared by hdi_region_give(), so no two teams have one mailbox.
struct hdi_mailbox_region {
    _Atomic uint32_t holders; // the device, and teams
    uint32_t portions;
    struct hdi_mailbox *mailboxes;
    atomic_bool *taken;
};

struct hdi_mailbox_region *hdi_region_create(
    uint32_t portions);                                     // NULL: no memory
void hdi_region_release(struct hdi_mailbox_region *region); // NULL is allowed

// Take a portion and hold the region. Its mailbox is zeroed. NULL: it is taken.
struct hdi_mailbox *hdi_region_take(struct hdi_mailbox_region *region,
                                    uint32_t portion);
void hdi_region_give(struct hdi_mailbox_region *region, uint32_t portion);

#endif
