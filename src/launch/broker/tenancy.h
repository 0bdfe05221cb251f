// Shares of the modules' caches, as a resource of the dispatcher.
//
// While launches whose data fit a cache one by one do not fit it together, a
// module's cache has tenants: launches that have run there lately. They hold
// blocks for their data, and each piece of theirs fits; a launch of the same
// priority that does not fit beside them waits, or runs in another module,
// until one of them has been there long enough or all are out of work. So data
// are not evicted with every piece, and modules come to have different tenants.
//
// Invariant: the blocks of the tenants of a module are at most all of them, and
// the dispatcher has the rest as what is left there. All under the broker's
// lock.
#ifndef HDI_LAUNCH_BROKER_TENANCY_H
#define HDI_LAUNCH_BROKER_TENANCY_H

#include "dispatch/dispatcher.h"
#include "launch/broker/bid.h"

// 1,024 blocks tell shares of a thousandth apart. With more than 16 tenants one
// goes.
enum {
    HDI_TENANCY_BLOCKS = 1024, // all of a module's cache
    HDI_TENANCY_MAX = 16
};

// `priority` is the level, 1 the highest.
struct hdi_tenant {
    const struct hdi_bid *bid;
    uint64_t since; // its data are there [ns]
    uint16_t blocks;
    uint8_t priority;
};

struct hdi_tenants {
    struct hdi_tenant at[HDI_TENANCY_MAX];
    unsigned count;
    uint16_t blocks; // of all
};

struct hdi_tenancy {
    struct hdi_dispatcher *dispatcher;
    uint32_t resource; // of the dispatcher's
    uint32_t channels, modules;
    uint64_t size;              // of each [bytes]
    uint64_t tenure;            // of a tenant [ns]
    bool off;                   // it is no resource
    uint64_t wanted;            // data of launches that fit it [bytes]
    bool amended;               // heads need some
    struct hdi_tenants *module; // by module; the broker's
};

// The bid counts, if its data fit a cache, until it leaves.
void hdi_tenancy_enter(struct hdi_tenancy *cache, struct hdi_bid *bid);
void hdi_tenancy_leave(struct hdi_tenancy *cache, struct hdi_bid *bid);

// Before a round for this module, where alone is a slot: the heads of all
// channels need what they would there.
void hdi_tenancy_amend(struct hdi_tenancy *cache, uint32_t module,
                       uint64_t now);

// Blocks that a lease of the bid has taken in that round.
uint16_t hdi_tenancy_need(const struct hdi_tenancy *cache, uint32_t module,
                          const struct hdi_bid *bid);

// A piece of the bid runs in the module.
void hdi_tenancy_settle(struct hdi_tenancy *cache, uint32_t module,
                        const struct hdi_bid *bid, uint64_t now);

#endif
