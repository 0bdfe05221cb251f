// What is left in one module, and taking and giving it back (D5).
//
// A module's state is the maps of its first-class resources and its levels: the
// longest runs, as last searched, and the counts of all. What a group took is
// the same words with the taken bits set: giving back is one OR.
#ifndef HDI_DISPATCH_MODULE_H
#define HDI_DISPATCH_MODULE_H

#include "dispatch/need.h"

struct hdi_module {
    struct hdi_room room; // shape->map_words; runs are old where `stale`
    uint32_t stale;       // resources, as bits, whose maps changed since
    uint32_t pointer;     // of the split (D12)
    uint32_t first;       // unit at place 0 of the split
    int32_t *weight;      // of the score, by line: see balance.h
    uint32_t energy[HDI_MAX_RESOURCES]; // weights of D13
};

// What one group holds.
struct hdi_lease {
    uint32_t module;
    uint32_t resources; // with something taken, as bits
    uint64_t *maps;     // shape->map_words
    uint16_t *lines;    // shape->line_pad, as hdi_need_lines() made them
};

// All free.
void hdi_module_clear(struct hdi_module *module, const struct hdi_shape *shape);

// Take what is asked, all or nothing; `lines` and `runs` as hdi_need_lines()
// made them for module->first, and their outline. False: it does not fit and
// nothing was taken. The counts are known to fit (the match is exact for them);
// runs are looked for here.
bool hdi_module_take(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lanes *lanes, const uint16_t *lines,
                     const uint16_t *runs, const struct hdi_outline *outline,
                     struct hdi_lease *lease);

void hdi_module_give(struct hdi_module *module, const struct hdi_lanes *lanes,
                     const struct hdi_lease *lease);

// Search the runs that are stale.
void hdi_module_search(struct hdi_module *module, const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes);

// Free blocks of a resource, over all units.
uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource);

#endif
