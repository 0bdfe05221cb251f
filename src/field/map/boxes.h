// Many boxes in one: a tree that finds the box a point is in, and by building
// it whether boxes overlap or leave a gap.
//
// The tree halves space at faces of boxes until no face goes through a cell any
// more. A cell then is in all of the boxes that touch it: in none, it is a gap;
// in two, they overlap. A box that a cut goes through is in both halves. (A
// k-d tree of the faces: Bentley, Multidimensional binary search trees used for
// associative searching, CACM 18(9), 1975.)
#ifndef HDI_FIELD_MAP_BOXES_H
#define HDI_FIELD_MAP_BOXES_H

#include "heddle/field.h"

struct hdi_box_tree;

// Why a tree could not be built, for a message to the user. The boxes of an
// overlap are in ascending order, so that the message does not depend on where
// the tree was cut.
struct hdi_boxes_fault {
    enum {
        HDI_BOXES_GOOD,
        HDI_BOXES_OVERLAP,
        HDI_BOXES_GAP,
        HDI_BOXES_NO_MEMORY
    } what;
    uint32_t first, second; // boxes that overlap
    struct hd_grid where;   // the overlap, or the gap
};

// Build the tree of `count` boxes inside `grid`. The boxes stay the caller's,
// and must stay. NULL with `fault` set when two overlap or, unless `sparse`,
// something of the grid is in none.
struct hdi_box_tree *hdi_boxes_build(const struct hd_grid *grid,
                                     const struct hd_grid *boxes,
                                     uint32_t count, bool sparse,
                                     struct hdi_boxes_fault *fault);
void hdi_boxes_free(struct hdi_box_tree *tree);

// Also what the builder returns where there is no node: a box or node never has
// this number.
#define HDI_NO_BOX UINT32_MAX

// The box that a point of the grid is in, or HDI_NO_BOX.
uint32_t hdi_boxes_find(const struct hdi_box_tree *tree, const int64_t *index);

// Call `visit` for every box that shares points with `box`; more than once for
// a box, if a cut goes through both.
void hdi_boxes_meet(const struct hdi_box_tree *tree, const struct hd_grid *box,
                    void (*visit)(void *data, uint32_t which), void *data);

#endif
