// Tasks with costs and what follows what, as the scheduler sees them: pure
// data, neither passes nor threads.
#ifndef HDI_GRAPH_PLAN_TASKS_H
#define HDI_GRAPH_PLAN_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "heddle/status.h"

// The successors of task t are successors[first[t]] up to first[t + 1].
struct hdi_tasks {
    uint32_t count;
    const uint64_t *cost;       // of each task, in any unit of time
    const uint32_t *first;      // count + 1
    const uint32_t *successors; // first[count]
};

/// Put the tasks into an order in which each stands behind what it follows.
/// `order` has room for all. Returns false, with less in it, when there is a
/// cycle.
///
/// `waits` is room for one number per task.
bool hdi_tasks_sort(const struct hdi_tasks *tasks, uint32_t *order,
                    uint32_t *waits);

/// Compute the upward rank of every task: its cost and the largest rank of its
/// successors, which is the least time from its start to the end of all
/// (Topcuoglu, Hariri, Wu: HEFT, 2002). `order` is from hdi_tasks_sort().
/// Returns the largest, the length of the critical path.
uint64_t hdi_tasks_rank(const struct hdi_tasks *tasks, const uint32_t *order,
                        uint64_t *rank);

#endif
