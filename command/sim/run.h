// One simulated run: a machine, kernels, a policy, a seed; and what came out.
//
// The model is of cycles: at most one decision per dispatch round, a round
// lasts machine->round_cycles, groups hold what they took for their run time.
// Cycles in which nothing can change are skipped.
#ifndef HEDDLE_SIM_RUN_H
#define HEDDLE_SIM_RUN_H

#include "dispatch/dispatcher.h"
#include "sim/workload.h"

struct sim_wait {
    uint64_t groups;
    double mean, p50, p99, max; // [cycles]
};

struct sim_result {
    uint64_t cycles, decisions, rounds, splits;
    uint64_t groups, sent;
    uint64_t finished;  // groups and pieces
    uint64_t completed; // groups, split ones when all their pieces have ended
    double throughput;              // machines: work finished / cycles
    double used[HDI_MAX_RESOURCES]; // share of blocks and cycles
    struct sim_wait wait;           // of all
    struct sim_wait by_priority[HDI_MAX_PRIORITIES + 1];
    double unit_imbalance; // waves, largest over smallest, of the worst module
    double module_imbalance;    // wave cycles, largest over mean
    double heat_mean, heat_max; // spread over modules: (max - min) / mean
    double seconds;             // processor time of the loop
};

struct sim_timeline;

struct sim_run {
    const struct sim_machine *machine;
    const struct sim_workload *workload;
    const struct sim_kernels *kernels;
    struct hdi_policy policy;
    uint64_t seed;
    struct sim_timeline *timeline; // optional
    bool progress;                 // a line on stderr
    // Optional: told of every decision.
    void (*observe)(void *data, const struct hdi_decision *decision,
                    uint64_t now);
    void *data;
};

hd_status sim_run(const struct sim_run *run, struct sim_result *result,
                  struct hd_error *error);

#endif
