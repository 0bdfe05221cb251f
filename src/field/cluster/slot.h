// A node's queue while a forall runs, as others see it.
//
// The tasks of a node are numbered, so its queue is an interval: one word. The
// owner raises its lower end, thieves lower its upper end, both by
// compare-and-swap, and as the ends only approach each other a word never has
// an earlier value again. The words lie in memory that the processes of a
// machine share, so a thief needs nobody there; for others the agent (agent.h)
// does it.
#ifndef HDI_FIELD_CLUSTER_SLOT_H
#define HDI_FIELD_CLUSTER_SLOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HDI_NO_TASK UINT64_MAX

// Of each node, in memory that its machine shares. The run resets it between
// two meetings of all processes.
struct hdi_node_slot {
    // From the first task that is left to behind the last one:
    // first << 32 | last. Owner and thieves, by compare-and-swap.
    _Alignas(64) _Atomic uint64_t range;
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

// Take a task, from the top or the bottom of a queue; HDI_NO_TASK when there is
// none. What is left afterwards goes to `*left`.
uint64_t hdi_node_take(struct hdi_node_slot *slot, bool bottom, uint32_t *left);

// How long its queue takes from now on [ns]; 0 when it is empty. One that has
// not finished a task yet may be slow: it takes very long.
uint64_t hdi_node_time_left(const struct hdi_node_slot *slot);

#endif
