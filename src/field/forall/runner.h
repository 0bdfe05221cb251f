// Foralls that are started and not waited for: one at a time in each lane but
// the first, by a thread of the lane. They need threads of their own, because
// while they wait for other processes these may wait for others of them: no
// number of workers would do.
#ifndef HDI_FIELD_FORALL_RUNNER_H
#define HDI_FIELD_FORALL_RUNNER_H

#include "field/cluster/cluster.h"
#include "heddle/event.h"

// What is started. All processes agree on `call` and `digest` first, then the
// function is called once, when what it comes after has ended; with how that
// has, and a text in `error`, which it tells the others. It makes the
// collective calls of one hdi_forall() in the lane that it is given.
struct hdi_forall_job {
    const char *call; // as the user says it
    uint64_t digest;
    hd_status (*function)(void *data, struct hdi_lane *lane, hd_status before,
                          struct hd_error *error);
    void *data;
};

// Start a job; `*event` ends with what its function returns. Returns when all
// processes have called it, and fails on all or on none. `start` NULL: it comes
// after nothing, and needs no worker to begin. `status`: how it went here
// before, with a text in `error`, as for hdi_forall().
//
// Errors:  HD_ENOMEM, HD_ELIMIT, HD_EINVAL (calls of processes differ, `start`)
// Owner:   `data` is the function's, after success
// Threads: one call at a time per cluster, as for all that is collective
hd_status hdi_forall_start(struct hd_cluster *cluster, struct hd_pool *pool,
                           const struct hd_start *start,
                           const struct hdi_forall_job *job, hd_status status,
                           hd_event *event, struct hd_error *error);

#endif
