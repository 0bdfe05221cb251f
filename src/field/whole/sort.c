// Sample sort (Shi and Schaeffer, Journal of Parallel and Distributed Computing
// 14(4), 1992): nodes sort what they have; keys at regular places of these give
// limits; what is between two limits goes to one node, which sorts it again.
// Then all is laid out as it was.
//
// A process knows how much its nodes give and get, and where each node's part
// of the result begins: memory grows with the number of nodes, not with its
// square. Large pieces go straight from node to node, small ones through other
// processes (exchange.h).
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/whole/exchange.h"
#include "field/whole/radix.h"
#include "field/whole/row.h"

// More samples make parts more even, and cost 8 bytes each on every process.
// SMALL: below that the cost of a message is more than that of its way through
// others.
enum {
    SAMPLES = 64,        // of each node, at most
    ALL_SAMPLES = 65536, // of all nodes, if that is 8 of each at least
    FEWEST = 8,
    SMALL = 4096, // what a process gives another, to go through others [bytes]
    NEAR = 2      // so few processes give each other everything straight
};

// Elements that go from one node to another.
struct part {
    uint64_t begin, count; // in the one's memory
    uint64_t place;        // in the other's, which only that one knows
};

// On the stack of hd_field_sort(). Invariant once parts are told: `get` of one
// process says of each part what `give` of the other says.
struct sort {
    struct hd_cluster *cluster;
    struct hd_field *blocks; // sorted on each node
    struct hd_field *sorted;
    uint64_t element; // [bytes]
    uint32_t samples; // of each node
    // What node n here gives to node q, and gets of it: [n * nodes + q].
    struct part *give, *get;
    uint64_t *starts; // of each node's part of the result, and all
};

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory to sort a field");
}

// A spare as large as a node's share, one node at a time.
static hd_status sort_nodes(struct hd_field *field, struct hd_error *error)
{
    uint32_t first = hdi_cluster_first(field->cluster);

    for (uint32_t n = first; n < first + field->cluster->here; n++) {
        const struct hdi_store *store;
        char *memory = hdi_field_memory(field, n, &store);
        if (!memory)
            return no_memory(error);

        size_t count = (size_t)store->size;
        char *spare = malloc(count * field->element + 1);
        if (!spare)
            return no_memory(error);
        hdi_radix_sort(memory, spare, count, field->element);
        free(spare);
    }
    return HD_OK;
}

// Limits ------------------------------------------------------------------

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

// Keys at regular places of each node here; of a node without any, the largest.
static void take_samples(const struct sort *s, uint64_t *samples)
{
    uint32_t first = hdi_cluster_first(s->cluster);

    for (uint32_t n = 0; n < s->cluster->here; n++) {
        const struct hdi_store *store;
        char *memory = hdi_field_memory(s->blocks, first + n, &store);

        for (uint64_t k = 0; k < s->samples; k++)
            samples[n * s->samples + k] =
                store->size
                    ? hdi_radix_key(memory + (uint64_t)store->size * k /
                                                 s->samples * s->element)
                    : UINT64_MAX;
    }
}

// How many elements of a sorted array have keys below a limit.
static uint64_t count_below(const char *memory, uint64_t count,
                            uint64_t element, uint64_t limit)
{
    uint64_t low = 0, high = count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (hdi_radix_key(memory + middle * element) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Keys that equal a limit go to the node behind it: many equal ones make its
// part large, and none is divided.
static void find_parts(struct sort *s, const uint64_t *limits)
{
    uint32_t nodes = s->cluster->nodes, first = hdi_cluster_first(s->cluster);

    for (uint32_t n = 0; n < s->cluster->here; n++) {
        const struct hdi_store *store;
        char *memory = hdi_field_memory(s->blocks, first + n, &store);
        uint64_t size = (uint64_t)store->size, begin = 0;

        for (uint32_t q = 0; q < nodes; q++) {
            uint64_t end =
                q + 1 == nodes
                    ? size
                    : count_below(memory, size, s->element,
                                  limits[(size_t)(q + 1) * s->samples]);

            s->give[(size_t)n * nodes + q] =
                (struct part){begin, end - begin, 0};
            begin = end;
        }
    }
}

// Find what the nodes here give.
// Every s->samples-th of all sorted samples is a limit, so each node gets about
// as many samples as others, and at most some twice the mean of different keys.
static hd_status divide(struct sort *s, struct hd_error *error)
{
    struct hd_cluster *cluster = s->cluster;
    size_t size = cluster->here * s->samples * sizeof(uint64_t);
    uint64_t *mine = malloc(size);
    uint64_t *all = malloc(cluster->net->count * size);
    hd_status status = mine && all ? HD_OK : no_memory(error);

    status = hdi_cluster_agree(cluster, "hd_field_sort(): samples", 0, status,
                               error);
    if (status == HD_OK) {
        take_samples(s, mine);
        status = hdi_cluster_gather(cluster, mine, size, (char *)all, error);
    }
    if (status == HD_OK) {
        qsort(all, (size_t)cluster->nodes * s->samples, sizeof(*all), by_key);
        find_parts(s, all);
    }
    free(mine);
    free(all);
    return status;
}

// Who gets what -----------------------------------------------------------

// Tell each node where its parts are; both ways the nodes of a process are
// together.
static hd_status tell_parts(struct sort *s, struct hd_error *error)
{
    uint32_t here = s->cluster->here, nodes = s->cluster->nodes;
    uint32_t count = s->cluster->net->count;
    size_t all = (size_t)here * nodes;
    struct part *out = malloc(all * sizeof(*out)), *to = out;
    uint64_t *size = malloc(2 * count * sizeof(*size));
    char *in = NULL;
    hd_status status = out && size ? HD_OK : no_memory(error);

    status = hdi_cluster_agree(s->cluster, "hd_field_sort(): parts", 0, status,
                               error);
    if (status == HD_OK) {
        for (uint32_t p = 0; p < count; p++) {
            size[p] = (uint64_t)here * here * sizeof(*out);
            for (uint32_t n = 0; n < here; n++)
                for (uint32_t q = 0; q < here; q++)
                    *to++ = s->give[(size_t)n * nodes + p * here + q];
        }
        status = hdi_cluster_exchange(s->cluster, (const char *)out, size, &in,
                                      size + count, error);
    }
    if (status == HD_OK) {
        const struct part *from = (const struct part *)in;

        for (uint32_t n = 0; n < nodes; n++)
            for (uint32_t q = 0; q < here; q++)
                s->get[(size_t)q * nodes + n] = *from++;
    }
    free(in);
    free(out);
    free(size);
    return status;
}

// Find where each node's part of the result begins.
// On the way it gives each part that comes its place, behind those of the nodes
// before.
static hd_status find_starts(struct sort *s, struct hd_error *error)
{
    uint32_t here = s->cluster->here, nodes = s->cluster->nodes;
    uint64_t *mine = s->starts + nodes + 1, begin = 0; // room behind them

    for (uint32_t q = 0; q < here; q++) {
        mine[q] = 0;
        for (uint32_t n = 0; n < nodes; n++) {
            s->get[(size_t)q * nodes + n].place = mine[q];
            mine[q] += s->get[(size_t)q * nodes + n].count;
        }
    }
    HDI_TRY(hdi_cluster_gather(s->cluster, mine, here * sizeof(*mine),
                               (char *)s->starts, error));
    for (uint32_t q = 0; q < nodes; q++) {
        uint64_t count = s->starts[q];

        s->starts[q] = begin;
        begin += count;
    }
    s->starts[nodes] = begin;
    return HD_OK;
}

// The map of the result: one tile for each node that has any.
// Parts have any size, and a node may have none: a list of owners says so.
static hd_status make_map(const struct sort *s, struct hd_map **map,
                          struct hd_error *error)
{
    uint32_t nodes = s->cluster->nodes;
    struct hd_map_params params = {
        .grid = {1, {(int64_t)s->starts[nodes]}, {0}}, .nodes = nodes};
    int64_t *splits = malloc(nodes * sizeof(*splits));
    uint32_t *owners = malloc(nodes * sizeof(*owners));
    hd_status status = splits && owners ? HD_OK : no_memory(error);

    for (uint32_t q = 0; status == HD_OK && q < nodes; q++) {
        if (s->starts[q] == s->starts[q + 1])
            continue;
        if (params.owner_count)
            splits[params.tiles[0].split_count++] = (int64_t)s->starts[q];
        owners[params.owner_count++] = q;
    }
    if (status == HD_OK) {
        params.tiles[0].splits = splits;
        params.owners = owners;
        if (!params.tiles[0].split_count)
            params.tiles[0].extent = params.grid.extent[0];
        status = hd_map_create(&params, map, error);
    }
    free(splits);
    free(owners);
    return status;
}

static hd_status create_sorted(struct sort *s, struct hd_error *error)
{
    struct hd_map *map = NULL;
    hd_status status = hdi_cluster_agree(s->cluster, "hd_field_sort(): map", 0,
                                         make_map(s, &map, error), error);

    if (status == HD_OK)
        status =
            hd_field_create(s->cluster, s->element, map, &s->sorted, error);
    hd_map_destroy(map);
    return status;
}

// Giving ------------------------------------------------------------------

static const struct part *given(const struct sort *s, uint32_t n, uint32_t q)
{
    return &s->give[(size_t)(n - hdi_cluster_first(s->cluster)) *
                        s->cluster->nodes +
                    q];
}

static const struct part *got(const struct sort *s, uint32_t q, uint32_t n)
{
    return &s->get[(size_t)(q - hdi_cluster_first(s->cluster)) *
                       s->cluster->nodes +
                   n];
}

// Where a node's elements are, from one on.
static char *elements_of(const struct sort *s, struct hd_field *field,
                         uint32_t node, uint64_t from)
{
    const struct hdi_store *store;

    return hdi_field_memory(field, node, &store) + from * s->element;
}

static void count_part(struct sort *s, uint32_t from, uint32_t to,
                       const struct part *part, bool message)
{
    uint64_t size = part->count * s->element;

    if (from != to)
        hdi_cluster_count(s->cluster,
                          &(struct hd_cluster_counters){
                              .moved = size, .received = message ? size : 0});
}

// Whether there is memory for what is known of each field that is reached;
// afterwards elements_of() does not fail.
// Everything that needs memory happens here, before the agreement: afterwards a
// process that failed would leave others waiting.
static bool prepare(const struct sort *s)
{
    const struct hdi_store *store;

    for (uint32_t n = 0; n < s->cluster->nodes; n++)
        if ((hdi_field_reaches(s->blocks, n) &&
             !hdi_field_memory(s->blocks, n, &store)) ||
            (hd_cluster_has(s->cluster, n) &&
             !hdi_field_memory(s->sorted, n, &store)))
            return false;
    return true;
}

// Copy what the nodes here get of a process whose memory is reached.
static void copy_parts(struct sort *s, uint32_t process)
{
    uint32_t here = s->cluster->here, first = hdi_cluster_first(s->cluster);

    for (uint32_t q = first; q < first + here; q++)
        for (uint32_t n = process * here; n < (process + 1) * here; n++) {
            const struct part *part = got(s, q, n);

            if (!part->count)
                continue;
            memcpy(elements_of(s, s->sorted, q, part->place),
                   elements_of(s, s->blocks, n, part->begin),
                   part->count * s->element);
            count_part(s, n, q, part, false);
        }
}

// Messages of one pair of processes, or two: `transfer` has room for all.
// `who` is the process of each, for the text of a failure.
struct messages {
    struct hdi_transfer **transfer;
    uint32_t *who;
    uint32_t count;
    hd_status status;
};

static void begin_receives(struct sort *s, uint32_t process, struct messages *m)
{
    struct hd_cluster *c = s->cluster;
    uint32_t first = hdi_cluster_first(c);

    for (uint32_t n = process * c->here; n < (process + 1) * c->here; n++)
        for (uint32_t q = first; q < first + c->here; q++) {
            const struct part *part = got(s, q, n);

            if (!part->count || m->status != HD_OK)
                continue;
            m->status = c->transport->receive(
                c->net, process, HDI_TAG_MOVE,
                elements_of(s, s->sorted, q, part->place),
                part->count * s->element, &m->transfer[m->count]);
            m->who[m->count] = process;
            m->count += m->status == HD_OK;
            count_part(s, n, q, part, true);
            hdi_cluster_count(c, &(struct hd_cluster_counters){.messages = 1});
        }
}

static void begin_sends(struct sort *s, uint32_t process, struct messages *m)
{
    struct hd_cluster *c = s->cluster;
    uint32_t first = hdi_cluster_first(c);

    for (uint32_t n = first; n < first + c->here; n++)
        for (uint32_t q = process * c->here; q < (process + 1) * c->here; q++) {
            const struct part *part = given(s, n, q);

            if (!part->count || m->status != HD_OK)
                continue;
            m->status = c->transport->send(
                c->net, process, HDI_TAG_MOVE,
                elements_of(s, s->blocks, n, part->begin),
                part->count * s->element, &m->transfer[m->count]);
            m->who[m->count] = process;
            m->count += m->status == HD_OK;
        }
}

// All are waited for, also after a failure: memory of the field is under way.
static hd_status end_messages(struct sort *s, struct messages *m,
                              struct hd_error *error)
{
    hd_status first = m->status;

    if (first != HD_OK)
        hdi_fail(error, first, "elements cannot be sent to be sorted");
    for (uint32_t i = 0; i < m->count; i++) {
        hd_status status =
            hdi_cluster_wait(s->cluster, m->transfer[i], m->who[i],
                             first == HD_OK ? error : NULL);
        first = first == HD_OK ? status : first;
    }
    m->count = 0;
    return first;
}

// From memory to memory, with one process after another: at a time, all give
// to the one that far behind them.
// In each step a process sends to one and receives from one, so nobody gets
// messages of all at a time.
static hd_status give_straight(struct sort *s, struct hd_error *error)
{
    struct hd_cluster *c = s->cluster;
    uint32_t count = c->net->count, me = c->net->node;
    size_t room = 2 * (size_t)c->here * c->here;
    struct messages m = {.transfer = malloc(room * sizeof(*m.transfer)),
                         .who = malloc(room * sizeof(*m.who))};
    hd_status status =
        m.transfer && m.who && prepare(s) ? HD_OK : no_memory(error);

    status = hdi_cluster_agree(c, "hd_field_sort(): give", 0, status, error);
    for (uint32_t d = 0; status == HD_OK && d < count; d++) {
        uint32_t to = (uint32_t)(((uint64_t)me + d) % count);
        uint32_t from = (me + count - d) % count;

        if (hdi_field_reaches(s->blocks, from * c->here))
            copy_parts(s, from);
        else
            begin_receives(s, from, &m);
        if (!hdi_field_reaches(s->blocks, to * c->here))
            begin_sends(s, to, &m);
        status = end_messages(s, &m, error);
    }
    free(m.transfer);
    free(m.who);
    return status;
}

// The elements that the nodes here give, by the processes that get them.
static char *collect(const struct sort *s, uint64_t *size)
{
    uint32_t here = s->cluster->here, first = hdi_cluster_first(s->cluster);
    uint64_t all = 0;

    for (uint32_t n = first; n < first + here; n++)
        all += (uint64_t)hd_map_size(s->blocks->map, n);
    char *out = malloc(all * s->element + 1), *to = out;
    if (!out)
        return NULL;
    for (uint32_t p = 0; p < s->cluster->net->count; p++) {
        const char *begin = to;

        for (uint32_t n = first; n < first + here; n++)
            for (uint32_t q = p * here; q < (p + 1) * here; q++) {
                const struct part *part = given(s, n, q);
                size_t bytes = part->count * s->element;

                if (bytes)
                    memcpy(to, elements_of(s, s->blocks, n, part->begin),
                           bytes);
                to += bytes;
            }
        size[p] = (uint64_t)(to - begin);
    }
    return out;
}

// In the order of the processes, and of the nodes in each, as collect() made
// it.
static void spread(struct sort *s, const char *in)
{
    uint32_t here = s->cluster->here, first = hdi_cluster_first(s->cluster);

    for (uint32_t n = 0; n < s->cluster->nodes; n++)
        for (uint32_t q = first; q < first + here; q++) {
            const struct part *part = got(s, q, n);
            size_t bytes = part->count * s->element;

            if (bytes)
                memcpy(elements_of(s, s->sorted, q, part->place), in, bytes);
            in += bytes;
            count_part(s, n, q, part, !hd_cluster_has(s->cluster, n));
        }
}

// Through other processes.
static hd_status give_around(struct sort *s, struct hd_error *error)
{
    uint32_t count = s->cluster->net->count;
    uint64_t *size = malloc(2 * count * sizeof(*size));
    char *out = size && prepare(s) ? collect(s, size) : NULL, *in = NULL;
    hd_status status = out ? HD_OK : no_memory(error);

    status = hdi_cluster_agree(s->cluster, "hd_field_sort(): give", 0, status,
                               error);
    if (status == HD_OK)
        status = hdi_cluster_exchange(s->cluster, out, size, &in, size + count,
                                      error);
    if (status == HD_OK) {
        spread(s, in);
        for (uint32_t bit = 1; bit < count && bit; bit *= 2)
            hdi_cluster_count(s->cluster,
                              &(struct hd_cluster_counters){.messages = 1});
    }
    free(in);
    free(out);
    free(size);
    return status;
}

// By the mean size of what one process gives another; all come to the same,
// since it is computed from the map.
static bool goes_around(const struct sort *s)
{
    uint64_t count = s->cluster->net->count;
    uint64_t bytes = (uint64_t)s->blocks->map->box.extent[0] * s->element;

    return count > NEAR && bytes / count / count < SMALL;
}

// Sorting -----------------------------------------------------------------

// After each step that can fail alone all agree, so that nobody goes on without
// the others.
static hd_status sort_blocks(struct sort *s, struct hd_error *error)
{
    HDI_TRY(hdi_cluster_agree(s->cluster, "hd_field_sort(): begin", 0,
                              sort_nodes(s->blocks, error), error));
    HDI_TRY(divide(s, error));
    HDI_TRY(tell_parts(s, error));
    HDI_TRY(find_starts(s, error));
    HDI_TRY(create_sorted(s, error));
    hd_status status =
        goes_around(s) ? give_around(s, error) : give_straight(s, error);
    status = hdi_cluster_agree(s->cluster, "hd_field_sort(): given", 0, status,
                               error);
    if (status == HD_OK)
        status = sort_nodes(s->sorted, error);
    return hdi_cluster_agree(s->cluster, "hd_field_sort(): end", 0, status,
                             error);
}

// Fewer samples of each node where there are many nodes: all of them are on
// every process.
static hd_status begin_sort(struct sort *s, const struct hd_field *field,
                            struct hd_error *error)
{
    struct hd_cluster *c = s->cluster;
    size_t parts = (size_t)c->here * c->nodes;

    HDI_TRY(hdi_row_check(field, sizeof(uint64_t), error));
    if (field->map->stride[0] != 1)
        return hdi_fail(error, HD_EINVAL,
                        "a field with a stride is not sorted");
    s->samples = ALL_SAMPLES / c->nodes;
    s->samples = s->samples > SAMPLES ? SAMPLES : s->samples;
    s->samples = s->samples < FEWEST ? FEWEST : s->samples;
    s->give = malloc(parts * sizeof(*s->give));
    s->get = malloc(parts * sizeof(*s->get));
    s->starts = malloc(((size_t)c->nodes + 1 + c->here) * sizeof(*s->starts));
    return s->give && s->get && s->starts ? HD_OK : no_memory(error);
}

// The result counts from 0 on, the field from its offset.
static hd_status end_sort(struct sort *s, struct hd_field *field,
                          struct hd_error *error)
{
    struct hd_view view = hd_view_field(s->sorted), shifted;

    HDI_TRY(hd_view_shift(&view, field->map->grid.offset, &shifted, error));
    return hd_field_assign(field, &shifted, error);
}

hd_status hd_field_sort(struct hd_field *field, struct hd_error *error)
{
    struct sort s = {.cluster = field->cluster, .element = field->element};
    hd_status status =
        hdi_cluster_agree(s.cluster, "hd_field_sort()", field->number,
                          begin_sort(&s, field, error), error);

    if (status == HD_OK)
        status = hdi_row_in_blocks(field, &s.blocks, error);
    if (status == HD_OK) {
        status = sort_blocks(&s, error);
        hd_field_destroy(s.blocks);
    }
    if (status == HD_OK)
        status = end_sort(&s, field, error);
    if (s.sorted)
        hd_field_destroy(s.sorted);
    free(s.give);
    free(s.get);
    free(s.starts);
    return status;
}
