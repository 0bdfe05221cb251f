#include "field/memory/field.h"

// With `messages` no other process is, whatever the network can do.
bool hdi_field_reaches(const struct hd_field *field, uint32_t node)
{
    uint32_t process = hdi_cluster_process_of(field->cluster, node);

    if (process == field->cluster->net->node)
        return true;
    return !field->cluster->messages &&
           field->cluster->transport->reach(field->shared, process) != NULL;
}

bool hdi_field_shares(const struct hd_field *field, uint32_t node)
{
    return hdi_field_reaches(field, node) &&
           (!hdi_cluster_is_device(field->cluster, node) ||
            hd_cluster_has(field->cluster, node));
}

// Stores of other processes' nodes are built when they are first looked at:
// with many processes most never are.
char *hdi_field_memory(struct hd_field *field, uint32_t node,
                       const struct hdi_store **store)
{
    char *base = field->cluster->transport->reach(
        field->shared, hdi_cluster_process_of(field->cluster, node));

    if (!base || node >= field->map->nodes)
        return NULL;
    pthread_mutex_lock(&field->cluster->lock);
    bool built = field->store[node].map ||
                 hdi_store_build(field->map, node, &field->store[node]);
    pthread_mutex_unlock(&field->cluster->lock);
    *store = &field->store[node];
    return built ? base + field->begin[node] : NULL;
}

struct hd_field *hdi_cluster_field(const struct hd_cluster *cluster,
                                   uint64_t number)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&cluster->lock;
    struct hd_field *field;

    pthread_mutex_lock(lock);
    for (field = cluster->fields; field && field->number != number;)
        field = field->next;
    pthread_mutex_unlock(lock);
    return field;
}

// `spot.at` moves from the element to the corner of its segment, which lies in
// the same piece.
bool hdi_window_at(struct hd_field *field, struct hdi_spot *spot,
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
           hdi_field_shares(field, spot.node) &&
           hdi_window_at(field, &spot, ordinals, window);
}
