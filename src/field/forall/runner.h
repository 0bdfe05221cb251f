// Foralls that are started and not waited for: one at a time in each lane but
// the first, by a thread of the lane. They need threads of their own, because
// while they wait for other processes these may wait for others of them: no
// number of workers would do.
#ifndef HDI_FIELD_FORALL_RUNNER_H
#define HDI_FIELD_FORALL_RUNNER_H

#include "field/cluster/cluster.h"
#include "heddle/event.h"

// Start `function`, which makes the collective calls of one hdi_forall_kernel()
// in the lane that it is given; `*event` ends with what it returns. All
// processes start them in the same order. On a failure it takes part in the
// others' call, so that they fail as well.
//
// Errors:  HD_ENOMEM, HD_ELIMIT
// Owner:   `data` is the caller's until the event has ended; it releases that
// Threads: one call at a time per cluster, as for all that is collective
hd_status hdi_forall_start(struct hd_cluster *cluster, struct hd_pool *pool,
                           hd_status (*function)(void *data,
                                                 struct hdi_lane *lane,
                                                 struct hd_error *error),
                           void *data, hd_event *event, struct hd_error *error);

#endif
