// Invariant: the run line of a small map has the number of its lane.
#include "dispatch/model/shape.h"

#include <string.h>

#include "base/error.h"
#include "dispatch/maps/lanes.h"

enum {
    LANE_BLOCKS = 128
};

// Whatever later sums would overflow is refused here.
static hd_status check_resource(const struct hdi_module_resource *resource,
                                uint32_t units, struct hd_error *error)
{
    const char *name = resource->name;

    if (resource->blocks == 0 || resource->blocks > HDI_MAX_BLOCKS)
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s' has %u blocks; 1 to %d are possible",
                        name, resource->blocks, HDI_MAX_BLOCKS);
    if ((uint64_t)resource->energy * resource->blocks * units > INT32_MAX)
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s': a weight of %u is too large; scale "
                        "all weights down",
                        name, resource->energy);
    if (!resource->contiguous && resource->search != HDI_SEARCH_EXACT)
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s' needs only a count: it has no runs to "
                        "search",
                        name);
    if (resource->search == HDI_SEARCH_GROUPED &&
        (resource->group == 0 || resource->blocks % resource->group != 0))
        return hdi_fail(error, HD_EINVAL,
                        "resource '%s': groups of %u do not divide its %u "
                        "blocks",
                        name, resource->group, resource->blocks);
    if (resource->search == HDI_SEARCH_SAMPLED) {
        bool rises = resource->shift_count > 0;
        for (uint32_t i = 0; i < resource->shift_count; i++)
            rises &= resource->shifts[i] < resource->blocks &&
                     (i == 0 || resource->shifts[i] > resource->shifts[i - 1]);
        if (!rises)
            return hdi_fail(error, HD_EINVAL,
                            "resource '%s': sampled shifts must ascend and "
                            "stay below its %u blocks",
                            name, resource->blocks);
    }
    return HD_OK;
}

// False: there are too many lines; the shape is useless then.
static bool add_lines(struct hdi_shape *shape, uint32_t resource,
                      enum hdi_line_kind kind)
{
    uint32_t holders = hdi_holders(shape, resource);
    uint32_t *first =
        kind == HDI_LINE_RUN ? shape->run_line : shape->count_line;

    if (shape->line_count + holders > HDI_MAX_LINES)
        return false;
    first[resource] = shape->line_count;
    for (uint32_t unit = 0; unit < holders; unit++) {
        shape->lines[shape->line_count++] =
            (struct hdi_line){.resource = (uint8_t)resource,
                              .unit = (uint8_t)unit,
                              .kind = (uint8_t)kind};
    }
    return true;
}

// Runs of small maps, runs of large maps, counts.
static bool place_lines(struct hdi_shape *shape)
{
    bool room = true;

    shape->line_count = 0;
    for (int small = 1; small >= 0; small--) {
        for (uint32_t r = 0; r < shape->resource_count; r++) {
            const struct hdi_module_resource *resource = &shape->resources[r];
            if (resource->contiguous && hdi_has_lanes(resource) == small)
                room = room && add_lines(shape, r, HDI_LINE_RUN);
        }
    }
    shape->count_begin = shape->line_count;
    for (uint32_t r = 0; r < shape->resource_count; r++)
        room = room && add_lines(shape, r, HDI_LINE_COUNT);
    // Whole batches of runs are written at once.
    shape->line_pad =
        (shape->line_count + HDI_LANES + HDI_ROW - 1) / HDI_ROW * HDI_ROW;
    return room;
}

// Where the words of a module's maps are:
//
//     words   | 8 low, 8 high: lanes 0 to 7 | lanes 8 to 15 | large maps ... |
static void place_maps(struct hdi_shape *shape)
{
    uint32_t lane = 0;

    memset(shape->batch_resources, 0, sizeof(shape->batch_resources));
    for (; lane < shape->count_begin; lane++) {
        uint32_t r = shape->lines[lane].resource;

        if (!hdi_has_lanes(&shape->resources[r]))
            break;
        shape->maps[r][shape->lines[lane].unit] = (struct hdi_map_place){
            .first = lane / HDI_LANES * HDI_LANE_WORDS + lane % HDI_LANES,
            .stride = HDI_LANES};
        shape->batch_resources[lane / HDI_LANES] |= 1u << r;
    }
    shape->lanes = lane;
    shape->batches = (lane + HDI_LANES - 1) / HDI_LANES;
    uint32_t word = shape->batches * HDI_LANE_WORDS;
    for (uint32_t line = lane; line < shape->count_begin; line++) {
        uint32_t r = shape->lines[line].resource;

        shape->maps[r][shape->lines[line].unit] =
            (struct hdi_map_place){.first = word, .stride = 1};
        word += hdi_map_words(shape->resources[r].blocks);
    }
    shape->map_words = (word + 7) / 8 * 8;
}

// A shape for which this failed is to be thrown away.
hd_status hdi_shape_init(struct hdi_shape *shape, struct hd_error *error)
{
    if (shape->modules == 0 || shape->modules > HDI_MAX_MODULES)
        return hdi_fail(error, HD_EINVAL, "%u modules; 1 to %d are possible",
                        shape->modules, HDI_MAX_MODULES);
    if (shape->units == 0 || shape->units > HDI_MAX_UNITS)
        return hdi_fail(error, HD_EINVAL,
                        "%u units in a module; 1 to %d are possible",
                        shape->units, HDI_MAX_UNITS);
    if (shape->waves == 0 || shape->waves > 1024)
        return hdi_fail(error, HD_EINVAL,
                        "%u waves in a unit; 1 to 1024 are possible",
                        shape->waves);
    if (shape->resource_count > HDI_MAX_RESOURCES)
        return hdi_fail(error, HD_EINVAL,
                        "%u resources; at most %d are possible",
                        shape->resource_count, HDI_MAX_RESOURCES);

    for (uint32_t r = 0; r < shape->resource_count; r++) {
        hd_status status =
            check_resource(&shape->resources[r], shape->units, error);

        if (status != HD_OK)
            return status;
        if (shape->resources[r].search != HDI_SEARCH_GROUPED)
            shape->resources[r].group = 1;
    }
    if (!place_lines(shape))
        return hdi_fail(error, HD_EINVAL,
                        "units times resources are more than %d",
                        HDI_MAX_LINES);
    place_maps(shape);

    uint64_t energy = 0;
    memset(shape->line_share, 0, sizeof(shape->line_share));
    shape->alone = shape->special = false;
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &shape->resources[r];
        shape->alone |= resource->contiguous &&
                        !(hdi_has_lanes(resource) && resource->group == 1);
        shape->special |= resource->search == HDI_SEARCH_SAMPLED;
        uint64_t all =
            (uint64_t)shape->resources[r].blocks * hdi_holders(shape, r);
        for (uint32_t q = 0; q < hdi_holders(shape, r); q++)
            shape->line_share[shape->count_line[r] + q] =
                all > 1 ? (uint32_t)((UINT64_C(1) << 32) / all) : UINT32_MAX;
        energy += shape->resources[r].energy * all;
    }
    shape->special |= shape->alone;
    shape->energy_scale = energy ? 65536.0 / (double)energy : 0;
    return HD_OK;
}
