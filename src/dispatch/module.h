// What is left in one module, and taking and giving it back (D5).
//
// A module's state is the maps of its first-class resources and the counts of
// all. What a group took is the same words with the taken bits set: giving back
// is one OR.
#ifndef HDI_DISPATCH_MODULE_H
#define HDI_DISPATCH_MODULE_H

#include "dispatch/lanes.h"
#include "dispatch/need.h"
#include "dispatch/shape.h"

struct hdi_module {
    uint64_t *maps;   // shape->map_words
    uint16_t *left;   // free blocks: [resource * units + unit]
    uint16_t *runs;   // longest, by lane, as last searched
    uint32_t stale;   // resources, as bits, changed since
    uint32_t pointer; // of the split (D12)
    uint32_t first;   // unit at place 0 of the split
    uint32_t energy[HDI_MAX_RESOURCES]; // weights of D13
};

// What one group holds: shape->map_words words, shape->line_pad numbers.
struct hdi_lease {
    uint32_t module, first;
    uint64_t *maps;
    uint16_t *lines;    // as hdi_need_lines() made them
    uint32_t resources; // with something taken, as bits
};

// All free.
void hdi_module_clear(struct hdi_module *module, const struct hdi_shape *shape);

// Take what `need` asks, waves by place as in `split` and blocks as in `lines`,
// all or nothing. False: it does not fit and nothing was taken.
bool hdi_module_take(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lanes *lanes, const struct hdi_need *need,
                     const uint16_t *split, const uint16_t *lines,
                     struct hdi_lease *lease);

void hdi_module_give(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lease *lease);

// Fill in every line's level, by place from module->first on.
void hdi_module_levels(struct hdi_module *module, const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes, uint16_t *levels);

// Free blocks of a resource, over all units.
uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource);

#endif
