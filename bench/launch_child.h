// What a child of bench/launch.c measures: the same for Heddle and its peers.
#ifndef HEDDLE_BENCH_LAUNCH_CHILD_H
#define HEDDLE_BENCH_LAUNCH_CHILD_H

#include <stdbool.h>

// One OpenCL C implementation. Whatever fails ends the process with a message.
struct implementation {
    // Build the program in the file `source` and have all its kernels ready;
    // compiled code is kept in `folder`.
    void (*build)(const char *source, const char *folder);
    // Run a kernel without arguments, or one whose only argument is a buffer of
    // integers, on `groups` work-groups of `size` work-items, and wait.
    void (*run)(const char *kernel, long groups, int size);
    // Start it on one work-group, `count` times, and wait for the last: each
    // after the one before, or in any order.
    void (*batch)(const char *kernel, int count, bool in_order);
    // Multiply two matrices of 256 x 256 by the kernel "product", and wait.
    void (*multiply)(void);
};

extern const struct implementation implementation;

// The text of a file, which the caller frees; ends the process when there is
// none.
char *launch_read_source(const char *path);

#endif
