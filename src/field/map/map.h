// Inside a resource map.
//
// Inside, places are ordinals: element numbers per axis from 0, without offset
// and stride. A map is one of two kinds. A tiled one is a product of axes, cut
// into tiles (axis.h); the owner is computed from the tile's classes or from
// its number, which counts along `order`. Any other is a list of boxes.
//
// A piece is the elements of one node whose classes are the same on every axis,
// or one box: a product of sets of elements per axis, which are stored as one
// dense array. Planning, storing and copying know pieces only.
//
//     tiles 0 1 2      each axis: classes 0 1 0        what node 0 stores:
//           3 4 5      tiles of the classes (0, 0)     one piece, an array of
//           6 7 8      are 0, 2, 6 and 8               rows of 0 and 2, 6 and 8
//
// A map is made in this order: hdi_map_begin(), the owners (deal.c),
// hdi_map_grains(), hdi_map_end(). After that nothing of it changes but
// `holders`, so any number of threads may read it without a lock.
#ifndef HDI_FIELD_MAP_MAP_H
#define HDI_FIELD_MAP_MAP_H

#include <stdatomic.h>

#include "field/map/axis.h"
#include "field/map/boxes.h"
#include "heddle/field.h"

// How the owner of a segment is found. The first three need tables of nodes and
// along single axes at most, so a map of billions of tiles is small.
enum hdi_owner {
    HDI_OWNER_MESH,   // sum of class * step
    HDI_OWNER_CYCLIC, // pattern[sum of class * step mod period]
    HDI_OWNER_RANGE,  // of the tile's number, by where each node's begin
    HDI_OWNER_TABLE,  // of the tile's number
    HDI_OWNER_BOXES
};

// Invariant: the part for another kind is zero. A relabelled map is a copy with
// a table of labels: its pointers are its origin's, which it holds and which is
// not relabelled itself.
struct hd_map {
    struct hd_grid grid;         // as given
    int64_t stride[HD_MAX_RANK]; // 1 at least
    struct hd_grid box;          // of ordinals: no offset
    uint32_t nodes;
    enum hdi_owner kind;
    int64_t memory[HD_MAX_RANK], task[HD_MAX_RANK]; // blocks [ordinals]
    uint32_t *label;       // node to node; NULL: the same
    struct hd_map *origin; // whose tables a relabelled map uses; else NULL
    atomic_uint holders;   // the map's owner, and maps whose origin it is
    // Indices outside of any of these half-spaces are nobody's, even in a tile
    // that has an owner.
    struct hd_half_space *shape;
    unsigned shape_count;

    // Tiled.
    struct hdi_axis axis[HD_MAX_RANK];
    unsigned order[HD_MAX_RANK];
    uint64_t count;                    // tiles, or boxes
    uint64_t number_step[HD_MAX_RANK]; // number: sum of tile * number_step
    uint32_t step[HD_MAX_RANK];        // MESH, CYCLIC
    uint32_t period;                   // CYCLIC
    uint32_t *pattern;                 // CYCLIC
    uint64_t *starts;                  // RANGE: nodes + 1 of them
    uint32_t *owner; // TABLE and BOXES: of each; may be HD_NO_NODE

    // BOXES.
    struct hd_grid *boxes; // in ordinals
    struct hdi_box_tree *tree;

    // The numbers of each node, from first[node] on: of tiles or boxes (TABLE,
    // BOXES), of places in the pattern (CYCLIC).
    uint64_t *first, *numbers;

    // Of all that says who owns what and how it is cut: processes whose maps
    // were made alike have the same, others hardly ever.
    uint64_t digest;
};

// The name of a piece, by value: it means something together with its map only.
struct hdi_piece {
    uint64_t box;               // of BOXES: which
    int64_t class[HD_MAX_RANK]; // else
};

// Call `visit` for each piece of a node that has elements, until one returns
// false; then false.
bool hdi_map_pieces(const struct hd_map *map, uint32_t node,
                    bool (*visit)(void *data, const struct hdi_piece *piece),
                    void *data);

// The owner of the tiles of a tiled map that have these classes.
// HD_NO_NODE where a table says so.
uint32_t hdi_map_class_owner(const struct hd_map *map, const int64_t *class);

uint32_t hdi_map_box_owner(const struct hd_map *map, uint64_t box);

// A segment by its number: its box [ordinals] and its node, or HD_NO_NODE.
void hdi_map_segment_box(const struct hd_map *map, uint64_t id,
                         struct hd_grid *box);
uint32_t hdi_map_segment_owner(const struct hd_map *map, uint64_t id);

// Elements of a piece on one axis.
int64_t hdi_map_piece_extent(const struct hd_map *map,
                             const struct hdi_piece *piece, unsigned axis);

// Index to ordinals; false when it is not in the grid, off the stride or
// outside the shape.
bool hdi_map_ordinals(const struct hd_map *map, const int64_t *index,
                      int64_t *ordinals);

// What is at a place: the piece, its node and where in the piece's array the
// element is. False when nobody owns it.
// `segment` is the number of the tile or box, `at` counts from the piece's
// corner, which is another than the segment's where a piece has many tiles.
struct hdi_spot {
    uint32_t node;
    uint64_t segment;
    struct hd_grid box; // of the segment [ordinals]
    struct hdi_piece piece;
    int64_t at[HD_MAX_RANK]; // in the piece
};
bool hdi_map_spot(const struct hd_map *map, const int64_t *ordinals,
                  struct hdi_spot *spot);

// The block of a grain that a place is in: cuts the segment's box, in `box`.
// `box` is the box of the segment that holds `ordinals`; blocks count from its
// corner, and those at its far ends may be smaller.
void hdi_map_block_of(const struct hd_map *map, const int64_t *ordinals,
                      const int64_t *block, struct hd_grid *box);

// A box of ordinals as a grid of indices.
struct hd_grid hdi_map_indices(const struct hd_map *map,
                               const struct hd_grid *box);

// How far neighbours are from each other along each axis where a grid's
// elements lie row by row [elements]; and how many elements there are.
int64_t hdi_grid_steps(const struct hd_grid *grid, int64_t *step);

// What a box has left along `axis` when its part at its corner is done, so that
// part and rests are the box; false when that is nothing.
bool hdi_grid_rest(const struct hd_grid *box, const struct hd_grid *part,
                   unsigned axis, struct hd_grid *rest);

// Maps are shared: hd_map_destroy() gives one holder back.
// The constness of `map` is about its content; the number of holders changes.
struct hd_map *hdi_map_hold(const struct hd_map *map);

// A map without anything in it, but the grid; and what ends its making: the
// numbers of each node, and the digest.
hd_status hdi_map_begin(const struct hd_grid *grid, const int64_t *stride,
                        struct hd_map **map, struct hd_error *error);
hd_status hdi_map_end(struct hd_map *map, struct hd_error *error);

// Take the finer grains, which must nest, and check them.
hd_status hdi_map_grains(struct hd_map *map, const int64_t *memory,
                         const int64_t *task, struct hd_error *error);

#endif
