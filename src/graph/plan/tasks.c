#include "graph/plan/tasks.h"

#include <string.h>

// Kahn's way: `order` is its own queue. Of tasks that may come, those that
// became free first come first.
bool hdi_tasks_sort(const struct hdi_tasks *tasks, uint32_t *order,
                    uint32_t *waits)
{
    uint32_t count = 0;

    memset(waits, 0, tasks->count * sizeof(*waits));
    for (uint32_t i = 0; i < tasks->first[tasks->count]; i++)
        waits[tasks->successors[i]]++;
    for (uint32_t t = 0; t < tasks->count; t++)
        if (waits[t] == 0)
            order[count++] = t;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t s = tasks->first[order[i]];
             s < tasks->first[order[i] + 1]; s++)
            if (--waits[tasks->successors[s]] == 0)
                order[count++] = tasks->successors[s];
    return count == tasks->count;
}

// Backwards along the order, so that all successors have their ranks.
uint64_t hdi_tasks_rank(const struct hdi_tasks *tasks, const uint32_t *order,
                        uint64_t *rank)
{
    uint64_t most = 0;

    for (uint32_t i = tasks->count; i-- > 0;) {
        uint32_t task = order[i];
        uint64_t after = 0;
        for (uint32_t s = tasks->first[task]; s < tasks->first[task + 1]; s++)
            if (rank[tasks->successors[s]] > after)
                after = rank[tasks->successors[s]];
        rank[task] = tasks->cost[task] + after;
        if (rank[task] > most)
            most = rank[task];
    }
    return most;
}
