// What a machine's resources and instructions cost, measured: one
// core of one module works, the others are left idle, and every kind of work is
// done the same number of times. The cost is energy where the counters of the
// powercap tree can be read and move, else time. Kept per machine in the cache.
#ifndef HDI_LAUNCH_MEASURE_CALIBRATION_H
#define HDI_LAUNCH_MEASURE_CALIBRATION_H

#include <stdbool.h>
#include <stdio.h>

#include "base/topology.h"
#include "heddle/status.h"
#include "kernel/program.h"

enum hdi_calibrated_work {
    HDI_WORK_MOVE,
    HDI_WORK_LOAD,
    HDI_WORK_STORE,
    HDI_WORK_MULTIPLY, // and add, of 16 floats
    HDI_WORK_COMPARE,
    HDI_WORK_BRANCH,
    HDI_WORK_SLOT,  // a piece of arithmetic that needs a worker slot only
    HDI_WORK_LOCAL, // the same that also walks over a block of local memory
    HDI_WORKS
};

// In files and tables: "move", "load", ...
const char *hdi_work_name(enum hdi_calibrated_work work);

struct hdi_calibration {
    bool energy;            // cost is in picojoules, else in picoseconds
    double cost[HDI_WORKS]; // of one
};

enum {
    HDI_BLOCK_BYTES = 4096 // of local memory
};

// Takes about a second. HD_ENOMEM without a thread or memory.
hd_status hdi_calibration_measure(const struct hdi_topology *topology,
                                  struct hdi_calibration *calibration,
                                  struct hd_error *error);

// What was kept for this machine; false when nothing was, or it is damaged, of
// another version, or of another machine: then it has to be measured.
bool hdi_calibration_find(struct hdi_cache *cache,
                          const struct hdi_machine *machine,
                          struct hdi_calibration *calibration);

// False when it cannot be written.
bool hdi_calibration_keep(struct hdi_cache *cache,
                          const struct hdi_machine *machine,
                          const struct hdi_calibration *calibration);

// Weights of what is left, in proportion to cost: the larger of both is 1000,
// none is 0.
void hdi_calibration_weights(const struct hdi_calibration *calibration,
                             uint32_t *slot, uint32_t *local);

#endif
