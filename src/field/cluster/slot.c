#include "field/cluster/slot.h"

// The words are all there is to tasks, so no order is needed.
// Weak, since all callers try again; a failure has loaded the word anew.
static bool exchange(_Atomic uint64_t *word, uint64_t *old, uint64_t new)
{
    return atomic_compare_exchange_weak_explicit(
        word, old, new, memory_order_relaxed, memory_order_relaxed);
}

// Goes on where thieves took some meanwhile; HDI_NO_TASK once both ends meet.
uint64_t hdi_node_take(struct hdi_node_slot *slot)
{
    uint64_t range = atomic_load_explicit(&slot->range, memory_order_relaxed);

    while ((uint32_t)(range >> 32) != (uint32_t)range)
        if (exchange(&slot->range, &range, range + ((uint64_t)1 << 32)))
            return range >> 32;
    return HDI_NO_TASK;
}

uint64_t hdi_node_take_loot(struct hdi_node_slot *slot)
{
    uint64_t loot = atomic_load_explicit(&slot->loot, memory_order_relaxed);

    while (loot)
        if (exchange(&slot->loot, &loot, hdi_loot_rest(loot)))
            return hdi_loot(hdi_loot_owner(loot), 1, hdi_loot_first(loot));
    return 0;
}

// Strong: a failure must mean that there is loot, as the caller then does its
// own.
bool hdi_node_keep(struct hdi_node_slot *slot, uint64_t loot)
{
    uint64_t none = 0;

    return atomic_compare_exchange_strong_explicit(
        &slot->loot, &none, loot, memory_order_relaxed, memory_order_relaxed);
}

// So many of `left` tasks that the rest takes as long here.
// With t tasks left here at `here` each, and `time` each at the thief, x tasks
// are done there in the time of the rest here: x * time = (t - x) * here.
static uint32_t share(const struct hdi_node_slot *slot, uint32_t left,
                      uint64_t time)
{
    uint32_t width = atomic_load_explicit(&slot->width, memory_order_relaxed);
    double here =
        (double)atomic_load_explicit(&slot->mean, memory_order_relaxed) / width;

    if (here <= 0 || time == 0)
        return 1;
    double tasks = left * here / (here + (double)time);
    if (tasks > HDI_MAX_LOOT)
        return HDI_MAX_LOOT;
    return tasks < 1 ? 1 : (uint32_t)tasks;
}

// `loot` was read long before its turn, but it is only what the exchange
// expects.
uint64_t hdi_node_steal(struct hdi_node_slot *slot, uint32_t node,
                        uint64_t time)
{
    uint64_t range = atomic_load_explicit(&slot->range, memory_order_relaxed);
    uint64_t loot = atomic_load_explicit(&slot->loot, memory_order_relaxed);

    while ((uint32_t)(range >> 32) != (uint32_t)range) {
        uint32_t last = (uint32_t)range;
        uint32_t count = share(slot, last - (uint32_t)(range >> 32), time);

        if (exchange(&slot->range, &range, range - count))
            return hdi_loot(node, count, last - count);
    }
    while (loot) {
        uint32_t owner = hdi_loot_owner(loot), first = hdi_loot_first(loot);
        uint32_t left = hdi_loot_count(loot);
        uint32_t count = share(slot, left, time);
        uint64_t rest = left > count ? hdi_loot(owner, left - count, first) : 0;

        if (exchange(&slot->loot, &loot, rest))
            return hdi_loot(owner, count, first + left - count);
    }
    return 0;
}

// The words are read one after another, so this is an estimate.
uint64_t hdi_node_time_left(const struct hdi_node_slot *slot)
{
    uint64_t range = atomic_load_explicit(&slot->range, memory_order_relaxed);
    uint64_t loot = atomic_load_explicit(&slot->loot, memory_order_relaxed);
    uint64_t left = (uint32_t)range - (uint32_t)(range >> 32);
    uint64_t mean = atomic_load_explicit(&slot->mean, memory_order_relaxed);
    uint32_t width = atomic_load_explicit(&slot->width, memory_order_relaxed);

    left += hdi_loot_count(loot);
    return left > 0 && mean == 0 ? UINT64_MAX / 2 + left : left * mean / width;
}
