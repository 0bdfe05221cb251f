// Runs of one policy with successive seeds, on several threads.
//
// Every run has its own kernels and dispatcher; what they share is read only.
// Results do not depend on how many threads there are.
#ifndef HEDDLE_SIM_SWEEP_H
#define HEDDLE_SIM_SWEEP_H

#include "sim/run.h"

struct sim_sweep {
    const struct sim_machine *machine;
    const struct sim_workload *workload;
    struct hdi_policy policy;
    uint64_t first_seed;
    uint32_t count; // of seeds
    uint32_t jobs;  // runs at a time; 0: one for every core
    bool progress;  // a line on stderr
};

// results[i] is of seed first_seed + i. The error is that of the first seed
// that has one.
hd_status sim_sweep(const struct sim_sweep *sweep, struct sim_result *results,
                    struct hd_error *error);

#endif
