// Invariant: a count is the number of set bits of its map (first class) or
// blocks minus what leases hold (second class); maps and leases never share a
// bit.
#include "dispatch/module.h"

#include <string.h>

// Take `count` runs of `length`, lowest first; bits go from `map` to `taken`.
static bool take_large(uint64_t *map, uint64_t *taken, unsigned blocks,
                       unsigned length, unsigned count, unsigned group)
{
    for (; count > 0; count--) {
        unsigned at = hdi_run_first(map, blocks, length, group);
        if (at == HDI_NO_RUN)
            return false;
        hdi_map_clear(map, at, length);
        hdi_map_set(taken, at, length);
    }
    return true;
}

// One map on its own: it is large, or searched by groups.
static bool take_alone(const struct hdi_module *module,
                       const struct hdi_shape *shape, uint32_t resource,
                       uint32_t unit, unsigned length, unsigned count,
                       uint64_t *taken)
{
    const struct hdi_resource *r = &shape->resources[resource];
    const struct hdi_map_place *place = &shape->maps[resource][unit];
    unsigned words = hdi_map_words(r->blocks);
    uint64_t copy[HDI_MAX_BLOCKS / 64], bits[HDI_MAX_BLOCKS / 64];

    for (unsigned w = 0; w < words; w++)
        copy[w] = module->room.maps[place->first + w * place->stride];
    memset(bits, 0, words * sizeof(*bits));
    if (!take_large(copy, bits, r->blocks, length, count, r->group))
        return false;
    for (unsigned w = 0; w < words; w++)
        taken[place->first + w * place->stride] = bits[w];
    return true;
}

void hdi_module_clear(struct hdi_module *module, const struct hdi_shape *shape)
{
    memset(module->room.maps, 0, shape->map_words * sizeof(*module->room.maps));
    memset(module->room.level, 0,
           shape->line_pad * sizeof(*module->room.level));
    for (uint32_t i = 0; i < shape->line_count; i++) {
        const struct hdi_line *line = &shape->lines[i];
        const struct hdi_resource *resource = &shape->resources[line->resource];
        uint64_t map[HDI_MAX_BLOCKS / 64] = {0};

        if (line->kind == HDI_LINE_COUNT) {
            module->room.level[i] = (uint16_t)resource->blocks;
            continue;
        }
        const struct hdi_map_place *place =
            &shape->maps[line->resource][line->unit];
        hdi_map_set(map, 0, resource->blocks);
        for (uint32_t w = 0; w < hdi_map_words(resource->blocks); w++)
            module->room.maps[place->first + w * place->stride] = map[w];
    }
    for (uint32_t r = 0; r < shape->resource_count; r++)
        module->energy[r] = shape->resources[r].energy;
    module->stale = UINT32_MAX;
    module->pointer = 0;
    module->first = 0;
}

static bool is_alone(const struct hdi_resource *resource)
{
    return !hdi_has_lanes(resource) || resource->group > 1;
}

static bool take_batch(const struct hdi_module *module,
                       const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes, uint32_t batch,
                       const uint16_t *lines, const uint16_t *runs,
                       struct hdi_bounds bounds, uint64_t *taken)
{
    const uint64_t *maps = module->room.maps + batch * HDI_LANE_WORDS;
    uint32_t lane = batch * HDI_LANES, rest = shape->lanes - lane;
    uint16_t count[HDI_LANES];

    if (!shape->alone)
        return rest >= HDI_LANES
                   ? lanes->take(maps, lines + lane, runs + lane, bounds, taken)
                   : lanes->take_few(maps, lines + lane, runs + lane, rest,
                                     bounds, taken);
    rest = rest < HDI_LANES ? rest : HDI_LANES;
    for (uint32_t i = 0; i < rest; i++) {
        const struct hdi_line *line = &shape->lines[lane + i];
        count[i] =
            is_alone(&shape->resources[line->resource]) ? 0 : runs[lane + i];
    }
    return lanes->take_few(maps, lines + lane, count, rest, bounds, taken);
}

bool hdi_module_take(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lanes *lanes, const uint16_t *lines,
                     const uint16_t *runs, const struct hdi_outline *outline,
                     struct hdi_lease *lease)
{
    for (uint32_t b = 0; b < shape->batches; b++) {
        uint64_t *taken = lease->maps + b * HDI_LANE_WORDS;

        if ((shape->batch_resources[b] & outline->resources) == 0)
            memset(taken, 0, HDI_LANE_WORDS * sizeof(*taken));
        else if (!take_batch(module, shape, lanes, b, lines, runs,
                             outline->bounds, taken))
            return false;
    }
    if (shape->alone) {
        uint32_t words = shape->batches * HDI_LANE_WORDS;
        memset(lease->maps + words, 0,
               (shape->map_words - words) * sizeof(*lease->maps));
        for (uint32_t i = 0; i < shape->count_begin; i++) {
            const struct hdi_line *line = &shape->lines[i];
            if (runs[i] > 0 && is_alone(&shape->resources[line->resource]) &&
                !take_alone(module, shape, line->resource, line->unit, lines[i],
                            runs[i], lease->maps))
                return false;
        }
    }

    // It fits: only now anything changes.
    lanes->occupy(&module->room, lease->maps, lines);
    memcpy(lease->lines, lines, shape->line_pad * sizeof(*lines));
    lease->resources = outline->resources;
    module->stale |= outline->resources;
    return true;
}

void hdi_module_give(struct hdi_module *module, const struct hdi_lanes *lanes,
                     const struct hdi_lease *lease)
{
    lanes->give(&module->room, lease->maps, lease->lines);
    module->stale |= lease->resources;
}

// The longest run of one map on its own.
static uint16_t run_alone(const struct hdi_module *module,
                          const struct hdi_shape *shape, uint32_t resource,
                          uint32_t unit)
{
    const struct hdi_resource *r = &shape->resources[resource];
    const struct hdi_map_place *place = &shape->maps[resource][unit];
    const uint64_t *map = &module->room.maps[place->first];
    uint64_t copy[2];

    if (place->stride == HDI_LANES) {
        copy[0] = map[0];
        copy[1] = map[HDI_LANES];
        map = copy;
    }
    return (uint16_t)hdi_run_grouped(map, r->blocks, r->group);
}

void hdi_module_search(struct hdi_module *module, const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes)
{
    uint16_t *level = module->room.level;
    uint32_t searched = module->stale;

    for (uint32_t b = 0; b < shape->batches; b++) {
        const uint64_t *maps = module->room.maps + b * HDI_LANE_WORDS;
        uint32_t lane = b * HDI_LANES, rest = shape->lanes - lane;

        rest = rest < HDI_LANES ? rest : HDI_LANES;
        if ((shape->batch_resources[b] & module->stale) == 0)
            continue;
        searched |= shape->batch_resources[b]; // all of them, exactly
        lanes->search(maps, rest, level, lane);
    }
    for (uint32_t i = 0; shape->special && i < shape->count_begin; i++) {
        const struct hdi_line *line = &shape->lines[i];
        const struct hdi_resource *resource = &shape->resources[line->resource];

        if (!(searched >> line->resource & 1))
            continue;
        if (is_alone(resource) || resource->search == HDI_SEARCH_SAMPLED)
            level[i] = run_alone(module, shape, line->resource, line->unit);
        if (resource->search == HDI_SEARCH_SAMPLED)
            level[i] = (uint16_t)hdi_run_sampled(level[i], resource->shifts,
                                                 resource->shift_count);
    }
    module->stale = 0;
}

uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource)
{
    const uint16_t *count = module->room.level + shape->count_line[resource];
    uint32_t left = 0;

    for (uint32_t q = 0; q < hdi_holders(shape, resource); q++)
        left += count[q];
    return left;
}
