#include "field/map/boxes.h"

#include <stdlib.h>
#include <string.h>

// Inner nodes: axis and cut, points below the cut to the left. Leaves: axis is
// LEAF, left is the box.
//
//            cut x = 4
//            |       |
//          box 0   cut y = 2              boxes    0 0 0 0 1 1
//                  |       |                       0 0 0 0 1 1
//                box 1   box 2                     0 0 0 0 2 2
enum {
    LEAF = HD_MAX_RANK
};

// One cell. Invariant: the children of an inner node are behind it in the
// table, and node 0 is the whole grid.
struct node {
    int64_t cut;
    uint32_t left, right;
    uint32_t axis;
};

// Nodes are numbers, not addresses: the table moves as it grows.
struct hdi_box_tree {
    const struct hd_grid *boxes;
    struct node *nodes;
    uint32_t count, capacity;
};

// What the recursion shares. `cuts` is one table for all levels: it is read
// before the recursion goes on.
struct building {
    struct hdi_box_tree *tree;
    const struct hd_grid *boxes;
    bool sparse;
    struct hdi_boxes_fault *fault;
    int64_t *cuts; // room for two per box
};

static int64_t end_of(const struct hd_grid *grid, unsigned axis)
{
    return grid->offset[axis] + grid->extent[axis];
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

// HDI_NO_BOX when memory is short; then the table is as it was.
static uint32_t add_node(struct hdi_box_tree *tree, struct node node)
{
    if (tree->count == tree->capacity) {
        uint32_t capacity = tree->capacity ? 2 * tree->capacity : 64;
        struct node *nodes =
            realloc(tree->nodes, capacity * sizeof(*tree->nodes));

        if (!nodes)
            return HDI_NO_BOX;
        tree->nodes = nodes;
        tree->capacity = capacity;
    }
    tree->nodes[tree->count] = node;
    return tree->count++;
}

// Faces that go through the cell, of one axis.
static uint32_t faces(struct building *b, const struct hd_grid *cell,
                      unsigned axis, const uint32_t *list, uint32_t count)
{
    uint32_t found = 0;
    int64_t low = cell->offset[axis], high = end_of(cell, axis);

    for (uint32_t i = 0; i < count; i++) {
        const struct hd_grid *box = &b->boxes[list[i]];

        if (box->offset[axis] > low && box->offset[axis] < high)
            b->cuts[found++] = box->offset[axis];
        if (end_of(box, axis) > low && end_of(box, axis) < high)
            b->cuts[found++] = end_of(box, axis);
    }
    return found;
}

// The first fault ends the building: whoever gets HDI_NO_BOX passes it on and
// says nothing more.
static uint32_t refuse(struct building *b, int what, uint32_t first,
                       uint32_t second, const struct hd_grid *where)
{
    b->fault->what = what;
    b->fault->first = first < second ? first : second;
    b->fault->second = first < second ? second : first;
    b->fault->where = *where;
    return HDI_NO_BOX;
}

// No face goes through the cell, so each box of the list holds all of it.
static uint32_t finish_cell(struct building *b, const struct hd_grid *cell,
                            const uint32_t *list, uint32_t count)
{
    if (count > 1)
        return refuse(b, HDI_BOXES_OVERLAP, list[0], list[1], cell);
    if (count == 0 && !b->sparse)
        return refuse(b, HDI_BOXES_GAP, 0, 0, cell);

    uint32_t leaf =
        add_node(b->tree, (struct node){.axis = LEAF,
                                        .left = count ? list[0] : HDI_NO_BOX});
    return leaf == HDI_NO_BOX ? refuse(b, HDI_BOXES_NO_MEMORY, 0, 0, cell)
                              : leaf;
}

static uint32_t divide(struct building *b, const struct hd_grid *cell,
                       const uint32_t *list, uint32_t count);

// One half of a cell, with the boxes of `list` that touch it.
static uint32_t half(struct building *b, const struct hd_grid *cell,
                     unsigned axis, int64_t low, int64_t high,
                     const uint32_t *list, uint32_t count)
{
    struct hd_grid part = *cell;
    uint32_t *mine = malloc((count + 1) * sizeof(*mine)), found = 0;
    if (!mine)
        return refuse(b, HDI_BOXES_NO_MEMORY, 0, 0, cell);

    part.offset[axis] = low;
    part.extent[axis] = high - low;
    for (uint32_t i = 0; i < count; i++)
        if (b->boxes[list[i]].offset[axis] < high &&
            end_of(&b->boxes[list[i]], axis) > low)
            mine[found++] = list[i];
    uint32_t node = divide(b, &part, mine, found);
    free(mine);
    return node;
}

// Cut a cell at the median face of the axis that has most faces in it, and go
// on with both halves; gives the number of the cell's node. The median keeps
// the tree shallow: each cut halves the faces of its axis. It ends, because the
// cut is a face inside the cell, and both halves have fewer of them.
static uint32_t divide(struct building *b, const struct hd_grid *cell,
                       const uint32_t *list, uint32_t count)
{
    unsigned axis = 0;
    uint32_t most = 0;

    for (unsigned i = 0; i < cell->rank; i++) {
        uint32_t found = faces(b, cell, i, list, count);

        if (found > most) {
            most = found;
            axis = i;
        }
    }
    if (most == 0)
        return finish_cell(b, cell, list, count);
    faces(b, cell, axis, list, count);
    qsort(b->cuts, most, sizeof(*b->cuts), ascending);

    int64_t cut = b->cuts[most / 2];
    // The node's children are not known before both halves are built, and by
    // then the table may lie elsewhere: keep its number.
    uint32_t node = add_node(b->tree, (struct node){.cut = cut, .axis = axis});
    if (node == HDI_NO_BOX)
        return refuse(b, HDI_BOXES_NO_MEMORY, 0, 0, cell);
    uint32_t left = half(b, cell, axis, cell->offset[axis], cut, list, count);
    if (left == HDI_NO_BOX)
        return HDI_NO_BOX;
    uint32_t right = half(b, cell, axis, cut, end_of(cell, axis), list, count);
    if (right == HDI_NO_BOX)
        return HDI_NO_BOX;
    b->tree->nodes[node].left = left;
    b->tree->nodes[node].right = right;
    return node;
}

struct hdi_box_tree *hdi_boxes_build(const struct hd_grid *grid,
                                     const struct hd_grid *boxes,
                                     uint32_t count, bool sparse,
                                     struct hdi_boxes_fault *fault)
{
    struct hdi_box_tree *tree = calloc(1, sizeof(*tree));
    uint32_t *all = malloc((count + 1) * sizeof(*all));
    int64_t *cuts = malloc((2 * (size_t)count + 1) * sizeof(*cuts));

    *fault = (struct hdi_boxes_fault){.what = HDI_BOXES_NO_MEMORY};
    if (tree && all && cuts) {
        struct building b = {tree, boxes, sparse, fault, cuts};

        fault->what = HDI_BOXES_GOOD;
        tree->boxes = boxes;
        for (uint32_t i = 0; i < count; i++)
            all[i] = i;
        // Its result is node 0 or a fault, which `fault` says.
        divide(&b, grid, all, count);
    }
    free(all);
    free(cuts);
    if (fault->what == HDI_BOXES_GOOD)
        return tree;
    hdi_boxes_free(tree);
    return NULL;
}

void hdi_boxes_free(struct hdi_box_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    free(tree);
}

uint32_t hdi_boxes_find(const struct hdi_box_tree *tree, const int64_t *index)
{
    const struct node *node = tree->nodes;

    while (node->axis != LEAF)
        node = &tree->nodes[index[node->axis] < node->cut ? node->left
                                                          : node->right];
    return node->left;
}

// As deep as the tree, and visits only cells that share points with the box.
static void meet(const struct hdi_box_tree *tree, uint32_t at,
                 const struct hd_grid *box,
                 void (*visit)(void *data, uint32_t which), void *data)
{
    const struct node *node = &tree->nodes[at];

    if (node->axis == LEAF) {
        if (node->left != HDI_NO_BOX)
            visit(data, node->left);
        return;
    }
    if (box->offset[node->axis] < node->cut)
        meet(tree, node->left, box, visit, data);
    if (end_of(box, node->axis) > node->cut)
        meet(tree, node->right, box, visit, data);
}

void hdi_boxes_meet(const struct hdi_box_tree *tree, const struct hd_grid *box,
                    void (*visit)(void *data, uint32_t which), void *data)
{
    meet(tree, 0, box, visit, data);
}
