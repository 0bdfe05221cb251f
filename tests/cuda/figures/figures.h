// The GPU that gpu_check looks at, and what it measures there.
#ifndef HEDDLE_TESTS_CUDA_FIGURES_FIGURES_H
#define HEDDLE_TESTS_CUDA_FIGURES_FIGURES_H

#include "backend/backend.h"
#include "kernel/program.h"

enum {
    GROUP = 64,    // work-items of a work-group
    MAX_UNITS = 64 // of a machine
};

struct machine {
    struct hdi_topology *topology;
    const struct hdi_backend *backend;
    struct hdi_device *device;
    struct hdi_unit *units[MAX_UNITS];
    unsigned unit_count;
    struct hd_program *program;
    uint32_t items;
    int trips;
    bool fake; // the driver: times mean nothing
};

// With so many units, 0: streams; false: there is no GPU, and the test ends as
// skipped.
void machine_open(struct machine *m, const char *binary, unsigned units,
                  bool doorbell);
void machine_close(struct machine *m);

// A launch of `items` work-items of a kernel.
struct hdi_chunk machine_chunk(const struct machine *m, const char *name,
                               uint32_t items, const void *args);

// Run it on unit 0, and wait.
void machine_run(struct machine *m, const struct hdi_chunk *chunk);

// A figure as a line of JSON, and in the table. `bar` 0: there is none; a bar
// is at least, or with `most` at most. On the fake driver no bar is looked at.
void figure(const struct machine *m, const char *name, const char *metric,
            double value, const char *unit, const char *peer, double bar,
            bool most);

// There is none, and why.
void skip_figure(const char *name, const char *why);

// All figures of times.
void measure(const char *binary);

// Kept graphs that the GPU schedules, with what only they do: results, and what
// a step takes.
void measure_forms(const char *binary);

// Large kernels, of `binary`, beside those that nvcc made: PTX in a file, or
// NULL and why there is none.
void measure_large(const char *binary, const char *peer, const char *why);

// CPU and GPU on one launch beside each alone; `binary` has code for both.
void measure_together(const char *binary);

#endif
