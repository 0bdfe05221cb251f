// What is left in one module, and taking and giving it back.
//
// A module's state is the maps of its first-class resources and its levels: the
// longest runs and the counts of all. A run that is stale is no longer than its
// level says: taking leaves the level as it was last searched, giving back
// makes it the largest number. What a group took is the same words with the
// taken bits set: giving back is one OR.
#ifndef HDI_DISPATCH_MODEL_MODULE_H
#define HDI_DISPATCH_MODEL_MODULE_H

#include "dispatch/model/need.h"

// In the dispatcher's table. `weight` and the room's arrays are in its one
// block.
struct hdi_module {
    struct hdi_room room; // shape->map_words; runs are bounds where `stale`
    uint32_t stale;       // resources, as bits, whose maps changed since
    uint32_t pointer;     // of the split
    uint32_t first;       // unit at place 0 of the split
    int32_t *weight;      // of the score, by line: see balance.h
    uint32_t energy[HDI_MAX_RESOURCES]; // weights of what is left
};

// What one group holds.
// From the round that sends a group to its release.
struct hdi_lease {
    uint32_t module;
    uint32_t resources; // with something taken, as bits
    uint64_t *maps;     // shape->map_words
    uint16_t *lines;    // shape->line_pad, as hdi_need_lines() made them
};

// All free.
void hdi_module_clear(struct hdi_module *module, const struct hdi_shape *shape);

static inline void hdi_module_give(struct hdi_module *module,
                                   const struct hdi_simd *lanes,
                                   const struct hdi_lease *lease)
{
    lanes->give(&module->room, lease->maps, lease->lines);
    module->stale |= lease->resources;
}

// Whether a map is large, or searched by groups, and not among the lanes then.
static inline bool hdi_is_alone(const struct hdi_module_resource *resource)
{
    return !hdi_has_lanes(resource) || resource->group > 1;
}

// The longest run of such a map.
uint16_t hdi_module_run(const struct hdi_module *module,
                        const struct hdi_shape *shape, uint32_t resource,
                        uint32_t unit);

// Look for `count` free runs of `length` in such a map, lowest first; `taken`
// gets their bits. False: it has not so many.
bool hdi_module_take(const struct hdi_module *module,
                     const struct hdi_shape *shape, uint32_t resource,
                     uint32_t unit, unsigned length, unsigned count,
                     uint64_t *taken);

// Free blocks of a resource, over all units.
uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource);

#endif
