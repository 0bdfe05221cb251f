// Fields: arrays over grids, and maps that say which compute node owns what.
//
// An index is `rank` integers, the first of which is the slowest in memory: of
// a matrix, the row. Everything is 64 bits wide.
#ifndef HEDDLE_FIELD_H
#define HEDDLE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "heddle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HD_MAX_RANK = 6
};

#define HD_NO_NODE UINT32_MAX

// Grids ---------------------------------------------------------------------
//
// Threads: any.

/// A box of integer points: offset <= index < offset + extent on every axis.
///
///     struct hd_grid grid = {2, {6144, 6144}, {0}};
struct hd_grid {
    unsigned rank; // 1 to HD_MAX_RANK
    int64_t extent[HD_MAX_RANK];
    int64_t offset[HD_MAX_RANK];
};

/// Check that rank and extents are there, and that the number of points and
/// the largest index fit 63 bits.
///
/// Errors:  HD_EINVAL, HD_ELIMIT
/// Threads: any
HD_API hd_status hd_grid_check(const struct hd_grid *grid,
                               struct hd_error *error);

/// Return how many points a grid has that hd_grid_check() lets pass.
HD_API int64_t hd_grid_size(const struct hd_grid *grid);

/// True when `index`, of the grid's rank, is one of its points.
HD_API bool hd_grid_contains(const struct hd_grid *grid, const int64_t *index);

/// True when all points of `child`, which has the same rank, are in `parent`.
HD_API bool hd_grid_encloses(const struct hd_grid *parent,
                             const struct hd_grid *child);

// Resource maps -------------------------------------------------------------
//
// Threads: any; a map is never changed, and destroyed when nobody uses it.
//
// A map cuts its grid into segments, each of which belongs to one node. It
// knows neither elements nor memory, and it is small: what is regular is
// computed. Nodes are numbered from 0.

struct hd_map;

/// A part of a map that one node owns.
struct hd_segment {
    uint64_t id; // 0 to hd_map_segments() - 1
    uint32_t node;
    struct hd_grid grid; // inside the map's
};

// How tiles, which follow each other, are given to nodes.
enum hd_deal {
    HD_DEAL_BLOCK, // as many as are due to the first node, then to the next
    HD_DEAL_CYCLIC // in turn
};

/// How one axis is cut. All zero: see hd_map_params.tiles.
///
/// Owner: the caller; `splits` is copied
struct hd_tiles {
    int64_t extent; // of equal tiles, the last of which may be smaller
    // Instead, for tiles of any extents: where a new one begins, ascending.
    const int64_t *splits;
    unsigned split_count;
};

/// One condition on an index: the sum of factor[i] * index[i] is `most` at
/// most. For all indices of the grid that sum, up to any axis, must fit 127
/// bits (HD_ELIMIT).
struct hd_half_space {
    int64_t factor[HD_MAX_RANK];
    int64_t most;
};

/// What hd_map_create() makes a map of: the grid, how it is cut, whose each
/// part is, and how its memory and its tasks are laid out. Only the grid has no
/// default.
///
/// Owner: the caller; nothing is kept of it
struct hd_map_params {
    struct hd_grid grid;
    unsigned nodes; // 0: as many as the mesh has, else 1

    // How the grid is cut into segments. Where no axis says anything,
    // the elements themselves are dealt ("row block", "row cyclic"); an axis
    // beside others that say something is not cut. With `mesh`, an axis that
    // says nothing has one tile per node of the mesh.
    struct hd_tiles tiles[HD_MAX_RANK];

    // To deal the tiles one after another: along `order`, the axes from the
    // slowest to the fastest. All zero: by rows, 0 1 2 ...
    enum hd_deal deal;
    unsigned order[HD_MAX_RANK];
    const uint32_t *weights; // of each node: its share; NULL: equal

    // To arrange the nodes as a mesh instead, and deal the tiles of each axis
    // to the nodes along it, as ScaLAPACK does. All zero: no mesh.
    unsigned mesh[HD_MAX_RANK];
    enum hd_deal mesh_deal[HD_MAX_RANK];

    // To say it of each tile instead: the nodes that own them, tile after tile
    // along `order`. HD_NO_NODE: nobody, the tile is not there (sparse).
    const uint32_t *owners;
    uint64_t owner_count;

    // Only every so many-th index of an axis is there, from the first one on;
    // tiles then count the elements that are there. 0: every one.
    int64_t stride[HD_MAX_RANK];

    // A shape other than the box: indices that meet all of these (a triangle,
    // a band). Tiles in which no element can be are not dealt.
    const struct hd_half_space *shape;
    unsigned shape_count;

    // Finer grains inside each segment, from its corner on, for the whole map:
    // what moves as one piece, and what one task computes. A memory block
    // holds whole task blocks. 0: as large as what is around it.
    int64_t memory_block[HD_MAX_RANK];
    int64_t task_block[HD_MAX_RANK];
};

/// Make a map.
///
/// Errors:  HD_EINVAL (the text names axis and value), HD_ELIMIT, HD_ENOMEM
/// Owner:   the caller; hd_map_destroy()
/// Threads: any; a map is never changed
HD_API hd_status hd_map_create(const struct hd_map_params *params,
                               struct hd_map **map, struct hd_error *error);

/// Make a map of any boxes. They must lie in the grid and not overlap; together
/// they must be the grid, unless it is `sparse`. `id` is not read: it is the
/// place in the list. Of `grains` only the nodes and the memory and task blocks
/// are read; it may be NULL.
///
/// Errors:  HD_EINVAL (the text names the segments that overlap, or where
///          nobody owns), HD_ENOMEM
/// Owner:   the caller; hd_map_destroy()
/// Threads: any
HD_API hd_status hd_map_create_segments(const struct hd_grid *grid,
                                        const struct hd_segment *segments,
                                        uint64_t count, bool sparse,
                                        const struct hd_map_params *grains,
                                        struct hd_map **map,
                                        struct hd_error *error);

/// Make a map from words, as `heddle info --map` and graph programs write it:
///
///     "6144x6144 tiles 64x64 mesh 2x2"      block-cyclic, as ScaLAPACK
///     "6x6 columns block nodes 3"           elements, dealt down the columns
///     "6x6 tiles 2x2 cyclic nodes 4"        tiles in turn, row by row
///     "36x36 splits 16/16 nodes 4"          splits 8,16/20: two cuts, and one
///     "100 tiles 5 cyclic weights 2,1,1"    twice as many for node 0
///     "8x8 tiles 2x2 cyclic nodes 2 memory 2x1 tasks 1x1"
///     "8x8@0x8 mesh 2x1 block"              offset {0, 8}
///     "99x99 stride 1x2 cyclic nodes 3", "8x8 tiles 2x2 lower nodes 2"
///
/// `lower`, `upper` and `band N` are the shapes of matrices.
///
/// Errors:  HD_EINVAL (the text names the word), and as hd_map_create()
/// Owner:   the caller; hd_map_destroy()
/// Threads: any
HD_API hd_status hd_map_parse(const char *text, struct hd_map **map,
                              struct hd_error *error);

/// The same map with other nodes: what belonged to node n belongs to
/// `to[n]` afterwards; `to` is a permutation of all nodes.
///
/// Errors:  HD_EINVAL, HD_ENOMEM
/// Owner:   the caller; hd_map_destroy()
/// Threads: any
HD_API hd_status hd_map_relabel(const struct hd_map *map, const uint32_t *to,
                                struct hd_map **relabelled,
                                struct hd_error *error);

/// Give a map up; fields and views keep what they need of it. NULL is allowed.
///
/// Threads: any
HD_API void hd_map_destroy(struct hd_map *map);

/// Return the grid that the map divides. Owner: the map. Threads: any.
HD_API const struct hd_grid *hd_map_grid(const struct hd_map *map);

/// Return how many nodes the map lays its grid over, and in how many segments.
///
/// Threads: any, and so for all that asks a map below
HD_API uint32_t hd_map_nodes(const struct hd_map *map);
HD_API uint64_t hd_map_segments(const struct hd_map *map);

/// True when both lay the same grid over the nodes in the same way.
HD_API bool hd_map_equal(const struct hd_map *a, const struct hd_map *b);

/// Get a segment by its number, which is the place in the order of dealing;
/// false when nobody owns it, or there is none. Constant time.
HD_API bool hd_map_segment(const struct hd_map *map, uint64_t id,
                           struct hd_segment *segment);

/// Find the segment that an index is in; false when the index is not there.
/// Constant time for equal tiles, else a binary search per axis.
HD_API bool hd_map_find(const struct hd_map *map, const int64_t *index,
                        struct hd_segment *segment);

/// Return the node that owns an index, or HD_NO_NODE.
HD_API uint32_t hd_map_node(const struct hd_map *map, const int64_t *index);

/// Elements that a node owns. Where the map has a shape these are those of its
/// tiles, since tiles are stored whole.
HD_API int64_t hd_map_size(const struct hd_map *map, uint32_t node);

/// The memory block and the task block that an index is in.
HD_API bool hd_map_memory_block(const struct hd_map *map, const int64_t *index,
                                struct hd_grid *block);
HD_API bool hd_map_task_block(const struct hd_map *map, const int64_t *index,
                              struct hd_grid *block);

/// Draw a map: nodes as digits and letters with a table of who owns how much,
/// or as an SVG image. Of rank 3 and more, the plane of the last two axes at
/// the first index of the others.
///
/// Errors:  HD_EIO, HD_ENOMEM
HD_API hd_status hd_map_draw(const struct hd_map *map, FILE *file,
                             struct hd_error *error);
HD_API hd_status hd_map_draw_svg(const struct hd_map *map, FILE *file,
                                 struct hd_error *error);

#ifdef __cplusplus
}
#endif

#endif
