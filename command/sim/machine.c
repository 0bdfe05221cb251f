#include "sim/machine.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sim/samples.h"

int sim_machine_resource(const struct sim_machine *machine, const char *name)
{
    for (uint32_t r = 0; r < machine->shape.resource_count; r++) {
        if (strcmp(machine->shape.resources[r].name, name) == 0)
            return (int)r;
    }
    return -1;
}

// Shifts for lengths that are needed equally often; what is named twice, twice
// as often. With `above` those needed with a probability of P or less are
// left out first.
static hd_status choose_shifts(const struct hdi_module_resource *resource,
                               struct sim_text *text, uint16_t *shifts,
                               uint32_t *count)
{
    uint64_t needed[HDI_MAX_BLOCKS + 1] = {0}, length;
    double above = 0;

    if (sim_text_is(text, "above"))
        HDI_TRY(sim_text_real(text, "a probability", 0, 1, &above));
    if (!sim_text_is(text, "lengths"))
        return sim_text_fail(text, "shifts for which 'lengths'?");
    do {
        HDI_TRY(
            sim_text_number(text, "a length", 1, resource->blocks, &length));
        needed[length]++;
    } while (text->used < text->count &&
             isdigit((unsigned char)text->word[text->used][0]));
    *count = sim_samples_choose(resource->blocks, needed, above, shifts);
    return HD_OK;
}

static hd_status read_shifts(struct sim_machine *machine, struct sim_text *text,
                             uint32_t index)
{
    struct hdi_module_resource *resource = &machine->shape.resources[index];
    uint16_t *shifts = calloc(resource->blocks, sizeof(*shifts));
    uint32_t count = 0;

    if (!shifts)
        return hdi_fail(text->error, HD_ENOMEM, "%s:%u: no memory for shifts",
                        text->path, text->line);
    machine->shifts[index] = shifts;
    resource->search = HDI_SEARCH_SAMPLED;
    resource->shifts = shifts;
    while (text->used < text->count &&
           isdigit((unsigned char)text->word[text->used][0])) {
        uint64_t shift;
        HDI_TRY(
            sim_text_number(text, "a shift", 0, resource->blocks - 1, &shift));
        if (count > 0 && shift <= shifts[count - 1])
            return sim_text_fail(text, "shifts must ascend");
        shifts[count++] = (uint16_t)shift;
    }
    if (count == 0 && text->used < text->count &&
        (strcmp(text->word[text->used], "above") == 0 ||
         strcmp(text->word[text->used], "lengths") == 0))
        HDI_TRY(choose_shifts(resource, text, shifts, &count));
    else if (count == 0)
        count = sim_samples_choose(resource->blocks, NULL, 0, shifts);
    resource->shift_count = count;
    return HD_OK;
}

static hd_status read_resource(struct sim_machine *machine,
                               struct sim_text *text)
{
    uint32_t index = machine->shape.resource_count;
    uint64_t number;

    if (index == HDI_MAX_RESOURCES)
        return sim_text_fail(text, "more than %d resources", HDI_MAX_RESOURCES);
    struct hdi_module_resource *resource = &machine->shape.resources[index];
    *resource = (struct hdi_module_resource){.energy = 1, .group = 1};
    HDI_TRY(sim_text_name(text, "resource", resource->name,
                          sizeof(resource->name)));
    HDI_TRY(sim_text_number(text, "blocks", 1, HDI_MAX_BLOCKS, &number));
    resource->blocks = (uint32_t)number;
    if (sim_text_is(text, "module"))
        resource->shared = true;
    else if (!sim_text_is(text, "unit"))
        return sim_text_fail(text, "whose blocks? 'unit' or 'module'");
    if (sim_text_is(text, "contiguous"))
        resource->contiguous = true;
    else if (!sim_text_is(text, "counted"))
        return sim_text_fail(text, "'contiguous' or 'counted' is missing");
    machine->shape.resource_count++;

    while (text->used < text->count) {
        const char *key;
        HDI_TRY(sim_text_key(text, &key));
        if (strcmp(key, "together") == 0) {
            resource->together = true;
        } else if (resource->search != HDI_SEARCH_EXACT &&
                   (strcmp(key, "grouped") == 0 ||
                    strcmp(key, "sampled") == 0)) {
            return sim_text_fail(text, "a search is 'grouped' or 'sampled', "
                                       "not both");
        } else if (strcmp(key, "grouped") == 0) {
            HDI_TRY(sim_text_number(text, "blocks of a group", 1,
                                    resource->blocks, &number));
            resource->search = HDI_SEARCH_GROUPED;
            resource->group = (uint32_t)number;
        } else if (strcmp(key, "sampled") == 0) {
            HDI_TRY(read_shifts(machine, text, index));
        } else if (strcmp(key, "energy") == 0) {
            HDI_TRY(sim_text_number(text, "energy", 0, 1000000, &number));
            resource->energy = (uint32_t)number;
        } else {
            return sim_text_fail(text, "'%s' is not known of a resource", key);
        }
    }
    return HD_OK;
}

static hd_status read_searcher(struct sim_machine *machine,
                               struct sim_text *text)
{
    unsigned blocks[SIM_SEARCHER_MAPS], count = 0;
    struct hd_error reason;
    uint64_t width;

    HDI_TRY(sim_text_number(text, "width", 1, SIM_SEARCHER_BLOCKS, &width));
    while (text->used < text->count) {
        const char *name;
        HDI_TRY(sim_text_key(text, &name));
        int r = sim_machine_resource(machine, name);
        if (r < 0 || !machine->shape.resources[r].contiguous)
            return sim_text_fail(text, "no contiguous resource '%s' so far",
                                 name);
        if (count == SIM_SEARCHER_MAPS)
            return sim_text_fail(text, "too many resources");
        const struct hdi_module_resource *resource =
            &machine->shape.resources[r];
        blocks[count++] = resource->blocks / resource->group;
    }
    if (sim_searcher_init(&machine->searcher, (unsigned)width, blocks, count,
                          &reason) != HD_OK)
        return sim_text_fail(text, "%s", reason.text);
    machine->has_searcher = true;
    return HD_OK;
}

static hd_status read_class(struct sim_machine *machine, struct sim_text *text)
{
    if (machine->class_count == SIM_CLASSES)
        return sim_text_fail(text, "more than %d instruction classes",
                             SIM_CLASSES);
    unsigned c = machine->class_count;
    HDI_TRY(sim_text_name(text, "instruction class", machine->classes[c].name,
                          sizeof(machine->classes[c].name)));
    HDI_TRY(sim_text_real(text, "weight", 0, 1e6, &machine->classes[c].weight));
    machine->class_count++;
    return HD_OK;
}

static hd_status read_statement(struct sim_machine *machine,
                                struct sim_text *text)
{
    struct hdi_shape *shape = &machine->shape;
    const char *statement = text->word[0];
    uint64_t n;

    HDI_TRY(sim_text_once(text, strcmp(statement, "resource") == 0 ||
                                    strcmp(statement, "instruction") == 0));
    if (sim_text_is(text, "name")) {
        HDI_TRY(sim_text_name(text, "machine", machine->name,
                              sizeof(machine->name)));
    } else if (sim_text_is(text, "modules")) {
        HDI_TRY(sim_text_number(text, "modules", 1, HDI_MAX_MODULES, &n));
        shape->modules = (uint32_t)n;
    } else if (sim_text_is(text, "units")) {
        HDI_TRY(sim_text_number(text, "units", 1, HDI_MAX_UNITS, &n));
        shape->units = (uint32_t)n;
    } else if (sim_text_is(text, "waves")) {
        HDI_TRY(sim_text_number(text, "waves", 1, 1024, &n));
        shape->waves = (uint32_t)n;
    } else if (sim_text_is(text, "resource")) {
        HDI_TRY(read_resource(machine, text));
    } else if (sim_text_is(text, "search")) {
        if (sim_text_is(text, "cycle"))
            machine->timing = SIM_TIMING_CYCLE;
        else if (sim_text_is(text, "pipeline"))
            machine->timing = SIM_TIMING_PIPELINE;
        else if (sim_text_is(text, "reused"))
            machine->timing = SIM_TIMING_REUSED;
        else
            return sim_text_fail(text, "a search takes 'cycle', 'pipeline' or "
                                       "'reused'");
    } else if (sim_text_is(text, "searcher")) {
        HDI_TRY(read_searcher(machine, text));
    } else if (sim_text_is(text, "period")) {
        HDI_TRY(sim_text_number(text, "period", 1, 1000000, &machine->period));
    } else if (sim_text_is(text, "instruction")) {
        HDI_TRY(read_class(machine, text));
    } else if (sim_text_is(text, "heat")) {
        HDI_TRY(sim_text_real(text, "heat", 1, 1e18, &machine->heat));
    } else {
        return sim_text_fail(text, "'%s' is not known of a machine", statement);
    }
    return sim_text_end(text);
}

// Shifts a search of this resource makes.
static uint64_t shifts_of(const struct hdi_module_resource *resource)
{
    if (!resource->contiguous)
        return 1;
    return resource->search == HDI_SEARCH_SAMPLED
               ? resource->shift_count
               : resource->blocks / resource->group;
}

static uint64_t round_of(const struct sim_machine *machine)
{
    uint64_t shifts = 1;

    for (uint32_t r = 0; r < machine->shape.resource_count; r++) {
        uint64_t n = shifts_of(&machine->shape.resources[r]);
        if (n > shifts)
            shifts = n;
    }
    uint64_t period = machine->timing == SIM_TIMING_REUSED     ? shifts
                      : machine->timing == SIM_TIMING_PIPELINE ? 3
                                                               : 1;
    if (!machine->has_searcher)
        return period;
    if (period < machine->period)
        period = machine->period;
    return period * (machine->searcher.periods ? machine->searcher.periods : 1);
}

hd_status sim_machine_read(struct sim_machine *machine, struct sim_text *text)
{
    struct hd_error reason;
    bool more;

    *machine = (struct sim_machine){.heat = 20000, .period = 1};
    snprintf(machine->name, sizeof(machine->name), "%.63s", text->path);
    for (;;) {
        hd_status status = sim_text_statement(text, &more);
        if (status == HD_OK && more)
            status = read_statement(machine, text);
        if (status != HD_OK) {
            sim_machine_close(machine);
            return status;
        }
        if (!more)
            break;
    }
    if (hdi_shape_init(&machine->shape, &reason) != HD_OK) {
        sim_machine_close(machine);
        return sim_text_fail(text, "at its end: %s", reason.text);
    }
    machine->round_cycles = round_of(machine);
    return HD_OK;
}

hd_status sim_machine_open(struct sim_machine *machine, const char *path,
                           struct hd_error *error)
{
    struct sim_text text;

    HDI_TRY(sim_text_open(&text, path, error));
    hd_status status = sim_machine_read(machine, &text);
    sim_text_close(&text);
    return status;
}

void sim_machine_close(struct sim_machine *machine)
{
    for (unsigned r = 0; r < HDI_MAX_RESOURCES; r++)
        free(machine->shifts[r]);
    memset(machine->shifts, 0, sizeof(machine->shifts));
}
