// One side of a redistribution: a map as a product of axes with classes.
//
// A tiled map is one already. A map of boxes becomes one by cutting each axis
// at all faces: its tiles are cells, each a class of its own, in one box or
// none.
#ifndef HDI_FIELD_PLAN_SIDE_H
#define HDI_FIELD_PLAN_SIDE_H

#include "field/map/store.h"

// The map's own axes are used where it is tiled; then `axis` is zero.
struct hdi_plan_side {
    const struct hd_map *map;
    struct hdi_axis axis[HD_MAX_RANK]; // of a map of boxes
};

// Where the elements of one tuple of classes are in their node's memory.
struct hdi_array {
    int64_t begin;             // [elements]
    int64_t step[HD_MAX_RANK]; // [elements]
};

// False when memory is short. The map must stay.
bool hdi_side_build(const struct hd_map *map, struct hdi_plan_side *side);
void hdi_side_free(struct hdi_plan_side *side);

static inline const struct hdi_axis *hdi_side_axis(
    const struct hdi_plan_side *side, unsigned axis)
{
    return side->map->kind == HDI_OWNER_BOXES ? &side->axis[axis]
                                              : &side->map->axis[axis];
}

// The node that owns a tuple of classes, or HD_NO_NODE.
uint32_t hdi_side_owner(const struct hdi_plan_side *side, const int64_t *class);

// Call `visit` for each tuple of classes that a node owns, until one returns
// false; then false.
bool hdi_side_each(const struct hdi_plan_side *side, uint32_t node,
                   bool (*visit)(void *data, const int64_t *class), void *data);

// `store` is that of the node that owns the tuple.
struct hdi_array hdi_side_array(const struct hdi_plan_side *side,
                                const struct hdi_store *store,
                                const int64_t *class);

#endif
