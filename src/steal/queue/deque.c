// Invariant: the jobs in the deque are slots [top, bottom) of the newest ring;
// indices are signed, so that a pop of an empty deque cannot wrap. A thief owns
// a job from the moment its exchange of `top` succeeds.
//
// After Chase and Lev, "Dynamic Circular Work-Stealing Deque" (2005), with the
// fences of Le, Pop, Cohen, Zappa Nardelli (2013), and the ring published with
// release, which their text leaves out.
//
// Ordering. push: release fence between slot and `bottom`, which pairs with the
// acquire side of steal's load of `bottom`: who sees the new bottom sees the
// job. pop and steal: each writes or reads its own end, then a seq_cst fence,
// then looks at the other's, so that for the last job at least one of them sees
// the other; the exchange of `top` decides. grow: the ring's slots are written
// before it is published (release), a thief loads the ring after `bottom`
// (acquire), so it finds the slots of every index below that bottom.
#include "steal/queue/deque.h"

#include <stdlib.h>

enum {
    FIRST_CAPACITY = 64 // [jobs], a power of two
};

static struct hdi_ring *make_ring(int64_t capacity, struct hdi_ring *older)
{
    struct hdi_ring *ring =
        malloc(sizeof(*ring) + (size_t)capacity * sizeof(ring->slots[0]));
    if (!ring)
        return NULL;

    ring->older = older;
    ring->mask = capacity - 1;
    return ring;
}

bool hdi_deque_init(struct hdi_deque *deque)
{
    struct hdi_ring *ring = make_ring(FIRST_CAPACITY, NULL);
    if (!ring)
        return false;

    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->ring, ring);
    return true;
}

void hdi_deque_destroy(struct hdi_deque *deque)
{
    struct hdi_ring *ring =
        atomic_load_explicit(&deque->ring, memory_order_relaxed);

    while (ring) {
        struct hdi_ring *older = ring->older;
        free(ring);
        ring = older;
    }
}

static struct hd_job *get(struct hdi_ring *ring, int64_t index)
{
    return atomic_load_explicit(&ring->slots[index & ring->mask],
                                HDI_BESIDE(memory_order_relaxed));
}

static void put(struct hdi_ring *ring, int64_t index, struct hd_job *job)
{
    atomic_store_explicit(&ring->slots[index & ring->mask], job,
                          HDI_BESIDE(memory_order_relaxed));
}

// The old ring stays, for thieves that hold it: rings double, so all old ones
// together are smaller than the newest.
static struct hdi_ring *grow(struct hdi_deque *deque, struct hdi_ring *old,
                             int64_t top, int64_t bottom)
{
    struct hdi_ring *ring = make_ring(2 * (old->mask + 1), old);
    if (!ring)
        return NULL;

    for (int64_t i = top; i < bottom; i++)
        put(ring, i, get(old, i));
    atomic_store_explicit(&deque->ring, ring, memory_order_release);
    return ring;
}

bool hdi_deque_push(struct hdi_deque *deque, struct hd_job *job)
{
    int64_t bottom = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    // Acquire: a slot is used again only after the thief that emptied it has
    // read it.
    int64_t top = atomic_load_explicit(&deque->top, memory_order_acquire);
    struct hdi_ring *ring =
        atomic_load_explicit(&deque->ring, memory_order_relaxed);

    if (bottom - top > ring->mask) {
        ring = grow(deque, ring, top, bottom);
        if (!ring)
            return false;
    }
    put(ring, bottom, job);
    hdi_fence(memory_order_release);
    atomic_store_explicit(&deque->bottom, bottom + 1,
                          HDI_BESIDE(memory_order_relaxed));
    return true;
}

struct hd_job *hdi_deque_pop(struct hdi_deque *deque)
{
    int64_t bottom =
        atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    struct hdi_ring *ring =
        atomic_load_explicit(&deque->ring, memory_order_relaxed);

    // `top` only grows: seen empty is empty. Spares idle workers the fence.
    if (atomic_load_explicit(&deque->top, memory_order_relaxed) > bottom)
        return NULL;

    atomic_store_explicit(&deque->bottom, bottom,
                          HDI_BESIDE(memory_order_relaxed));
    hdi_fence(memory_order_seq_cst); // against steal's
    int64_t top =
        atomic_load_explicit(&deque->top, HDI_BESIDE(memory_order_relaxed));

    struct hd_job *job = NULL;
    if (top <= bottom) {
        job = get(ring, bottom);
        if (top < bottom)
            return job;

        // The last job: race the thieves for it.
        if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1,
                                                     memory_order_seq_cst,
                                                     memory_order_relaxed))
            job = NULL;
    }
    atomic_store_explicit(&deque->bottom, bottom + 1,
                          HDI_BESIDE(memory_order_relaxed));
    return job;
}

struct hd_job *hdi_deque_steal(struct hdi_deque *deque)
{
    int64_t top =
        atomic_load_explicit(&deque->top, HDI_BESIDE(memory_order_acquire));
    hdi_fence(memory_order_seq_cst); // against pop's
    int64_t bottom =
        atomic_load_explicit(&deque->bottom, HDI_BESIDE(memory_order_acquire));

    if (top >= bottom)
        return NULL;

    // May read a slot the owner is using again; the exchange then fails,
    // because that implies that `top` has moved.
    struct hd_job *job =
        get(atomic_load_explicit(&deque->ring, memory_order_acquire), top);
    if (!atomic_compare_exchange_strong_explicit(&deque->top, &top, top + 1,
                                                 memory_order_seq_cst,
                                                 memory_order_relaxed))
        return NULL;
    return job;
}
