// The longest free run as the hardware finds it: every shift, every AND, every
// reduction is made, and the answer is read from the sequence of reduced bits.
// Slow on purpose: this is what the fast forms in runs.h are
// proved against and what the simulator's cycle counts describe.
#ifndef HDI_TESTS_DISPATCH_RUN_STEPS_H
#define HDI_TESTS_DISPATCH_RUN_STEPS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    HDI_STEP_WORDS = 64, // of 64 blocks each
    HDI_STEP_BLOCKS = 64 * HDI_STEP_WORDS,
    HDI_STEP_TABLE_BITS = 16 // reduced sequences a table is made for
};

enum hdi_shift_direction {
    HDI_SHIFT_DOWN,
    HDI_SHIFT_UP
};

enum hdi_polarity {
    HDI_FREE_IS_ONE, // running AND, OR-reduced
    HDI_FREE_IS_ZERO // running OR, the complement of its AND-reduction
};

struct hdi_steps {
    enum hdi_shift_direction direction;
    enum hdi_polarity polarity;
};

// Fill `sequence` (as many bits as blocks): bit i says that a free run of
// i + 1 exists. `map` has 1 = free, whatever the polarity inside.
void hdi_steps_sequence(const uint64_t *map, unsigned blocks,
                        struct hdi_steps steps, uint64_t *sequence);

// Read a sequence by a scan from the top.
unsigned hdi_steps_read(const uint64_t *sequence, unsigned bits);

// Make the table, of 1 << bits entries, that reads a sequence of up to
// HDI_STEP_TABLE_BITS bits in one look.
void hdi_steps_table(uint8_t *table, unsigned bits);

unsigned hdi_run_exact_steps(const uint64_t *map, unsigned blocks,
                             struct hdi_steps steps);
unsigned hdi_run_grouped_steps(const uint64_t *map, unsigned blocks,
                               unsigned group, struct hdi_steps steps);
unsigned hdi_run_sampled_steps(const uint64_t *map, unsigned blocks,
                               const uint16_t *shifts, unsigned count,
                               struct hdi_steps steps);

#endif
