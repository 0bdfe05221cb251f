// The table of a kind: slots side by side in 1 GiB of addresses, and the same
// memory again right behind it, LIVES times in all.
//
//     base              + reserve          + 2 * reserve
//     | 0 | 1 | 2 |     | 0 | 1 | 2 |      | 0 | 1 | 2 |
//           ^                 ^
//           the handle of     the handle of the next object in slot 1
//           an object         (its life is 1 now)
//
// A handle is checked by arithmetic and two loads: in the range, on the border
// of a slot, that slot in use, and at this address. Nothing is followed, no
// lock is taken.
//
// Invariants: a slot is on the free list of its kind if and only if its counts
// are 0; only create() takes it from there. `base`, once set, and `used`, as it
// grows, are never taken back, but in the child of fork().
#include "icd/object/object.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

// GROW: how much memory becomes accessible at a time; each time costs a system
// call per address range. LIVES times RESTING is how many objects come and go
// at least before an old handle can be live again. More of either costs
// addresses (1 GiB a life and kind) or cache.
enum {
    GROW = 1 << 18, // [bytes]
    LIVES = 16,     // addresses of a slot
    RESTING = 64    // slots that stay free for a while, before one is used
};

static const uint64_t reserve = 1ull << 30; // of addresses, per life [bytes]

#define EMPTY                             \
    {                                     \
        .lock = PTHREAD_MUTEX_INITIALIZER \
    }

// One per kind. Slots are used from the front; a slot that was used once stays
// mapped.
static struct table {
    pthread_mutex_t lock; // over all that is not atomic
    // Written once with the lock, read by hdi_cl_is() without: `used` releases
    // it.
    _Atomic(char *) base;
    uint32_t lives;        // as many ranges as this lie behind one another
    _Atomic uint64_t used; // slots that were ever handed out end here [bytes]
    uint64_t mapped;       // [bytes]
    uint64_t made;         // objects, which gives their serial numbers
    struct hdi_cl_object *first, *last; // free ones, oldest first
    uint64_t free_count;
} tables[] = {EMPTY, EMPTY, EMPTY, EMPTY, EMPTY,
              EMPTY, EMPTY, EMPTY, EMPTY, EMPTY};
_Static_assert(sizeof(tables) / sizeof(tables[0]) == HDI_CL_KINDS,
               "one table per kind");

// Whole lines of the cache: two objects that two threads use share none.
static size_t slot_size(enum hdi_cl_kind kind)
{
    return (hdi_cl_kinds[kind].size + 63) / 64 * 64;
}

// What a child of fork() keeps has to be its own memory, which is nowhere else.
//
// Memory that is mapped many times has to be shared memory, and shared with the
// child too: what the one writes the other would see. Platform and devices stay
// valid in a child, so they are in private memory, at one address each.
static bool is_kept_by_children(enum hdi_cl_kind kind)
{
    return kind == HDI_CL_PLATFORM || kind == HDI_CL_DEVICE;
}

// The same memory LIVES times. NULL: the system does not.
//
// First one reservation for all, so that the ranges lie behind one another;
// then each is mapped over a part of it.
static char *map_lives(void)
{
    char *base = mmap(NULL, LIVES * reserve, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    bool ok = mmap(base, reserve, PROT_NONE,
                   MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                   0) != MAP_FAILED;
    // Of shared memory, the old size 0 asks for a second mapping.
    for (uint64_t i = 1; ok && i < LIVES; i++)
        ok = mremap(base, 0, reserve, MREMAP_MAYMOVE | MREMAP_FIXED,
                    base + i * reserve) != MAP_FAILED;
    if (!ok)
        munmap(base, LIVES * reserve);
    return ok ? base : NULL;
}

// Addresses only: memory comes with grow(). False: no addresses.
//
// Where memory cannot be mapped many times, one life does: handles are then
// checked less strictly, and all else is the same. The lock is held.
static bool begin_range(struct table *table, enum hdi_cl_kind kind)
{
    char *base = is_kept_by_children(kind) ? NULL : map_lives();

    table->lives = base ? LIVES : 1;
    if (!base)
        base = mmap(NULL, reserve, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return false;
    atomic_store_explicit(&table->base, base, memory_order_release);
    return true;
}

// What is not used yet is not to be touched, by stray kernels say. False: no
// memory.
//
// The lock is held. In every range or, for the caller, in none: `mapped` moves
// only when all were opened.
static bool grow(struct table *table, char *base)
{
    if (table->mapped + GROW > reserve)
        return false;
    for (uint64_t i = 0; i < table->lives; i++)
        if (mprotect(base + i * reserve + table->mapped, GROW,
                     PROT_READ | PROT_WRITE) != 0)
            return false;
    table->mapped += GROW;
    return true;
}

// A slot that was never used. NULL: no memory.
//
// The lock is held. Memory that was never used is zero, so counts and life are
// 0.
static struct hdi_cl_object *extend(struct table *table, enum hdi_cl_kind kind)
{
    uint64_t used = atomic_load(&table->used), size = slot_size(kind);

    if (!atomic_load(&table->base) && !begin_range(table, kind))
        return NULL;
    char *base = atomic_load(&table->base);
    if (used + size > table->mapped && !grow(table, base))
        return NULL;
    // Whoever sees the slot as used sees it mapped.
    atomic_store_explicit(&table->used, used + size, memory_order_release);
    return (struct hdi_cl_object *)(void *)(base + used);
}

// The free slot that has been so for longest, at its next address: a handle
// that was released becomes one again only after LIVES times RESTING objects at
// least.
//
// The lock is held. NULL: nothing is free. The object is returned at its new
// address, with life already set; it is no handle before its counts are 1.
static struct hdi_cl_object *take_free(struct table *table)
{
    struct hdi_cl_object *o = table->first;

    if (!o)
        return NULL;
    table->first = o->next;
    if (!table->first)
        table->last = NULL;
    table->free_count--;
    char *base = atomic_load(&table->base);
    uint64_t offset = (uint64_t)((char *)o - base) % reserve;
    uint32_t life = (atomic_load_explicit(&o->life, memory_order_relaxed) + 1) %
                    table->lives;
    atomic_store_explicit(&o->life, life, memory_order_relaxed);
    return (struct hdi_cl_object *)(void *)(base + life * reserve + offset);
}

void *hdi_cl_object_create(enum hdi_cl_kind kind)
{
    struct table *table = &tables[kind];
    size_t size = slot_size(kind);

    // New slots as long as few rest, so that one rests for long.
    pthread_mutex_lock(&table->lock);
    struct hdi_cl_object *object =
        table->free_count < RESTING ? extend(table, kind) : NULL;
    if (!object)
        object = take_free(table);
    uint64_t serial = ++table->made;
    pthread_mutex_unlock(&table->lock);
    if (!object)
        return NULL;
    memset(object + 1, 0, size - sizeof(*object));
    object->dispatch = &hdi_cl_dispatch;
    object->next = NULL;
    object->kind = kind;
    object->serial = serial;
    // Live from here on: releases life, kind and serial to hdi_cl_is().
    atomic_store_explicit(&object->counts, 1, memory_order_release);
    return object;
}

// From here on the slot may be another object. At the end of the list, so that
// it rests for as long as possible.
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
    table->free_count++;
    pthread_mutex_unlock(&table->lock);
}

bool hdi_cl_is(enum hdi_cl_kind kind, const void *handle)
{
    struct table *table = &tables[kind];
    uint64_t used = atomic_load_explicit(&table->used, memory_order_acquire);
    uint64_t at = (uint64_t)(uintptr_t)handle -
                  (uint64_t)(uintptr_t)atomic_load(&table->base);
    uint64_t life = at / reserve, offset = at % reserve;

    if (!handle || used == 0 || life >= table->lives || offset >= used ||
        offset % slot_size(kind) != 0)
        return false;
    const struct hdi_cl_object *object = handle;
    // The life is written before the counts are.
    return atomic_load_explicit(&object->counts, memory_order_acquire) != 0 &&
           atomic_load_explicit(&object->life, memory_order_relaxed) == life;
}

// An application that has one reference may add one; from none it cannot come
// back, though holds of ours may keep the object.
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

// By whoever took the last count, and by nobody else: a compare-exchange or an
// addition that gave 0 happens once per life.
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

// Those that are live; each slot of these kinds has one address.
static void renew_all(const struct table *table, enum hdi_cl_kind kind,
                      void (*renew)(struct hdi_cl_object *object))
{
    char *base = atomic_load(&table->base);
    uint64_t used = atomic_load(&table->used);

    for (uint64_t at = 0; at < used; at += slot_size(kind)) {
        struct hdi_cl_object *o = (void *)(base + at);
        if (atomic_load(&o->counts) != 0)
            renew(o);
    }
}

// One thread is left, and it may have forked while another held a lock: locks
// are made anew. The ranges of the parent are neither used nor unmapped here;
// the child shares their memory and must not write to it.
void hdi_cl_objects_forget(void (*renew)(struct hdi_cl_object *object))
{
    for (unsigned i = 0; i < HDI_CL_KINDS; i++) {
        struct table *table = &tables[i];
        pthread_mutex_init(&table->lock, NULL);
        if (is_kept_by_children((enum hdi_cl_kind)i)) {
            renew_all(table, (enum hdi_cl_kind)i, renew);
            continue;
        }
        // A range of its own: what the parent's were is none of it.
        atomic_store(&table->used, 0);
        atomic_store(&table->base, NULL);
        table->mapped = 0;
        table->first = table->last = NULL;
        table->free_count = 0;
    }
}
