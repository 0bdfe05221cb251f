// Invariant: a count is the number of set bits of its map (first class) or
// blocks minus what leases hold (second class); maps and leases never share a
// bit.
#include "dispatch/model/module.h"

#include <string.h>

// Take `count` runs of `length`, lowest first; bits go from `map` to `taken`.
// On a copy: false leaves bits taken in it that nobody looks at.
static bool take_large(uint64_t *map, uint64_t *taken, unsigned blocks,
                       unsigned length, unsigned count, unsigned group)
{
    for (; count > 0; count--) {
        unsigned at = hdi_run_first(map, blocks, length, group);
        if (at == HDI_NO_RUN)
            return false;
        hdi_map_clear_blocks(map, at, length);
        hdi_map_set_blocks(taken, at, length);
    }
    return true;
}

// Works on copies of the map, so that a module is changed only when all of a
// need was found (take_all() in lanes/module.h).
bool hdi_module_take(const struct hdi_module *module,
                     const struct hdi_shape *shape, uint32_t resource,
                     uint32_t unit, unsigned length, unsigned count,
                     uint64_t *taken)
{
    const struct hdi_module_resource *r = &shape->resources[resource];
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
        const struct hdi_module_resource *resource =
            &shape->resources[line->resource];
        uint64_t map[HDI_MAX_BLOCKS / 64] = {0};

        if (line->kind == HDI_LINE_COUNT) {
            module->room.level[i] = (uint16_t)resource->blocks;
            continue;
        }
        const struct hdi_map_place *place =
            &shape->maps[line->resource][line->unit];
        module->room.level[i] = UINT16_MAX;
        hdi_map_set_blocks(map, 0, resource->blocks);
        for (uint32_t w = 0; w < hdi_map_words(resource->blocks); w++)
            module->room.maps[place->first + w * place->stride] = map[w];
    }
    for (uint32_t r = 0; r < shape->resource_count; r++)
        module->energy[r] = shape->resources[r].energy;
    module->stale = UINT32_MAX;
    module->pointer = 0;
    module->first = 0;
}

// Maps among the lanes have their two words apart, and are put together first.
uint16_t hdi_module_run(const struct hdi_module *module,
                        const struct hdi_shape *shape, uint32_t resource,
                        uint32_t unit)
{
    const struct hdi_module_resource *r = &shape->resources[resource];
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

uint32_t hdi_module_left(const struct hdi_module *module,
                         const struct hdi_shape *shape, uint32_t resource)
{
    const uint16_t *count = module->room.level + shape->count_line[resource];
    uint32_t left = 0;

    for (uint32_t q = 0; q < hdi_holders(shape, resource); q++)
        left += count[q];
    return left;
}
