// A workload file: kernels that arrive at channels, written out or generated.
//
//     cycles = 1000000             -- how long is simulated
//     channels = 8
//     priorities = 4
//     kernel { 0, at = 120, priority = 1, groups = 24, waves = 8, run = 900,
//              vector = 8, memory = 16 }
//     kernel { 1, at = 130, run = { 400, to = 600 }, independent = true }
//     generate { load = 1.3 }      -- the statements below say of what
//     priority = { 4, 3, 2, 1 }    -- of channel 0, 1, 2, ... and again
//     groups = { 8, to = 127 }
//     waves = { 1, 2, 4, 4, 8, 8, 16, 16 } -- one of these
//     need { "vector", 4, 6, 8, 8, 12, 16, 24, 32 }
//     need { "scalar", 2, to = 7 }
//     shrink { "vector", 96 }      -- halve it while a unit's share is larger
//     run { "lognormal", 6.5, 1.2, from = 100, to = 40000, spread = { 0.7, 1.3
//     } } independent = { 0.5, without = "memory" } -- chance, only for kernels
//     without it mix { load = 0.2, move = 0.5 } -- instructions per wave and
//     cycle
//
// A kernel is one packet of equal groups. `load` is offered work over the
// machine: share of the most used resource x run time.
#ifndef HEDDLE_SIM_WORKLOAD_H
#define HEDDLE_SIM_WORKLOAD_H

#include "base/random.h"
#include "dispatch/model/need.h"
#include "sim/machine.h"

enum {
    SIM_CHOICES = 64,
    SIM_MIXES = 32,
    SIM_CHANNELS = 1024
};

// Cycle numbers stay below this, so that sums of two never reach 2^63.
#define SIM_CYCLES_LIMIT (UINT64_C(1) << 61)

struct sim_kernel {
    uint32_t channel;
    uint32_t groups;
    uint64_t arrival;   // [cycles]
    uint64_t first_run; // index of its first group in runs
    struct hdi_need need;
    double share; // of the machine's most used resource, of one group
    double flow;  // weighted instructions per cycle of one group
};

struct sim_kernels {
    struct sim_kernel *kernel; // by arrival
    size_t count, capacity;
    uint64_t *runs; // of every group [cycles]
    size_t run_count, run_capacity;
};

// One value of several, or of a range.
struct sim_choice {
    bool set;
    unsigned count; // 0: low to high
    uint64_t low, high, of[SIM_CHOICES];
};

struct sim_workload {
    char name[64];
    uint64_t cycles;
    uint32_t channels, priorities;
    struct sim_kernels written;

    double load; // 0: nothing is generated
    struct sim_choice groups, waves, need[HDI_MAX_RESOURCES];
    unsigned priority_count;
    uint8_t priority[SIM_CHOICES];
    uint64_t shrink[HDI_MAX_RESOURCES]; // 0: not
    double run_mean, run_deviation;     // of the logarithm
    double run_low, run_high, spread_low, spread_high;
    double independent;
    int without; // resource, or -1
    unsigned mix_count;
    double mix[SIM_MIXES]; // weighted instructions per wave and cycle
};

hd_status sim_workload_read(struct sim_workload *workload,
                            const struct sim_machine *machine,
                            struct sim_text *text);
hd_status sim_workload_open(struct sim_workload *workload,
                            const struct sim_machine *machine, const char *path,
                            struct hd_error *error);
void sim_workload_close(struct sim_workload *workload);

// All kernels of one run: the written ones and those generated from `seed`.
hd_status sim_workload_kernels(const struct sim_workload *workload,
                               const struct sim_machine *machine, uint64_t seed,
                               struct sim_kernels *kernels,
                               struct hd_error *error);
void sim_kernels_free(struct sim_kernels *kernels);

// Append one; `runs` has one number per group. False: no memory.
bool sim_kernels_add(struct sim_kernels *kernels,
                     const struct sim_kernel *kernel, const uint64_t *runs);

double sim_share(const struct hdi_need *need,
                 const struct sim_machine *machine);

#endif
