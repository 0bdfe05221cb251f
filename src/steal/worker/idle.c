#include "steal/worker/idle.h"

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

// A count orders nothing: the fences of both columns in idle.h do.
static int count_searching(struct hdi_idle *idle, int change)
{
    return atomic_fetch_add_explicit(&idle->searching, change,
                                     HDI_BESIDE(memory_order_relaxed));
}

void hdi_idle_search(struct hdi_idle *idle)
{
    count_searching(idle, 1);
}

bool hdi_idle_leave(struct hdi_idle *idle)
{
    return count_searching(idle, -1) <= 1;
}

static uint64_t bit_of(unsigned worker)
{
    return 1ull << (worker & 63);
}

// True when this call cleared the bit. Acquires from who set it, in
// hdi_idle_lie_down(): a waker's 1 in `awake` comes after the sleeper's 0, else
// the 0 could be what stays and nobody would wake the sleeper again.
static bool clear(struct hdi_idle *idle, unsigned worker)
{
    uint64_t bits =
        atomic_fetch_and_explicit(&idle->parked[worker / 64], ~bit_of(worker),
                                  HDI_BESIDE(memory_order_acquire));
    return bits & bit_of(worker);
}

void hdi_idle_lie_down(struct hdi_idle *idle, unsigned worker)
{
    // Before the bit, which releases it to clear(): a waker writes 1 only after
    // it has cleared the bit. One that is late from last time makes this sleep
    // end early, no more.
    atomic_store_explicit(&idle->beds[worker].awake, 0, memory_order_relaxed);
    atomic_fetch_or_explicit(&idle->parked[worker / 64], bit_of(worker),
                             HDI_BESIDE(memory_order_release));
    count_searching(idle, -1);
    hdi_fence(memory_order_seq_cst); // against who makes work visible
}

void hdi_idle_sleep(struct hdi_idle *idle, unsigned worker)
{
    _Atomic uint32_t *awake = &idle->beds[worker].awake;

    // Acquires with the fence of who wakes (not for safety, as every sleeper
    // looks again before it sleeps): so that it sees at once what it was woken
    // for.
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
    // The fence of the caller releases what it published.
    atomic_store_explicit(&idle->beds[worker].awake, 1,
                          HDI_BESIDE(memory_order_relaxed));
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
