#include "field/cluster/slot.h"

uint64_t hdi_node_take(struct hdi_node_slot *slot, bool bottom, uint32_t *left)
{
    uint64_t range = atomic_load_explicit(&slot->range, memory_order_relaxed);

    for (;;) {
        uint32_t first = (uint32_t)(range >> 32), last = (uint32_t)range;

        *left = last - first;
        if (first == last)
            return HDI_NO_TASK;

        uint64_t next = bottom ? range - 1 : range + ((uint64_t)1 << 32);

        // The word is all there is to a task, so no order is needed.
        if (atomic_compare_exchange_weak_explicit(&slot->range, &range, next,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed)) {
            --*left;
            return bottom ? last - 1 : first;
        }
    }
}

uint64_t hdi_node_time_left(const struct hdi_node_slot *slot)
{
    uint64_t range = atomic_load_explicit(&slot->range, memory_order_relaxed);
    uint64_t left = (uint32_t)range - (uint32_t)(range >> 32);
    uint64_t mean = atomic_load_explicit(&slot->mean, memory_order_relaxed);
    uint32_t width = atomic_load_explicit(&slot->width, memory_order_relaxed);

    return left > 0 && mean == 0 ? UINT64_MAX / 2 + left : left * mean / width;
}
