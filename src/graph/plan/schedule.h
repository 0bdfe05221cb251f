// When and on which of several equal processors each of many tasks runs.
//
// List scheduling by upward rank, then, where time is given, local search on
// the list: tasks are moved in the order of a schedule, the order is scheduled
// again, and the schedule is pushed to its end and back to its beginning, which
// only ever shortens it (forward-backward improvement: Li and Willis, 1992).
#ifndef HDI_GRAPH_PLAN_SCHEDULE_H
#define HDI_GRAPH_PLAN_SCHEDULE_H

#include "graph/plan/tasks.h"

struct hdi_schedule_params {
    uint32_t processors;
    uint64_t time;   // for local search [ns]; 0: the list alone
    uint64_t rounds; // of local search at most; 0: as many as fit
    uint64_t seed;
};

struct hdi_schedule {
    uint32_t count;
    uint64_t *start;     // of each task
    uint32_t *processor; // of each task
    uint64_t makespan;
    uint64_t area;          // no schedule is shorter than work / processors,
    uint64_t critical_path; // or than the longest chain,
    uint64_t bound;         // or than this, which is the best bound known
    uint64_t list_makespan; // before local search
    uint64_t rounds;        // of local search
};

/// Schedule the tasks. Sums of all costs must stay below 2^63.
///
/// Errors:  HD_EGRAPH (a cycle), HD_ENOMEM
/// Owner:   the caller; hdi_schedule_free()
/// Threads: any
hd_status hdi_schedule_make(const struct hdi_tasks *tasks,
                            const struct hdi_schedule_params *params,
                            struct hdi_schedule *schedule,
                            struct hd_error *error);
void hdi_schedule_free(struct hdi_schedule *schedule);

/// Check a schedule from the tasks alone: every task once, behind what it
/// follows, no processor with two tasks at once, makespan as told.
///
/// Errors:  HD_EGRAPH, with what is wrong; HD_ENOMEM
hd_status hdi_schedule_check(const struct hdi_tasks *tasks, uint32_t processors,
                             const struct hdi_schedule *schedule,
                             struct hd_error *error);

#endif
