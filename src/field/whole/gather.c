// reduce and scan: every node works on what it owns, then all exchange
// little.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/memory/mirror.h"
#include "field/whole/exchange.h"
#include "field/whole/row.h"

// Get the `size` bytes of all processes, in their order; `all` has room for
// them. In step k everybody has 2^k of them, beginning with the own ones, and
// gives them to the process that far before (Bruck and others, IEEE
// Transactions on Parallel and Distributed Systems 8(11), 1997).
//
//     of 5 processes, counted from the own one: 0, 01, 0123, 01234
hd_status hdi_cluster_gather(struct hd_cluster *cluster, const void *mine,
                             size_t size, char *all, struct hd_error *error)
{
    uint32_t count = cluster->net->count, me = cluster->net->node;
    char *turned = malloc(count * size + 1);
    hd_status status =
        turned ? HD_OK
               : hdi_fail(error, HD_ENOMEM, "no memory to exchange values");

    // Whoever has no memory must say so before others wait for it.
    status = hdi_cluster_agree(cluster, "gather", size, status, error);
    if (status != HD_OK) {
        free(turned);
        return status;
    }
    memcpy(turned, mine, size);
    for (uint32_t have = 1; status == HD_OK && have < count; have *= 2) {
        uint32_t more = count - have < have ? count - have : have;
        uint32_t to = (me + count - have) % count, from = (me + have) % count;

        status = hdi_cluster_swap(cluster, to, turned, more * size, from,
                                  turned + have * size, more * size, error);
    }
    for (uint32_t p = 0; p < count; p++)
        memcpy(all + (size_t)((me + p) % count) * size, turned + p * size,
               size);
    if (status != HD_EPEER)
        free(turned);
    return status;
}

// Reduce ----------------------------------------------------------------------

// Combines in memory's order, not the grid's, so the function must be
// associative and commutative. Each process combines the values of all in the
// same order, so all have the same result to the last bit.
hd_status hd_field_reduce(struct hd_field *field,
                          void (*combine)(void *value, const void *element,
                                          void *data),
                          void *data, const void *neutral, void *result,
                          struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    size_t element = field->element;
    char *all = malloc((cluster->net->count + 1) * element);
    char *value = all ? all + cluster->net->count * element : NULL;
    hd_status status =
        all ? HD_OK : hdi_fail(error, HD_ENOMEM, "no memory to reduce a field");

    if (status == HD_OK)
        status = hdi_mirrors_home(field, error);
    status = hdi_cluster_agree(cluster, "hd_field_reduce()", field->number,
                               status, error);
    if (status != HD_OK) {
        free(all);
        return status;
    }
    memcpy(value, neutral, element);
    for (uint32_t n = 0; n < field->map->nodes; n++) {
        const struct hdi_store *store;
        const char *memory = hd_cluster_has(cluster, n)
                                 ? hdi_field_memory(field, n, &store)
                                 : NULL;

        for (int64_t i = 0; memory && i < store->size; i++)
            combine(value, memory + i * (int64_t)element, data);
    }
    status = hdi_cluster_gather(cluster, value, element, all, error);
    if (status == HD_OK) {
        memcpy(value, neutral, element);
        for (uint32_t p = 0; p < cluster->net->count; p++)
            combine(value, all + p * element, data);
        memcpy(result, value, element);
    }
    free(all);
    return status;
}

// Fields of one axis ----------------------------------------------------------

hd_status hdi_row_check(const struct hd_field *field, size_t least,
                        struct hd_error *error)
{
    if (field->map->grid.rank != 1)
        return hdi_fail(error, HD_EINVAL,
                        "a field of one axis is needed, this one has %u",
                        field->map->grid.rank);
    if (field->element < least)
        return hdi_fail(error, HD_EINVAL,
                        "elements of %zu bytes at least are needed", least);
    return HD_OK;
}

// Nodes then follow each other as elements do: what is before a node's elements
// is what the nodes before have. `*blocks` is the caller's to destroy.
hd_status hdi_row_in_blocks(struct hd_field *field, struct hd_field **blocks,
                            struct hd_error *error)
{
    struct hd_map_params params = {.grid = field->map->grid,
                                   .nodes = field->cluster->nodes,
                                   .stride = {field->map->stride[0]}};
    struct hd_view view = hd_view_field(field);
    struct hd_map *map;

    hd_status status = hd_map_create(&params, &map, error);
    bool made = status == HD_OK;
    status = hdi_cluster_agree(field->cluster, "blocks of a field", 0, status,
                               error);
    if (status == HD_OK)
        status = hd_agile(field->cluster, &view, map, blocks, error);
    if (!made)
        return status;
    hd_map_destroy(map);
    return status;
}

hd_status hdi_row_put_back(struct hd_field *field, struct hd_field *from,
                           struct hd_error *error)
{
    struct hd_view view = hd_view_field(from);

    return hd_field_assign(field, &view, error);
}

// Scan ------------------------------------------------------------------------

// Scan what node n has; its last value goes to `total`.
static void scan_node(struct hd_field *blocks, uint32_t n, const char *before,
                      void (*combine)(void *, const void *, void *), void *data,
                      char *total)
{
    const struct hdi_store *store;
    char *memory = hdi_field_memory(blocks, n, &store);
    size_t element = blocks->element;

    memcpy(total, before, element);
    for (int64_t i = 0; i < store->size; i++) {
        char *at = memory + (size_t)i * element;

        combine(total, at, data);
        memcpy(at, total, element);
    }
}

// Combine node n's elements alone.
static void total_node(struct hd_field *blocks, uint32_t n,
                       void (*combine)(void *, const void *, void *),
                       void *data, char *total)
{
    const struct hdi_store *store;
    const char *memory = hdi_field_memory(blocks, n, &store);
    size_t element = blocks->element;

    if (store->size > 0)
        memcpy(total, memory, element);
    for (int64_t i = 1; i < store->size; i++)
        combine(total, memory + (size_t)i * element, data);
}

// `totals` is laid out like this:
//
//     totals | of every node | of nodes here, then a running value | before |
//
// Two passes over the elements, with one exchange of a value for each node
// between them. A node without elements adds nothing: there may be no neutral
// element.
static hd_status scan_blocks(struct hd_field *blocks,
                             void (*combine)(void *, const void *, void *),
                             void *data, char *totals, struct hd_error *error)
{
    struct hd_cluster *cluster = blocks->cluster;
    size_t element = blocks->element;
    uint32_t first = hdi_cluster_first(cluster);
    char *mine = totals + cluster->nodes * element;
    char *before = mine + cluster->here * element;
    bool any = false;

    for (uint32_t n = 0; n < cluster->here; n++)
        total_node(blocks, first + n, combine, data, mine + n * element);
    HDI_TRY(hdi_cluster_gather(cluster, mine, cluster->here * element, totals,
                               error));
    for (uint32_t n = 0; n < first + cluster->here; n++) {
        const struct hdi_store *store;
        bool has = hd_map_size(blocks->map, n) > 0;

        if (n >= first && has) {
            char *memory = hdi_field_memory(blocks, n, &store);

            // The very first element is what everything begins with.
            if (any) {
                scan_node(blocks, n, before, combine, data, mine);
            } else {
                memcpy(mine, memory, element);
                for (int64_t i = 1; i < store->size; i++) {
                    combine(mine, memory + (size_t)i * element, data);
                    memcpy(memory + (size_t)i * element, mine, element);
                }
            }
        }
        if (has && any)
            combine(before, totals + n * element, data);
        else if (has)
            memcpy(before, totals + n * element, element);
        any = any || has;
    }
    return HD_OK;
}

// In a copy: the field keeps its layout, and its values when this fails early.
hd_status hd_field_scan(struct hd_field *field,
                        void (*combine)(void *value, const void *element,
                                        void *data),
                        void *data, struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    size_t room = (cluster->nodes + cluster->here + 1) * field->element;
    struct hd_field *blocks;
    char *totals = calloc(1, room);
    hd_status status = hdi_row_check(field, 1, error);

    if (status == HD_OK && !totals)
        status = hdi_fail(error, HD_ENOMEM, "no memory to scan a field");
    status = hdi_cluster_agree(cluster, "hd_field_scan()", field->number,
                               status, error);
    if (status == HD_OK)
        status = hdi_row_in_blocks(field, &blocks, error);
    if (status == HD_OK) {
        status = scan_blocks(blocks, combine, data, totals, error);
        if (status == HD_OK)
            status = hdi_row_put_back(field, blocks, error);
        hd_field_destroy(blocks);
    }
    free(totals);
    return status;
}
