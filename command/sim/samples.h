// Which shifts a sampled search tests.
#ifndef HEDDLE_SIM_SAMPLES_H
#define HEDDLE_SIM_SAMPLES_H

#include <stdint.h>

// Choose ascending shifts for a resource of `blocks`. `needed[l]` is how often
// a run of exactly l blocks is needed, l = 0 .. blocks (any scale; NULL:
// unknown). Lengths whose share of all needs is above `threshold` keep their
// own shift (length - 1); the others are left out first. Steps are powers of
// two that never shrink, doubled as soon as no kept shift would be missed;
// without any needs known they double at 16, 32, 64, ... `shifts` has room for
// `blocks`. Returns how many; the last one is at most blocks - 1.
unsigned sim_samples_choose(unsigned blocks, const uint64_t *needed,
                            double threshold, uint16_t *shifts);

#endif
