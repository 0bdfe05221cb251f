// The automatic cutoff: leaves that take a multiple of what a fork costs.
//
// Only a hint, so races between leaves that learn at the same time do no harm.
#include "base/clock.h"
#include "steal/worker/state.h"

// WORTH: so that forks cost 1/40 of the time. MAX_EXCESS: a cutoff that was
// learnt from cheap items must not stay when items get dear.
enum {
    WORTH = 40,       // a leaf takes so many times the overhead
    MAX_STEP = 8,     // factor by which one leaf changes the cutoff
    MAX_EXCESS = 64,  // of a cutoff over what any leaf says
    SAMPLES = 8,      // of the overhead; the least counts
    FORKS = 8,        // in a sample
    MAX_SANE = 100000 // overhead [ns]; more is an interruption
};

HD_VOID_TASK(nothing)
{
}

// One sample: public tasks, each taken back, and the clock of one leaf each.
static uint64_t sample(struct hd_worker *worker)
{
    uint64_t begin = hdi_now();

    for (int i = 0; i < FORKS; i++) {
        hd_spawn(worker, nothing);
        hd_publish(worker);
        hd_join(worker, nothing);
        hdi_now();
        hdi_now();
    }
    return (hdi_now() - begin) / FORKS;
}

// Several workers may measure at once: each result is as good.
uint64_t hdi_worker_overhead(struct hd_worker *worker)
{
    _Atomic uint64_t *known = &worker->pool->overhead;
    uint64_t least = atomic_load_explicit(known, memory_order_relaxed);

    if (least)
        return least;
    least = MAX_SANE;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t ns = sample(worker);
        if (ns < least)
            least = ns;
    }
    least += least == 0;
    atomic_store_explicit(known, least, memory_order_relaxed);
    return least;
}

static void set_items(struct hd_cutoff *cutoff, size_t items)
{
    __atomic_store_n(&cutoff->items_, items, __ATOMIC_RELAXED);
}

void hd_cutoff_init(struct hd_cutoff *cutoff, struct hd_worker *worker)
{
    set_items(cutoff, 1);
    cutoff->target_ = WORTH * hdi_worker_overhead(worker);
}

// `known` is of an earlier run of the same loop; 0 or 1 says nothing.
void hd_cutoff_recall_(struct hd_cutoff *cutoff, struct hd_worker *worker,
                       const size_t *known)
{
    size_t items = __atomic_load_n(known, __ATOMIC_RELAXED);

    hd_cutoff_init(cutoff, worker);
    if (items > 1)
        set_items(cutoff, items);
}

void hd_cutoff_keep_(const struct hd_cutoff *cutoff, size_t *known)
{
    size_t items = __atomic_load_n(&cutoff->items_, __ATOMIC_RELAXED);

    // Its cache line is everybody's who runs the loop.
    if (__atomic_load_n(known, __ATOMIC_RELAXED) != items)
        __atomic_store_n(known, items, __ATOMIC_RELAXED);
}

uint64_t hd_cutoff_leaf(const struct hd_cutoff *cutoff,
                        struct hd_worker *worker)
{
    if (hd_cancelled(worker))
        return 0;
    if (hd_cutoff_met(cutoff, 1) && !hd_cutoff_met(cutoff, 2))
        hd_publish(worker); // one item may take long
    return hdi_now();
}

// From one leaf: how many items would have taken the target. Within half and
// twice of it nothing changes, so the word is seldom written while all run.
void hd_cutoff_learn(struct hd_cutoff *cutoff, uint64_t began, size_t items)
{
    uint64_t time = hdi_now() - began;
    size_t now = __atomic_load_n(&cutoff->items_, __ATOMIC_RELAXED);
    double factor = (double)cutoff->target_ / (double)(time ? time : 1);
    double most = MAX_EXCESS * factor * (double)items;

    if (most < (double)now)
        set_items(cutoff, now = most < 1 ? 1 : (size_t)most);
    if (time >= cutoff->target_ / 2 && time <= 2 * cutoff->target_)
        return;
    if (factor > MAX_STEP)
        factor = MAX_STEP;
    double wanted = (double)items * factor;
    if (factor < 1.0 / MAX_STEP)
        wanted = (double)items / MAX_STEP; // it may have been interrupted
    if (wanted < 1)
        wanted = 1;
    if (wanted > (double)(SIZE_MAX / 4))
        return;
    // A short leaf that was small says nothing against larger ones, but for
    // those far too large, and a long one nothing against smaller ones.
    size_t next = (size_t)wanted;
    if (factor > 1 ? next > now : next < now)
        set_items(cutoff, next);
}
