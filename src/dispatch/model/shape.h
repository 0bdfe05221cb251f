// What modules are made of: resources, how many units, how state is laid out.
//
// A first-class resource needs contiguous blocks, a second-class one only a
// count. A resource belongs to every unit or, when shared, to the module.
#ifndef HDI_DISPATCH_MODEL_SHAPE_H
#define HDI_DISPATCH_MODEL_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "dispatch/maps/runs.h"
#include "heddle/status.h"

// Bounds of tables. HDI_MAX_MODULES: a bit each, in words of 64.
// HDI_MAX_PRIORITIES: as many sets as one wide register compares.
// HDI_MAX_RESOURCES: sets of them fit in 32 bits.
enum {
    HDI_MAX_RESOURCES = 16,
    HDI_MAX_UNITS = 64, // of a module
    HDI_MAX_MODULES = 32768,
    HDI_MAX_PRIORITIES = 8,
    HDI_MAX_LINES = 1024
};

// How runs are searched: all lengths; whole groups of blocks; some lengths
// only.
enum hdi_search_kind {
    HDI_SEARCH_EXACT,
    HDI_SEARCH_GROUPED,
    HDI_SEARCH_SAMPLED
};

struct hdi_module_resource {
    char name[32];
    uint32_t blocks; // of one unit, or of the module when shared
    bool shared;
    bool contiguous; // first class
    // First class, of a unit: all waves of a group on a unit take one run side
    // by side. Otherwise every wave has a run of its own.
    bool together;
    enum hdi_search_kind search;
    uint32_t group;         // HDI_SEARCH_GROUPED: divides blocks; else 1
    const uint16_t *shifts; // HDI_SEARCH_SAMPLED: ascending, the caller's
    uint32_t shift_count;
    uint32_t energy; // what holding one block costs, any scale
};

// Levels are what is compared with a need. A line is one of them, of one
// resource and unit (or of the module): first the runs, those of small maps in
// the order of their lanes, then the counts.
enum hdi_line_kind {
    HDI_LINE_RUN,
    HDI_LINE_COUNT
};

struct hdi_line {
    uint8_t resource;
    uint8_t unit; // 0 when shared
    uint8_t kind; // enum hdi_line_kind
};

// Where the bits of a map are among a module's words: word k at
// first + k * stride. Maps of up to 128 blocks lie in groups of 8 lanes, low
// words then high words, for lanes.h; larger ones on their own.
struct hdi_map_place {
    uint32_t first;
    uint32_t stride;
};

// How the levels of a module are laid out:
//
//     level   | runs, small maps | runs, large maps | counts      | pad |
//             0                  lanes          count_begin    line_count
//
// The order puts all that is compared for one module into few whole rows.
struct hdi_shape {
    uint32_t modules, units;
    uint32_t waves; // the most a unit can hold
    uint32_t resource_count;
    struct hdi_module_resource resources[HDI_MAX_RESOURCES];

    // Made by hdi_shape_init().
    uint32_t count_begin, line_count;
    uint32_t line_pad; // a multiple of HDI_ROW
    struct hdi_line lines[HDI_MAX_LINES];
    uint32_t run_line[HDI_MAX_RESOURCES];   // first of its run lines
    uint32_t count_line[HDI_MAX_RESOURCES]; // first of its count lines
    struct hdi_map_place maps[HDI_MAX_RESOURCES][HDI_MAX_UNITS];
    uint32_t lanes;   // in use
    bool alone;       // some maps are not searched in lanes
    bool special;     // the same, or some are sampled
    uint32_t batches; // of 8 lanes, at the start of the words
    uint32_t batch_resources[HDI_MAX_RESOURCES * HDI_MAX_UNITS / 8]; // as bits
    uint32_t map_words; // of one module
    // By count line (0 for others): a block's share of all of its resource, in
    // 1/2^32; of a single block a little less.
    uint32_t line_share[HDI_MAX_LINES];
    double energy_scale; // 65536 / energy of all blocks of a module
};

// Check modules, units, waves and resources of `shape` and fill in the rest.
// HD_EINVAL names the resource.
hd_status hdi_shape_init(struct hdi_shape *shape, struct hd_error *error);

// Whether its maps are among the lanes.
static inline bool hdi_has_lanes(const struct hdi_module_resource *resource)
{
    return resource->contiguous && resource->blocks <= 128;
}

// Units that have this resource: 1 when it is shared.
static inline uint32_t hdi_holders(const struct hdi_shape *shape,
                                   uint32_t resource)
{
    return shape->resources[resource].shared ? 1 : shape->units;
}

// A need of `amount` blocks as it is searched and taken.
static inline uint32_t hdi_rounded(const struct hdi_module_resource *resource,
                                   uint32_t amount)
{
    uint32_t group = resource->group;

    return group <= 1 ? amount : (amount + group - 1) / group * group;
}

#endif
