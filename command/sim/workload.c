// Reading a workload file.
#include "sim/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

double sim_share(const struct hdi_need *need, const struct sim_machine *machine)
{
    const struct hdi_shape *shape = &machine->shape;
    double share = 0;

    for (uint32_t r = 0; r < shape->resource_count; r++) {
        const struct hdi_module_resource *resource = &shape->resources[r];
        double holders = (double)shape->modules * hdi_holders(shape, r);
        double takes = resource->shared ? 1 : need->waves;
        double part = takes * need->amount[r] / (holders * resource->blocks);
        if (part > share)
            share = part;
    }
    return share;
}

static bool grow(void **array, size_t *capacity, size_t needed, size_t size)
{
    if (needed <= *capacity)
        return true;
    size_t larger = *capacity ? *capacity : 64;
    while (larger < needed)
        larger *= 2;
    void *memory = realloc(*array, larger * size);
    if (!memory)
        return false;
    *array = memory;
    *capacity = larger;
    return true;
}

bool sim_kernels_add(struct sim_kernels *kernels,
                     const struct sim_kernel *kernel, const uint64_t *runs)
{
    void *array = kernels->kernel, *numbers = kernels->runs;
    bool done = grow(&array, &kernels->capacity, kernels->count + 1,
                     sizeof(*kernels->kernel));

    kernels->kernel = array;
    done = done &&
           grow(&numbers, &kernels->run_capacity,
                kernels->run_count + kernel->groups, sizeof(*kernels->runs));
    kernels->runs = numbers;
    if (!done)
        return false;
    kernels->kernel[kernels->count] = *kernel;
    kernels->kernel[kernels->count++].first_run = kernels->run_count;
    memcpy(kernels->runs + kernels->run_count, runs,
           kernel->groups * sizeof(*runs));
    kernels->run_count += kernel->groups;
    return true;
}

void sim_kernels_free(struct sim_kernels *kernels)
{
    free(kernels->kernel);
    free(kernels->runs);
    *kernels = (struct sim_kernels){0};
}

// "NAME RATE ..." to the end of their table.
static hd_status read_mix(const struct sim_machine *machine,
                          struct sim_text *text, double *flow)
{
    uint32_t classes = 0; // as bits
    unsigned first = text->used;

    *flow = 0;
    while (text->used < text->count &&
           text->depth[text->used] >= text->depth[first]) {
        const char *name = sim_text_word(text);
        unsigned c = 0;
        double rate;

        while (c < machine->class_count &&
               strcmp(machine->classes[c].name, name) != 0)
            c++;
        if (c == machine->class_count)
            return sim_text_fail(
                text, "the machine has no instruction class '%s'", name);
        if (classes >> c & 1)
            return sim_text_fail(text, "'%s' is given twice in this statement",
                                 name);
        classes |= 1u << c;
        HDI_TRY(sim_text_real(text, name, 0, 1e6, &rate));
        *flow += rate * machine->classes[c].weight;
    }
    return classes ? HD_OK : sim_text_fail(text, "a mix of what?");
}

enum {
    GROUPS_LIMIT = 1 << 24
};

static hd_status read_kernel(struct sim_workload *workload,
                             const struct sim_machine *machine,
                             struct sim_text *text)
{
    struct sim_kernel kernel = {.groups = 1,
                                .need = {.waves = 1, .priority = 1}};
    uint64_t n, low = 0, high = 0;
    double flow = 1;
    struct hd_error reason;

    HDI_TRY(sim_text_number(text, "channel", 0, SIM_CHANNELS - 1, &n));
    kernel.channel = (uint32_t)n;
    if (kernel.channel >= workload->channels)
        workload->channels = kernel.channel + 1;
    while (text->used < text->count) {
        const char *word;
        HDI_TRY(sim_text_key(text, &word));
        int resource = sim_machine_resource(machine, word);

        if (strcmp(word, "at") == 0) {
            HDI_TRY(sim_text_number(text, word, 0, SIM_CYCLES_LIMIT,
                                    &kernel.arrival));
        } else if (strcmp(word, "priority") == 0) {
            HDI_TRY(sim_text_number(text, word, 1, HDI_MAX_PRIORITIES, &n));
            kernel.need.priority = (uint8_t)n;
            if (n > workload->priorities)
                workload->priorities = (uint32_t)n;
        } else if (strcmp(word, "groups") == 0) {
            HDI_TRY(sim_text_number(text, word, 1, GROUPS_LIMIT, &n));
            kernel.groups = (uint32_t)n;
        } else if (strcmp(word, "waves") == 0) {
            HDI_TRY(sim_text_number(text, word, 1, UINT16_MAX, &n));
            kernel.need.waves = (uint16_t)n;
        } else if (strcmp(word, "run") == 0) {
            HDI_TRY(sim_text_number(text, word, 1, SIM_CYCLES_LIMIT, &low));
            high = low;
            if (sim_text_is(text, "to"))
                HDI_TRY(sim_text_number(text, "longest run", low,
                                        SIM_CYCLES_LIMIT, &high));
        } else if (strcmp(word, "independent") == 0) {
            kernel.need.independent = true;
        } else if (strcmp(word, "mix") == 0) {
            HDI_TRY(read_mix(machine, text, &flow));
        } else if (resource >= 0) {
            HDI_TRY(sim_text_number(text, word, 0, HDI_MAX_BLOCKS, &n));
            kernel.need.amount[resource] = (uint16_t)n;
        } else {
            return sim_text_fail(text,
                                 "'%s' is neither a resource of the machine "
                                 "nor known of a kernel",
                                 word);
        }
    }
    if (low == 0)
        return sim_text_fail(text, "how long does it 'run'?");
    if (hdi_need_check(&kernel.need, &machine->shape, HDI_MAX_PRIORITIES,
                       &reason) != HD_OK)
        return sim_text_fail(text, "%s", reason.text);

    uint64_t *runs = calloc(kernel.groups, sizeof(*runs));
    struct hdi_random random;
    hdi_random_seed(&random, workload->written.count);
    for (uint32_t g = 0; runs && g < kernel.groups; g++)
        runs[g] =
            low + (uint64_t)(hdi_random_unit(&random) * (double)(high - low));
    kernel.share = sim_share(&kernel.need, machine);
    kernel.flow = flow * kernel.need.waves;
    bool added = runs && sim_kernels_add(&workload->written, &kernel, runs);
    free(runs);
    return added ? HD_OK
                 : hdi_fail(text->error, HD_ENOMEM, "%s:%u: no memory",
                            text->path, text->line);
}

// "LOW to HIGH", or "A B C ...": one of these.
static hd_status read_choice(struct sim_text *text, const char *what,
                             uint64_t least, uint64_t most,
                             struct sim_choice *choice)
{
    *choice = (struct sim_choice){.set = true};
    do {
        if (choice->count == SIM_CHOICES)
            return sim_text_fail(text, "more than %d to choose from",
                                 SIM_CHOICES);
        HDI_TRY(sim_text_number(text, what, least, most,
                                &choice->of[choice->count]));
        choice->count++;
        if (choice->count > 1 || !sim_text_is(text, "to"))
            continue;
        choice->low = choice->of[0];
        choice->count = 0;
        return sim_text_number(text, what, choice->low, most, &choice->high);
    } while (text->used < text->count);
    if (choice->count == 1) {
        choice->low = choice->high = choice->of[0];
        choice->count = 0;
    }
    return HD_OK;
}

static hd_status read_run(struct sim_workload *workload, struct sim_text *text)
{
    struct sim_workload *w = workload;

    if (!sim_text_is(text, "lognormal"))
        return sim_text_fail(text, "only \"lognormal\" runs can be generated");
    HDI_TRY(
        sim_text_real(text, "mean of the logarithm", -30, 40, &w->run_mean));
    HDI_TRY(sim_text_real(text, "deviation of the logarithm", 0, 20,
                          &w->run_deviation));
    if (sim_text_is(text, "from"))
        HDI_TRY(sim_text_real(text, "shortest run", 1, 1e15, &w->run_low));
    if (sim_text_is(text, "spread")) {
        HDI_TRY(sim_text_real(text, "spread", 0, 100, &w->spread_low));
        HDI_TRY(
            sim_text_real(text, "spread", w->spread_low, 100, &w->spread_high));
    }
    if (sim_text_is(text, "to"))
        HDI_TRY(
            sim_text_real(text, "longest run", w->run_low, 1e15, &w->run_high));
    return HD_OK;
}

static hd_status find_resource(const struct sim_machine *machine,
                               struct sim_text *text, int *resource)
{
    const char *name = sim_text_word(text);

    *resource = name ? sim_machine_resource(machine, name) : -1;
    return *resource >= 0 ? HD_OK
                          : sim_text_fail(text,
                                          "the machine has no resource "
                                          "'%s'",
                                          name ? name : "");
}

static hd_status read_statement(struct sim_workload *w,
                                const struct sim_machine *machine,
                                struct sim_text *text)
{
    const char *statement = text->word[0];
    uint64_t n;
    int r;

    if (strcmp(statement, "kernel") != 0 && strcmp(statement, "mix") != 0)
        HDI_TRY(sim_text_once(text, strcmp(statement, "need") == 0 ||
                                        strcmp(statement, "shrink") == 0));
    if (sim_text_is(text, "name")) {
        HDI_TRY(sim_text_name(text, "workload", w->name, sizeof(w->name)));
    } else if (sim_text_is(text, "machine")) {
        // The caller has opened it already.
        if (!sim_text_word(text))
            return sim_text_fail(text, "the file of the machine is missing");
    } else if (sim_text_is(text, "cycles")) {
        HDI_TRY(
            sim_text_number(text, "cycles", 1, SIM_CYCLES_LIMIT, &w->cycles));
    } else if (sim_text_is(text, "channels")) {
        HDI_TRY(sim_text_number(text, "channels", 1, SIM_CHANNELS, &n));
        if (n > w->channels)
            w->channels = (uint32_t)n;
    } else if (sim_text_is(text, "priorities")) {
        HDI_TRY(sim_text_number(text, "priorities", 1, HDI_MAX_PRIORITIES, &n));
        if (n > w->priorities)
            w->priorities = (uint32_t)n;
    } else if (sim_text_is(text, "kernel")) {
        HDI_TRY(read_kernel(w, machine, text));
    } else if (sim_text_is(text, "generate")) {
        if (!sim_text_is(text, "load"))
            return sim_text_fail(text, "generate what 'load'?");
        HDI_TRY(sim_text_real(text, "load", 1e-6, 100, &w->load));
    } else if (sim_text_is(text, "priority")) {
        do {
            if (w->priority_count == SIM_CHOICES)
                return sim_text_fail(text, "more than %d priorities",
                                     SIM_CHOICES);
            HDI_TRY(
                sim_text_number(text, "priority", 1, HDI_MAX_PRIORITIES, &n));
            w->priority[w->priority_count++] = (uint8_t)n;
            if (n > w->priorities)
                w->priorities = (uint32_t)n;
        } while (text->used < text->count);
    } else if (sim_text_is(text, "groups")) {
        HDI_TRY(read_choice(text, "groups", 1, GROUPS_LIMIT, &w->groups));
    } else if (sim_text_is(text, "waves")) {
        HDI_TRY(read_choice(
            text, "waves", 1,
            (uint64_t)machine->shape.units * machine->shape.waves, &w->waves));
    } else if (sim_text_is(text, "need")) {
        HDI_TRY(find_resource(machine, text, &r));
        HDI_TRY(read_choice(text, "blocks", 0,
                            machine->shape.resources[r].blocks, &w->need[r]));
    } else if (sim_text_is(text, "shrink")) {
        HDI_TRY(find_resource(machine, text, &r));
        HDI_TRY(sim_text_number(text, "blocks of a unit", 1, HDI_MAX_BLOCKS,
                                &w->shrink[r]));
    } else if (sim_text_is(text, "run")) {
        HDI_TRY(read_run(w, text));
    } else if (sim_text_is(text, "independent")) {
        HDI_TRY(sim_text_real(text, "chance", 0, 1, &w->independent));
        if (sim_text_is(text, "without"))
            HDI_TRY(find_resource(machine, text, &w->without));
    } else if (sim_text_is(text, "mix")) {
        if (w->mix_count == SIM_MIXES)
            return sim_text_fail(text, "more than %d mixes", SIM_MIXES);
        HDI_TRY(read_mix(machine, text, &w->mix[w->mix_count]));
        w->mix_count++;
    } else {
        return sim_text_fail(text, "'%s' is not known of a workload",
                             statement);
    }
    return sim_text_end(text);
}

hd_status sim_workload_read(struct sim_workload *workload,
                            const struct sim_machine *machine,
                            struct sim_text *text)
{
    struct sim_workload *w = workload;
    hd_status status;
    bool more;

    *w = (struct sim_workload){.channels = 1,
                               .priorities = 1,
                               .run_mean = 6.5,
                               .run_deviation = 1,
                               .run_low = 1,
                               .run_high = 1e15,
                               .spread_low = 1,
                               .spread_high = 1,
                               .without = -1};
    snprintf(w->name, sizeof(w->name), "%.63s", text->path);
    for (;;) {
        status = sim_text_statement(text, &more);
        if (status == HD_OK && more)
            status = read_statement(w, machine, text);
        if (status != HD_OK || !more)
            break;
    }
    if (status == HD_OK && w->cycles == 0)
        status = sim_text_fail(text, "at its end: how many 'cycles' are "
                                     "simulated?");
    if (status == HD_OK && w->load == 0 && w->written.count == 0)
        status = sim_text_fail(text, "at its end: no 'kernel' and nothing to "
                                     "'generate'");
    if (status != HD_OK)
        sim_workload_close(w);
    return status;
}

hd_status sim_workload_open(struct sim_workload *workload,
                            const struct sim_machine *machine, const char *path,
                            struct hd_error *error)
{
    struct sim_text text;

    HDI_TRY(sim_text_open(&text, path, error));
    hd_status status = sim_workload_read(workload, machine, &text);
    sim_text_close(&text);
    return status;
}

void sim_workload_close(struct sim_workload *workload)
{
    sim_kernels_free(&workload->written);
}
