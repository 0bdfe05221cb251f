#include "launch/broker/tenancy.h"

#include <math.h>

// Tenants ---------------------------------------------------------------------

static unsigned find(const struct hdi_tenants *tenants,
                     const struct hdi_bid *bid)
{
    unsigned i = 0;

    while (i < tenants->count && tenants->at[i].bid != bid)
        i++;
    return i;
}

static bool has(const struct hdi_tenants *tenants, const struct hdi_bid *bid)
{
    return find(tenants, bid) < tenants->count;
}

static unsigned blocks_of(const struct hdi_tenants *tenants, uint8_t priority)
{
    unsigned blocks = 0;

    for (unsigned i = 0; i < tenants->count; i++)
        if (tenants->at[i].priority == priority)
            blocks += tenants->at[i].blocks;
    return blocks;
}

static void remove_at(struct hdi_tenants *tenants, unsigned i)
{
    tenants->blocks = (uint16_t)(tenants->blocks - tenants->at[i].blocks);
    tenants->at[i] = tenants->at[--tenants->count];
}

// Who goes first for a newcomer: those of other priorities, then the oldest.
static unsigned find_victim(const struct hdi_tenants *tenants, uint8_t priority)
{
    unsigned found = 0;

    for (unsigned i = 1; i < tenants->count; i++) {
        const struct hdi_tenant *a = &tenants->at[i], *b = &tenants->at[found];
        bool other = a->priority != priority;
        if (other != (b->priority != priority) ? other : a->since < b->since)
            found = i;
    }
    return found;
}

// Tenants leave until the newcomer fits.
static void add(struct hdi_tenants *tenants, const struct hdi_tenant *newcomer)
{
    while (tenants->count == HDI_TENANCY_MAX ||
           tenants->blocks + newcomer->blocks > HDI_TENANCY_BLOCKS)
        remove_at(tenants, find_victim(tenants, newcomer->priority));
    tenants->at[tenants->count++] = *newcomer;
    tenants->blocks = (uint16_t)(tenants->blocks + newcomer->blocks);
}

static void remove_before(struct hdi_tenants *tenants, uint64_t time)
{
    for (unsigned i = tenants->count; i-- > 0;)
        if (tenants->at[i].since < time)
            remove_at(tenants, i);
}

// The resource ----------------------------------------------------------------

// What tenants have of the module has changed.
// The dispatcher keeps what is left; this gives it the difference.
static void tell(struct hdi_tenancy *cache, uint32_t module, uint16_t before)
{
    int32_t more = before - cache->module[module].blocks;

    if (more != 0)
        hdi_dispatcher_offer(cache->dispatcher, module, cache->resource, 0,
                             more);
}

// Launches would drive each other's data out.
// While all data fit, no launch needs blocks, and nothing of this costs
// anything.
static bool is_crowded(const struct hdi_tenancy *cache)
{
    return cache->wanted > cache->size && !cache->off;
}

static uint16_t blocks_for(const struct hdi_tenancy *cache,
                           const struct hdi_bid *bid)
{
    double part = (double)bid->demand.data / (double)cache->size;

    return bid->counted ? (uint16_t)ceil(part * HDI_TENANCY_BLOCKS) : 0;
}

void hdi_tenancy_enter(struct hdi_tenancy *cache, struct hdi_bid *bid)
{
    bid->counted = bid->demand.data > 0 && bid->demand.data <= cache->size;
    cache->wanted += bid->counted ? bid->demand.data : 0;
}

void hdi_tenancy_leave(struct hdi_tenancy *cache, struct hdi_bid *bid)
{
    if (!bid->counted)
        return;
    cache->wanted -= bid->demand.data;
    for (uint32_t m = 0; m < cache->modules; m++) {
        struct hdi_tenants *tenants = &cache->module[m];
        uint16_t before = tenants->blocks;
        unsigned i = find(tenants, bid);
        if (i < tenants->count)
            remove_at(tenants, i);
        tell(cache, m, before);
    }
}

// Data that are there already need no more. No launch keeps out one of another
// priority: when that is chosen it is its turn.
uint16_t hdi_tenancy_need(const struct hdi_tenancy *cache, uint32_t module,
                          const struct hdi_bid *bid)
{
    const struct hdi_tenants *tenants = &cache->module[module];

    if (!is_crowded(cache) || has(tenants, bid))
        return 0;
    unsigned blocks = blocks_for(cache, bid);
    unsigned equals = blocks_of(tenants, hdi_bid_level(bid));
    bool fits = tenants->blocks + blocks <= HDI_TENANCY_BLOCKS;
    return fits || equals + blocks > HDI_TENANCY_BLOCKS ? (uint16_t)blocks : 0;
}

// Each round for one module, since what a launch needs depends on whether its
// data are there. Once more after the crowd has gone, to take the needs back.
void hdi_tenancy_amend(struct hdi_tenancy *cache, uint32_t module, uint64_t now)
{
    struct hdi_tenants *tenants = &cache->module[module];
    uint16_t before = tenants->blocks;

    if (!is_crowded(cache) && !cache->amended)
        return;
    cache->amended = is_crowded(cache);
    if (now > cache->tenure)
        remove_before(tenants, now - cache->tenure);
    tell(cache, module, before);
    for (uint32_t c = 0; c < cache->channels; c++) {
        const struct hdi_packet *head =
            hdi_dispatcher_head(cache->dispatcher, c);
        if (!head)
            continue;
        const struct hdi_bid *bid = (const void *)(uintptr_t)head->tag;
        hdi_dispatcher_amend(cache->dispatcher, c, cache->resource,
                             hdi_tenancy_need(cache, module, bid));
    }
}

void hdi_tenancy_settle(struct hdi_tenancy *cache, uint32_t module,
                        const struct hdi_bid *bid, uint64_t now)
{
    struct hdi_tenants *tenants = &cache->module[module];
    uint16_t before = tenants->blocks;

    if (!bid->counted || cache->off || has(tenants, bid))
        return;
    add(tenants, &(struct hdi_tenant){.bid = bid,
                                      .since = now,
                                      .blocks = blocks_for(cache, bid),
                                      .priority = hdi_bid_level(bid)});
    tell(cache, module, before);
}
