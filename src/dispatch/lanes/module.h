// Searching a module and taking what a group needs, compiled with every set of
// lanes. Part of body.h.
#include "dispatch/model/module.h"

// Search the runs that are stale.
// Batches with a stale resource are searched as a whole, since eight lanes cost
// what one costs. Afterwards every level is exact.
static inline void search_module(struct hdi_module *module,
                                 const struct hdi_shape *shape, uint16_t *level)
{
    uint32_t searched = module->stale;

    for (uint32_t b = 0; b < shape->batches; b++) {
        const uint64_t *maps = module->room.maps + b * HDI_LANE_WORDS;
        uint32_t lane = b * HDI_LANES, rest = shape->lanes - lane;

        rest = rest < HDI_LANES ? rest : HDI_LANES;
        if ((shape->batch_resources[b] & module->stale) == 0)
            continue;
        searched |= shape->batch_resources[b]; // all of them, exactly
        search(maps, rest, level, lane);
    }
    for (uint32_t i = 0; shape->special && i < shape->count_begin; i++) {
        const struct hdi_line *line = &shape->lines[i];
        const struct hdi_module_resource *resource =
            &shape->resources[line->resource];

        if (!(searched >> line->resource & 1))
            continue;
        if (hdi_is_alone(resource) || resource->search == HDI_SEARCH_SAMPLED)
            level[i] =
                hdi_module_run(module, shape, line->resource, line->unit);
        if (resource->search == HDI_SEARCH_SAMPLED)
            level[i] = (uint16_t)hdi_run_sampled(level[i], resource->shifts,
                                                 resource->shift_count);
    }
    module->stale = 0;
}

// Maps that are not searched in lanes get no runs here; take_all() sees to
// them.
static inline bool take_batch(const struct hdi_module *module,
                              const struct hdi_shape *shape, uint32_t batch,
                              const uint16_t *lines, const uint16_t *runs,
                              struct hdi_run_bounds bounds, uint64_t *taken)
{
    const uint64_t *maps = module->room.maps + batch * HDI_LANE_WORDS;
    uint32_t lane = batch * HDI_LANES, rest = shape->lanes - lane;
    uint16_t count[HDI_LANES];

    if (!shape->alone)
        return rest >= HDI_LANES
                   ? take(maps, lines + lane, runs + lane, bounds, taken)
                   : take_few(maps, lines + lane, runs + lane, rest, bounds,
                              taken);
    rest = rest < HDI_LANES ? rest : HDI_LANES;
    for (uint32_t i = 0; i < rest; i++) {
        const struct hdi_line *line = &shape->lines[lane + i];
        count[i] = hdi_is_alone(&shape->resources[line->resource])
                       ? 0
                       : runs[lane + i];
    }
    return take_few(maps, lines + lane, count, rest, bounds, taken);
}

// Take what is asked, all or nothing; `lines` and `runs` as hdi_need_lines()
// made them for module->first, `pad` numbers each, and their outline. False: it
// does not fit and nothing was taken. The counts are known to fit (the match is
// exact for them); runs are looked for here.
static inline bool take_all(struct hdi_module *module,
                            const struct hdi_shape *shape,
                            const uint16_t *lines, const uint16_t *runs,
                            const struct hdi_outline *outline,
                            struct hdi_lease *lease, uint32_t pad)
{
    for (uint32_t b = 0; b < shape->batches; b++) {
        uint64_t *taken = lease->maps + b * HDI_LANE_WORDS;

        if ((shape->batch_resources[b] & outline->resources) == 0)
            memset(taken, 0, HDI_LANE_WORDS * sizeof(*taken));
        else if (!take_batch(module, shape, b, lines, runs, outline->bounds,
                             taken))
            return false;
    }
    if (shape->alone) {
        uint32_t words = shape->batches * HDI_LANE_WORDS;
        memset(lease->maps + words, 0,
               (shape->map_words - words) * sizeof(*lease->maps));
        for (uint32_t i = 0; i < shape->count_begin; i++) {
            const struct hdi_line *line = &shape->lines[i];
            if (runs[i] > 0 &&
                hdi_is_alone(&shape->resources[line->resource]) &&
                !hdi_module_take(module, shape, line->resource, line->unit,
                                 lines[i], runs[i], lease->maps))
                return false;
        }
    }

    // It fits: only now anything changes.
    occupy(&module->room, lease->maps, lines);
    memcpy(lease->lines, lines, pad * sizeof(*lines));
    lease->resources = outline->resources;
    module->stale |= outline->resources;
    return true;
}
