// Making maps: cutting axes, giving tiles to nodes.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/map/map.h"

// Both bound tables: one entry for each node, or for each share of a weight
// (the pattern of turns), of 8 bytes at most.
enum {
    MAX_NODES = 1 << 24,
    MAX_SHARES = 1 << 24 // sum of the weights
};

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for a map");
}

static hd_status check_nodes(unsigned nodes, struct hd_error *error)
{
    return nodes <= MAX_NODES
               ? HD_OK
               : hdi_fail(error, HD_ELIMIT, "%u nodes are more than %d", nodes,
                          MAX_NODES);
}

// Says how an axis is cut.
static bool says_something(const struct hd_tiles *tiles)
{
    return tiles->extent != 0 || tiles->split_count != 0;
}

static bool cuts_anything(const struct hd_map_params *params)
{
    for (unsigned i = 0; i < params->grid.rank; i++)
        if (says_something(&params->tiles[i]))
            return true;
    return false;
}

static bool has_mesh(const struct hd_map_params *params)
{
    for (unsigned i = 0; i < params->grid.rank; i++)
        if (params->mesh[i])
            return true;
    return false;
}

// Cutting -------------------------------------------------------------------

// Split points are indices in the program's words; in the map they are
// ordinals, so each must be on the stride. A place at or before the last one
// would make an empty tile.
static hd_status cut_at_splits(struct hd_map *map, unsigned axis,
                               const struct hd_tiles *tiles,
                               struct hd_error *error)
{
    int64_t *places = malloc(tiles->split_count * sizeof(*places));
    if (!places)
        return no_memory(error);

    hd_status status = HD_OK;
    int64_t last = 0, extent = map->box.extent[axis];

    for (unsigned i = 0; i < tiles->split_count; i++) {
        int64_t at;

        if (__builtin_sub_overflow(tiles->splits[i], map->grid.offset[axis],
                                   &at) ||
            at % map->stride[axis] != 0 || at / map->stride[axis] <= last ||
            at / map->stride[axis] >= extent) {
            status = hdi_fail(error, HD_EINVAL,
                              "split point %lld of axis %u is not inside the "
                              "axis and behind the one before",
                              (long long)tiles->splits[i], axis);
            break;
        }
        places[i] = last = at / map->stride[axis];
    }
    if (status == HD_OK &&
        !hdi_axis_cut_at(&map->axis[axis], extent, places, tiles->split_count))
        status = no_memory(error);
    free(places);
    return status;
}

// `otherwise` is the tile where nothing is said: 1 deals elements one by one,
// INT64_MAX leaves the axis whole.
static hd_status cut_axis(struct hd_map *map, unsigned axis,
                          const struct hd_map_params *params, int64_t otherwise,
                          struct hd_error *error)
{
    const struct hd_tiles *tiles = &params->tiles[axis];

    if (tiles->extent < 0 || (tiles->extent && tiles->split_count))
        return hdi_fail(error, HD_EINVAL,
                        "tiles of axis %u: either equal ones, of 1 or more, "
                        "or split points",
                        axis);
    if (tiles->split_count)
        return cut_at_splits(map, axis, tiles, error);
    hdi_axis_cut_equal(&map->axis[axis], map->box.extent[axis],
                       tiles->extent ? tiles->extent : otherwise);
    return HD_OK;
}

// All zero means that nothing was said, since a real order of two or more axes
// names one that is not 0.
static hd_status take_order(struct hd_map *map,
                            const struct hd_map_params *params,
                            struct hd_error *error)
{
    unsigned rank = map->grid.rank, seen = 0, sum = 0;

    for (unsigned i = 0; i < rank; i++)
        sum += params->order[i];
    for (unsigned i = 0; i < rank; i++) {
        map->order[i] = sum ? params->order[i] : i;
        if (map->order[i] >= rank || (seen & 1u << map->order[i]))
            return hdi_fail(
                error, HD_EINVAL,
                "the order of the axes names axis %u, which %s", map->order[i],
                map->order[i] >= rank ? "is not there" : "was named before");
        seen |= 1u << map->order[i];
    }
    return HD_OK;
}

// Numbers go along `order`, its last axis fastest. The count must fit in 64
// bits; memory is needed per tile in some kinds only.
static hd_status count_tiles(struct hd_map *map, struct hd_error *error)
{
    uint64_t count = 1;

    for (unsigned k = map->grid.rank; k-- > 0;) {
        unsigned axis = map->order[k];

        map->number_step[axis] = count;
        if (__builtin_mul_overflow(count, (uint64_t)map->axis[axis].tiles,
                                   &count))
            return hdi_fail(error, HD_ELIMIT, "too many tiles");
    }
    map->count = count;
    return HD_OK;
}

// Dealing -------------------------------------------------------------------

// Without weights each node counts 1.
static hd_status sum_weights(const struct hd_map_params *params, uint32_t nodes,
                             uint64_t *sum, struct hd_error *error)
{
    *sum = nodes;
    if (!params->weights)
        return HD_OK;
    *sum = 0;
    for (uint32_t n = 0; n < nodes; n++)
        *sum += params->weights[n];
    if (*sum == 0 || *sum > MAX_SHARES)
        return hdi_fail(error, HD_EINVAL,
                        "the weights sum to %llu; 1 to %d is possible",
                        (unsigned long long)*sum, MAX_SHARES);
    return HD_OK;
}

// Where the items of each node begin when `count` are dealt in blocks.
// `nodes` + 1 places, the caller's; NULL when memory is short. Rounded down by
// running sums, so that the shares add up to `count` exactly.
static uint64_t *block_starts(const struct hd_map_params *params,
                              uint32_t nodes, uint64_t sum, uint64_t count)
{
    uint64_t *starts = malloc((nodes + 1) * sizeof(*starts));
    uint64_t before = 0;

    for (uint32_t n = 0; starts && n <= nodes; n++) {
        starts[n] = (uint64_t)((hdi_wide)count * before / sum);
        before += n == nodes ? 0 : params->weights ? params->weights[n] : 1;
    }
    return starts;
}

// Nodes in turn, those with more weight more often and evenly spread: in every
// step each node gains its weight, the richest is dealt to and pays the sum
// (smooth weighted round robin). The pattern is the caller's; NULL when memory
// is short. With weights 2, 1, 1:
//
//     credits after the gain   2 1 1   0 2 2   2 -1 3   4 0 0
//     dealt to                   0       1       2        0
static uint32_t *turns(const struct hd_map_params *params, uint32_t nodes,
                       uint64_t sum)
{
    uint32_t *pattern = malloc(sum * sizeof(*pattern));
    int64_t *credit = calloc(nodes, sizeof(*credit));

    if (!pattern || !credit) {
        free(pattern);
        free(credit);
        return NULL;
    }
    for (uint64_t k = 0; k < sum; k++) {
        uint32_t best = 0;

        if (!params->weights) {
            pattern[k] = (uint32_t)k;
            continue;
        }
        for (uint32_t n = 0; n < nodes; n++) {
            credit[n] += params->weights[n];
            if (credit[n] > credit[best])
                best = n;
        }
        credit[best] -= (int64_t)sum;
        pattern[k] = best;
    }
    free(credit);
    return pattern;
}

// The greatest common one.
static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

// For kinds in which the number of a tile tells its owner: each is a piece.
static hd_status classes_are_tiles(struct hd_map *map, struct hd_error *error)
{
    for (unsigned i = 0; i < map->grid.rank; i++)
        if (!hdi_axis_classes_in_turn(&map->axis[i], map->axis[i].tiles))
            return no_memory(error);
    return HD_OK;
}

// A node has few pieces, each with many tiles, instead of one piece for each
// tile: plans are then small, and a node's memory is few dense arrays.
static hd_status deal_cyclic(struct hd_map *map,
                             const struct hd_map_params *params,
                             struct hd_error *error)
{
    uint64_t sum;

    HDI_TRY(sum_weights(params, map->nodes, &sum, error));
    map->kind = HDI_OWNER_CYCLIC;
    map->period = (uint32_t)sum;
    map->pattern = turns(params, map->nodes, sum);
    if (!map->pattern)
        return no_memory(error);

    // Tiles of an axis whose steps are the same modulo the period are of one
    // class.
    for (unsigned i = 0; i < map->grid.rank; i++) {
        uint64_t step = map->number_step[i] % sum;
        int64_t classes = (int64_t)(sum / divisor(sum, step));

        if (classes > map->axis[i].tiles)
            classes = map->axis[i].tiles;
        map->step[i] = (uint32_t)step;
        if (!hdi_axis_classes_in_turn(&map->axis[i], classes))
            return no_memory(error);
    }
    return HD_OK;
}

// A table of nodes + 1 numbers says it all.
static hd_status deal_blocks(struct hd_map *map,
                             const struct hd_map_params *params,
                             struct hd_error *error)
{
    uint64_t sum;

    HDI_TRY(sum_weights(params, map->nodes, &sum, error));
    map->kind = HDI_OWNER_RANGE;
    map->starts = block_starts(params, map->nodes, sum, map->count);
    if (!map->starts)
        return no_memory(error);
    return classes_are_tiles(map, error);
}

// HD_NO_NODE leaves a tile without an owner. The list is copied.
static hd_status deal_listed(struct hd_map *map,
                             const struct hd_map_params *params,
                             struct hd_error *error)
{
    bool all_owned = true;

    if (params->owner_count != map->count)
        return hdi_fail(error, HD_EINVAL,
                        "%llu owners are listed for %llu tiles",
                        (unsigned long long)params->owner_count,
                        (unsigned long long)map->count);
    for (uint64_t i = 0; i < map->count; i++) {
        if (params->owners[i] >= map->nodes && params->owners[i] != HD_NO_NODE)
            return hdi_fail(error, HD_EINVAL,
                            "the owner of tile %llu is node %u, of %u nodes",
                            (unsigned long long)i, params->owners[i],
                            map->nodes);
        all_owned = all_owned && params->owners[i] != HD_NO_NODE;
    }
    uint32_t *owner = malloc(map->count * sizeof(*owner));
    if (!owner)
        return no_memory(error);
    memcpy(owner, params->owners, map->count * sizeof(*owner));
    if (map->grid.rank == 1 && all_owned) {
        // What one node owns is then one array, however scattered.
        map->kind = HDI_OWNER_MESH;
        map->step[0] = 1;
        return hdi_axis_classes(&map->axis[0], map->nodes, owner)
                   ? HD_OK
                   : no_memory(error);
    }
    map->kind = HDI_OWNER_TABLE;
    map->owner = owner;
    return classes_are_tiles(map, error);
}

// Meshes --------------------------------------------------------------------

// As many classes as nodes along the axis, even if there are fewer tiles: a
// node's place in the mesh is its tuple of classes, and some have no elements
// then.
static hd_status deal_axis(struct hdi_axis *axis, unsigned nodes,
                           enum hd_deal deal, struct hd_error *error)
{
    if (deal == HD_DEAL_CYCLIC || axis->tiles <= nodes)
        return hdi_axis_classes_in_turn(axis, nodes) ? HD_OK : no_memory(error);

    uint32_t *class_of = malloc((size_t)axis->tiles * sizeof(*class_of));
    if (!class_of)
        return no_memory(error);
    for (int64_t n = 0; n < nodes; n++)
        for (int64_t t = axis->tiles * n / nodes;
             t < axis->tiles * (n + 1) / nodes; t++)
            class_of[t] = (uint32_t)n;
    return hdi_axis_classes(axis, nodes, class_of) ? HD_OK : no_memory(error);
}

// The last axis of the mesh counts fastest, so node = sum of class * step is
// row-major, as ranks of MPI's Cartesian communicators are.
static hd_status make_mesh(struct hd_map *map,
                           const struct hd_map_params *params,
                           struct hd_error *error)
{
    uint64_t nodes = 1;

    if (params->weights || params->owners)
        return hdi_fail(error, HD_EINVAL,
                        "%s belong to tiles that are dealt one after another, "
                        "not to a mesh of nodes",
                        params->weights ? "weights" : "listed owners");
    map->kind = HDI_OWNER_MESH;
    for (unsigned i = map->grid.rank; i-- > 0;) {
        unsigned along = params->mesh[i] ? params->mesh[i] : 1;

        map->step[i] = (uint32_t)nodes;
        nodes *= along;
        if (nodes > MAX_NODES)
            return hdi_fail(error, HD_ELIMIT, "the mesh has too many nodes");
        if (says_something(&params->tiles[i]) ||
            params->mesh_deal[i] == HD_DEAL_CYCLIC)
            HDI_TRY(cut_axis(map, i, params, 1, error));
        else if (!hdi_axis_cut_into(&map->axis[i], map->box.extent[i], along))
            return no_memory(error);
        HDI_TRY(deal_axis(&map->axis[i], along, params->mesh_deal[i], error));
    }
    if (params->nodes && params->nodes != nodes)
        return hdi_fail(error, HD_EINVAL, "the mesh has %llu nodes, not %u",
                        (unsigned long long)nodes, params->nodes);
    map->nodes = (uint32_t)nodes;
    return HD_OK;
}

// Elements dealt in blocks --------------------------------------------------

// The boxes of `node` are being added to the map, which has memory for `room`.
struct ranging {
    struct hd_map *map;
    uint64_t room;
    uint32_t node;
};

// Add the box of all elements whose first axes, in order, are fixed at `at`,
// from `low` to `high` on axis number `level`.
// On failure the boxes so far stay the map's, and hd_map_destroy() frees them.
static bool add_box(struct ranging *r, const int64_t *at, unsigned level,
                    int64_t low, int64_t high)
{
    struct hd_map *map = r->map;

    if (map->count == r->room) {
        uint64_t room = r->room ? 2 * r->room : 64;
        struct hd_grid *boxes = realloc(map->boxes, room * sizeof(*boxes));

        if (boxes)
            map->boxes = boxes;
        uint32_t *owner = realloc(map->owner, room * sizeof(*owner));
        if (owner)
            map->owner = owner;
        if (!boxes || !owner)
            return false;
        r->room = room;
    }

    struct hd_grid *box = &map->boxes[map->count];

    *box = map->box;
    for (unsigned k = 0; k <= level; k++) {
        unsigned axis = map->order[k];

        box->offset[axis] = k == level ? low : at[k];
        box->extent[axis] = k == level ? high - low : 1;
    }
    map->owner[map->count++] = r->node;
    return true;
}

// Cut the elements from `low` to `high`, counted along the axes from `level`
// on, into boxes: a rest of a slice, whole slices, a rest of a slice.
//
//     low = 3, high = 17, rows of 5:   . . . x x    rest of a row
//                                      x x x x x    whole rows: one box
//                                      x x x x x
//                                      x x . . .    rest of a row
//
// So a node has two boxes per axis at most, less one.
static bool add_range(struct ranging *r, int64_t *at, unsigned level,
                      uint64_t low, uint64_t high)
{
    if (low >= high)
        return true;

    uint64_t slice = 1;

    for (unsigned k = level + 1; k < r->map->grid.rank; k++)
        slice *= (uint64_t)r->map->box.extent[r->map->order[k]];

    uint64_t first = (low + slice - 1) / slice, last = high / slice;

    if (first > last || (first == last && low / slice == (high - 1) / slice &&
                         (low % slice || high % slice))) {
        at[level] = (int64_t)(low / slice);
        return add_range(r, at, level + 1, low % slice, (high - 1) % slice + 1);
    }
    if (low % slice) {
        at[level] = (int64_t)(low / slice);
        if (!add_range(r, at, level + 1, low % slice, slice))
            return false;
    }
    if (first < last && !add_box(r, at, level, (int64_t)first, (int64_t)last))
        return false;
    at[level] = (int64_t)last;
    return add_range(r, at, level + 1, 0, high % slice);
}

// What `block` without tiles means: the finest balance, shares differ by one
// element. It costs boxes instead of a formula.
static hd_status deal_elements(struct hd_map *map,
                               const struct hd_map_params *params,
                               struct hd_error *error)
{
    struct hdi_boxes_fault fault;
    struct ranging r = {map, 0, 0};
    uint64_t sum, *starts;

    HDI_TRY(sum_weights(params, map->nodes, &sum, error));
    map->kind = HDI_OWNER_BOXES;
    map->count = 0;
    starts = block_starts(params, map->nodes, sum,
                          (uint64_t)hd_grid_size(&map->box));
    bool room = starts != NULL;
    for (; room && r.node < map->nodes; r.node++) {
        int64_t at[HD_MAX_RANK] = {0};

        room = add_range(&r, at, 0, starts[r.node], starts[r.node + 1]);
    }
    free(starts);
    if (room)
        map->tree = hdi_boxes_build(&map->box, map->boxes, (uint32_t)map->count,
                                    false, &fault);
    return map->tree ? HD_OK : no_memory(error);
}

// Shapes --------------------------------------------------------------------

// Can any index of the box be in the shape? Each condition is looked at alone,
// so a tile beside a corner of the shape may be kept.
static bool may_be_inside(const struct hd_map *map, const struct hd_grid *box)
{
    struct hd_grid grid = hdi_map_indices(map, box);

    for (unsigned s = 0; s < map->shape_count; s++) {
        hdi_wide least = 0;

        for (unsigned i = 0; i < grid.rank; i++) {
            int64_t factor = map->shape[s].factor[i];
            int64_t at = factor > 0 ? grid.offset[i]
                                    : grid.offset[i] + grid.extent[i] - 1;

            least += (hdi_wide)factor * at;
        }
        if (least > map->shape[s].most)
            return false;
    }
    return true;
}

// Tiles that are in the shape, dealt as all tiles would have been.
// Only tiles inside count, so each node gets its share of what is there: of a
// lower triangle dealt as a square, the first nodes would have next to nothing.
static hd_status deal_shape(struct hd_map *map,
                            const struct hd_map_params *params,
                            struct hd_error *error)
{
    uint64_t sum, inside = 0;

    HDI_TRY(sum_weights(params, map->nodes, &sum, error));
    map->kind = HDI_OWNER_TABLE;
    map->owner = malloc(map->count * sizeof(*map->owner));
    if (!map->owner)
        return no_memory(error);
    HDI_TRY(classes_are_tiles(map, error));
    for (uint64_t n = 0; n < map->count; n++) {
        struct hd_grid box = {.rank = map->grid.rank};

        for (unsigned i = 0; i < box.rank; i++) {
            int64_t tile = (int64_t)(n / map->number_step[i] %
                                     (uint64_t)map->axis[i].tiles);

            box.offset[i] = hdi_axis_begin(&map->axis[i], tile);
            box.extent[i] = hdi_axis_end(&map->axis[i], tile) - box.offset[i];
        }
        // 0 marks a tile that gets an owner; the loop below says which one.
        map->owner[n] = may_be_inside(map, &box) ? 0 : HD_NO_NODE;
        inside += map->owner[n] == 0;
    }

    uint64_t *starts = block_starts(params, map->nodes, sum, inside);
    uint32_t *pattern = turns(params, map->nodes, sum), node = 0;
    hd_status status = starts && pattern ? HD_OK : no_memory(error);

    for (uint64_t n = 0, k = 0; status == HD_OK && n < map->count; n++) {
        if (map->owner[n] == HD_NO_NODE)
            continue;
        while (params->deal == HD_DEAL_BLOCK && starts[node + 1] <= k)
            node++;
        map->owner[n] = params->deal == HD_DEAL_BLOCK ? node : pattern[k % sum];
        k++;
    }
    free(starts);
    free(pattern);
    return status;
}

// Whether the sums of a condition, of any indices of the map, fit a wide
// number. A product always does.
static bool sums_fit(const struct hd_map *map,
                     const struct hd_half_space *condition)
{
    hdi_wide low = 0, high = 0;

    for (unsigned i = 0; i < map->grid.rank; i++) {
        hdi_wide a = (hdi_wide)condition->factor[i] * map->grid.offset[i];
        hdi_wide b = (hdi_wide)condition->factor[i] *
                     (map->grid.offset[i] + map->grid.extent[i] - 1);

        if (__builtin_add_overflow(low, a < b ? a : b, &low) ||
            __builtin_add_overflow(high, a < b ? b : a, &high))
            return false;
    }
    return true;
}

// Elements without tiles are not dealt with a shape: the cut would be along
// every diagonal element, a box for each row.
static hd_status take_shape(struct hd_map *map,
                            const struct hd_map_params *params,
                            struct hd_error *error)
{
    if (!params->shape_count)
        return HD_OK;
    if (!cuts_anything(params) || has_mesh(params) || params->owners)
        return hdi_fail(error, HD_EINVAL,
                        "a shape needs tiles that are dealt one after another");
    for (unsigned s = 0; s < params->shape_count; s++)
        if (!sums_fit(map, &params->shape[s]))
            return hdi_fail(error, HD_ELIMIT,
                            "the sums of condition %u of the shape do not fit "
                            "127 bits",
                            s);
    map->shape = malloc(params->shape_count * sizeof(*map->shape));
    if (!map->shape)
        return no_memory(error);
    memcpy(map->shape, params->shape,
           params->shape_count * sizeof(*map->shape));
    map->shape_count = params->shape_count;
    return HD_OK;
}

// Which kind of map it becomes:
//
//     mesh                         MESH
//     neither tiles nor owners,
//       dealt in blocks            BOXES
//     owners                       TABLE, or MESH on one axis
//     a shape                      TABLE
//     cyclic; else                 CYCLIC; RANGE
static hd_status deal(struct hd_map *map, const struct hd_map_params *params,
                      struct hd_error *error)
{
    bool cut = cuts_anything(params);

    HDI_TRY(take_order(map, params, error));
    HDI_TRY(take_shape(map, params, error));
    if (has_mesh(params)) {
        HDI_TRY(make_mesh(map, params, error));
        return count_tiles(map, error);
    }
    if (!cut && !params->owners && params->deal == HD_DEAL_BLOCK)
        return deal_elements(map, params, error);
    for (unsigned i = 0; i < map->grid.rank; i++)
        HDI_TRY(cut_axis(map, i, params, cut ? INT64_MAX : 1, error));
    HDI_TRY(count_tiles(map, error));
    if (params->owners)
        return deal_listed(map, params, error);
    if (map->shape_count)
        return deal_shape(map, params, error);
    return params->deal == HD_DEAL_CYCLIC ? deal_cyclic(map, params, error)
                                          : deal_blocks(map, params, error);
}

hd_status hd_map_create(const struct hd_map_params *params, struct hd_map **map,
                        struct hd_error *error)
{
    struct hd_map *m;

    HDI_TRY(check_nodes(params->nodes, error));
    HDI_TRY(hdi_map_begin(&params->grid, params->stride, &m, error));
    m->nodes = params->nodes ? params->nodes : 1;
    hd_status status = deal(m, params, error);
    if (status == HD_OK)
        status =
            hdi_map_grains(m, params->memory_block, params->task_block, error);
    if (status == HD_OK)
        status = hdi_map_end(m, error);
    if (status != HD_OK) {
        hd_map_destroy(m);
        return status;
    }
    *map = m;
    return HD_OK;
}

// Any boxes -----------------------------------------------------------------

// In the words of the program: a place is an index, not an ordinal.
static hd_status tell_fault(const struct hdi_boxes_fault *fault,
                            const struct hd_map *map, struct hd_error *error)
{
    struct hd_grid where = hdi_map_indices(map, &fault->where);
    char at[HD_MAX_RANK * 24] = "";
    size_t length = 0;

    for (unsigned i = 0; i < where.rank; i++)
        length += (size_t)snprintf(at + length, sizeof(at) - length, "%s%lld",
                                   i ? ", " : "", (long long)where.offset[i]);
    if (fault->what == HDI_BOXES_OVERLAP)
        return hdi_fail(error, HD_EINVAL,
                        "segments %u and %u overlap: both own index {%s}",
                        fault->first, fault->second, at);
    if (fault->what == HDI_BOXES_GAP)
        return hdi_fail(error, HD_EINVAL,
                        "no segment owns index {%s}; every index of the grid "
                        "needs one, unless the map is sparse",
                        at);
    return no_memory(error);
}

// Checks one by one before the tree, which needs boxes inside the grid. Nodes
// are as many as the largest number says, or more when `grains` says so. On
// failure everything stays the map's.
static hd_status take_boxes(struct hd_map *map,
                            const struct hd_segment *segments, uint64_t count,
                            bool sparse, struct hd_error *error)
{
    struct hdi_boxes_fault fault;

    if (count >= HDI_NO_BOX)
        return hdi_fail(error, HD_ELIMIT, "too many segments");
    map->boxes = malloc((count + 1) * sizeof(*map->boxes));
    map->owner = malloc((count + 1) * sizeof(*map->owner));
    if (!map->boxes || !map->owner)
        return no_memory(error);
    map->kind = HDI_OWNER_BOXES;
    map->count = count;
    for (uint64_t s = 0; s < count; s++) {
        struct hd_error why;

        if (segments[s].grid.rank != map->grid.rank ||
            hd_grid_check(&segments[s].grid, &why) != HD_OK ||
            !hd_grid_encloses(&map->grid, &segments[s].grid) ||
            segments[s].node >= MAX_NODES)
            return hdi_fail(error, HD_EINVAL,
                            "segment %llu is not a box inside the grid, of a "
                            "node",
                            (unsigned long long)s);
        map->boxes[s] = segments[s].grid;
        for (unsigned i = 0; i < map->grid.rank; i++)
            map->boxes[s].offset[i] -= map->grid.offset[i];
        map->owner[s] = segments[s].node;
        if (segments[s].node >= map->nodes)
            map->nodes = segments[s].node + 1;
    }
    map->tree =
        hdi_boxes_build(&map->box, map->boxes, (uint32_t)count, sparse, &fault);
    return map->tree ? HD_OK : tell_fault(&fault, map, error);
}

hd_status hd_map_create_segments(const struct hd_grid *grid,
                                 const struct hd_segment *segments,
                                 uint64_t count, bool sparse,
                                 const struct hd_map_params *grains,
                                 struct hd_map **map, struct hd_error *error)
{
    static const int64_t none[HD_MAX_RANK];
    unsigned nodes = grains ? grains->nodes : 0;
    struct hd_map *m;

    HDI_TRY(check_nodes(nodes, error));
    HDI_TRY(hdi_map_begin(grid, NULL, &m, error));
    m->nodes = nodes ? nodes : 1;
    hd_status status = take_boxes(m, segments, count, sparse, error);
    if (status == HD_OK)
        status = hdi_map_grains(m, grains ? grains->memory_block : none,
                                grains ? grains->task_block : none, error);
    if (status == HD_OK)
        status = hdi_map_end(m, error);
    if (status != HD_OK) {
        hd_map_destroy(m);
        return status;
    }
    *map = m;
    return HD_OK;
}
