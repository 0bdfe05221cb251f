// One axis of a map: elements, cut into tiles, each of which has a class.
//
// A map computes an owner from the classes of a tile on all axes, so elements
// whose classes are the same are the same node's and lie side by side in its
// memory: `place` says where in there a tile begins. What is regular (equal
// tiles, classes in turn) needs no table.
//
// An axis is made in two steps: it is cut (one of hdi_axis_cut_*()), then its
// tiles get classes (one of hdi_axis_classes*()). From then on it is only read,
// by any thread, until hdi_axis_free(). Of 10 elements in tiles of 3, classes
// in turn of two:
//
//     elements  0 1 2 | 3 4 5 | 6 7 8 | 9
//     tile        0       1       2     3
//     class       0       1       0     1
//     place       0       0       3     3     in the array of its class
//     size      class 0: 6, class 1: 4
#ifndef HDI_FIELD_MAP_AXIS_H
#define HDI_FIELD_MAP_AXIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heddle/status.h"

// For products of two 64-bit numbers.
__extension__ typedef __int128 hdi_wide;

// One axis of a map or of one side of a plan, which owns it and its tables.
//
// Invariant: without `begin` and `class_of` there is no `place` and no `size`
// either; all four are computed from `tile` and `classes`, in constant time and
// memory. Every element is in one tile, every tile in one class; a class may
// have no tile.
struct hdi_axis {
    int64_t extent;     // [elements]
    int64_t tile;       // of equal tiles [elements]; 0: see begin
    int64_t tiles;      // 1 at least
    int64_t *begin;     // where each tile begins, and the extent; else NULL
    int64_t classes;    // 1 at least
    uint32_t *class_of; // of each tile; NULL: tile % classes
    int64_t *place;     // of each tile; NULL: computed
    int64_t *size;      // of each class; NULL: computed [elements]
};

// Make an axis of equal tiles, of tiles that begin at the given places (0, the
// first one, is not among them), or of `tiles` that are as equal as can be.
void hdi_axis_cut_equal(struct hdi_axis *axis, int64_t extent, int64_t tile);
bool hdi_axis_cut_at(struct hdi_axis *axis, int64_t extent,
                     const int64_t *splits, int64_t count);
bool hdi_axis_cut_into(struct hdi_axis *axis, int64_t extent, int64_t tiles);

// Give the tiles classes: in turn, or those of a table, which becomes the
// axis's. False when memory is short.
bool hdi_axis_classes_in_turn(struct hdi_axis *axis, int64_t classes);
bool hdi_axis_classes(struct hdi_axis *axis, int64_t classes,
                      uint32_t *class_of);

void hdi_axis_free(struct hdi_axis *axis);
bool hdi_axis_equal(const struct hdi_axis *a, const struct hdi_axis *b);

// Add to a digest how the axis is cut and classed. Axes that are made in the
// same way add the same.
uint64_t hdi_axis_digest(const struct hdi_axis *axis, uint64_t digest);

// Elements of a class.
int64_t hdi_axis_class_size(const struct hdi_axis *axis, int64_t class);

static inline int64_t hdi_axis_begin(const struct hdi_axis *axis, int64_t tile)
{
    return axis->begin ? axis->begin[tile] : tile * axis->tile;
}

static inline int64_t hdi_axis_end(const struct hdi_axis *axis, int64_t tile)
{
    if (axis->begin)
        return axis->begin[tile + 1];
    return tile + 1 == axis->tiles ? axis->extent : (tile + 1) * axis->tile;
}

static inline int64_t hdi_axis_class(const struct hdi_axis *axis, int64_t tile)
{
    return axis->class_of ? axis->class_of[tile] : tile % axis->classes;
}

static inline int64_t hdi_axis_place(const struct hdi_axis *axis, int64_t tile)
{
    return axis->place ? axis->place[tile] : tile / axis->classes * axis->tile;
}

// The tile that element `at` is in: 0 <= at < extent.
static inline int64_t hdi_axis_find(const struct hdi_axis *axis, int64_t at)
{
    if (!axis->begin)
        return at / axis->tile;
    int64_t low = 0, high = axis->tiles;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (axis->begin[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
