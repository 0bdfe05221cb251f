// Where the elements of one node are in its memory: the arrays of its pieces,
// one behind the other, each dense with the last axis fastest.
//
//     memory of a node:  | piece 3: 4 x 6 | piece 7: 2 x 6 | ...
//                        0                24               36       [elements]
//
// All processes compute the same store for a node, so one can copy to where
// another's elements lie without asking.
#ifndef HDI_FIELD_MAP_STORE_H
#define HDI_FIELD_MAP_STORE_H

#include "field/map/map.h"

struct hdi_stored_piece {
    uint64_t key;  // of the piece
    int64_t begin; // where its array begins [elements]
};

// Invariant: `parts` are all pieces of the node that have elements; they cover
// 0 to `size` without gaps, but not in the order of their keys.
struct hdi_store {
    const struct hd_map *map;
    uint32_t node;
    size_t count;
    struct hdi_stored_piece *parts; // by ascending key
    int64_t size;                   // [elements]
};

// False when memory is short. The map must stay.
bool hdi_store_build(const struct hd_map *map, uint32_t node,
                     struct hdi_store *store);
void hdi_store_free(struct hdi_store *store);

// A number of a piece that no other of its map has.
uint64_t hdi_piece_key(const struct hd_map *map, const struct hdi_piece *piece);

// Where the array of a piece of this node begins.
int64_t hdi_store_begin(const struct hdi_store *store,
                        const struct hdi_piece *piece);

// How far neighbours are from each other along each axis of a piece's array
// [elements].
void hdi_piece_steps(const struct hd_map *map, const struct hdi_piece *piece,
                     int64_t *step);

// Where an element is; its node must be the store's [elements].
int64_t hdi_store_place(const struct hdi_store *store,
                        const struct hdi_spot *spot);

#endif
