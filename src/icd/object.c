// Invariant: a slot is on the free list of its kind if and only if its counts
// are 0; only create() takes it from there.
#include "icd/object.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum {
    GROW = 1 << 18 // [bytes]
};

static const uint64_t reserve = 1ull << 31; // of addresses, per kind [bytes]

#define EMPTY {.lock = PTHREAD_MUTEX_INITIALIZER}

static struct table {
    pthread_mutex_t lock;
    _Atomic(char *) base;
    _Atomic uint64_t used; // slots that were ever handed out end here [bytes]
    uint64_t mapped;       // [bytes]
    uint64_t made;         // objects, which gives their serial numbers
    struct hdi_cl_object *first, *last; // free ones, oldest first
} tables[] = {EMPTY, EMPTY, EMPTY, EMPTY, EMPTY,
              EMPTY, EMPTY, EMPTY, EMPTY, EMPTY};
_Static_assert(sizeof(tables) / sizeof(tables[0]) == HDI_CL_KINDS,
               "one table per kind");

static size_t slot_size(enum hdi_cl_kind kind)
{
    return (hdi_cl_kinds[kind].size + 63) / 64 * 64;
}

// A slot that was never used. NULL: no memory.
static struct hdi_cl_object *extend(struct table *table, size_t size)
{
    char *base = atomic_load(&table->base);
    uint64_t used = atomic_load(&table->used);

    if (!base) {
        base = mmap(NULL, reserve, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED)
            return NULL;
        atomic_store(&table->base, base);
    }
    if (used + size > table->mapped) {
        if (table->mapped + GROW > reserve ||
            mprotect(base + table->mapped, GROW, PROT_READ | PROT_WRITE) != 0)
            return NULL;
        table->mapped += GROW;
    }
    // Whoever sees the slot as used sees it mapped.
    atomic_store_explicit(&table->used, used + size, memory_order_release);
    return (struct hdi_cl_object *)(void *)(base + used);
}

void *hdi_cl_object_create(enum hdi_cl_kind kind)
{
    struct table *table = &tables[kind];
    size_t size = slot_size(kind);

    pthread_mutex_lock(&table->lock);
    struct hdi_cl_object *object = table->first;
    if (object) {
        table->first = object->next;
        if (!table->first)
            table->last = NULL;
    } else {
        object = extend(table, size);
    }
    uint64_t serial = ++table->made;
    pthread_mutex_unlock(&table->lock);
    if (!object)
        return NULL;
    memset(object + 1, 0, size - sizeof(*object));
    object->dispatch = &hdi_cl_dispatch;
    object->next = NULL;
    object->kind = kind;
    object->serial = serial;
    atomic_store_explicit(&object->counts, 1, memory_order_release);
    return object;
}

static void give_back(struct hdi_cl_object *object)
{
    struct table *table = &tables[object->kind];

    pthread_mutex_lock(&table->lock);
    object->next = NULL;
    if (table->last)
        table->last->next = object;
    else
        table->first = object;
    table->last = object;
    pthread_mutex_unlock(&table->lock);
}

bool hdi_cl_is(enum hdi_cl_kind kind, const void *handle)
{
    struct table *table = &tables[kind];
    uint64_t used = atomic_load_explicit(&table->used, memory_order_acquire);
    uint64_t at = (uint64_t)(uintptr_t)handle -
                  (uint64_t)(uintptr_t)atomic_load(&table->base);

    if (!handle || at >= used || at % slot_size(kind) != 0)
        return false;
    const struct hdi_cl_object *object = handle;
    return atomic_load_explicit(&object->counts, memory_order_acquire) != 0;
}

bool hdi_cl_object_retain(void *object)
{
    struct hdi_cl_object *o = object;
    uint64_t counts = atomic_load(&o->counts);

    do {
        if ((uint32_t)counts == UINT32_MAX)
            return false;
    } while (!atomic_compare_exchange_weak(&o->counts, &counts, counts + 1));
    return true;
}

static void end(struct hdi_cl_object *o)
{
    if (hdi_cl_kinds[o->kind].destroy)
        hdi_cl_kinds[o->kind].destroy(o);
    give_back(o);
}

bool hdi_cl_object_release(void *object)
{
    struct hdi_cl_object *o = object;
    uint64_t counts = atomic_load(&o->counts);

    do {
        if ((uint32_t)counts == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&o->counts, &counts, counts - 1));
    if (counts == 1)
        end(o);
    return true;
}

cl_uint hdi_cl_object_references(const void *object)
{
    const struct hdi_cl_object *o = object;
    return (cl_uint)atomic_load(&o->counts);
}

void hdi_cl_hold(void *object)
{
    struct hdi_cl_object *o = object;
    atomic_fetch_add(&o->counts, 1ull << 32);
}

bool hdi_cl_hold_same(void *object, uint64_t serial)
{
    struct hdi_cl_object *o = object;
    uint64_t counts = atomic_load(&o->counts);

    do {
        if (counts == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&o->counts, &counts,
                                           counts + (1ull << 32)));
    // Nobody changes it while it is held.
    bool same = o->serial == serial;
    if (!same)
        hdi_cl_drop(o);
    return same;
}

void hdi_cl_drop(void *object)
{
    struct hdi_cl_object *o = object;
    if (o && atomic_fetch_sub(&o->counts, 1ull << 32) == 1ull << 32)
        end(o);
}

void hdi_cl_objects_forget(void)
{
    for (unsigned i = 0; i < HDI_CL_KINDS; i++) {
        struct table *table = &tables[i];
        pthread_mutex_init(&table->lock, NULL);
        if (i == HDI_CL_PLATFORM || i == HDI_CL_DEVICE)
            continue;
        // A range of its own: what the parent's were is none of it.
        atomic_store(&table->used, 0);
        atomic_store(&table->base, NULL);
        table->mapped = 0;
        table->first = table->last = NULL;
    }
}
