// What the tests of the simulator begin with: a machine and a workload from
// text, and the kernels made of them.
#ifndef HEDDLE_SIM_SETUP_H
#define HEDDLE_SIM_SETUP_H

#include "sim/workload.h"
#include "tests/check.h"

static struct hd_error error;

static const char machine_text[] =
    "modules = 4\n"
    "units = 4\n"
    "waves = 16\n"
    "resource { 'vector', 128, 'unit', 'contiguous', "
    "energy = 4 }\n"
    "resource { 'scalar', 128, 'unit', 'contiguous' }\n"
    "resource { 'slots', 16, 'unit', 'counted' }\n"
    "resource { 'memory', 128, 'module', 'contiguous' }\n";

static const char workload_text[] =
    "cycles = 60000\n"
    "channels = 8\n"
    "priorities = 4\n"
    "generate { load = 1.2 }\n"
    "priority = { 4, 3, 2, 1 }\n"
    "groups = { 8, to = 127 }\n"
    "waves = { 1, 2, 4, 4, 8, 8, 16, 16 }\n"
    "need { 'vector', 4, 6, 8, 8, 12, 16, 24, 32 }\n"
    "need { 'scalar', 2, to = 7 }\n"
    "need { 'slots', 1 }\n"
    "need { 'memory', 0, 0, 0, 4, 8, 16, 32, 64 }\n"
    "shrink { 'vector', 96 }\n"
    "run { 'lognormal', 5, 1, from = 50, to = 3000, spread = "
    "{ 0.7, 1.3 } }\n"
    "independent = { 0.5, without = 'memory' }\n";

static inline void read_machine(struct sim_machine *machine, const char *data)
{
    struct sim_text text;

    CHECK_OK(sim_text_from(&text, "m", data, strlen(data), &error), error);
    CHECK_OK(sim_machine_read(machine, &text), error);
    sim_text_close(&text);
}

static inline void read_workload(struct sim_workload *workload,
                                 const struct sim_machine *machine,
                                 const char *data)
{
    struct sim_text text;

    CHECK_OK(sim_text_from(&text, "w", data, strlen(data), &error), error);
    CHECK_OK(sim_workload_read(workload, machine, &text), error);
    sim_text_close(&text);
}

struct setup {
    struct sim_machine machine;
    struct sim_workload workload;
    struct sim_kernels kernels;
};

static inline struct setup set_up(const char *machine, const char *workload,
                                  uint64_t seed)
{
    struct setup s;

    read_machine(&s.machine, machine);
    read_workload(&s.workload, &s.machine, workload);
    CHECK_OK(
        sim_workload_kernels(&s.workload, &s.machine, seed, &s.kernels, &error),
        error);
    return s;
}

static inline void tear_down(struct setup *s)
{
    sim_kernels_free(&s->kernels);
    sim_workload_close(&s->workload);
    sim_machine_close(&s->machine);
}

#endif
