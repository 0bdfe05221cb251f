#include "field/plan/side.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

// A cell lies in one box or none, since no face goes through it. The price:
// boxes that meet nowhere on an axis are cut by each other's faces too.
static bool cut_at_faces(const struct hd_map *map, unsigned axis,
                         struct hdi_axis *cut)
{
    int64_t *faces = malloc((2 * map->count + 1) * sizeof(*faces));
    int64_t extent = map->box.extent[axis];
    int64_t count = 0, kept = 0;
    if (!faces)
        return false;

    for (uint64_t b = 0; b < map->count; b++) {
        faces[count++] = map->boxes[b].offset[axis];
        faces[count++] =
            map->boxes[b].offset[axis] + map->boxes[b].extent[axis];
    }
    qsort(faces, (size_t)count, sizeof(*faces), ascending);
    for (int64_t i = 0; i < count; i++)
        if (faces[i] > 0 && faces[i] < extent &&
            (kept == 0 || faces[i] > faces[kept - 1]))
            faces[kept++] = faces[i];
    bool done = hdi_axis_cut_at(cut, extent, faces, kept) &&
                hdi_axis_classes_in_turn(cut, cut->tiles);
    free(faces);

    // What is in a cell counts from the cell's corner.
    for (int64_t t = 0; done && t < cut->tiles; t++)
        cut->place[t] = 0;
    return done;
}

bool hdi_side_build(const struct hd_map *map, struct hdi_plan_side *side)
{
    *side = (struct hdi_plan_side){.map = map};
    if (map->kind != HDI_OWNER_BOXES)
        return true;
    for (unsigned i = 0; i < map->grid.rank; i++)
        if (!cut_at_faces(map, i, &side->axis[i])) {
            hdi_side_free(side);
            return false;
        }
    return true;
}

void hdi_side_free(struct hdi_plan_side *side)
{
    for (unsigned i = 0; i < HD_MAX_RANK; i++)
        hdi_axis_free(&side->axis[i]);
    *side = (struct hdi_plan_side){0};
}

// The box that a cell is in, or HDI_NO_BOX.
static uint32_t box_of(const struct hdi_plan_side *side, const int64_t *cell)
{
    int64_t corner[HD_MAX_RANK] = {0};

    for (unsigned i = 0; i < side->map->grid.rank; i++)
        corner[i] = hdi_axis_begin(&side->axis[i], cell[i]);
    return hdi_boxes_find(side->map->tree, corner);
}

uint32_t hdi_side_owner(const struct hdi_plan_side *side, const int64_t *class)
{
    if (side->map->kind != HDI_OWNER_BOXES)
        return hdi_map_class_owner(side->map, class);

    uint32_t box = box_of(side, class);

    return box == HDI_NO_BOX ? HD_NO_NODE : hdi_map_box_owner(side->map, box);
}

struct visiting {
    const struct hdi_plan_side *side;
    bool (*visit)(void *data, const int64_t *class);
    void *data;
};

// The cells of a box along one axis follow each other, since its own faces are
// among the cuts.
static bool each_cell(const struct visiting *v, const struct hd_grid *box,
                      unsigned axis, int64_t *cell)
{
    if (axis == box->rank)
        return v->visit(v->data, cell);

    const struct hdi_axis *cut = &v->side->axis[axis];
    int64_t end = box->offset[axis] + box->extent[axis];

    for (int64_t t = hdi_axis_find(cut, box->offset[axis]);
         t < cut->tiles && hdi_axis_begin(cut, t) < end; t++) {
        cell[axis] = t;
        if (!each_cell(v, box, axis + 1, cell))
            return false;
    }
    return true;
}

static bool visit_piece(void *data, const struct hdi_piece *piece)
{
    const struct visiting *v = data;
    int64_t cell[HD_MAX_RANK] = {0};

    if (v->side->map->kind != HDI_OWNER_BOXES)
        return v->visit(v->data, piece->class);
    return each_cell(v, &v->side->map->boxes[piece->box], 0, cell);
}

bool hdi_side_each(const struct hdi_plan_side *side, uint32_t node,
                   bool (*visit)(void *data, const int64_t *class), void *data)
{
    struct visiting v = {side, visit, data};

    return hdi_map_pieces(side->map, node, visit_piece, &v);
}

// A cell is a part of its box's array: it begins inside, with the box's steps.
struct hdi_array hdi_side_array(const struct hdi_plan_side *side,
                                const struct hdi_store *store,
                                const int64_t *class)
{
    unsigned rank = side->map->grid.rank;
    struct hdi_array array;
    struct hdi_piece piece = {0};

    if (side->map->kind == HDI_OWNER_BOXES)
        piece.box = box_of(side, class);
    for (unsigned i = 0; i < rank; i++)
        piece.class[i] = class[i];
    array.begin = hdi_store_begin(store, &piece);
    hdi_piece_steps(side->map, &piece, array.step);
    for (unsigned i = 0; side->map->kind == HDI_OWNER_BOXES && i < rank; i++)
        array.begin += (hdi_axis_begin(&side->axis[i], class[i]) -
                        side->map->boxes[piece.box].offset[i]) *
                       array.step[i];
    return array;
}
