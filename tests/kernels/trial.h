// What random kernels are tried with: memory, what it begins with, and how it
// is compared with what the interpreter says.
#ifndef HEDDLE_TESTS_KERNELS_TRIAL_H
#define HEDDLE_TESTS_KERNELS_TRIAL_H

#include <heddle/heddle.h>

#include "kernel/program.h"
#include "launch/memory/image.h"
#include "tests/kernels/tree.h"

enum {
    MAX_ITEMS = 1280, // of a launch
    MAX_ARGS = 16,
    CELLS = 5, // the argument
    TRAIL = 7, // likewise
    SHEET = 5, // pictures
    CANVAS,    // two, of which a kernel gets one
    PICTURES = CANVAS + 2
};

struct trial {
    struct hd_runtime *runtime;
    const char *folder; // of binaries; NULL: kernels are compiled
    bool writes;        // them
    unsigned long tried;
    unsigned long told, untold; // arguments whose footprint is rows, or all
    unsigned long told_texels, untold_texels; // the same of images
    struct hd_buffer *out, *input, *sizes, *tally, *floats, *sheet, *canvas,
        *broad, *cells, *from, *trail;
    // The input, also as signed numbers, as floats, as a row and as a box; what
    // is read near by; and what is painted, in two shapes.
    struct hd_image *pictures[PICTURES];
    FILE *paper;     // what kernels print
    const char *cpu; // NULL: the one at hand
    bool gpu;        // beside the processor, whose memory buffers are in
};

// What a kernel is given; of buffers and images, the memory, and of images what
// they are.
struct given {
    struct hd_arg args[MAX_ARGS];
    struct hd_buffer *of[MAX_ARGS];
    const struct hdi_image *images[MAX_ARGS];
    unsigned count;
    unsigned canvas; // which, where there are pictures
};

struct hd_buffer *trial_canvas(const struct trial *t, const struct tree *tree);

// Where a work-item paints.
uint32_t trial_texel(const struct tree *tree, const struct tree_launch *launch,
                     uint32_t item);
uint32_t trial_items(const struct tree_launch *launch);

// Begin all memory, and what is expected of cells and of planes.
void trial_begin(const struct trial *t, const struct tree *tree,
                 const struct tree_launch *launch,
                 uint32_t (*cells)[TREE_MEMBERS], uint32_t *trail);

// Return whether work-items' own texels were painted, and no others; whether
// cells, and planes, hold what they should. What does not is told.
bool trial_same_canvas(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct tree_launch *launch,
                       const uint32_t *expected);
bool trial_same_cells(const struct trial *t, const struct tree *tree,
                      unsigned shape, uint32_t expected[][TREE_MEMBERS]);
bool trial_same_trail(const struct trial *t, const struct tree *tree,
                      unsigned shape, const uint32_t *expected);

// Footprints: a launch's, or a piece's of it.
void trial_find_footprints(const struct hd_kernel *kernel,
                           const struct hd_range *range,
                           const struct given *given,
                           const struct hd_piece *piece,
                           struct hd_footprint found[MAX_ARGS]);
void trial_count_told(struct trial *t, const struct given *given,
                      const struct hd_footprint *all);
bool trial_touches(const struct hd_touched *touched, uint64_t byte);

// Make something else of what is said not to be read of this memory, as
// whatever it is given for.
void trial_hide(struct hd_buffer *buffer, const struct given *given,
                const struct hd_footprint *found);

// Return whether results were written where that was said alone, and the same
// of some work-groups by themselves.
bool trial_same_writes(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct hd_footprint *all);
struct hd_piece trial_group(const struct tree_launch *launch, uint32_t item);
bool trial_same_groups(const struct trial *t, const struct tree *tree,
                       unsigned shape, const struct hd_kernel *kernel,
                       const struct hd_range *range, const struct given *given,
                       const struct tree_launch *launch);

#endif
