// All elements of a field in one place: they are laid on one node, and the
// process that has it tells the others.
#include <stdlib.h>

#include "base/error.h"
#include "field/memory/field.h"
#include "field/memory/window.h"

// A whole array of the field's elements.
static struct hdi_window array_of(const struct hd_grid *grid, void *memory)
{
    struct hdi_window window = {.box = *grid, .data = memory};
    int64_t size = 1;

    for (unsigned i = grid->rank; i-- > 0;) {
        window.box.offset[i] = 0;
        window.step[i] = size;
        size *= grid->extent[i];
    }
    return window;
}

// Blocks until the message is over.
static hd_status pass_on(struct hd_cluster *cluster, uint32_t who, bool sends,
                         char *memory, uint64_t size, struct hd_error *error)
{
    const struct hdi_transport *t = cluster->transport;
    struct hdi_transfer *transfer;
    hd_status status = sends ? t->send(cluster->net, who, HDI_TAG_MOVE, memory,
                                       size, &transfer)
                             : t->receive(cluster->net, who, HDI_TAG_MOVE,
                                          memory, size, &transfer);
    if (status != HD_OK)
        return hdi_fail(error, status, "no message with process %u: %s", who,
                        hd_status_text(status));
    return hdi_cluster_wait(cluster, transfer, who, error);
}

// Down a binomial tree, piece by piece.
//
//     of 8 processes, 0 tells 4, 2 and 1; 4 tells 6 and 5; 6 tells 7;
//     2 tells 3
//
// By pieces, so that one is sent on while the next comes.
hd_status hdi_cluster_tell(struct hd_cluster *cluster, char *memory,
                           uint64_t size, struct hd_error *error)
{
    uint32_t me = cluster->net->node, count = cluster->net->count, top = 1;

    while (top < count && !(me & top))
        top <<= 1;
    for (uint64_t at = 0; at < size; at += cluster->piece) {
        uint64_t now = size - at < cluster->piece ? size - at : cluster->piece;

        if (me != 0)
            HDI_TRY(pass_on(cluster, me - top, false, memory + at, now, error));
        for (uint32_t bit = top >> 1; bit > 0; bit >>= 1)
            if (me + bit < count)
                HDI_TRY(
                    pass_on(cluster, me + bit, true, memory + at, now, error));
    }
    return HD_OK;
}

// Copy the elements that one node has to where a whole array is.
// Segments of other nodes are not reached, or empty: one node has all.
static void copy_out(struct hd_field *whole, const struct hdi_window *array)
{
    for (uint64_t s = 0; s < hd_map_segments(whole->map); s++) {
        struct hdi_window from;
        struct hd_grid box;

        hdi_map_segment_box(whole->map, s, &box);
        if (hdi_window_of_segment(whole, box.offset, &from))
            hdi_window_copy(array, &from, &from.box, whole->element);
    }
}

// One tile as large as the grid: all is node 0's, so it is a redistribution
// like any other, and only process 0 needs memory for the whole field; with
// `all` every process.
hd_status hd_field_read(struct hd_field *field, void *memory, bool all,
                        struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    const struct hd_grid *grid = &field->map->grid;
    struct hd_map_params params = {.grid = *grid, .nodes = 1};
    struct hd_view view = hd_view_field(field);
    struct hd_map *map = NULL;
    struct hd_field *whole;
    hd_status status;

    for (unsigned i = 0; i < grid->rank; i++) {
        params.tiles[i].extent = grid->extent[i];
        params.stride[i] = field->map->stride[i];
    }
    status = hd_map_create(&params, &map, error);
    if (status == HD_OK && !memory && (all || cluster->net->node == 0))
        status = hdi_fail(error, HD_EINVAL, "a field is read to NULL");
    status = hdi_cluster_agree(cluster, "hd_field_read()",
                               hdi_mix(field->number, all), status, error);
    if (status == HD_OK)
        status = hd_agile(cluster, &view, map, &whole, error);
    hd_map_destroy(map);
    if (status != HD_OK)
        return status;
    if (cluster->net->node == 0) {
        struct hdi_window array = array_of(grid, memory);

        copy_out(whole, &array);
    }
    hd_field_destroy(whole);
    return all ? hdi_cluster_tell(cluster, memory,
                                  (uint64_t)hd_grid_size(grid) * field->element,
                                  error)
               : HD_OK;
}
