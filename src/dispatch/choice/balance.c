#include "dispatch/choice/balance.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool is_power_of_two(uint32_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

// Powers of two: then slots divide the window, and the place of a slot is found
// by a mask.
hd_status hdi_recent_create(struct hdi_recent *recent, uint32_t modules,
                            uint32_t window, uint32_t slots, uint64_t full,
                            struct hd_error *error)
{
    if (!is_power_of_two(window) || !is_power_of_two(slots) || slots > window)
        return hdi_fail(error, HD_EINVAL,
                        "a window of %u cycles in %u slots: both must be "
                        "powers of two, with no more slots than cycles",
                        window, slots);
    if (full == 0)
        return hdi_fail(error, HD_EINVAL,
                        "the weighted instructions of a busy module must not "
                        "be 0");

    struct hdi_recent r = {
        .modules = modules, .window = window, .slots = slots, .full = full};
    r.counts = calloc((size_t)modules * slots, sizeof(*r.counts));
    r.sums = calloc(modules, sizeof(*r.sums));
    r.slot = calloc(modules, sizeof(*r.slot));
    if (!r.counts || !r.sums || !r.slot) {
        hdi_recent_destroy(&r);
        return hdi_fail(error, HD_ENOMEM,
                        "no memory for the recent instructions of %u modules",
                        modules);
    }
    *recent = r;
    return HD_OK;
}

void hdi_recent_destroy(struct hdi_recent *recent)
{
    free(recent->counts);
    free(recent->sums);
    free(recent->slot);
    *recent = (struct hdi_recent){0};
}

// Forget the slots that left the window.
// Lazily, for the module that is asked: a module of which nobody asks costs
// nothing.
static uint64_t *advance(struct hdi_recent *recent, uint32_t module,
                         uint64_t now)
{
    uint64_t *counts = recent->counts + (size_t)module * recent->slots;
    uint64_t newest = now / (recent->window / recent->slots);
    uint64_t steps = newest - recent->slot[module];

    if (steps >= recent->slots) {
        memset(counts, 0, recent->slots * sizeof(*counts));
        recent->sums[module] = 0;
    } else {
        for (uint64_t s = recent->slot[module] + 1; s <= newest; s++) {
            uint64_t *old = &counts[s & (recent->slots - 1)];
            recent->sums[module] -= *old;
            *old = 0;
        }
    }
    recent->slot[module] = newest;
    return counts;
}

void hdi_recent_add(struct hdi_recent *recent, uint32_t module, uint64_t now,
                    uint64_t weighted)
{
    uint64_t *counts = advance(recent, module, now);

    counts[recent->slot[module] & (recent->slots - 1)] += weighted;
    recent->sums[module] += weighted;
}

// One addition for each slot, not for each cycle; what is older than the window
// is left out at once.
void hdi_recent_spread(struct hdi_recent *recent, uint32_t module,
                       uint64_t from, uint64_t to, uint64_t per_cycle)
{
    uint64_t length = recent->window / recent->slots;

    if (per_cycle == 0)
        return;
    if (to - from > recent->window)
        from = to - recent->window;
    while (from < to) {
        uint64_t end = (from / length + 1) * length;
        if (end > to)
            end = to;
        hdi_recent_add(recent, module, from, (end - from) * per_cycle);
        from = end;
    }
}

uint64_t hdi_recent_sum(struct hdi_recent *recent, uint32_t module,
                        uint64_t now)
{
    advance(recent, module, now);
    return recent->sums[module];
}

// Of one line, in 65536ths of a part of the mixture.
static double weight_of(const struct hdi_mixture *mixture,
                        const struct hdi_shape *shape,
                        const struct hdi_module *module, uint32_t i)
{
    const struct hdi_line *line = &shape->lines[i];
    bool run = line->kind == HDI_LINE_RUN;
    bool by_run =
        mixture->by_run && shape->resources[line->resource].contiguous;
    double weight = 0;

    // Scaled by the machine's weights, the same for every module, so that
    // modules with heavier weights keep their larger sums.
    if (run == by_run)
        weight += (double)mixture->left * module->energy[line->resource] *
                  shape->energy_scale;
    if (!run)
        weight -= mixture->tight * (double)shape->line_share[i] / 65536;
    return weight;
}

// From the module with the largest possible score, so that scores of all
// modules can be compared, and sums of weight x level stay within 32 bits.
double hdi_mixture_scale(const struct hdi_mixture *mixture,
                         const struct hdi_shape *shape,
                         const struct hdi_module *modules)
{
    double most = mixture->recent * 65536.0;

    for (uint32_t m = 0; m < shape->modules; m++) {
        double sum = 0;
        for (uint32_t i = 0; i < shape->line_count; i++) {
            double weight = weight_of(mixture, shape, &modules[m], i);
            sum += (weight < 0 ? -weight : weight) *
                   shape->resources[shape->lines[i].resource].blocks;
        }
        most = sum > most ? sum : most;
    }
    return most > 0 ? HDI_SCORE_LIMIT / most : 0;
}

// Once per module and change of weights; a round then only multiplies and adds.
void hdi_mixture_weigh(const struct hdi_mixture *mixture, double scale,
                       const struct hdi_shape *shape, struct hdi_module *module)
{
    for (uint32_t i = 0; i < shape->line_count; i++)
        module->weight[i] =
            (int32_t)(weight_of(mixture, shape, module, i) * scale);
}
