// What groups take of a module's resources, found one block after the other.
#include <string.h>

#include "tests/dispatch/state.h"

// The running AND of shifts 0..i has a bit exactly when a run of i + 1
// exists. Only shifts in `sampled` are read; NULL: all.
static uint32_t longest_run(const bool *state, uint32_t n,
                            const struct hdi_module_resource *sampled)
{
    bool all[MODEL_BLOCKS];
    uint32_t longest = 0;

    memcpy(all, state, n * sizeof(*all));
    bool any = true; // once nothing is left, nothing comes back
    for (uint32_t shift = 0; any && shift < n; shift++) {
        bool read = !sampled;
        any = false;
        for (uint32_t i = 0; i < n; i++) {
            all[i] = all[i] && i + shift < n && state[i + shift];
            any |= all[i];
        }
        for (uint32_t k = 0; sampled && k < sampled->shift_count; k++)
            read |= sampled->shifts[k] == shift;
        if (any && read)
            longest = shift + 1;
    }
    return longest;
}

uint32_t model_longest_run(const struct hdi_module_resource *r,
                           const bool *state)
{
    bool groups[MODEL_BLOCKS];

    if (r->search == HDI_SEARCH_SAMPLED)
        return longest_run(state, r->blocks, r);
    if (r->search == HDI_SEARCH_EXACT)
        return longest_run(state, r->blocks, NULL);
    for (uint32_t g = 0; g < r->blocks / r->group; g++) {
        groups[g] = true;
        for (uint32_t i = 0; i < r->group; i++)
            groups[g] &= state[g * r->group + i];
    }
    return longest_run(groups, r->blocks / r->group, NULL) * r->group;
}

static uint32_t round_up(const struct hdi_module_resource *r, uint32_t amount)
{
    uint32_t group = r->search == HDI_SEARCH_GROUPED ? r->group : 1;
    return (amount + group - 1) / group * group;
}

uint32_t model_first_unit(const struct model *m, uint32_t module)
{
    return m->policy.pointer == HDI_POINTER_HEAD
               ? m->pointer[module]
               : (m->pointer[module] + 1) % m->shape->units;
}

// What a group takes of a resource on a unit: `runs` runs of `length`, or, of a
// second-class resource, that many blocks.
static void part_of(const struct model *m, const struct hdi_need *need,
                    uint32_t module, uint32_t r, uint32_t unit, uint32_t *runs,
                    uint32_t *length)
{
    const struct hdi_module_resource *resource = &m->shape->resources[r];
    uint32_t units = m->shape->units;
    uint32_t place = (unit + units - model_first_unit(m, module)) % units;
    uint32_t waves = need->waves / units + (place < need->waves % units);

    if (resource->shared)
        waves = 1;
    *runs = resource->together && waves > 0 ? 1 : waves;
    *length = round_up(resource, resource->together ? need->amount[r] * waves
                                                    : need->amount[r]);
}

uint32_t model_holders(const struct model *m, uint32_t r)
{
    return m->shape->resources[r].shared ? 1 : m->shape->units;
}

bool model_seems_to_fit(const struct model *m, uint32_t channel,
                        uint32_t module)
{
    const struct hdi_need *need = &m->queue[channel][0].need;
    uint32_t runs, length;

    if (m->refused[channel][module])
        return false;
    for (uint32_t r = 0; r < m->shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &m->shape->resources[r];
        for (uint32_t unit = 0; unit < model_holders(m, r); unit++) {
            part_of(m, need, module, r, unit, &runs, &length);
            if (m->left[module][r][unit] < runs * length)
                return false;
            if (resource->contiguous && runs > 0 &&
                model_longest_run(resource, m->free[module][r][unit]) < length)
                return false;
        }
    }
    return true;
}

// One run after the other, each at the lowest place.
static bool take_run(const struct hdi_module_resource *r, const bool *state,
                     uint32_t length, bool *block)
{
    uint32_t step = r->search == HDI_SEARCH_GROUPED ? r->group : 1;

    for (uint32_t at = 0; at + length <= r->blocks; at += step) {
        bool fits = true;
        for (uint32_t i = at; i < at + length; i++)
            fits &= state[i] && !block[i];
        if (!fits)
            continue;
        for (uint32_t i = at; i < at + length; i++)
            block[i] = true;
        return true;
    }
    return false;
}

bool model_commit(struct model *m, uint32_t channel, uint32_t module,
                  struct taken *t)
{
    const struct hdi_need *need = &m->queue[channel][0].need;
    uint32_t runs, length;

    *t = (struct taken){.out = true, .module = module};
    for (uint32_t r = 0; r < m->shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &m->shape->resources[r];
        for (uint32_t unit = 0; unit < model_holders(m, r); unit++) {
            part_of(m, need, module, r, unit, &runs, &length);
            t->count[r][unit] = runs * length;
            for (uint32_t i = 0; resource->contiguous && length > 0 && i < runs;
                 i++)
                if (!take_run(resource, m->free[module][r][unit], length,
                              t->block[r][unit]))
                    return false;
        }
    }
    return true;
}

void model_apply(struct model *m, const struct taken *t, bool give)
{
    for (uint32_t r = 0; r < m->shape->resource_count; r++)
        for (uint32_t unit = 0; unit < model_holders(m, r); unit++) {
            m->left[t->module][r][unit] +=
                give ? t->count[r][unit] : 0u - t->count[r][unit];
            for (uint32_t i = 0; i < MODEL_BLOCKS; i++)
                if (t->block[r][unit][i])
                    m->free[t->module][r][unit][i] = give;
        }
    for (uint32_t c = 0; c < m->channels; c++)
        m->refused[c][t->module] = false;
}
