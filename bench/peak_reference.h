// What a machine can do at most: bytes moved and numbers multiplied.
#ifndef HEDDLE_BENCH_PEAK_REFERENCE_H
#define HEDDLE_BENCH_PEAK_REFERENCE_H

#include "bench/kernel_reference.h"

enum {
    PEAK_FLOPS = 2 * 64 * 10 * 16, // of a unit of reference_multiply_add...
    PEAK_BYTES = 12                // of a unit of reference_triad
};

// out[0] = in[0] + k * in[1], as STREAM's triad: McCalpin, "Memory bandwidth
// and machine balance in current high performance computers", 1995. As there,
// the line that a store reads first is not counted. The other: independent
// chains of multiply and add, in registers, of floats, doubles and 32-bit integers.
reference_run reference_triad, reference_multiply_add,
    reference_multiply_add_double, reference_multiply_add_int;

#endif
