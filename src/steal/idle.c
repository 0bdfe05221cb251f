#include "steal/idle.h"

#include <stdlib.h>

#include "base/futex.h"

bool hdi_idle_init(struct hdi_idle *idle, unsigned workers)
{
    idle->words = (workers + 63) / 64;
    idle->parked = calloc(idle->words, sizeof(*idle->parked));
    idle->beds = aligned_alloc(64, workers * sizeof(*idle->beds));
    if (!idle->parked || !idle->beds) {
        hdi_idle_destroy(idle);
        return false;
    }
    atomic_init(&idle->searching, 0);
    for (unsigned i = 0; i < workers; i++)
        atomic_init(&idle->beds[i].awake, 0);
    return true;
}

void hdi_idle_destroy(struct hdi_idle *idle)
{
    free(idle->parked);
    free(idle->beds);
}

void hdi_idle_search(struct hdi_idle *idle)
{
    atomic_fetch_add_explicit(&idle->searching, 1, memory_order_seq_cst);
}

bool hdi_idle_leave(struct hdi_idle *idle)
{
    return atomic_fetch_sub_explicit(&idle->searching, 1,
                                     memory_order_seq_cst) <= 1;
}

static uint64_t bit_of(unsigned worker)
{
    return 1ull << (worker & 63);
}

// True when this call cleared the bit.
static bool clear(struct hdi_idle *idle, unsigned worker)
{
    uint64_t bits = atomic_fetch_and_explicit(
        &idle->parked[worker / 64], ~bit_of(worker), memory_order_seq_cst);
    return bits & bit_of(worker);
}

void hdi_idle_lie_down(struct hdi_idle *idle, unsigned worker)
{
    // Before the bit: a waker writes 1 only after it has cleared the bit. One
    // that is late from last time makes this sleep end early, no more.
    atomic_store_explicit(&idle->beds[worker].awake, 0, memory_order_relaxed);
    atomic_fetch_or_explicit(&idle->parked[worker / 64], bit_of(worker),
                             memory_order_seq_cst);
    atomic_fetch_sub_explicit(&idle->searching, 1, memory_order_seq_cst);
    hdi_fence(memory_order_seq_cst); // against who makes work visible
}

void hdi_idle_sleep(struct hdi_idle *idle, unsigned worker)
{
    _Atomic uint32_t *awake = &idle->beds[worker].awake;

    while (atomic_load_explicit(awake, memory_order_acquire) == 0)
        hdi_futex_wait(awake, 0);
}

void hdi_idle_rise(struct hdi_idle *idle, unsigned worker)
{
    if (clear(idle, worker))
        hdi_idle_search(idle);
}

bool hdi_idle_wake(struct hdi_idle *idle, unsigned worker)
{
    uint64_t bits = atomic_load_explicit(&idle->parked[worker / 64],
                                         HDI_BESIDE(memory_order_relaxed));
    if (!(bits & bit_of(worker)) || !clear(idle, worker))
        return false;

    hdi_idle_search(idle);
    atomic_store_explicit(&idle->beds[worker].awake, 1, memory_order_release);
    hdi_futex_wake(&idle->beds[worker].awake, 1);
    return true;
}

bool hdi_idle_wake_one(struct hdi_idle *idle, unsigned worker)
{
    for (unsigned i = 0; i < idle->words; i++) {
        unsigned word = (worker / 64 + i) % idle->words;
        for (;;) {
            uint64_t bits = atomic_load_explicit(
                &idle->parked[word], HDI_BESIDE(memory_order_relaxed));
            if (bits == 0)
                break;
            // Workers are numbered so that neighbours share caches.
            uint64_t above = bits & (~0ull << (worker & 63));
            unsigned bit = (unsigned)__builtin_ctzll(above ? above : bits);
            if (hdi_idle_wake(idle, word * 64 + bit))
                return true;
        }
    }
    return false;
}

bool hdi_idle_is_parked(const struct hdi_idle *idle, unsigned worker)
{
    return atomic_load_explicit(&idle->parked[worker / 64],
                                HDI_BESIDE(memory_order_relaxed)) &
           bit_of(worker);
}

bool hdi_idle_parked(const struct hdi_idle *idle)
{
    for (unsigned i = 0; i < idle->words; i++)
        if (atomic_load_explicit(&idle->parked[i],
                                 HDI_BESIDE(memory_order_relaxed)))
            return true;
    return false;
}
