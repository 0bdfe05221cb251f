// Kernels made from a workload's description: each channel gets a Poisson
// stream of its own whose rate makes the offered work `load` machines.
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/workload.h"

enum {
    SAMPLE = 20000,    // kernels looked at to know the mean work of one
    SAMPLE_SEED = 1729 // the same for every run: rates do not depend on it
};

struct maker {
    const struct sim_workload *workload;
    const struct sim_machine *machine;
    struct hdi_random random;
    uint64_t *runs;
    size_t room;
};

static uint64_t choose(struct maker *maker, const struct sim_choice *choice,
                       uint64_t otherwise)
{
    if (!choice->set)
        return otherwise;
    if (choice->count > 0)
        return choice->of[hdi_random_below(&maker->random, choice->count)];
    return choice->low +
           hdi_random_below(&maker->random,
                            (uint32_t)(choice->high - choice->low) + 1);
}

static double exponential(struct hdi_random *random)
{
    return -log(1 - hdi_random_unit(random));
}

static double normal(struct hdi_random *random)
{
    double radius = sqrt(2 * exponential(random));

    return radius * cos(2 * 3.14159265358979323846 * hdi_random_unit(random));
}

// Halve what is too much for a unit, as a compiler that limits registers would.
static void shrink(const struct sim_workload *w,
                   const struct sim_machine *machine, struct hdi_need *need)
{
    uint32_t units = machine->shape.units;
    uint32_t whole = need->waves / units;
    uint32_t most = (need->waves + units - 1) / units;

    for (uint32_t r = 0; r < machine->shape.resource_count; r++) {
        while (w->shrink[r] > 0 && need->amount[r] > 0 &&
               (whole * need->amount[r] > w->shrink[r] ||
                most * need->amount[r] > machine->shape.resources[r].blocks))
            need->amount[r] /= 2;
    }
}

// One kernel without channel and arrival; the run times are in maker->runs.
static bool make(struct maker *maker, struct sim_kernel *kernel)
{
    const struct sim_workload *w = maker->workload;
    const struct sim_machine *machine = maker->machine;
    struct hdi_random *random = &maker->random;

    *kernel = (struct sim_kernel){0};
    kernel->need.waves = (uint16_t)choose(maker, &w->waves, 1);
    for (uint32_t r = 0; r < machine->shape.resource_count; r++)
        kernel->need.amount[r] = (uint16_t)choose(maker, &w->need[r], 0);
    shrink(w, machine, &kernel->need);
    bool may_split = w->without < 0 || kernel->need.amount[w->without] == 0;
    kernel->need.independent =
        may_split && hdi_random_unit(random) < w->independent;
    kernel->groups = (uint32_t)choose(maker, &w->groups, 1);
    kernel->share = sim_share(&kernel->need, machine);
    kernel->flow = kernel->need.waves;
    if (w->mix_count > 0)
        kernel->flow *= w->mix[hdi_random_below(random, w->mix_count)];

    if (kernel->groups > maker->room) {
        uint64_t *runs =
            realloc(maker->runs, kernel->groups * sizeof(*maker->runs));
        if (!runs)
            return false;
        maker->runs = runs;
        maker->room = kernel->groups;
    }
    double mean = exp(w->run_mean + w->run_deviation * normal(random));
    mean = fmin(fmax(mean, w->run_low), w->run_high);
    for (uint32_t g = 0; g < kernel->groups; g++) {
        double spread = w->spread_low + (w->spread_high - w->spread_low) *
                                            hdi_random_unit(random);
        maker->runs[g] = (uint64_t)fmax(1, mean * spread);
    }
    return true;
}

static double work_of(const struct maker *maker,
                      const struct sim_kernel *kernel)
{
    double work = 0;

    for (uint32_t g = 0; g < kernel->groups; g++)
        work += kernel->share * (double)maker->runs[g];
    return work;
}

static bool generate(struct maker *maker, uint64_t seed,
                     struct sim_kernels *kernels, struct hd_error *error,
                     hd_status *status)
{
    const struct sim_workload *w = maker->workload;
    struct sim_kernel kernel;
    double work = 0;

    hdi_random_seed(&maker->random, SAMPLE_SEED);
    for (unsigned i = 0; i < SAMPLE; i++) {
        if (!make(maker, &kernel))
            return false;
        work += work_of(maker, &kernel);
    }
    double gap = work / SAMPLE * w->channels / w->load; // [cycles]

    for (uint32_t c = 0; c < w->channels; c++) {
        hdi_random_seed(&maker->random, seed * SIM_CHANNELS + c);
        double at = gap * exponential(&maker->random);
        while (at < (double)w->cycles) {
            if (!make(maker, &kernel))
                return false;
            kernel.channel = c;
            kernel.arrival = (uint64_t)at;
            kernel.need.priority =
                w->priority_count ? w->priority[c % w->priority_count] : 1;
            *status = hdi_need_check(&kernel.need, &maker->machine->shape,
                                     HDI_MAX_PRIORITIES, error);
            if (*status != HD_OK)
                return false;
            if (!sim_kernels_add(kernels, &kernel, maker->runs))
                return false;
            at += 1 + gap * exponential(&maker->random);
        }
    }
    return true;
}

static int by_arrival(const void *left, const void *right)
{
    const struct sim_kernel *a = left, *b = right;

    if (a->arrival != b->arrival)
        return a->arrival < b->arrival ? -1 : 1;
    // The order of writing, which first_run keeps.
    return a->first_run < b->first_run ? -1 : a->first_run > b->first_run;
}

hd_status sim_workload_kernels(const struct sim_workload *workload,
                               const struct sim_machine *machine, uint64_t seed,
                               struct sim_kernels *kernels,
                               struct hd_error *error)
{
    struct maker maker = {.workload = workload, .machine = machine};
    struct sim_kernels all = {0};
    hd_status status = HD_OK;
    bool done = true;

    for (size_t i = 0; done && i < workload->written.count; i++) {
        const struct sim_kernel *kernel = &workload->written.kernel[i];
        done = sim_kernels_add(&all, kernel,
                               workload->written.runs + kernel->first_run);
    }
    if (done && workload->load > 0)
        done = generate(&maker, seed, &all, error, &status);
    free(maker.runs);
    if (!done) {
        sim_kernels_free(&all);
        return status != HD_OK
                   ? status
                   : hdi_fail(error, HD_ENOMEM, "no memory for the workload");
    }
    if (all.count > 0)
        qsort(all.kernel, all.count, sizeof(*all.kernel), by_arrival);
    *kernels = all;
    return HD_OK;
}
