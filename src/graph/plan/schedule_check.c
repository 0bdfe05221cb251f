// The validator: it shares nothing with the scheduler but the data.
#include <stdlib.h>

#include "base/error.h"
#include "graph/plan/schedule.h"

struct use {
    uint64_t start, end;
    uint32_t processor, task;
};

static int compare(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->processor != y->processor)
        return x->processor < y->processor ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static hd_status check_order(const struct hdi_tasks *tasks,
                             const struct hdi_schedule *schedule,
                             struct hd_error *error)
{
    for (uint32_t t = 0; t < tasks->count; t++)
        for (uint32_t i = tasks->first[t]; i < tasks->first[t + 1]; i++) {
            uint32_t after = tasks->successors[i];
            if (schedule->start[after] < schedule->start[t] + tasks->cost[t])
                return hdi_fail(
                    error, HD_EGRAPH,
                    "task %u starts at %llu, before task %u, which "
                    "it follows, ends at %llu",
                    after, (unsigned long long)schedule->start[after], t,
                    (unsigned long long)(schedule->start[t] + tasks->cost[t]));
        }
    return HD_OK;
}

static hd_status check_uses(const struct use *uses, uint32_t count,
                            struct hd_error *error)
{
    for (uint32_t i = 1; i < count; i++)
        if (uses[i].processor == uses[i - 1].processor &&
            uses[i].start < uses[i - 1].end)
            return hdi_fail(error, HD_EGRAPH,
                            "tasks %u and %u run at the same time on "
                            "processor %u",
                            uses[i - 1].task, uses[i].task, uses[i].processor);
    return HD_OK;
}

hd_status hdi_schedule_check(const struct hdi_tasks *tasks, uint32_t processors,
                             const struct hdi_schedule *schedule,
                             struct hd_error *error)
{
    uint64_t makespan = 0;
    uint32_t count = 0;

    if (schedule->count != tasks->count)
        return hdi_fail(error, HD_EGRAPH, "%u of %u tasks are scheduled",
                        schedule->count, tasks->count);
    HDI_TRY(check_order(tasks, schedule, error));
    struct use *uses = malloc((tasks->count + (size_t)1) * sizeof(*uses));
    if (!uses)
        return hdi_fail(error, HD_ENOMEM, "no memory to check a schedule");
    hd_status status = HD_OK;
    for (uint32_t t = 0; t < tasks->count && status == HD_OK; t++) {
        uint64_t end = schedule->start[t] + tasks->cost[t];
        if (schedule->processor[t] >= processors)
            status =
                hdi_fail(error, HD_EGRAPH, "task %u runs on processor %u of %u",
                         t, schedule->processor[t], processors);
        if (end > makespan)
            makespan = end;
        if (tasks->cost[t] > 0)
            uses[count++] = (struct use){schedule->start[t], end,
                                         schedule->processor[t], t};
    }
    qsort(uses, count, sizeof(*uses), compare);
    if (status == HD_OK)
        status = check_uses(uses, count, error);
    if (status == HD_OK && makespan != schedule->makespan)
        status = hdi_fail(error, HD_EGRAPH,
                          "the last task ends at %llu, not at %llu",
                          (unsigned long long)makespan,
                          (unsigned long long)schedule->makespan);
    free(uses);
    return status;
}
