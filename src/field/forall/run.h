// One forall that runs: the queues, what its nodes share, and how a task is
// done.
//
//     begin    slots are filled, then all processes meet
//     run      own tasks, then those of others, until nobody has any
//     await    until the results of own tasks done elsewhere are here
//     end      all meet again; the agent answers until then
#ifndef HDI_FIELD_FORALL_RUN_H
#define HDI_FIELD_FORALL_RUN_H

#include <pthread.h>

#include "field/cluster/slot.h"
#include "field/map/queue.h"
#include "field/memory/window.h"

// What the task of a block, in the output's indices, reads of each input that
// has `footprint` set, in ordinals.
typedef hd_status (*hdi_reach)(void *data, const struct hd_grid *block,
                               struct hd_grid *boxes, struct hd_error *error);

// Run the task of a box, in the output's ordinals, on the device that is its
// node, which has all that it reads.
typedef hd_status (*hdi_on_device)(struct hd_task *task,
                                   const struct hd_grid *box, void *data,
                                   struct hd_error *error);

// On the stack of hdi_forall(), one for each process. Invariant: a task is done
// by whoever took it from a slot, and counted once in `done` of its owner, when
// its result is in the owner's memory.
struct hdi_run {
    const struct hd_forall *forall;
    struct hd_cluster *cluster;
    struct hdi_lane *lane; // in which it runs; its slots are the run's
    struct hd_field *output;
    struct hdi_queue *queue; // of each node, built when it is needed
    pthread_mutex_t lock;    // for `queue`, `status` and `error`
    hd_status status;        // the first failure here
    struct hd_error *error;
    hdi_reach reach;         // as in hdi_forall_way
    hdi_on_device on_device; // the same
    struct hdi_fetch fetch;
    // Gives a result, dense, to an owner whose memory is not reached, where it
    // is counted; `data` is that of `fetch`.
    hd_status (*give)(void *data, uint32_t node, uint32_t owner,
                      const struct hd_grid *box, const void *result,
                      struct hd_error *error);
    struct hdi_traffic *traffic; // of each node here, under its `moving`
    struct hdi_agent *agent;     // NULL: all nodes are reached
    uint64_t number; // equal on all processes, of no other run in the lane
};

// On the stack of hdi_run_task(); what users get of it ends with the task.
struct hd_task {
    struct hdi_run *run;
    uint32_t node, owner;
    struct hdi_traffic *traffic;
    const int64_t *index;          // of its first element
    struct hdi_access_room *rooms; // of rows that its accesses put together
};

// Who does the tasks of a node.
enum hdi_by {
    HDI_BY_CALLER, // those of all nodes here in turn, or one of a part's
                   // workers
    HDI_BY_THREAD, // a thread, or one of a part's workers
    HDI_BY_ALL     // the same, or all of a part's workers
};

// What a forall is for who calls it.
struct hdi_forall_way {
    const char *call;        // as the user says it
    uint64_t digest;         // of what must be equal on all processes beside
    hdi_reach reach;         // NULL: no input has `footprint` set
    hdi_on_device on_device; // NULL: devices' tasks run on the host
    enum hdi_by crew;
};

// Check what a forall is given: `*digest` is of what must be equal on all
// processes. The second one: as a function's, which has no footprint.
hd_status hdi_forall_check(const struct hd_forall *forall, uint64_t *digest,
                           struct hd_error *error);
hd_status hdi_forall_check_function(const struct hd_forall *forall,
                                    uint64_t *digest, struct hd_error *error);

// As hd_forall(), in a lane. `status` is how it went here before: where it has
// failed, with a text in `error`, the others are told and nothing begins.
hd_status hdi_forall(const struct hd_forall *forall, struct hdi_lane *lane,
                     const struct hdi_forall_way *way, hd_status status,
                     struct hd_error *error);

// The slot of a node whose tasks may be taken and done without a message, or
// NULL.
// NULL: others ask the node's agent.
struct hdi_node_slot *hdi_lane_slot(const struct hdi_lane *lane, uint32_t node);

static inline struct hdi_node_slot *hdi_run_slot(const struct hdi_run *run,
                                                 uint32_t node)
{
    return hdi_lane_slot(run->lane, node);
}

static inline pthread_mutex_t *hdi_run_moving(const struct hdi_run *run,
                                              uint32_t node)
{
    return &run->cluster->moving[node - hdi_cluster_first(run->cluster)];
}

// Tasks of an owner that a node does next.
// `first` to `end` - 1 in the owner's queue; none when they are equal.
struct hdi_ahead {
    uint32_t owner;
    uint64_t first, end;
};

// Do a task of `owner` on a node here. What the tasks `ahead` read of other
// processes' memory comes while this one computes.
hd_status hdi_run_task(struct hdi_run *run, uint32_t node, uint32_t owner,
                       uint64_t k, const struct hdi_ahead *ahead,
                       struct hd_error *error);

// A window of the field below a view as a tile of the view's indices.
void hdi_run_tile(const struct hd_view *view, const struct hdi_window *window,
                  const struct hd_grid *seen, struct hd_tile *tile);

// Free what the accesses of a task have put together.
void hdi_access_end(struct hd_task *task);

// What it costs to compute a task of a node elsewhere [ns], by its bytes, which
// go in messages or not.
uint64_t hdi_run_moving_time(struct hdi_run *run, uint32_t owner,
                             bool messages);

// Wait for what a node here has asked for.
hd_status hdi_run_settle(struct hdi_run *run, uint32_t node,
                         struct hd_error *error);

// The queue of a node; NULL when memory is short.
const struct hdi_queue *hdi_run_queue(struct hdi_run *run, uint32_t node);

// No node here begins another task; the cause is another process's.
void hdi_run_stop(struct hdi_run *run);

// Keep the first error, and stop.
void hdi_run_fail(struct hdi_run *run, hd_status status, const char *text);

#endif
