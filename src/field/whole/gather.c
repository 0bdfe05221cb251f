// reduce, scan and sort: every node works on what it owns, then all exchange
// little.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/cluster/field.h"
#include "field/whole/radix.h"

enum {
    SAMPLES = 64 // of each node
};

// Get the `size` bytes of all processes, in their order; `all` has room for
// them. In step k everybody has 2^k of them, beginning with the own ones, and
// gives them to the process that far before (Bruck and others, IEEE
// Transactions on Parallel and Distributed Systems 8(11), 1997).
hd_status hdi_cluster_gather(struct hd_cluster *cluster, const void *mine,
                             size_t size, char *all, struct hd_error *error)
{
    const struct hdi_transport *t = cluster->transport;
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
        struct hdi_transfer *send, *receive;

        status = t->receive(cluster->net, from, HDI_TAG_AGREE,
                            turned + have * size, more * size, &receive);
        if (status == HD_OK)
            status = t->send(cluster->net, to, HDI_TAG_AGREE, turned,
                             more * size, &send);
        if (status != HD_OK) {
            hdi_fail(error, status, "values cannot be exchanged");
            break;
        }
        status = hdi_cluster_wait(cluster, receive, from, error);
        if (status == HD_OK)
            status = hdi_cluster_wait(cluster, send, to, error);
    }
    for (uint32_t p = 0; p < count; p++)
        memcpy(all + (size_t)((me + p) % count) * size, turned + p * size,
               size);
    free(turned);
    return status;
}

// Reduce
// ------------------------------------------------------------------------

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

// Fields of one axis
// --------------------------------------------------------------

static hd_status check_row(const struct hd_field *field, size_t least,
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

// The same elements in blocks, one after another over all nodes.
static hd_status in_blocks(struct hd_field *field, struct hd_field **blocks,
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

static hd_status put_back(struct hd_field *field, struct hd_field *from,
                          struct hd_error *error)
{
    struct hd_view view = hd_view_field(from);

    return hd_field_assign(field, &view, error);
}

// Scan
// --------------------------------------------------------------------------

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

hd_status hd_field_scan(struct hd_field *field,
                        void (*combine)(void *value, const void *element,
                                        void *data),
                        void *data, struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    size_t room = (cluster->nodes + cluster->here + 1) * field->element;
    struct hd_field *blocks;
    char *totals = calloc(1, room);
    hd_status status = check_row(field, 1, error);

    if (status == HD_OK && !totals)
        status = hdi_fail(error, HD_ENOMEM, "no memory to scan a field");
    status = hdi_cluster_agree(cluster, "hd_field_scan()", field->number,
                               status, error);
    if (status == HD_OK)
        status = in_blocks(field, &blocks, error);
    if (status == HD_OK) {
        status = scan_blocks(blocks, combine, data, totals, error);
        if (status == HD_OK)
            status = put_back(field, blocks, error);
        hd_field_destroy(blocks);
    }
    free(totals);
    return status;
}

// Sort
// --------------------------------------------------------------------------
//
// Sample sort (Shi and Schaeffer, Journal of Parallel and Distributed Computing
// 14(4), 1992): nodes sort what they have; keys at regular places of these give
// limits; what is between two limits goes to one node, which sorts it again.
// What goes where is a map of segments, and moving it is laying a field out by
// it.

static hd_status sort_nodes(struct hd_field *field, struct hd_error *error)
{
    for (uint32_t n = 0; n < field->map->nodes; n++) {
        const struct hdi_store *store;
        char *memory = hd_cluster_has(field->cluster, n)
                           ? hdi_field_memory(field, n, &store)
                           : NULL;
        if (!memory)
            continue;

        size_t count = (size_t)store->size;
        char *spare = malloc(count * field->element + 1);
        if (!spare)
            return hdi_fail(error, HD_ENOMEM, "no memory to sort a field");
        hdi_radix_sort(memory, spare, count, field->element);
        free(spare);
    }
    return HD_OK;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

// Keys at regular places of each node here; of a node without any, the largest.
static void take_samples(struct hd_field *blocks, uint64_t *samples)
{
    struct hd_cluster *cluster = blocks->cluster;

    for (uint32_t n = 0; n < cluster->here; n++) {
        const struct hdi_store *store;
        char *memory =
            hdi_field_memory(blocks, hdi_cluster_first(cluster) + n, &store);

        for (int64_t s = 0; s < SAMPLES; s++)
            samples[n * SAMPLES + s] =
                store->size
                    ? hdi_radix_key(memory + store->size * s / SAMPLES *
                                                 (int64_t)blocks->element)
                    : UINT64_MAX;
    }
}

// How many elements of a sorted array have keys below a limit.
static int64_t count_below(const char *memory, int64_t count, size_t element,
                           uint64_t limit)
{
    int64_t low = 0, high = count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;

        if (hdi_radix_key(memory + middle * (int64_t)element) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// ends[n * nodes + q]: where, in node n's array, what goes to node q ends.
static hd_status find_ends(struct hd_field *blocks, int64_t *ends,
                           struct hd_error *error)
{
    struct hd_cluster *cluster = blocks->cluster;
    uint32_t nodes = cluster->nodes, here = cluster->here;
    uint64_t *mine = malloc(here * SAMPLES * sizeof(*mine));
    uint64_t *all = malloc((size_t)nodes * SAMPLES * sizeof(*all));
    int64_t *own = malloc((size_t)here * nodes * sizeof(*own));
    hd_status status =
        mine && all && own
            ? HD_OK
            : hdi_fail(error, HD_ENOMEM, "no memory to sort a field");

    status = hdi_cluster_agree(cluster, "hd_field_sort(): samples", 0, status,
                               error);
    if (status == HD_OK) {
        take_samples(blocks, mine);
        status = hdi_cluster_gather(
            cluster, mine, here * SAMPLES * sizeof(*mine), (char *)all, error);
    }
    if (status == HD_OK) {
        qsort(all, (size_t)nodes * SAMPLES, sizeof(*all), by_key);
        for (uint32_t n = 0; n < here; n++) {
            const struct hdi_store *store;
            char *memory = hdi_field_memory(
                blocks, hdi_cluster_first(cluster) + n, &store);

            for (uint32_t q = 0; q < nodes; q++)
                own[n * nodes + q] =
                    q + 1 == nodes
                        ? store->size
                        : count_below(memory, store->size, blocks->element,
                                      all[(size_t)(q + 1) * SAMPLES]);
        }
        status = hdi_cluster_gather(cluster, own, here * nodes * sizeof(*own),
                                    (char *)ends, error);
    }
    free(mine);
    free(all);
    free(own);
    return status;
}

// The two maps of a sort: what goes to which node of what lies in blocks, and
// what these nodes then have of all, in order.
static hd_status make_maps(const struct hd_field *blocks, const int64_t *ends,
                           struct hd_map **goes, struct hd_map **has,
                           struct hd_error *error)
{
    uint32_t nodes = blocks->cluster->nodes;
    struct hd_map_params grains = {.nodes = nodes};
    struct hd_grid grid = {1, {blocks->map->box.extent[0]}, {0}};
    struct hd_segment *list = calloc((size_t)nodes * nodes + 1, sizeof(*list));
    int64_t *size = calloc(nodes, sizeof(*size)), begin = 0;
    uint64_t count = 0;
    hd_status status =
        list && size ? HD_OK
                     : hdi_fail(error, HD_ENOMEM, "no memory to sort a field");

    for (uint32_t n = 0; status == HD_OK && n < nodes; n++) {
        for (uint32_t q = 0; q < nodes; q++) {
            const int64_t *end = &ends[(size_t)n * nodes + q];
            int64_t from = q ? end[-1] : 0;

            if (*end > from)
                list[count++] = (struct hd_segment){
                    .node = q, .grid = {1, {*end - from}, {begin + from}}};
            size[q] += *end - from;
        }
        begin += ends[(size_t)n * nodes + nodes - 1];
    }
    if (status == HD_OK)
        status = hd_map_create_segments(&grid, list, count, false, &grains,
                                        goes, error);
    count = 0;
    begin = 0;
    for (uint32_t q = 0; status == HD_OK && q < nodes; q++) {
        if (size[q])
            list[count++] =
                (struct hd_segment){.node = q, .grid = {1, {size[q]}, {begin}}};
        begin += size[q];
    }
    if (status == HD_OK) {
        status = hd_map_create_segments(&grid, list, count, false, &grains, has,
                                        error);
    }
    free(list);
    free(size);
    return status;
}

// What the nodes have by one map is, in their memory's order, what they have by
// the other.
static void take_over(struct hd_field *to, struct hd_field *from)
{
    for (uint32_t n = 0; n < from->map->nodes; n++) {
        const struct hdi_store *store;
        const char *memory = hd_cluster_has(from->cluster, n)
                                 ? hdi_field_memory(from, n, &store)
                                 : NULL;

        if (memory && store->size > 0)
            memcpy(hdi_field_memory(to, n, &store), memory,
                   (size_t)hd_map_size(from->map, n) * from->element);
    }
}

static hd_status sort_between(struct hd_field *field, struct hd_field *blocks,
                              const struct hd_map *goes,
                              const struct hd_map *has, struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    struct hd_field *dealt, *sorted;
    struct hd_view view = hd_view_field(blocks), shifted;
    int64_t back = -field->map->grid.offset[0];

    HDI_TRY(hd_view_shift(&view, &back, &shifted, error));
    HDI_TRY(hd_agile(cluster, &shifted, goes, &dealt, error));
    hd_status status = sort_nodes(dealt, error);
    status =
        hdi_cluster_agree(cluster, "hd_field_sort(): end", 0, status, error);
    if (status == HD_OK)
        status = hd_field_create(cluster, field->element, has, &sorted, error);
    if (status == HD_OK) {
        take_over(sorted, dealt);
        view = hd_view_field(sorted);
        status =
            hd_view_shift(&view, &field->map->grid.offset[0], &shifted, error);
        if (status == HD_OK)
            status = hd_field_assign(field, &shifted, error);
        hd_field_destroy(sorted);
    }
    hd_field_destroy(dealt);
    return status;
}

hd_status hd_field_sort(struct hd_field *field, struct hd_error *error)
{
    struct hd_cluster *cluster = field->cluster;
    struct hd_field *blocks;
    struct hd_map *goes = NULL, *has = NULL;
    int64_t *ends =
        malloc((size_t)cluster->nodes * cluster->nodes * sizeof(*ends));
    hd_status status = check_row(field, sizeof(uint64_t), error);

    if (status == HD_OK && field->map->stride[0] != 1)
        status = hdi_fail(error, HD_EINVAL,
                          "a field with a stride is not "
                          "sorted");
    if (status == HD_OK && !ends)
        status = hdi_fail(error, HD_ENOMEM, "no memory to sort a field");
    status = hdi_cluster_agree(cluster, "hd_field_sort()", field->number,
                               status, error);
    if (status == HD_OK)
        status = in_blocks(field, &blocks, error);
    if (status != HD_OK) {
        free(ends);
        return status;
    }
    status = hdi_cluster_agree(cluster, "hd_field_sort(): begin", 0,
                               sort_nodes(blocks, error), error);
    if (status == HD_OK)
        status = find_ends(blocks, ends, error);
    if (status == HD_OK)
        status = hdi_cluster_agree(cluster, "hd_field_sort(): maps", 0,
                                   make_maps(blocks, ends, &goes, &has, error),
                                   error);
    if (status == HD_OK)
        status = sort_between(field, blocks, goes, has, error);
    hd_map_destroy(goes);
    hd_map_destroy(has);
    hd_field_destroy(blocks);
    free(ends);
    return status;
}
