#include "field/memory/replica.h"

#include <stdlib.h>

#include "field/map/mix.h"
#include "field/plan/copy.h"

enum {
    LINE = 64 // of a cache [bytes]
};

static size_t bucket_of(const struct hdi_replicas *table,
                        const struct hd_grid *box)
{
    uint64_t digest = box->rank;

    for (unsigned i = 0; i < box->rank; i++)
        digest = hdi_mix(digest, (uint64_t)box->offset[i]);
    return digest % table->buckets;
}

static bool same_corner(const struct hd_grid *a, const struct hd_grid *b)
{
    for (unsigned i = 0; i < a->rank; i++)
        if (a->offset[i] != b->offset[i])
            return false;
    return true;
}

// Copies of an old version go here, all at a time, so nobody needs to be told
// that a field was written.
struct hdi_replica *hdi_replicas_find(struct hdi_replicas *table,
                                      uint64_t version,
                                      const struct hd_grid *box)
{
    if (table->version != version) {
        hdi_replicas_clear(table);
        table->version = version;
    }
    if (!table->count)
        return NULL;

    struct hdi_replica *r = table->bucket[bucket_of(table, box)];
    while (r && !same_corner(&r->box, box))
        r = r->next;
    return r;
}

// As many buckets as entries at least; false leaves the table as it was.
static bool grow(struct hdi_replicas *table)
{
    size_t buckets = table->buckets ? 2 * table->buckets : 32;
    struct hdi_replica **old = table->bucket;
    size_t count = table->buckets;
    struct hdi_replica **bucket = calloc(buckets, sizeof(*bucket));
    if (!bucket)
        return false;

    table->bucket = bucket;
    table->buckets = buckets;
    for (size_t i = 0; i < count; i++)
        for (struct hdi_replica *r = old[i], *next; r; r = next) {
            size_t b = bucket_of(table, &r->box);

            next = r->next;
            r->next = bucket[b];
            bucket[b] = r;
        }
    free(old);
    return true;
}

struct hdi_replica *hdi_replicas_add(struct hdi_replicas *table,
                                     const struct hd_grid *box,
                                     uint64_t element)
{
    if (table->count >= table->buckets && !grow(table))
        return NULL;

    struct hdi_replica *r = malloc(sizeof(*r));
    void *data = malloc((size_t)hd_grid_size(box) * element);
    if (!r || !data) {
        free(r);
        free(data);
        return NULL;
    }

    size_t b = bucket_of(table, box);
    *r = (struct hdi_replica){
        .next = table->bucket[b], .box = *box, .data = data};
    table->bucket[b] = r;
    table->count++;
    return r;
}

void hdi_replicas_clear(struct hdi_replicas *table)
{
    for (size_t i = 0; i < table->buckets; i++)
        for (struct hdi_replica *r = table->bucket[i], *next; r; r = next) {
            next = r->next;
            free(r->data);
            free(r);
        }
    free(table->bucket);
    *table = (struct hdi_replicas){.version = table->version};
}

void hdi_replicas_drop(struct hdi_replicas *table, struct hdi_replica *replica,
                       bool settled)
{
    struct hdi_replica **link = &table->bucket[bucket_of(table, &replica->box)];

    while (*link != replica)
        link = &(*link)->next;
    *link = replica->next;
    table->count--;
    if (settled)
        free(replica->data);
    free(replica);
}

void hdi_window_lay(const struct hd_grid *box, void *memory,
                    struct hdi_window *window)
{
    int64_t size = 1;

    window->box = *box;
    window->data = memory;
    for (unsigned i = box->rank; i-- > 0;) {
        window->step[i] = size;
        size *= box->extent[i];
    }
}

void hdi_replica_window(const struct hdi_replica *replica,
                        struct hdi_window *window)
{
    hdi_window_lay(&replica->box, replica->data, window);
}

void *hdi_window_dense(const struct hd_grid *box, uint64_t element,
                       struct hdi_window *window)
{
    size_t size = (size_t)hd_grid_size(box) * element;
    // Rows of whole cache lines begin with one.
    void *memory = aligned_alloc(LINE, (size + LINE) / LINE * LINE);

    if (memory)
        hdi_window_lay(box, memory, window);
    return memory;
}

static int64_t place_in(const struct hdi_window *window,
                        const struct hd_grid *box)
{
    int64_t place = 0;

    for (unsigned i = 0; i < box->rank; i++)
        place += (box->offset[i] - window->box.offset[i]) * window->step[i];
    return place;
}

void hdi_window_copy(const struct hdi_window *to, const struct hdi_window *from,
                     const struct hd_grid *box, uint64_t element)
{
    hdi_window_put(to, from, box, element, false);
}

// A box is one span on each axis, so the copies of plans do this too.
void hdi_window_put(const struct hdi_window *to, const struct hdi_window *from,
                    const struct hd_grid *box, uint64_t element,
                    bool nontemporal)
{
    struct hdi_copy copy = {
        .rank = box->rank,
        .element = element,
        .nontemporal = nontemporal,
        .from = from->data + place_in(from, box) * (int64_t)element,
        .to = to->data + place_in(to, box) * (int64_t)element};
    struct hdi_span span[HD_MAX_RANK];

    for (unsigned i = 0; i < box->rank; i++) {
        span[i] = (struct hdi_span){0, 0, box->extent[i]};
        copy.axis[i] = (struct hdi_copy_axis){&span[i], 1, from->step[i],
                                              from->step[i], to->step[i]};
    }
    hdi_copy_run(&copy);
}
