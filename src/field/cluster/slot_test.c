// Queues as others see them: what is taken, and how long the rest takes.
#include "field/cluster/slot.h"

#include "tests/check.h"

static struct hdi_node_slot slot_with(uint64_t tasks, uint64_t mean,
                                      uint32_t width)
{
    struct hdi_node_slot slot = {.range = 0};

    atomic_store(&slot.range, tasks);
    atomic_store(&slot.mean, mean);
    atomic_store(&slot.width, width);
    return slot;
}

static void both_ends_meet(void)
{
    struct hdi_node_slot slot = slot_with(3, 0, 1);
    uint32_t left;

    CHECK(hdi_node_take(&slot, false, &left) == 0 && left == 2);
    CHECK(hdi_node_take(&slot, true, &left) == 2 && left == 1);
    CHECK(hdi_node_take(&slot, false, &left) == 1 && left == 0);
    CHECK(hdi_node_take(&slot, true, &left) == HDI_NO_TASK);
    CHECK(hdi_node_take(&slot, false, &left) == HDI_NO_TASK && left == 0);
}

static void a_queue_takes_as_long_as_its_tasks(void)
{
    struct hdi_node_slot slot = slot_with(10, 300, 1);
    uint32_t left;

    CHECK(hdi_node_time_left(&slot) == 3000);
    hdi_node_take(&slot, false, &left);
    hdi_node_take(&slot, true, &left);
    CHECK(hdi_node_time_left(&slot) == 2400);
    slot = slot_with(10, 300, 4); // four at a time
    CHECK(hdi_node_time_left(&slot) == 750);
    slot = slot_with(0, 300, 1);
    CHECK(hdi_node_time_left(&slot) == 0);
    slot = slot_with(0, 0, 1);
    CHECK(hdi_node_time_left(&slot) == 0);

    // Nobody knows how slow it is; more tasks are more, all the same.
    struct hdi_node_slot few = slot_with(1, 0, 1), many = slot_with(2, 0, 1);
    CHECK(hdi_node_time_left(&few) > UINT64_MAX / 2);
    CHECK(hdi_node_time_left(&many) > hdi_node_time_left(&few));
}

int main(void)
{
    both_ends_meet();
    a_queue_takes_as_long_as_its_tasks();
    return 0;
}
