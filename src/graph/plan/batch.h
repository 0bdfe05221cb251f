// Tiny tasks in batches: tasks that one worker runs one after another, so that
// only the batch is handed over. Pure data, neither passes nor threads.
#ifndef HDI_GRAPH_PLAN_BATCH_H
#define HDI_GRAPH_PLAN_BATCH_H

#include "graph/plan/tasks.h"

// All arrays are the caller's, and only read.
struct hdi_batch_params {
    struct hdi_tasks tasks; // costs in ns
    const uint32_t *order;  // each task stands behind what it follows
    const bool *tiny;       // of each task: it may share a batch
    unsigned workers;
    // About what a worker that waits takes to find a batch and to get its data:
    // with less, more batches are cut; with more, all ends on one lane [ns].
    uint64_t handover;
    uint64_t longest; // batch of more than one task [ns]
};

/// Put every task into a batch: `batch[t]` is the number of that of task t,
/// from 0 on. A task that is not tiny has one of its own. The tasks of a batch
/// run in `order`, and no two batches wait for each other, however many others
/// lie between. Returns the number of batches; 0 when there is no memory.
uint32_t hdi_batch_tasks(const struct hdi_batch_params *params,
                         uint32_t *batch);

#endif
