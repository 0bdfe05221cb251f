#include "field/memory/window.h"

#include <stdlib.h>

#include "base/error.h"
#include "field/memory/mirror.h"

// Where an element is, for a node.
// `spot` is in the owner's terms, `block` in ordinals of the field.
struct place {
    struct hdi_spot spot;
    bool here;            // is read where it is
    struct hd_grid block; // else: the memory block
};

static hd_status find_place(struct hd_field *field, uint32_t node,
                            const int64_t *ordinals,
                            const struct hdi_fetch *fetch, struct place *place,
                            struct hd_error *error)
{
    if (!hdi_map_spot(field->map, ordinals, &place->spot))
        return hdi_fail(error, HD_EINVAL,
                        "an element is read that no node owns");
    place->here =
        place->spot.node == node ||
        (fetch->in_place && hdi_field_shares(field, place->spot.node) &&
         !hdi_mirror_of(field, place->spot.node));
    place->block = place->spot.box;
    if (!place->here)
        hdi_map_block_of(field->map, ordinals, field->map->memory,
                         &place->block);
    return HD_OK;
}

static struct hdi_replicas *table_of(struct hd_field *field, uint32_t node)
{
    return &field->replicas[node - hdi_cluster_first(field->cluster)];
}

// The copy of a block, which may still be coming.
// A block that somebody here has asked for is not asked for again, so it
// crosses the network once in a version. On failure no entry is left that would
// claim to be the block.
static hd_status ask_block(struct hd_field *field, uint32_t node,
                           const struct place *place,
                           const struct hdi_fetch *fetch,
                           struct hdi_traffic *traffic,
                           struct hdi_replica **copy, struct hd_error *error)
{
    struct hdi_replicas *table = table_of(field, node);
    const struct hd_grid *block = &place->block;
    struct hdi_window to, from;

    *copy = hdi_replicas_find(table, field->version, block);
    if (*copy)
        return HD_OK;
    *copy = hdi_replicas_add(table, block, field->element);
    if (!*copy)
        return hdi_fail(error, HD_ENOMEM,
                        "no memory for a copy of a memory block");

    uint64_t size = (uint64_t)hd_grid_size(block) * field->element;
    traffic->blocks++;
    traffic->moved += size;
    if (hdi_field_shares(field, place->spot.node)) {
        if (hdi_mirror_of(field, place->spot.node)) {
            hd_status status =
                hdi_mirror_home(field, place->spot.node, block, error);
            if (status != HD_OK) {
                hdi_replicas_drop(table, *copy, true);
                return status;
            }
        }
        if (!hdi_window_of_segment(field, block->offset, &from)) {
            hdi_replicas_drop(table, *copy, true);
            return hdi_fail(error, HD_ENOMEM, "no memory for a window");
        }
        hdi_replica_window(*copy, &to);
        hdi_window_copy(&to, &from, block, field->element);
        return HD_OK;
    }
    traffic->received += size;
    traffic->messages++;
    (*copy)->owner = place->spot.node;
    hd_status status =
        fetch->begin(fetch->data, node, field, place->spot.node, block,
                     (*copy)->data, &(*copy)->coming, error);
    if (status != HD_OK)
        hdi_replicas_drop(table, *copy, false);
    return status;
}

// `coming` is cleared first: a transfer is waited for once, whatever comes of
// it.
static hd_status await_block(struct hdi_replicas *table,
                             struct hdi_replica *copy,
                             const struct hdi_fetch *fetch,
                             struct hd_error *error)
{
    struct hdi_transfer *transfer = copy->coming;

    if (!transfer)
        return HD_OK;
    copy->coming = NULL;
    hd_status status = fetch->wait(fetch->data, copy->owner, transfer, error);
    // From one that is lost it may come yet.
    if (status != HD_OK)
        hdi_replicas_drop(table, copy, status != HD_EPEER);
    return status;
}

// Goes on after a failure: a transfer that nobody has waited for would write to
// memory that is freed.
hd_status hdi_window_settle(struct hd_field *field, uint32_t node,
                            const struct hdi_fetch *fetch,
                            struct hd_error *error)
{
    struct hdi_replicas *table = table_of(field, node);
    hd_status first = HD_OK;

    for (size_t i = 0; i < table->buckets; i++)
        for (struct hdi_replica *r = table->bucket[i], *next; r; r = next) {
            next = r->next;
            hd_status status =
                await_block(table, r, fetch, first == HD_OK ? error : NULL);
            first = first == HD_OK ? status : first;
        }
    return first;
}

hd_status hdi_window_of_block(struct hd_field *field, uint32_t node,
                              const int64_t *ordinals,
                              const struct hdi_fetch *fetch,
                              struct hdi_traffic *traffic,
                              struct hdi_window *window, struct hd_error *error)
{
    struct hdi_replica *copy;
    struct place place;

    HDI_TRY(find_place(field, node, ordinals, fetch, &place, error));
    if (place.here)
        return hdi_window_at(field, &place.spot, ordinals, window)
                   ? HD_OK
                   : hdi_fail(error, HD_ENOMEM, "no memory for a window");
    HDI_TRY(ask_block(field, node, &place, fetch, traffic, &copy, error));
    HDI_TRY(await_block(table_of(field, node), copy, fetch, error));
    hdi_replica_window(copy, window);
    return HD_OK;
}

// For the recursion of gather().
struct bringing {
    struct hd_field *field;
    uint32_t node;
    const struct hdi_fetch *fetch;
    struct hdi_traffic *traffic;
    struct hdi_window whole; // without data: blocks are only asked for
    struct hd_error *error;
};

static hd_status bring_part(struct bringing *b, const int64_t *corner,
                            struct hdi_window *window)
{
    struct hdi_replica *copy;
    struct place place;

    if (b->whole.data)
        return hdi_window_of_block(b->field, b->node, corner, b->fetch,
                                   b->traffic, window, b->error);
    HDI_TRY(find_place(b->field, b->node, corner, b->fetch, &place, b->error));
    window->box = place.block;
    return place.here ? HD_OK
                      : ask_block(b->field, b->node, &place, b->fetch,
                                  b->traffic, &copy, b->error);
}

// Copy a box, from as many blocks as it is in: the part in the block of its
// corner, then what is left along each axis.
static hd_status gather(struct bringing *b, const struct hd_grid *box)
{
    struct hdi_window window;
    struct hd_grid part = *box, rest;

    HDI_TRY(bring_part(b, box->offset, &window));
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t end = window.box.offset[i] + window.box.extent[i];

        if (end - box->offset[i] < part.extent[i])
            part.extent[i] = end - box->offset[i];
    }
    if (b->whole.data)
        hdi_window_copy(&b->whole, &window, &part, b->field->element);
    for (unsigned i = 0; i < box->rank; i++)
        if (hdi_grid_rest(box, &part, i, &rest))
            HDI_TRY(gather(b, &rest));
    return HD_OK;
}

hd_status hdi_window_ask(struct hd_field *field, uint32_t node,
                         const struct hd_grid *box,
                         const struct hdi_fetch *fetch,
                         struct hdi_traffic *traffic, struct hd_error *error)
{
    struct bringing b = {field, node, fetch, traffic, {.box = *box}, error};

    return gather(&b, box);
}

// Most boxes are in one block and need no copy.
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

    *scratch = hdi_window_dense(box, field->element, &b.whole);
    if (!*scratch)
        return hdi_fail(error, HD_ENOMEM, "no memory to put a tile together");
    HDI_TRY(gather(&b, box));
    *window = b.whole;
    return HD_OK;
}
