// Rows of bytes that an argument's accesses touch, as few as say it.
//
//     begin
//     |==run==|....|==run==|....|==run==|          count[0] rows,
//     |<-stride[0]->|                              then count[1] times all
//                                                  of that, stride[1] apart
//
// hdi_box_make() for each access, hdi_boxes_add() to the boxes of its argument,
// hdi_boxes_touched() at the end.
#ifndef HDI_KERNEL_FOOTPRINT_BOXES_H
#define HDI_KERNEL_FOOTPRINT_BOXES_H

#include "kernel/footprint/evaluation.h"

// 48 boxes are more than stencils have accesses; what comes on top makes one
// box larger, up to the whole extent. Uniting compares all pairs, so more would
// cost time with its square.
enum {
    HDI_BOX_LEVELS = 2, // of rows, as in struct hd_touched
    HDI_MAX_BOXES = 48  // of one argument
};

// Invariant: rows do not overlap: each stride is at least the extent of what is
// below it. `begin` is in bytes from where the argument points to, and may be
// negative. `exact`: each byte is touched; otherwise some may not be.
struct hdi_footprint_box {
    bool exact;
    int64_t begin;
    uint64_t run; // [bytes] in one piece
    uint64_t stride[HDI_BOX_LEVELS],
        count[HDI_BOX_LEVELS]; // unused levels: 0, 1
};

// Of one argument, read or written. With `all` the list means nothing.
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

// It takes the box as its own, and unites what unites without bytes that nobody
// touches.
void hdi_boxes_add(struct hdi_footprint_boxes *boxes,
                   const struct hdi_footprint_box *box);

// All of them as one, `offset` bytes further.
//
// `boxes` is used up by it. Here bytes between boxes may be added: one answer
// is wanted.
struct hd_touched hdi_boxes_touched(struct hdi_footprint_boxes *boxes,
                                    uint64_t offset);

#endif
