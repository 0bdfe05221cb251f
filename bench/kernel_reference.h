// What the kernels of kernel.cl compute, as C for one thread's share of it.
#ifndef HEDDLE_BENCH_KERNEL_REFERENCE_H
#define HEDDLE_BENCH_KERNEL_REFERENCE_H

#include <stdint.h>

enum {
    REFERENCE_GROUP = 256,  // work-items of a group where groups matter
    REFERENCE_POINTS = 1024 // of a Fourier transform
};

// What each case puts where is in kernel.c.
struct reference {
    const void *in[4];
    void *out[2];
    int n, width, height, depth;
};

// Work `begin` .. `end` of the case's units.
typedef void reference_run(const struct reference *r, long begin, long end);

reference_run reference_add, reference_saxpy, reference_black_scholes,
    reference_nbody, reference_mandelbrot, reference_sobel, reference_matmul,
    reference_reduce, reference_histogram, reference_bitonic,
    reference_transpose, reference_scan, reference_sparse, reference_stencil,
    reference_nearest, reference_fourier;

#endif
