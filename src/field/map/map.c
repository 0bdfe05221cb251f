#include "field/map/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/map/mix.h"

// A map that hd_map_destroy() can take at any moment of its making: all tables
// are NULL. Grids from callers have the entries behind `rank` undefined, so
// only those in use are copied, and hd_map_equal() may compare whole tables.
hd_status hdi_map_begin(const struct hd_grid *grid, const int64_t *stride,
                        struct hd_map **map, struct hd_error *error)
{
    HDI_TRY(hd_grid_check(grid, error));
    struct hd_map *m = calloc(1, sizeof(*m));
    if (!m)
        return hdi_fail(error, HD_ENOMEM, "no memory for a map");

    m->grid.rank = grid->rank;
    atomic_init(&m->holders, 1);
    m->box.rank = grid->rank;
    for (unsigned i = 0; i < grid->rank; i++) {
        m->grid.extent[i] = grid->extent[i];
        m->grid.offset[i] = grid->offset[i];
        m->stride[i] = stride && stride[i] ? stride[i] : 1;
        if (m->stride[i] < 1) {
            hdi_fail(error, HD_EINVAL, "the stride of axis %u is %lld", i,
                     (long long)m->stride[i]);
            free(m);
            return HD_EINVAL;
        }
        m->box.extent[i] = (grid->extent[i] - 1) / m->stride[i] + 1;
        m->memory[i] = m->task[i] = INT64_MAX;
    }
    *map = m;
    return HD_OK;
}

// The last holder frees. Acquire and release: what other holders read lies
// before the free (each give-back releases, the last acquires).
void hd_map_destroy(struct hd_map *map)
{
    if (!map)
        return;
    if (atomic_fetch_sub_explicit(&map->holders, 1, memory_order_acq_rel) > 1)
        return;
    if (map->origin) {
        hd_map_destroy(map->origin);
        free(map->label);
        free(map);
        return;
    }
    for (unsigned i = 0; i < HD_MAX_RANK; i++)
        hdi_axis_free(&map->axis[i]);
    hdi_boxes_free(map->tree);
    free(map->boxes);
    free(map->pattern);
    free(map->starts);
    free(map->owner);
    free(map->first);
    free(map->numbers);
    free(map->shape);
    free(map);
}

struct hd_map *hdi_map_hold(const struct hd_map *map)
{
    struct hd_map *held = (struct hd_map *)map;

    // Relaxed: who holds more has a holder already, so the map cannot go
    // meanwhile.
    atomic_fetch_add_explicit(&held->holders, 1, memory_order_relaxed);
    return held;
}

// No table is copied, and a chain of relabellings holds one origin, not each
// other: a program that relabels in a loop does not keep all maps it made.
hd_status hd_map_relabel(const struct hd_map *map, const uint32_t *to,
                         struct hd_map **relabelled, struct hd_error *error)
{
    struct hd_map *m = malloc(sizeof(*m));
    uint32_t *label = malloc(map->nodes * sizeof(*label));
    bool *taken = calloc(map->nodes, sizeof(*taken));
    hd_status status = HD_OK;

    if (!m || !label || !taken)
        status = hdi_fail(error, HD_ENOMEM, "no memory for a map");
    for (uint32_t n = 0; status == HD_OK && n < map->nodes; n++) {
        if (to[n] >= map->nodes || taken[to[n]])
            status = hdi_fail(
                error, HD_EINVAL, "node %u shall become node %u, which %s", n,
                to[n],
                to[n] >= map->nodes ? "is not there" : "another becomes too");
        else
            taken[to[n]] = true;
    }
    free(taken);
    if (status != HD_OK) {
        free(m);
        free(label);
        return status;
    }

    // Where the nodes of the origin went before, they go on from.
    *m = *map;
    m->digest = map->origin ? map->origin->digest : map->digest;
    for (uint32_t n = 0; n < map->nodes; n++) {
        label[n] = to[map->label ? map->label[n] : n];
        m->digest = hdi_mix(m->digest, label[n]);
    }
    m->label = label;
    m->origin = hdi_map_hold(map->origin ? map->origin : map);
    atomic_init(&m->holders, 1);
    *relabelled = m;
    return HD_OK;
}

// A counting sort of the segments by owner, or of the places in the pattern.
// Without it, what a node owns would be found by looking at all, for each node.
static hd_status number(struct hd_map *map, struct hd_error *error)
{
    const uint32_t *owner = map->pattern ? map->pattern : map->owner;
    uint64_t count = map->pattern ? map->period : map->count;

    if (!owner)
        return HD_OK;
    map->first = calloc((size_t)map->nodes + 2, sizeof(*map->first));
    map->numbers = malloc((count + 1) * sizeof(*map->numbers));
    if (!map->first || !map->numbers)
        return hdi_fail(error, HD_ENOMEM, "no memory for a map");

    // Count into the place after next, so that filling moves it to the next.
    for (uint64_t i = 0; i < count; i++)
        if (owner[i] != HD_NO_NODE)
            map->first[owner[i] + 2]++;
    for (uint32_t n = 1; n <= map->nodes; n++)
        map->first[n + 1] += map->first[n];
    for (uint64_t i = 0; i < count; i++)
        if (owner[i] != HD_NO_NODE)
            map->numbers[map->first[owner[i] + 1]++] = i;
    return HD_OK;
}

static uint64_t digest_grid(uint64_t digest, const struct hd_grid *grid)
{
    for (unsigned i = 0; i < grid->rank; i++) {
        digest = hdi_mix(digest, (uint64_t)grid->extent[i]);
        digest = hdi_mix(digest, (uint64_t)grid->offset[i]);
    }
    return digest;
}

// All tables, once: weights are in `pattern` and `starts` only, split points in
// the axes. What is implied by others is left out.
static uint64_t digest_of(const struct hd_map *map)
{
    uint64_t digest = hdi_mix(map->nodes, (uint64_t)map->kind);

    digest = hdi_mix(digest_grid(digest, &map->grid), map->count);
    for (unsigned i = 0; i < map->grid.rank; i++) {
        digest = hdi_mix(digest, (uint64_t)map->stride[i]);
        digest = hdi_mix(digest, (uint64_t)map->memory[i]);
        digest = hdi_mix(digest, (uint64_t)map->task[i]);
        digest = hdi_mix(digest, map->order[i]);
        digest = hdi_mix(digest, map->step[i]);
        digest = hdi_axis_digest(&map->axis[i], digest);
    }
    for (unsigned s = 0; s < map->shape_count; s++) {
        for (unsigned i = 0; i < map->grid.rank; i++)
            digest = hdi_mix(digest, (uint64_t)map->shape[s].factor[i]);
        digest = hdi_mix(digest, (uint64_t)map->shape[s].most);
    }
    for (uint32_t k = 0; k < map->period; k++)
        digest = hdi_mix(digest, map->pattern[k]);
    for (uint32_t n = 0; map->starts && n < map->nodes; n++)
        digest = hdi_mix(digest, map->starts[n]);
    for (uint64_t i = 0; map->owner && i < map->count; i++)
        digest = hdi_mix(digest, map->owner[i]);
    for (uint64_t i = 0; map->boxes && i < map->count; i++)
        digest = digest_grid(digest, &map->boxes[i]);
    return digest;
}

hd_status hdi_map_end(struct hd_map *map, struct hd_error *error)
{
    HDI_TRY(number(map, error));
    map->digest = digest_of(map);
    return HD_OK;
}

// No memory block means that a segment is one block; no task block that a
// memory block is one task. Blocks that are larger than a segment are cut by
// it.
hd_status hdi_map_grains(struct hd_map *map, const int64_t *memory,
                         const int64_t *task, struct hd_error *error)
{
    for (unsigned i = 0; i < map->grid.rank; i++) {
        if (memory[i] < 0 || task[i] < 0)
            return hdi_fail(error, HD_EINVAL,
                            "a block's extent on axis %u is negative", i);
        map->memory[i] = memory[i] ? memory[i] : INT64_MAX;
        map->task[i] = task[i] ? task[i] : map->memory[i];
        if (memory[i] && memory[i] % map->task[i] != 0)
            return hdi_fail(error, HD_EINVAL,
                            "on axis %u a memory block of %lld does not hold "
                            "whole task blocks of %lld",
                            i, (long long)memory[i], (long long)task[i]);
    }
    return HD_OK;
}

const struct hd_grid *hd_map_grid(const struct hd_map *map)
{
    return &map->grid;
}

uint32_t hd_map_nodes(const struct hd_map *map)
{
    return map->nodes;
}

uint64_t hd_map_segments(const struct hd_map *map)
{
    return map->count;
}

// The name that the program knows, of the node that the map was made with.
static uint32_t labelled(const struct hd_map *map, uint32_t node)
{
    return map->label && node != HD_NO_NODE ? map->label[node] : node;
}

// The node that a map was made with, of one that it is called now.
// Linear: it is asked for once per enumeration of a node, not per element.
static uint32_t unlabelled(const struct hd_map *map, uint32_t node)
{
    for (uint32_t n = 0; map->label && n < map->nodes; n++)
        if (map->label[n] == node)
            return n;
    return node;
}

// The last node whose range begins at or before the number: nodes of weight 0
// have empty ranges, which this never finds.
static uint32_t range_of(const struct hd_map *map, uint64_t number)
{
    uint32_t low = 0, high = map->nodes;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (map->starts[middle] <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

uint32_t hdi_map_class_owner(const struct hd_map *map, const int64_t *class)
{
    uint64_t sum = 0;

    if (map->kind == HDI_OWNER_MESH || map->kind == HDI_OWNER_CYCLIC) {
        for (unsigned i = 0; i < map->grid.rank; i++)
            sum += (uint64_t) class[i] * map->step[i];
        return labelled(map, map->kind == HDI_OWNER_MESH
                                 ? (uint32_t)sum
                                 : map->pattern[sum % map->period]);
    }

    // Each tile is a class of its own.
    for (unsigned i = 0; i < map->grid.rank; i++)
        sum += (uint64_t) class[i] * map->number_step[i];
    return labelled(map, map->kind == HDI_OWNER_RANGE ? range_of(map, sum)
                                                      : map->owner[sum]);
}

uint32_t hdi_map_box_owner(const struct hd_map *map, uint64_t box)
{
    return labelled(map, map->owner[box]);
}

static uint32_t tile_owner(const struct hd_map *map, const int64_t *tile)
{
    int64_t class[HD_MAX_RANK];

    for (unsigned i = 0; i < map->grid.rank; i++)
        class[i] = hdi_axis_class(&map->axis[i], tile[i]);
    return hdi_map_class_owner(map, class);
}

// Undo the sum of tile * number_step: the first axis of `order` has the largest
// step.
static void tile_of_number(const struct hd_map *map, uint64_t number,
                           int64_t *tile)
{
    for (unsigned k = 0; k < map->grid.rank; k++) {
        unsigned axis = map->order[k];

        tile[axis] = (int64_t)(number / map->number_step[axis]);
        number %= map->number_step[axis];
    }
}

static void tile_box(const struct hd_map *map, const int64_t *tile,
                     struct hd_grid *box)
{
    box->rank = map->grid.rank;
    for (unsigned i = 0; i < map->grid.rank; i++) {
        box->offset[i] = hdi_axis_begin(&map->axis[i], tile[i]);
        box->extent[i] = hdi_axis_end(&map->axis[i], tile[i]) - box->offset[i];
    }
}

// With a stride the result also covers the indices between, which the map does
// not have; its first and last index are in the map.
struct hd_grid hdi_map_indices(const struct hd_map *map,
                               const struct hd_grid *box)
{
    struct hd_grid grid = {.rank = box->rank};

    for (unsigned i = 0; i < box->rank; i++) {
        grid.offset[i] = map->grid.offset[i] + box->offset[i] * map->stride[i];
        grid.extent[i] = (box->extent[i] - 1) * map->stride[i] + 1;
    }
    return grid;
}

void hdi_map_segment_box(const struct hd_map *map, uint64_t id,
                         struct hd_grid *box)
{
    int64_t tile[HD_MAX_RANK] = {0};

    if (map->kind == HDI_OWNER_BOXES) {
        *box = map->boxes[id];
        return;
    }
    tile_of_number(map, id, tile);
    tile_box(map, tile, box);
}

uint32_t hdi_map_segment_owner(const struct hd_map *map, uint64_t id)
{
    int64_t tile[HD_MAX_RANK] = {0};

    if (map->kind == HDI_OWNER_BOXES)
        return hdi_map_box_owner(map, id);
    tile_of_number(map, id, tile);
    return tile_owner(map, tile);
}

bool hd_map_segment(const struct hd_map *map, uint64_t id,
                    struct hd_segment *segment)
{
    struct hd_grid box = {0};

    if (id >= map->count)
        return false;
    uint32_t node = hdi_map_segment_owner(map, id);
    if (node == HD_NO_NODE)
        return false;
    hdi_map_segment_box(map, id, &box);
    *segment = (struct hd_segment){id, node, hdi_map_indices(map, &box)};
    return true;
}

bool hdi_map_ordinals(const struct hd_map *map, const int64_t *index,
                      int64_t *ordinals)
{
    if (!hd_grid_contains(&map->grid, index))
        return false;
    for (unsigned i = 0; i < map->grid.rank; i++) {
        int64_t at = index[i] - map->grid.offset[i];

        if (at % map->stride[i] != 0)
            return false;
        ordinals[i] = at / map->stride[i];
    }
    for (unsigned s = 0; s < map->shape_count; s++) {
        hdi_wide sum = 0;

        for (unsigned i = 0; i < map->grid.rank; i++)
            sum += (hdi_wide)map->shape[s].factor[i] * index[i];
        if (sum > map->shape[s].most)
            return false;
    }
    return true;
}

// The one look-up that everything else is made of: constant time for equal
// tiles, the logarithm of the tiles of each axis otherwise, of the boxes for
// boxes. `spot` is undefined in parts when this returns false.
bool hdi_map_spot(const struct hd_map *map, const int64_t *ordinals,
                  struct hdi_spot *spot)
{
    unsigned rank = map->grid.rank;

    if (map->kind == HDI_OWNER_BOXES) {
        uint32_t box = hdi_boxes_find(map->tree, ordinals);

        if (box == HDI_NO_BOX)
            return false;
        spot->node = labelled(map, map->owner[box]);
        spot->segment = spot->piece.box = box;
        spot->box = map->boxes[box];
        for (unsigned i = 0; i < rank; i++)
            spot->at[i] = ordinals[i] - spot->box.offset[i];
        return true;
    }

    int64_t tile[HD_MAX_RANK] = {0};

    spot->segment = 0;
    for (unsigned i = 0; i < rank; i++) {
        const struct hdi_axis *axis = &map->axis[i];

        tile[i] = hdi_axis_find(axis, ordinals[i]);
        spot->segment += (uint64_t)tile[i] * map->number_step[i];
        spot->piece.class[i] = hdi_axis_class(axis, tile[i]);
        spot->at[i] = hdi_axis_place(axis, tile[i]) + ordinals[i] -
                      hdi_axis_begin(axis, tile[i]);
    }
    tile_box(map, tile, &spot->box);
    spot->node = hdi_map_class_owner(map, spot->piece.class);
    return spot->node != HD_NO_NODE;
}

bool hd_map_find(const struct hd_map *map, const int64_t *index,
                 struct hd_segment *segment)
{
    int64_t ordinals[HD_MAX_RANK];
    struct hdi_spot spot;

    if (!hdi_map_ordinals(map, index, ordinals) ||
        !hdi_map_spot(map, ordinals, &spot))
        return false;
    *segment = (struct hd_segment){spot.segment, spot.node,
                                   hdi_map_indices(map, &spot.box)};
    return true;
}

uint32_t hd_map_node(const struct hd_map *map, const int64_t *index)
{
    int64_t ordinals[HD_MAX_RANK];
    struct hdi_spot spot;

    return hdi_map_ordinals(map, index, ordinals) &&
                   hdi_map_spot(map, ordinals, &spot)
               ? spot.node
               : HD_NO_NODE;
}

void hdi_map_block_of(const struct hd_map *map, const int64_t *ordinals,
                      const int64_t *block, struct hd_grid *box)
{
    for (unsigned i = 0; i < map->grid.rank; i++) {
        int64_t begin = (ordinals[i] - box->offset[i]) / block[i] * block[i];
        int64_t rest = box->extent[i] - begin;

        box->offset[i] += begin;
        box->extent[i] = rest < block[i] ? rest : block[i];
    }
}

static bool find_block(const struct hd_map *map, const int64_t *index,
                       const int64_t *block, struct hd_grid *found)
{
    int64_t ordinals[HD_MAX_RANK];
    struct hdi_spot spot;

    if (!hdi_map_ordinals(map, index, ordinals) ||
        !hdi_map_spot(map, ordinals, &spot))
        return false;
    hdi_map_block_of(map, ordinals, block, &spot.box);
    *found = hdi_map_indices(map, &spot.box);
    return true;
}

bool hd_map_memory_block(const struct hd_map *map, const int64_t *index,
                         struct hd_grid *block)
{
    return find_block(map, index, map->memory, block);
}

bool hd_map_task_block(const struct hd_map *map, const int64_t *index,
                       struct hd_grid *block)
{
    // Task blocks count from the corner of their memory block, which is a
    // multiple of them from the segment's corner.
    return find_block(map, index, map->task, block);
}

int64_t hdi_map_piece_extent(const struct hd_map *map,
                             const struct hdi_piece *piece, unsigned axis)
{
    return map->kind == HDI_OWNER_BOXES
               ? map->boxes[piece->box].extent[axis]
               : hdi_axis_class_size(&map->axis[axis], piece->class[axis]);
}

// The classes of a CYCLIC map from axis order[k] on whose sum gives the node.
// On all axes but the last one all classes are tried; that one has a step of 1,
// so each place of the node in the pattern says which class leads there.
static bool cyclic_pieces(const struct hd_map *map, uint32_t node, unsigned k,
                          uint64_t sum, struct hdi_piece *piece,
                          bool (*visit)(void *, const struct hdi_piece *),
                          void *data)
{
    unsigned axis = map->order[k];
    int64_t classes = map->axis[axis].classes;

    if (k + 1 < map->grid.rank) {
        for (int64_t c = 0; c < classes; c++) {
            piece->class[axis] = c;
            if (!cyclic_pieces(map, node, k + 1,
                               sum + (uint64_t)c * map->step[axis], piece,
                               visit, data))
                return false;
        }
        return true;
    }
    for (uint64_t i = map->first[node]; i < map->first[node + 1]; i++) {
        uint64_t c =
            (map->numbers[i] + map->period - sum % map->period) % map->period;

        piece->class[axis] = (int64_t)c;
        if (c < (uint64_t)classes && !visit(data, piece))
            return false;
    }
    return true;
}

// Kinds whose tiles are classes of their own: the tile's place is the class.
static bool tile_piece(const struct hd_map *map, uint64_t number,
                       bool (*visit)(void *, const struct hdi_piece *),
                       void *data)
{
    struct hdi_piece piece = {.box = number};

    if (map->kind != HDI_OWNER_BOXES)
        tile_of_number(map, number, piece.class);
    return visit(data, &piece);
}

// The order is the same on all processes, since it depends on the map alone.
bool hdi_map_pieces(const struct hd_map *map, uint32_t node,
                    bool (*visit)(void *data, const struct hdi_piece *piece),
                    void *data)
{
    struct hdi_piece piece = {0};

    node = unlabelled(map, node);
    switch (map->kind) {
    case HDI_OWNER_MESH:
        for (unsigned i = 0; i < map->grid.rank; i++) {
            piece.class[i] = node / map->step[i] % map->axis[i].classes;
            if (hdi_axis_class_size(&map->axis[i], piece.class[i]) == 0)
                return true;
        }
        return visit(data, &piece);
    case HDI_OWNER_CYCLIC:
        return cyclic_pieces(map, node, 0, 0, &piece, visit, data);
    case HDI_OWNER_RANGE:
        for (uint64_t n = map->starts[node]; n < map->starts[node + 1]; n++)
            if (!tile_piece(map, n, visit, data))
                return false;
        return true;
    case HDI_OWNER_TABLE:
    case HDI_OWNER_BOXES:
        break;
    }
    for (uint64_t i = map->first[node]; i < map->first[node + 1]; i++)
        if (!tile_piece(map, map->numbers[i], visit, data))
            return false;
    return true;
}

// For hd_map_size(): elements of a node, piece by piece. Elements of a shape's
// border tiles that are outside the shape count too: they have memory.
struct sizing {
    const struct hd_map *map;
    int64_t size;
};

static bool add_size(void *data, const struct hdi_piece *piece)
{
    struct sizing *s = data;
    int64_t size = 1;

    for (unsigned i = 0; i < s->map->grid.rank; i++)
        size *= hdi_map_piece_extent(s->map, piece, i);
    s->size += size;
    return true;
}

int64_t hd_map_size(const struct hd_map *map, uint32_t node)
{
    struct sizing s = {map, 0};

    if (node < map->nodes)
        hdi_map_pieces(map, node, add_size, &s);
    return s.size;
}

static bool tables_equal(const void *a, const void *b, size_t size)
{
    return (!a && !b) || (a && b && memcmp(a, b, size) == 0);
}

static bool grids_equal(const struct hd_grid *a, const struct hd_grid *b)
{
    for (unsigned i = 0; a->rank == b->rank && i < a->rank; i++)
        if (a->extent[i] != b->extent[i] || a->offset[i] != b->offset[i])
            return false;
    return a->rank == b->rank;
}

// Compares how maps were made, not who owns what: maps that differ here may
// still be the same. This costs a plan that was not needed, never a wrong
// result.
bool hd_map_equal(const struct hd_map *a, const struct hd_map *b)
{
    if (a == b)
        return true;
    if (!grids_equal(&a->grid, &b->grid) ||
        memcmp(a->stride, b->stride, sizeof(a->stride)) != 0 ||
        memcmp(a->memory, b->memory, sizeof(a->memory)) != 0 ||
        memcmp(a->task, b->task, sizeof(a->task)) != 0 ||
        a->nodes != b->nodes || a->kind != b->kind || a->count != b->count ||
        a->period != b->period || a->shape_count != b->shape_count ||
        memcmp(a->order, b->order, sizeof(a->order)) != 0 ||
        memcmp(a->step, b->step, sizeof(a->step)) != 0)
        return false;
    if (!tables_equal(a->label, b->label, a->nodes * sizeof(*a->label)) ||
        !tables_equal(a->pattern, b->pattern,
                      a->period * sizeof(*a->pattern)) ||
        !tables_equal(a->starts, b->starts,
                      (a->nodes + 1) * sizeof(*a->starts)) ||
        !tables_equal(a->owner, b->owner, a->count * sizeof(*a->owner)) ||
        !tables_equal(a->shape, b->shape, a->shape_count * sizeof(*a->shape)))
        return false;
    for (uint64_t i = 0; a->boxes && i < a->count; i++)
        if (!grids_equal(&a->boxes[i], &b->boxes[i]))
            return false;
    for (unsigned i = 0; i < a->grid.rank; i++)
        if (!hdi_axis_equal(&a->axis[i], &b->axis[i]))
            return false;
    return true;
}
