#include "dispatch/model/need.h"

#include <string.h>

#include "base/error.h"

// Blocks of `resource` on a unit that gets `waves`.
// Rounded once where all waves share a run, else wave by wave.
static uint32_t blocks_for(const struct hdi_module_resource *resource,
                           uint32_t amount, uint32_t waves)
{
    return resource->together ? hdi_rounded(resource, amount * waves)
                              : hdi_rounded(resource, amount) * waves;
}

// The longest run a search can ever report.
// Sampled searches test some lengths only, so a longer run is never seen.
static uint32_t longest_found(const struct hdi_module_resource *resource)
{
    return resource->search == HDI_SEARCH_SAMPLED
               ? resource->shifts[resource->shift_count - 1] + 1u
               : resource->blocks;
}

static uint32_t longest_needed(const struct hdi_module_resource *resource,
                               uint32_t amount, uint32_t waves)
{
    if (!resource->contiguous || amount == 0 || waves == 0)
        return 0;
    return hdi_rounded(resource, resource->together ? amount * waves : amount);
}

// Against an empty module: what passes goes some time, so nothing waits for
// ever. The fullest unit gets the waves that do not divide evenly.
hd_status hdi_need_check(const struct hdi_need *need,
                         const struct hdi_shape *shape, unsigned priorities,
                         struct hd_error *error)
{
    if (need->priority == 0 || need->priority > priorities)
        return hdi_fail(error, HD_EINVAL,
                        "a group of priority %u; priorities are 1 to %u",
                        need->priority, priorities);
    if (need->waves == 0)
        return hdi_fail(error, HD_EINVAL, "a group of no waves");
    if (need->waves > shape->units * shape->waves)
        return hdi_fail(error, HD_ELIMIT,
                        "a group of %u waves; a module holds %u (%u units of "
                        "%u waves): make the work-group smaller",
                        need->waves, shape->units * shape->waves, shape->units,
                        shape->waves);

    uint32_t most = (need->waves + shape->units - 1) / shape->units;
    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &shape->resources[r];
        uint32_t waves = resource->shared ? 1 : most;
        uint32_t amount = need->amount[r];
        uint32_t blocks = blocks_for(resource, amount, waves);
        const char *holder = resource->shared ? "module" : "unit";

        if (blocks > resource->blocks)
            return hdi_fail(error, HD_ELIMIT,
                            "resource '%s': a group needs %u blocks of one %s, "
                            "which has %u: make the work-group smaller or use "
                            "less of it",
                            resource->name, blocks, holder, resource->blocks);
        uint32_t run = longest_needed(resource, amount, waves);
        if (run > longest_found(resource))
            return hdi_fail(error, HD_ELIMIT,
                            "resource '%s': a group needs a run of %u blocks; "
                            "the sampled search never reports more than %u",
                            resource->name, run, longest_found(resource));
    }
    return HD_OK;
}

uint32_t hdi_need_share(const struct hdi_need *need,
                        const struct hdi_shape *shape)
{
    uint64_t share = 0;

    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &shape->resources[r];
        uint64_t takes = need->amount[r], has = resource->blocks;

        if (!resource->shared) {
            takes *= need->waves;
            has *= shape->units;
        }
        if (takes * 65536 / has > share)
            share = takes * 65536 / has;
    }
    return (uint32_t)share;
}

// The split is by place, lines are by unit:
//
//     split, place 0 first   3 2 2        waves of the units from `first` on
//     unit                   2 0 1        with first = 2
//
// All lines are filled, 0 where nothing is needed, because lanes compare whole
// rows.
void hdi_need_lines(const struct hdi_need *need, const struct hdi_shape *shape,
                    const uint16_t *split, uint32_t first, uint16_t *lines,
                    uint16_t *runs)
{
    memset(lines, 0, shape->line_pad * sizeof(*lines));
    memset(runs, 0, shape->line_pad * sizeof(*runs));
    for (uint32_t i = 0; i < shape->line_count; i++) {
        const struct hdi_line *line = &shape->lines[i];
        const struct hdi_module_resource *resource =
            &shape->resources[line->resource];
        uint32_t amount = need->amount[line->resource];
        uint32_t place = line->unit >= first
                             ? line->unit - first
                             : line->unit + shape->units - first;
        uint32_t waves = resource->shared ? 1 : split[place];

        if (line->kind == HDI_LINE_COUNT) {
            lines[i] = (uint16_t)blocks_for(resource, amount, waves);
            continue;
        }
        lines[i] = (uint16_t)longest_needed(resource, amount, waves);
        if (lines[i] > 0)
            runs[i] = (uint16_t)(resource->together ? 1 : waves);
    }
}

struct hdi_outline hdi_need_outline(const struct hdi_need *need,
                                    const struct hdi_shape *shape,
                                    const uint16_t *lines, const uint16_t *runs)
{
    struct hdi_outline outline = {.rest = need->waves % shape->units};
    struct hdi_run_bounds *bounds = &outline.bounds;

    for (uint32_t r = 0; r < shape->resource_count; r++)
        outline.resources |= (uint32_t)(need->amount[r] > 0) << r;
    for (uint32_t i = 0; i < shape->count_begin; i++) {
        bounds->length = lines[i] > bounds->length ? lines[i] : bounds->length;
        bounds->count = runs[i] > bounds->count ? runs[i] : bounds->count;
    }
    return outline;
}
