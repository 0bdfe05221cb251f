// What the kernels of suite.cl compute, as C for some of their units.
#ifndef HEDDLE_BENCH_SUITE_REFERENCE_H
#define HEDDLE_BENCH_SUITE_REFERENCE_H

#include "bench/kernel_reference.h"

reference_run suite_gemm, suite_gemm_double, suite_mm2, suite_atax, suite_mvt,
    suite_gesummv, suite_syrk, suite_correlation, suite_gram_schmidt,
    suite_gaussian, suite_lu, suite_fdtd, suite_jacobi, suite_conv_2d,
    suite_conv_3d, suite_hotspot, suite_srad, suite_lava, suite_md, suite_cfd,
    suite_bfs, suite_kmeans, suite_distance_to, suite_search,
    suite_back_propagation, suite_needleman, suite_path, suite_radix_count,
    suite_sort_four, suite_merge_runs, suite_md5, suite_row_sums, suite_fft,
    suite_fft_double, suite_wavelet, suite_erosion, suite_resize,
    suite_threshold;

#endif
