#include "field/map/store.h"

#include <stdlib.h>

// The class tuple as one number, in mixed radix.
uint64_t hdi_piece_key(const struct hd_map *map, const struct hdi_piece *piece)
{
    uint64_t key = 0;

    if (map->kind == HDI_OWNER_BOXES)
        return piece->box;
    // There are fewer classes than elements on each axis, so this fits.
    for (unsigned i = 0; i < map->grid.rank; i++)
        key = key * (uint64_t)map->axis[i].classes + (uint64_t)piece->class[i];
    return key;
}

void hdi_piece_steps(const struct hd_map *map, const struct hdi_piece *piece,
                     int64_t *step)
{
    int64_t size = 1;

    for (unsigned i = map->grid.rank; i-- > 0;) {
        step[i] = size;
        size *= hdi_map_piece_extent(map, piece, i);
    }
}

// `room` is how many parts there is memory for.
struct building {
    struct hdi_store *store;
    size_t room;
};

static bool add_part(void *data, const struct hdi_piece *piece)
{
    struct building *b = data;
    struct hdi_store *store = b->store;
    int64_t size = 1;

    if (store->count == b->room) {
        size_t room = b->room ? 2 * b->room : 4;
        struct hdi_stored_piece *parts =
            realloc(store->parts, room * sizeof(*parts));

        if (!parts)
            return false;
        store->parts = parts;
        b->room = room;
    }
    for (unsigned i = 0; i < store->map->grid.rank; i++)
        size *= hdi_map_piece_extent(store->map, piece, i);
    store->parts[store->count++] = (struct hdi_stored_piece){
        hdi_piece_key(store->map, piece), store->size};
    store->size += size;
    return true;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct hdi_stored_piece *)a)->key;
    uint64_t y = ((const struct hdi_stored_piece *)b)->key;

    return x < y ? -1 : x > y;
}

bool hdi_store_build(const struct hd_map *map, uint32_t node,
                     struct hdi_store *store)
{
    struct building b = {store, 0};

    *store = (struct hdi_store){.map = map, .node = node};
    if (!hdi_map_pieces(map, node, add_part, &b)) {
        hdi_store_free(store);
        return false;
    }
    if (store->count > 1)
        qsort(store->parts, store->count, sizeof(*store->parts), by_key);
    return true;
}

void hdi_store_free(struct hdi_store *store)
{
    free(store->parts);
    *store = (struct hdi_store){0};
}

// By bisection. A piece that is not the node's gives the place of another one:
// callers ask for pieces that hdi_map_spot() or a plan gave to this node.
int64_t hdi_store_begin(const struct hdi_store *store,
                        const struct hdi_piece *piece)
{
    uint64_t key = hdi_piece_key(store->map, piece);
    size_t low = 0, high = store->count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (store->parts[middle].key <= key)
            low = middle;
        else
            high = middle;
    }
    return store->parts[low].begin;
}

int64_t hdi_store_place(const struct hdi_store *store,
                        const struct hdi_spot *spot)
{
    int64_t step[HD_MAX_RANK], place = hdi_store_begin(store, &spot->piece);

    hdi_piece_steps(store->map, &spot->piece, step);
    for (unsigned i = 0; i < store->map->grid.rank; i++)
        place += spot->at[i] * step[i];
    return place;
}
