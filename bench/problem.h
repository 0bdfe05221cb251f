// Kernels with what they work on, and how Heddle runs them: what several
// benchmarks measure. A program has one set of them: those of kernel.cl
// (kernel_problems.c) or those of suite.cl (suite_problems.c).
#ifndef HEDDLE_BENCH_PROBLEM_H
#define HEDDLE_BENCH_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/kernel_reference.h"
#include "heddle/heddle.h"

enum {
    PROBLEM_INPUTS = 4,
    PROBLEM_BUFFERS = 6,     // inputs a, b, c, d and outputs o, p
    PROBLEM_ARGS = 12,       // most of a kernel
    PROBLEM_BYTES = 16 << 20 // of a buffer
};

enum fill {
    FILL_FLOATS, // between 1 and 2
    FILL_COARSE, // the same of 9 bits: the sum of 16 squares of differences is
                 // exact, in any order
    FILL_BODIES,
    FILL_INTEGERS,
    FILL_MATRIX,       // sparse: begin, column, value, x
    FILL_ROOTS,        // floats, and b: the roots of unity, each size's
    FILL_CIRCLE,       // floats, and b: the roots of unity of 512
    FILL_MESH,         // floats, and a: numbers of cells nearby
    FILL_PREDECESSORS, // floats, and b: i - 1, not below 0
    FILL_DOUBLES,      // between 1 and 2; what follows as well
    FILL_RISING,       // and a: rising
    FILL_CIRCLE_DOUBLES
};

enum result {
    RESULT_FLOATS, // equal but for rounding
    RESULT_DOUBLES,
    RESULT_INTEGERS // equal
};

struct problem {
    const char *name, *kernel;
    // a to f as buffers, n, w, h, d: numbers; k: 0.5; r, s: rate and spread; L:
    // local memory, a float or `local_size` bytes per work-item.
    const char *args;
    struct hd_range range;
    int n, width, height, depth;
    long units; // of the reference
    reference_run *reference;
    // Of a run, by convention: what must be read and written once [bytes], and
    // additions and multiplications. 0: not told.
    double bytes, flops;
    enum fill fill;
    unsigned local_size;
    bool in_place; // the output begins as a copy of the first input
    enum result result;
};

struct problem_bar {
    double worst, mean; // 0: none
};

extern const struct problem_set {
    const char *bench;
    const struct problem *problems;
    int count;
    struct problem_bar over_c;      // with code for the processor at hand
    struct problem_bar over_c_else; // with code for another
    struct problem_bar over_pocl, over_intel;
} problem_set;

#define PROBLEM_ITEMS(n)                                       \
    {                                                          \
        .dims = 1, .global = {n}, .local = { REFERENCE_GROUP } \
    }
#define PROBLEM_PLANE(w, h, x, y)                      \
    {                                                  \
        .dims = 2, .global = {w, h}, .local = { x, y } \
    }
#define PROBLEM_MILLIONS(m) ((m) << 20)

// One of the names, or there are none.
bool problem_is_wanted(const struct problem *problem, char **names);

// The inputs, and what the outputs hold before a run.
void problem_fill(const struct problem *problem,
                  void *const inputs[PROBLEM_INPUTS]);
void problem_reset(const struct problem *problem,
                   void *const inputs[PROBLEM_INPUTS], void *outputs[2]);

// Numbers of an output that are not what they should be, as problem->result
// says.
uint64_t problem_count_different(const struct problem *problem,
                                 const void *ours, const void *c);

struct problem_arg {
    int buffer;        // its number; -1: none
    size_t size;       // of the value or of local memory [bytes]
    const void *value; // NULL: local memory, when it is no buffer
};

// The arguments of the kernel, and how many they are.
unsigned problem_args(const struct problem *problem,
                      struct problem_arg args[PROBLEM_ARGS]);

// The text of kernel.cl, which the caller frees. Ends the process when there
// is none.
char *problem_read_source(void);

// A runtime with the program and buffers, `more` bytes larger than they need
// be. What goes wrong ends the process.
struct problem_rig {
    struct hd_runtime *runtime;
    struct hd_program *program;
    struct hd_buffer *buffers[PROBLEM_BUFFERS];
};

struct problem_rig problem_rig_start(const struct hd_runtime_params *params,
                                     unsigned more);
void problem_rig_stop(struct problem_rig *rig);

// Copy inputs into the rig's buffers, and reset its outputs.
void problem_load(const struct problem_rig *rig, const struct problem *problem,
                  void *const inputs[PROBLEM_INPUTS]);
void problem_run(const struct problem_rig *rig, const struct problem *problem);
double problem_time(const struct problem_rig *rig,
                    const struct problem *problem, int repeats); // [ms]

// What must be HD_OK; `what` it was.
void problem_check(hd_status status, const char *what,
                   const struct hd_error *error);

#endif
