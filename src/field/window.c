#include "field/window.h"

#include <stdlib.h>

#include "base/error.h"

static bool window_at(struct hd_field *field, struct hdi_spot *spot,
                      const int64_t *ordinals, struct hdi_window *window)
{
    const struct hdi_store *store;
    char *memory = hdi_field_memory(field, spot->node, &store);
    if (!memory)
        return false;

    for (unsigned i = 0; i < spot->box.rank; i++)
        spot->at[i] -= ordinals[i] - spot->box.offset[i];
    window->box = spot->box;
    window->data =
        memory + hdi_store_place(store, spot) * (int64_t)field->element;
    hdi_piece_steps(field->map, &spot->piece, window->step);
    return true;
}

bool hdi_window_of_segment(struct hd_field *field, const int64_t *ordinals,
                           struct hdi_window *window)
{
    struct hdi_spot spot;

    return hdi_map_spot(field->map, ordinals, &spot) &&
           hdi_field_reaches(field, spot.node) &&
           window_at(field, &spot, ordinals, window);
}

static hd_status bring_block(struct hd_field *field, uint32_t node,
                             const struct hdi_spot *spot,
                             const struct hd_grid *block,
                             const struct hdi_fetch *fetch,
                             struct hdi_traffic *traffic,
                             struct hdi_window *window, struct hd_error *error)
{
    struct hdi_replicas *table =
        &field->replicas[node - hdi_cluster_first(field->cluster)];
    struct hdi_replica *r = hdi_replicas_find(table, field->version, block);
    struct hdi_window from;

    if (r) {
        hdi_replica_window(r, window);
        return HD_OK;
    }
    r = hdi_replicas_add(table, block, field->element);
    if (!r)
        return hdi_fail(error, HD_ENOMEM,
                        "no memory for a copy of a memory block");
    hdi_replica_window(r, window);

    uint64_t size = (uint64_t)hd_grid_size(block) * field->element;
    traffic->blocks++;
    traffic->moved += size;
    if (hdi_window_of_segment(field, block->offset, &from)) {
        hdi_window_copy(window, &from, block, field->element);
        return HD_OK;
    }
    traffic->received += size;
    traffic->messages++;
    hd_status status = fetch->fetch(fetch->data, node, field, spot->node, block,
                                    r->data, error);
    if (status != HD_OK)
        hdi_replicas_clear(table);
    return status;
}

hd_status hdi_window_of_block(struct hd_field *field, uint32_t node,
                              const int64_t *ordinals,
                              const struct hdi_fetch *fetch,
                              struct hdi_traffic *traffic,
                              struct hdi_window *window, struct hd_error *error)
{
    struct hdi_spot spot;

    if (!hdi_map_spot(field->map, ordinals, &spot))
        return hdi_fail(error, HD_EINVAL,
                        "an element is read that no node "
                        "owns");
    if (spot.node == node ||
        (fetch->in_place && hdi_field_reaches(field, spot.node)))
        return window_at(field, &spot, ordinals, window)
                   ? HD_OK
                   : hdi_fail(error, HD_ENOMEM, "no memory for a window");

    struct hd_grid block = spot.box;
    hdi_map_block_of(field->map, ordinals, field->map->memory, &block);
    return bring_block(field, node, &spot, &block, fetch, traffic, window,
                       error);
}

struct bringing {
    struct hd_field *field;
    uint32_t node;
    const struct hdi_fetch *fetch;
    struct hdi_traffic *traffic;
    struct hdi_window whole;
    struct hd_error *error;
};

// Copy a box, from as many blocks as it is in: the part in the block of its
// corner, then what is left along each axis.
static hd_status gather(struct bringing *b, const struct hd_grid *box)
{
    struct hdi_window window;
    struct hd_grid part = *box, rest;

    HDI_TRY(hdi_window_of_block(b->field, b->node, box->offset, b->fetch,
                                b->traffic, &window, b->error));
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t end = window.box.offset[i] + window.box.extent[i];

        if (end - box->offset[i] < part.extent[i])
            part.extent[i] = end - box->offset[i];
    }
    hdi_window_copy(&b->whole, &window, &part, b->field->element);
    for (unsigned i = 0; i < box->rank; i++) {
        if (part.extent[i] == box->extent[i])
            continue;
        rest = *box;
        for (unsigned k = 0; k < i; k++)
            rest.extent[k] = part.extent[k];
        rest.offset[i] += part.extent[i];
        rest.extent[i] -= part.extent[i];
        HDI_TRY(gather(b, &rest));
    }
    return HD_OK;
}

hd_status hdi_window_bring(struct hd_field *field, uint32_t node,
                           const struct hd_grid *box,
                           const struct hdi_fetch *fetch,
                           struct hdi_traffic *traffic,
                           struct hdi_window *window, void **scratch,
                           struct hd_error *error)
{
    HDI_TRY(hdi_window_of_block(field, node, box->offset, fetch, traffic,
                                window, error));
    if (hd_grid_encloses(&window->box, box))
        return HD_OK;

    struct bringing b = {field, node, fetch, traffic, {.box = *box}, error};
    int64_t size = 1;

    *scratch = malloc((size_t)hd_grid_size(box) * field->element);
    if (!*scratch)
        return hdi_fail(error, HD_ENOMEM, "no memory to put a tile together");
    b.whole.data = *scratch;
    for (unsigned i = box->rank; i-- > 0;) {
        b.whole.step[i] = size;
        size *= box->extent[i];
    }
    HDI_TRY(gather(&b, box));
    *window = b.whole;
    return HD_OK;
}
