// Random programs in OpenCL C: structures, unions, pointers, vectors of every
// width, compound assignments, functions, barriers and atomics. Nothing in them
// is undefined, and no result depends on which work-item comes first; so every
// compiler has to get the same ones.
//
// After CLsmith: Lidbury, Lascu, Chong, Donaldson, "Many-core compiler
// fuzzing", PLDI 2015.
#ifndef HEDDLE_TESTS_PROGRAMS_PROGRAM_H
#define HEDDLE_TESTS_PROGRAMS_PROGRAM_H

#include <stdint.h>
#include <stdio.h>

enum {
    PROGRAM_INPUT = 64,     // numbers that a program may read
    PROGRAM_MAX_GROUP = 64, // work-items
    PROGRAM_TOTALS = 4      // local variables that atomics change
};

// Print the program of this seed. Its kernel is
//
//     kernel void k(global ulong *out, global const uint *in)
//
// which writes one number per work-item, of a range of one dimension without an
// offset, in work-groups of at most PROGRAM_MAX_GROUP.
void program_print(uint64_t seed, FILE *to);

#endif
