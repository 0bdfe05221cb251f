// Invariant: left[resource, unit] is the number of set bits of its map (first
// class) or blocks minus what leases hold (second class); maps and leases never
// share a bit.
#include "dispatch/module.h"

#include <string.h>

__extension__ typedef unsigned __int128 wide;

static wide ones(unsigned length)
{
    return length >= 128 ? ~(wide)0 : ((wide)1 << length) - 1;
}

// Every `group`-th bit.
static wide borders(unsigned group)
{
    wide bits = 1;

    for (unsigned at = group; at < 128; at *= 2)
        bits |= bits << at;
    return bits;
}

static unsigned lowest(wide bits)
{
    uint64_t low = (uint64_t)bits;

    return low ? (unsigned)__builtin_ctzll(low)
               : 64 + (unsigned)__builtin_ctzll((uint64_t)(bits >> 64));
}

// Take `count` runs of `length` from a small map, lowest first; the bits taken,
// or 0 when there are not enough.
static wide take_small(wide map, unsigned length, unsigned count,
                       unsigned group)
{
    wide starts = map, taken = 0;
    unsigned have = 1;

    for (; have * 2 <= length; have *= 2)
        starts &= starts >> have;
    if (have < length)
        starts &= starts >> (length - have);
    if (group > 1)
        starts &= borders(group);

    for (; count > 0; count--) {
        if (starts == 0)
            return 0;
        unsigned at = lowest(starts);
        taken |= ones(length) << at;
        // What starts above the end of this run does not touch it.
        starts = at + length >= 128 ? 0 : starts & ~ones(at + length);
    }
    return taken;
}

static bool is_small_group(unsigned group)
{
    return group <= 64 && (group & (group - 1)) == 0;
}

// The same on a map of any size; bits go from `map` to `taken`.
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

static bool find_runs(const struct hdi_module *module,
                      const struct hdi_shape *shape, uint32_t resource,
                      uint32_t unit, unsigned length, unsigned count,
                      uint64_t *taken)
{
    const struct hdi_resource *r = &shape->resources[resource];
    const struct hdi_map_place *place = &shape->maps[resource][unit];

    if (place->stride == HDI_LANES) {
        uint64_t *low = &taken[place->first], *high = low + HDI_LANES;
        wide map = (wide)module->maps[place->first + HDI_LANES] << 64 |
                   module->maps[place->first];

        if (is_small_group(r->group)) {
            wide bits = take_small(map, length, count, r->group);
            if (bits == 0)
                return false;
            *low = (uint64_t)bits;
            *high = (uint64_t)(bits >> 64);
            return true;
        }
        uint64_t copy[2] = {(uint64_t)map, (uint64_t)(map >> 64)};
        uint64_t bits[2] = {0, 0};
        if (!take_large(copy, bits, r->blocks, length, count, r->group))
            return false;
        *low = bits[0];
        *high = bits[1];
        return true;
    }
    uint64_t copy[HDI_MAX_BLOCKS / 64];
    memcpy(copy, &module->maps[place->first],
           hdi_map_words(r->blocks) * sizeof(*copy));
    return take_large(copy, &taken[place->first], r->blocks, length, count,
                      r->group);
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
    module->pointer = 0;
    module->first = 0;
}

static uint32_t unit_at(const struct hdi_shape *shape, uint32_t first,
                        uint32_t place)
{
    uint32_t unit = first + place;

    return unit >= shape->units ? unit - shape->units : unit;
}

// Blocks of a resource that a unit with `waves` gives to a group.
static uint32_t blocks_of(const struct hdi_resource *resource, uint32_t amount,
                          uint32_t waves)
{
    return resource->together ? hdi_rounded(resource, amount * waves)
                              : hdi_rounded(resource, amount) * waves;
}

bool hdi_module_take(struct hdi_module *module, const struct hdi_shape *shape,
                     const struct hdi_need *need, const uint16_t *split,
                     struct hdi_lease *lease)
{
    memset(lease->maps, 0, shape->map_words * sizeof(*lease->maps));
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];
        uint32_t amount = need->amount[r], holders = hdi_holders(shape, r);

        if (amount == 0)
            continue;
        for (uint32_t place = 0; place < holders; place++) {
            uint32_t unit =
                resource->shared ? 0 : unit_at(shape, module->first, place);
            uint32_t waves = resource->shared ? 1 : split[place];
            uint32_t blocks = blocks_of(resource, amount, waves);

            if (waves == 0)
                break; // fuller places come first
            if (module->left[r * shape->units + unit] < blocks)
                return false;
            if (!resource->contiguous)
                continue;
            bool together = resource->together;
            if (!find_runs(module, shape, r, unit,
                           together ? blocks : blocks / waves,
                           together ? 1 : waves, lease->maps))
                return false;
        }
    }

    // It fits: only now anything changes.
    for (uint32_t i = 0; i < shape->map_words; i++)
        module->maps[i] &= ~lease->maps[i];
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];

        for (uint32_t p = 0; p < hdi_holders(shape, r); p++) {
            uint32_t unit =
                resource->shared ? 0 : unit_at(shape, module->first, p);
            module->left[r * shape->units + unit] -= (uint16_t)blocks_of(
                resource, need->amount[r], resource->shared ? 1 : split[p]);
        }
    }
    lease->need = *need;
    lease->first = module->first;
    return true;
}

void hdi_module_give(struct hdi_module *module, const struct hdi_shape *shape,
                     const uint16_t *split, const struct hdi_lease *lease)
{
    for (uint32_t i = 0; i < shape->map_words; i++)
        module->maps[i] |= lease->maps[i];
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];

        for (uint32_t p = 0; p < hdi_holders(shape, r); p++) {
            uint32_t unit =
                resource->shared ? 0 : unit_at(shape, lease->first, p);
            module->left[r * shape->units + unit] +=
                (uint16_t)blocks_of(resource, lease->need.amount[r],
                                    resource->shared ? 1 : split[p]);
        }
    }
}

static uint16_t run_of(const struct hdi_module *module,
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

void hdi_module_levels(const struct hdi_module *module,
                       const struct hdi_shape *shape,
                       const struct hdi_lanes *lanes, uint16_t *levels)
{
    uint16_t found[HDI_MAX_RESOURCES * HDI_MAX_UNITS + HDI_LANES];

    for (uint32_t batch = 0; batch < shape->batches; batch++)
        lanes->runs(&module->maps[batch * HDI_LANE_WORDS], 1,
                    &found[batch * HDI_LANES]);

    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_resource *resource = &shape->resources[r];
        uint32_t holders = hdi_holders(shape, r);
        uint16_t *runs = &levels[shape->run_line[r]];
        uint16_t *counts = &levels[shape->count_line[r]];
        uint32_t unit = resource->shared ? 0 : module->first;

        for (uint32_t place = 0; place < holders; place++) {
            counts[place] = module->left[r * shape->units + unit];
            if (resource->contiguous) {
                const struct hdi_map_place *at = &shape->maps[r][unit];
                uint32_t lane = at->first / HDI_LANE_WORDS * HDI_LANES +
                                at->first % HDI_LANE_WORDS;
                uint16_t run = at->stride == HDI_LANES && resource->group == 1
                                   ? found[lane]
                                   : run_of(module, shape, r, unit);
                if (resource->search == HDI_SEARCH_SAMPLED)
                    run = (uint16_t)hdi_run_sampled(run, resource->shifts,
                                                    resource->shift_count);
                runs[place] = run;
            }
            if (++unit == holders)
                unit = 0;
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
