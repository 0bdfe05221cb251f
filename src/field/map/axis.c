#include "field/map/axis.h"

#include <stdlib.h>
#include <string.h>

#include "field/map/mix.h"

void hdi_axis_cut_equal(struct hdi_axis *axis, int64_t extent, int64_t tile)
{
    if (tile > extent)
        tile = extent;
    *axis = (struct hdi_axis){.extent = extent,
                              .tile = tile,
                              .tiles = (extent - 1) / tile + 1,
                              .classes = 1};
}

// Splits must ascend strictly, inside 1 to extent - 1: the callers have looked.
bool hdi_axis_cut_at(struct hdi_axis *axis, int64_t extent,
                     const int64_t *splits, int64_t count)
{
    int64_t *begin = malloc(((size_t)count + 2) * sizeof(*begin));
    if (!begin)
        return false;

    begin[0] = 0;
    for (int64_t i = 0; i < count; i++)
        begin[i + 1] = splits[i];
    begin[count + 1] = extent;
    *axis = (struct hdi_axis){
        .extent = extent, .tiles = count + 1, .begin = begin, .classes = 1};
    return true;
}

// Where the extent is a multiple, no table is made: such an axis stays regular
// and is found by a division. More tiles than elements would leave empty tiles,
// which no look-up expects.
bool hdi_axis_cut_into(struct hdi_axis *axis, int64_t extent, int64_t tiles)
{
    if (tiles > extent)
        tiles = extent;
    if (extent % tiles == 0) {
        hdi_axis_cut_equal(axis, extent, extent / tiles);
        return true;
    }

    int64_t *begin = malloc(((size_t)tiles + 1) * sizeof(*begin));
    if (!begin)
        return false;
    for (int64_t i = 0; i <= tiles; i++)
        // The product may need more than 64 bits; tiles differ by one element
        // at most.
        begin[i] = (int64_t)((hdi_wide)extent * i / tiles);
    *axis = (struct hdi_axis){
        .extent = extent, .tiles = tiles, .begin = begin, .classes = 1};
    return true;
}

// Set place and size, which the classes imply.
// On failure what was allocated stays the axis's, for hdi_axis_free().
static bool place_tiles(struct hdi_axis *axis)
{
    axis->place = malloc((size_t)axis->tiles * sizeof(*axis->place));
    axis->size = calloc((size_t)axis->classes, sizeof(*axis->size));
    if (!axis->place || !axis->size)
        return false;

    for (int64_t t = 0; t < axis->tiles; t++) {
        int64_t *size = &axis->size[hdi_axis_class(axis, t)];

        axis->place[t] = *size;
        *size += hdi_axis_end(axis, t) - hdi_axis_begin(axis, t);
    }
    return true;
}

// Equal tiles need no tables: hdi_axis_place() and hdi_axis_class_size()
// compute what they would say.
bool hdi_axis_classes_in_turn(struct hdi_axis *axis, int64_t classes)
{
    axis->classes = classes;
    return !axis->begin || place_tiles(axis);
}

// The table is the axis's also on failure, so the caller never frees it.
bool hdi_axis_classes(struct hdi_axis *axis, int64_t classes,
                      uint32_t *class_of)
{
    axis->classes = classes;
    axis->class_of = class_of;
    return place_tiles(axis);
}

void hdi_axis_free(struct hdi_axis *axis)
{
    free(axis->begin);
    free(axis->class_of);
    free(axis->place);
    free(axis->size);
}

// Computed: whole tiles, and the last one of the axis, which may be smaller, if
// it is of this class.
int64_t hdi_axis_class_size(const struct hdi_axis *axis, int64_t class)
{
    if (axis->size)
        return axis->size[class];
    if (class >= axis->tiles)
        return 0;

    int64_t last = axis->tiles - 1, tiles = (last - class) / axis->classes + 1;

    return last % axis->classes == class ? (tiles - 1) * axis->tile +
                                               axis->extent - last * axis->tile
                                         : tiles * axis->tile;
}

uint64_t hdi_axis_digest(const struct hdi_axis *axis, uint64_t digest)
{
    digest = hdi_mix(digest, (uint64_t)axis->extent);
    digest = hdi_mix(digest, (uint64_t)axis->tile);
    digest = hdi_mix(digest, (uint64_t)axis->tiles);
    digest = hdi_mix(digest, (uint64_t)axis->classes);
    for (int64_t t = 0; axis->begin && t < axis->tiles; t++)
        digest = hdi_mix(digest, (uint64_t)axis->begin[t]);
    for (int64_t t = 0; axis->class_of && t < axis->tiles; t++)
        digest = hdi_mix(digest, axis->class_of[t]);
    return digest;
}

// Tables and formulas may say the same, so what they say is compared, unless
// both are regular.
bool hdi_axis_equal(const struct hdi_axis *a, const struct hdi_axis *b)
{
    if (a->extent != b->extent || a->tiles != b->tiles ||
        a->classes != b->classes)
        return false;
    if (!a->begin && !b->begin && !a->class_of && !b->class_of)
        return a->tile == b->tile;
    for (int64_t t = 0; t < a->tiles; t++)
        if (hdi_axis_begin(a, t) != hdi_axis_begin(b, t) ||
            hdi_axis_class(a, t) != hdi_axis_class(b, t))
            return false;
    return true;
}
