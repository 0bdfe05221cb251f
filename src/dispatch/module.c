// Invariant: left[resource, unit] is the number of set bits of its map (first
// class) or blocks minus what leases hold (second class); maps and leases never
// share a bit.
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
        copy[w] = module->maps[place->first + w * place->stride];
    memset(bits, 0, words * sizeof(*bits));
    if (!take_large(copy, bits, r->blocks, length, count, r->group))
        return false;
    for (unsigned w = 0; w < words; w++)
        taken[place->first + w * place->stride] = bits[w];
    return true;
}

void hdi_module_clear(struct hdi_module *module, const struct hdi_shape *shape)
{
    memset(module->maps, 0, shape->map_words * sizeof(*module->maps));
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];

        for (uint32_t q = 0; q < hdi_holders(shape, r); q++) {
            module->left[r * shape->units + q] = (uint16_t)resource->blocks;
            if (!resource->contiguous)
                continue;
            const struct hdi_map_place *place = &shape->maps[r][q];
            uint64_t map[HDI_MAX_BLOCKS / 64] = {0};
            hdi_map_set(map, 0, resource->blocks);
            for (uint32_t w = 0; w < hdi_map_words(resource->blocks); w++)
                module->maps[place->first + w * place->stride] = map[w];
        }
        module->energy[r] = resource->energy;
    }
    module->stale = UINT32_MAX;
    module->pointer = 0;
    module->first = 0;
}

enum {
    MAX_LANES = HDI_MAX_RESOURCES * HDI_MAX_UNITS + HDI_LANES
};

// Add `sign` times the counts in `lines` to what is left.
static void book(struct hdi_module *module, const struct hdi_shape *shape,
                 uint32_t first, const uint16_t *lines, int sign)
{
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const uint16_t *count = lines + shape->count_line[r];
        uint16_t *left = module->left + r * shape->units;

        if (shape->resources[r].shared) {
            left[0] = (uint16_t)(left[0] + sign * count[0]);
            continue;
        }
        for (uint32_t p = 0, unit = first; p < shape->units; p++) {
            left[unit] = (uint16_t)(left[unit] + sign * count[p]);
            unit = unit + 1 == shape->units ? 0 : unit + 1;
        }
    }
}

enum {
    FEW_LANES = 2
}; // no more are searched one by one

static bool take_few(const uint64_t *maps, const uint8_t *length,
                     const uint8_t *count, uint64_t *taken)
{
    for (unsigned i = 0; i < FEW_LANES; i++) {
        hdi_wide bits, map = (hdi_wide)maps[HDI_LANES + i] << 64 | maps[i];

        if (count[i] == 0)
            continue;
        if (!hdi_take_one(map, length[i], count[i], &bits))
            return false;
        taken[i] = (uint64_t)bits;
        taken[HDI_LANES + i] = (uint64_t)(bits >> 64);
    }
    return true;
}

bool hdi_module_take(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lanes *lanes, const struct hdi_need *need,
                     const uint16_t *split, const uint16_t *lines,
                     struct hdi_lease *lease)
{
    uint8_t length[MAX_LANES], count[MAX_LANES];

    memset(length, 0, shape->batches * HDI_LANES);
    memset(count, 0, shape->batches * HDI_LANES);
    memset(lease->maps + shape->batches * HDI_LANE_WORDS, 0,
           (shape->map_words - shape->batches * HDI_LANE_WORDS) *
               sizeof(*lease->maps));
    // Counts fit: the match said so, and it is exact for them.
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];
        bool in_lanes = hdi_has_lanes(resource) && resource->group == 1;
        uint32_t holders = hdi_holders(shape, r);
        uint32_t unit = resource->shared ? 0 : module->first;

        if (!resource->contiguous || need->amount[r] == 0)
            continue;
        for (uint32_t place = 0; place < holders; place++) {
            uint32_t run = lines[shape->run_line[r] + place];
            uint32_t runs =
                resource->shared || resource->together ? 1 : split[place];
            if (run == 0)
                break; // fuller places come first
            if (in_lanes) {
                length[shape->lane[r] + unit] = (uint8_t)run;
                count[shape->lane[r] + unit] = (uint8_t)runs;
            }
            unit = unit + 1 == holders ? 0 : unit + 1;
        }
    }
    for (uint32_t b = 0; b < shape->batches; b++) {
        uint64_t *taken = lease->maps + b * HDI_LANE_WORDS;
        uint64_t any;

        memcpy(&any, count + b * HDI_LANES, sizeof(any));
        if (any == 0 || shape->lanes - b * HDI_LANES <= FEW_LANES) {
            memset(taken, 0, HDI_LANE_WORDS * sizeof(*taken));
            if (any != 0 &&
                !take_few(module->maps + b * HDI_LANE_WORDS,
                          length + b * HDI_LANES, count + b * HDI_LANES, taken))
                return false;
        } else if (!lanes->take(module->maps + b * HDI_LANE_WORDS,
                                length + b * HDI_LANES, count + b * HDI_LANES,
                                taken)) {
            return false;
        }
    }
    for (uint32_t r = 0; shape->alone && r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];
        uint32_t holders = hdi_holders(shape, r);
        uint32_t unit = resource->shared ? 0 : module->first;

        if (!resource->contiguous || need->amount[r] == 0 ||
            (hdi_has_lanes(resource) && resource->group == 1))
            continue;
        for (uint32_t place = 0; place < holders; place++) {
            uint32_t run = lines[shape->run_line[r] + place];
            uint32_t runs =
                resource->shared || resource->together ? 1 : split[place];
            if (run == 0)
                break;
            if (!take_alone(module, shape, r, unit, run, runs, lease->maps))
                return false;
            unit = unit + 1 == holders ? 0 : unit + 1;
        }
    }

    // It fits: only now anything changes.
    for (uint32_t i = 0; i < shape->map_words; i++)
        module->maps[i] &= ~lease->maps[i];
    book(module, shape, module->first, lines, -1);
    memcpy(lease->lines, lines, shape->line_pad * sizeof(*lines));
    lease->first = module->first;
    lease->resources = 0;
    for (uint32_t r = 0; r < shape->resource_count; r++)
        lease->resources |= (uint32_t)(need->amount[r] > 0) << r;
    module->stale |= lease->resources;
    return true;
}

void hdi_module_give(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_lease *lease)
{
    for (uint32_t i = 0; i < shape->map_words; i++)
        module->maps[i] |= lease->maps[i];
    book(module, shape, lease->first, lease->lines, 1);
    module->stale |= lease->resources;
}

// The longest run of one map on its own.
static uint16_t run_alone(const struct hdi_module *module,
                          const struct hdi_shape *shape, uint32_t resource,
                          uint32_t unit)
{
    const struct hdi_resource *r = &shape->resources[resource];
    const struct hdi_map_place *place = &shape->maps[resource][unit];
    const uint64_t *map = &module->maps[place->first];
    uint64_t copy[2];

    if (place->stride == HDI_LANES) {
        copy[0] = map[0];
        copy[1] = map[HDI_LANES];
        map = copy;
    }
    return (uint16_t)hdi_run_grouped(map, r->blocks, r->group);
}

void hdi_module_levels(struct hdi_module *module, const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes, uint16_t *levels)
{
    uint16_t *found = module->runs;

    for (uint32_t b = 0; b < shape->batches; b++) {
        const uint64_t *maps = module->maps + b * HDI_LANE_WORDS;
        uint32_t lane = b * HDI_LANES;

        if ((shape->batch_resources[b] & module->stale) == 0)
            continue;
        if (shape->lanes - lane > FEW_LANES) {
            lanes->runs(maps, 1, found + lane);
            continue;
        }
        for (uint32_t i = 0; i < shape->lanes - lane; i++) {
            uint64_t map[2] = {maps[i], maps[HDI_LANES + i]};
            found[lane + i] = (uint16_t)lanes->run(map, 2);
        }
    }
    module->stale = 0;

    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];
        const uint16_t *left = module->left + r * shape->units;
        uint32_t holders = hdi_holders(shape, r);
        uint16_t *runs = levels + shape->run_line[r];
        uint16_t *counts = levels + shape->count_line[r];
        uint32_t unit = resource->shared ? 0 : module->first;
        bool in_lanes = hdi_has_lanes(resource) && resource->group == 1;
        bool sampled = resource->search == HDI_SEARCH_SAMPLED;

        for (uint32_t place = 0; place < holders; place++) {
            counts[place] = left[unit];
            if (resource->contiguous) {
                uint16_t run = in_lanes ? found[shape->lane[r] + unit]
                                        : run_alone(module, shape, r, unit);
                if (sampled)
                    run = (uint16_t)hdi_run_sampled(run, resource->shifts,
                                                    resource->shift_count);
                runs[place] = run;
            }
            unit = unit + 1 == holders ? 0 : unit + 1;
        }
    }
}

uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource)
{
    uint32_t left = 0;

    for (uint32_t q = 0; q < hdi_holders(shape, resource); q++)
        left += module->left[resource * shape->units + q];
    return left;
}
