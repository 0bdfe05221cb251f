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

    CHECK(hdi_node_take(&slot) == 0);
    CHECK(hdi_node_steal(&slot, 7, 0) == hdi_loot(7, 1, 2));
    CHECK(hdi_node_take(&slot) == 1);
    CHECK(hdi_node_steal(&slot, 7, 0) == 0);
    CHECK(hdi_node_take(&slot) == HDI_NO_TASK);
}

// Both then have work for as long.
static void as_many_are_stolen_as_leave_both_busy(void)
{
    struct hdi_node_slot slot = slot_with(100, 10, 1);

    CHECK(hdi_node_steal(&slot, 1, 10) == hdi_loot(1, 50, 50));
    CHECK(hdi_node_steal(&slot, 1, 40) == hdi_loot(1, 10, 40));
    CHECK(hdi_node_steal(&slot, 1, 1000000) == hdi_loot(1, 1, 39));
    CHECK(hdi_node_steal(&slot, 1, 0) == hdi_loot(1, 1, 38));
    slot = slot_with(100, 40, 4); // four at a time
    CHECK(hdi_node_steal(&slot, 1, 10) == hdi_loot(1, 50, 50));
    slot = slot_with(100, 0, 1); // nobody knows
    CHECK(hdi_node_steal(&slot, 1, 10) == hdi_loot(1, 1, 99));
    slot = slot_with(UINT32_MAX, 1000, 1);
    CHECK(hdi_node_steal(&slot, HDI_MAX_NODES - 1, 1) ==
          hdi_loot(HDI_MAX_NODES - 1, HDI_MAX_LOOT, UINT32_MAX - HDI_MAX_LOOT));
}

// What was stolen is done from its front, and stolen from its end.
static void loot_is_stolen_in_turn(void)
{
    struct hdi_node_slot slot = slot_with(0, 10, 1);
    uint64_t loot = hdi_loot(HDI_MAX_NODES - 1, 9, UINT32_MAX - 9);

    CHECK(hdi_node_take_loot(&slot) == 0);
    CHECK(hdi_node_keep(&slot, loot) && !hdi_node_keep(&slot, loot));
    CHECK(hdi_node_time_left(&slot) == 90);
    CHECK(hdi_node_take_loot(&slot) ==
          hdi_loot(HDI_MAX_NODES - 1, 1, UINT32_MAX - 9));
    CHECK(hdi_node_steal(&slot, 3, 10) ==
          hdi_loot(HDI_MAX_NODES - 1, 4, UINT32_MAX - 4));
    CHECK(hdi_node_time_left(&slot) == 40);
    for (unsigned i = 0; i < 4; i++)
        CHECK(hdi_node_steal(&slot, 3, 0) ==
              hdi_loot(HDI_MAX_NODES - 1, 1, UINT32_MAX - 5 - i));
    CHECK(hdi_node_steal(&slot, 3, 0) == 0 && hdi_node_take_loot(&slot) == 0);
    CHECK(hdi_node_keep(&slot, loot));
    CHECK(hdi_loot_rest(hdi_loot(5, 1, 9)) == 0);
    CHECK(hdi_loot_rest(hdi_loot(5, 2, 9)) == hdi_loot(5, 1, 10));
}

static void a_queue_takes_as_long_as_its_tasks(void)
{
    struct hdi_node_slot slot = slot_with(10, 300, 1);

    CHECK(hdi_node_time_left(&slot) == 3000);
    hdi_node_take(&slot);
    hdi_node_steal(&slot, 0, 0);
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
    as_many_are_stolen_as_leave_both_busy();
    loot_is_stolen_in_turn();
    a_queue_takes_as_long_as_its_tasks();
    return 0;
}
