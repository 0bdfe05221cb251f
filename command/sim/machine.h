// A machine file: modules, units, resources, how long a search takes.
//
//     modules = 16
//     units = 4                    -- of a module
//     waves = 16                   -- of a unit
//     resource { "vector", 128, "unit", "contiguous", energy = 4 }
//     resource { "slots", 16, "unit", "counted", energy = 1 }
//     resource { "memory", 128, "module", "contiguous", grouped = 4, energy = 2
//     } search = "cycle"             -- or "pipeline", "reused" searcher { 128,
//     "vector", "scalar" } -- these share one of 128 blocks period = 1 --
//     [cycles] of a searcher's period instruction { "load", 3 }    -- a class
//     and its weight heat = 20000                 -- [cycles] to lose 63 % of
//     it
//
// A contiguous resource may be `together = true` (all waves of a group on a
// unit take one run), `grouped = N`, `sampled = true` (default shifts),
// `sampled = { S1, S2 }` or `sampled = { lengths = { L1, L2 }, above = P }`.
#ifndef HEDDLE_SIM_MACHINE_H
#define HEDDLE_SIM_MACHINE_H

#include "dispatch/model/shape.h"
#include "sim/searcher.h"
#include "sim/text.h"

enum {
    SIM_CLASSES = 16
};

enum sim_timing {
    SIM_TIMING_CYCLE,    // shift, AND and reduce all in one cycle
    SIM_TIMING_PIPELINE, // one cycle each, hardware of their own
    SIM_TIMING_REUSED    // one set of hardware, a cycle per shift
};

struct sim_machine {
    char name[64];
    struct hdi_shape shape;
    uint16_t *shifts[HDI_MAX_RESOURCES];
    enum sim_timing timing;
    bool has_searcher;
    struct sim_searcher searcher;
    uint64_t period; // [cycles]
    unsigned class_count;
    struct {
        char name[32];
        double weight;
    } classes[SIM_CLASSES];
    double heat;           // [cycles]
    uint64_t round_cycles; // of one dispatch round
};

hd_status sim_machine_read(struct sim_machine *machine, struct sim_text *text);
hd_status sim_machine_open(struct sim_machine *machine, const char *path,
                           struct hd_error *error);
void sim_machine_close(struct sim_machine *machine);

// Index of a resource, or -1.
int sim_machine_resource(const struct sim_machine *machine, const char *name);

#endif
