// Rows of bytes that an argument's accesses touch, as few as say it.
#ifndef HDI_KERNEL_FOOTPRINT_BOXES_H
#define HDI_KERNEL_FOOTPRINT_BOXES_H

#include "kernel/footprint/evaluation.h"

enum {
    HDI_BOX_LEVELS = 2, // of rows, as in struct hd_touched
    HDI_MAX_BOXES = 48  // of one argument
};

struct hdi_footprint_box {
    bool exact;
    int64_t begin;
    uint64_t run; // [bytes] in one piece
    uint64_t stride[HDI_BOX_LEVELS],
        count[HDI_BOX_LEVELS]; // unused levels: 0, 1
};

struct hdi_footprint_boxes {
    struct hdi_footprint_box list[HDI_MAX_BOXES];
    unsigned count;
    bool all; // anything
};

// What an access touches, in the scope that has just been evaluated. False:
// anything.
bool hdi_box_make(const struct hdi_evaluation *evaluation,
                  const struct hdi_form *at, uint32_t size, bool exact,
                  struct hdi_footprint_box *box);

void hdi_boxes_add(struct hdi_footprint_boxes *boxes,
                   const struct hdi_footprint_box *box);

// All of them as one, `offset` bytes further.
struct hd_touched hdi_boxes_touched(struct hdi_footprint_boxes *boxes,
                                    uint64_t offset);

#endif
