// A node's queue while a forall runs, as others see it.
//
// The tasks of a node are numbered, so its queue is an interval: one word. The
// owner raises its lower end, thieves lower its upper end, both by
// compare-and-swap, and as the ends only approach each other a word never has
// an earlier value again. A thief takes several tasks at a time, does the first
// and keeps the others in a second word, where they may be stolen in turn. That
// word may have an earlier value again, when tasks come back: it says all there
// is to know of them, so it is as good as before. The words lie in memory that
// the processes of a machine share, so a thief needs nobody there; for others
// the agent (agent.h) does it.
//
//     range   | first: 32 | last: 32 |             own tasks that are left
//               owner ->      <- thieves
//     loot    | owner: 20 | count: 12 | first: 32 |   stolen, not begun
//               node takes from the front, thieves from the end
#ifndef HDI_FIELD_CLUSTER_SLOT_H
#define HDI_FIELD_CLUSTER_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HDI_NO_TASK UINT64_MAX

// The widths of the fields of a loot: 20 and 12 bits.
enum {
    HDI_MAX_NODES = 1 << 20, // of a cluster
    HDI_MAX_LOOT = 4095      // tasks that are stolen at a time
};

// Tasks of one owner that were stolen, as a word; 0: none.
static inline uint64_t hdi_loot(uint32_t owner, uint32_t count, uint32_t first)
{
    return (uint64_t)owner << 44 | (uint64_t)count << 32 | first;
}

static inline uint32_t hdi_loot_owner(uint64_t loot)
{
    return (uint32_t)(loot >> 44);
}

static inline uint32_t hdi_loot_count(uint64_t loot)
{
    return (uint32_t)(loot >> 32) & HDI_MAX_LOOT;
}

static inline uint32_t hdi_loot_first(uint64_t loot)
{
    return (uint32_t)loot;
}

// All but the first.
static inline uint64_t hdi_loot_rest(uint64_t loot)
{
    return hdi_loot_count(loot) > 1
               ? hdi_loot(hdi_loot_owner(loot), hdi_loot_count(loot) - 1,
                          hdi_loot_first(loot) + 1)
               : 0;
}

// Of each node, in memory that its machine shares. The run resets it between
// two meetings of all processes.
// One line of a cache for each node. It is zero before the first run.
struct hdi_node_slot {
    // From the first task that is left to behind the last one:
    // first << 32 | last. Owner and thieves, by compare-and-swap.
    _Alignas(64) _Atomic uint64_t range;
    // What its node has stolen and not begun, by hdi_loot(). The node fills it
    // when it is 0, and takes from its front, thieves from its end, all by
    // compare-and-swap.
    _Atomic uint64_t loot;
    // Tasks whose results are in the owner's memory: whoever has written one
    // adds to it (release), the owner looks (acquire).
    _Atomic uint64_t done;
    _Atomic uint64_t mean;   // what its tasks take, written by its node [ns]
    _Atomic uint32_t failed; // a task has: nobody begins another
    _Atomic uint32_t width;  // so many it does at a time
    // The system's number of its process, in the first slot of one; written
    // when it joins, read when it seems to be lost.
    _Atomic int32_t process;
};

// Take the next task of a node's own queue; HDI_NO_TASK when there is none.
uint64_t hdi_node_take(struct hdi_node_slot *slot);

// Take the next of those that it has stolen, as a loot of one, or 0.
uint64_t hdi_node_take_loot(struct hdi_node_slot *slot);

// Keep what was stolen; false while there is some.
bool hdi_node_keep(struct hdi_node_slot *slot, uint64_t loot);

// Steal from the end of a node's queue, or of what it has stolen: as many as
// leave both busy for as long, if the thief takes `time` for each [ns]; one
// where a time is not known (0). 0 when there is none.
uint64_t hdi_node_steal(struct hdi_node_slot *slot, uint32_t node,
                        uint64_t time);

// How long its tasks take from now on [ns]; 0 when it has none. One that has
// not finished a task yet may be slow: it takes very long.
uint64_t hdi_node_time_left(const struct hdi_node_slot *slot);

#endif
