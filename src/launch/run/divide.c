// Divides the box of all work-groups until a piece is small enough to be a
// leaf, and gives pieces to the broker when other launches come.
//
// Invariant: every group of the box is in exactly one leaf.
#define HD_COUNT_TASKS // parts show in the counters of workers

#include <stddef.h>

#include "launch/run/chosen.h"
#include "launch/run/cutoff.h"
#include "launch/run/flight.h"
#include "steal/worker.h"

enum {
    // What runs before the broker is asked again, while launches share the
    // workers: long against asking (0.5 us), short against waiting.
    PIECE_TIME = 100000 // [ns]
};

// False also where memory is short: then the worker goes on dividing.
static bool give_away(struct hdi_flight *launch, const struct hdi_box *box)
{
    struct hdi_broker *broker = launch->launcher->broker;

    return broker && hdi_broker_is_asked(broker) &&
           hdi_broker_give(broker, &launch->bid, box);
}

// The steps of a worker: a task is taken and its cutoff tested; not met, it is
// divided and the parts are pushed; met, it is a leaf.
// A part of a launch on a worker's deque, by value.
struct task {
    struct hdi_flight *launch;
    struct hdi_box box;
    struct hdi_grant *grant; // of the broker's that it is a part of, or NULL
};

static bool is_leaf(struct hd_worker *worker, const struct task *task)
{
    (void)worker;
    return !hdi_leaf_goes_on(task->launch) ||
           hdi_cutoff_met(task->launch, &task->box);
}

// 0: the broker has taken the box, and nothing is left to do here. What has
// just come from the broker is not given back, or it would go round for ever.
static unsigned divide(struct hd_worker *worker, const struct task *task,
                       struct task *part)
{
    (void)worker;
    bool stays = task->grant && !task->grant->alone; // it has just come

    if (!stays && give_away(task->launch, &task->box))
        return 0;
    part[0] = part[1] = *task;
    part[0].box = hdi_box_halve(&part[1].box);
    return 2;
}

static void run_leaf(struct hd_worker *worker, const struct task *task)
{
    struct hdi_box box = task->box;

    hdi_leaf_run(worker, task->launch, &box, task->grant);
}

HD_DIVISIBLE(run_task, struct task, is_leaf, divide, run_leaf);

// At the broker ---------------------------------------------------------------

static struct hdi_flight *launch_of(const struct hdi_bid *bid)
{
    return (struct hdi_flight *)((char *)(uintptr_t)bid -
                                 offsetof(struct hdi_flight, bid));
}

// Alone the box is as large as it was given, so it is divided like a launch;
// one of several is a piece that is small already, unless the user divides.
static void run_grant(struct hd_worker *worker, struct hdi_grant *grant,
                      struct hdi_box *box)
{
    struct hdi_flight *launch = launch_of(grant->bid);

    if (grant->alone || launch->is_leaf || launch->tasks)
        hd_call(worker, run_task, (struct task){launch, *box, grant});
    else
        hdi_leaf_run(worker, launch, box, grant);
}

static bool collect_all(struct hd_worker *worker, struct hdi_bid *bid)
{
    return hdi_leaf_collect_all(worker, launch_of(bid));
}

// A launch that is to end is given out in one piece, to be rid of it.
static uint64_t piece_of(const struct hdi_bid *bid)
{
    struct hdi_flight *launch = launch_of(bid);
    double group = hdi_cutoff_time(launch, 1);

    if (!hdi_leaf_goes_on(launch))
        return UINT64_MAX;
    if (group == 0)
        return hdi_cutoff_now(launch);
    double piece = PIECE_TIME / group;
    return piece < 1 ? 1 : (uint64_t)piece;
}

// A buffer, and the first argument with it.
static bool is_counted(const struct hdi_bound *bound, unsigned index)
{
    if (bound[index].is != HD_IS_BUFFER || !bound[index].buffer)
        return false;
    for (unsigned i = 0; i < index; i++)
        if (bound[i].is == HD_IS_BUFFER &&
            bound[i].buffer == bound[index].buffer)
            return false;
    return true;
}

// Every group is taken to read its share of all buffers once; what fits the
// cache is no traffic.
static void guess_demand(struct hdi_bid *bid, uint64_t cache)
{
    const struct hdi_flight *launch = launch_of(bid);
    double all = 1, data = 0;

    for (int d = 0; d < 3; d++)
        all *= launch->chunk.frame.group_count[d];
    for (unsigned i = 0; i < launch->kernel->info.arg_count; i++)
        if (is_counted(launch->bound, i))
            data += (double)launch->bound[i].buffer->size;
    double part = data * (double)hdi_box_groups(&launch->box) / all;

    bid->demand = (struct hdi_demand){
        .data = (uint64_t)part,
        .traffic = part > (double)cache ? (uint64_t)(data / all) : 0};
}

const struct hdi_bidder hdi_divide_bidder = {.run = run_grant,
                                             .piece = piece_of,
                                             .collect = collect_all,
                                             .demand = guess_demand};

// First what this worker has, then what the broker has, then what units have:
// the launch is over when all three are.
static void run_launch(struct hd_worker *worker, void *data)
{
    struct hdi_flight *launch = data;

    if (hdi_leaf_is_grid(launch->kernel))
        hdi_grid_run(worker, launch);
    else
        hd_call(worker, run_task, (struct task){launch, launch->box, NULL});
    if (launch->launcher->broker)
        hdi_broker_wait(launch->launcher->broker, &launch->bid, worker);
    hdi_leaf_await(worker, launch);
    // Pieces that were forked in a group are dropped when it is cancelled.
    if (hd_cancelled(worker))
        hdi_stop_set(&launch->stop, HD_ECANCELED);
}

// Four ways: on chosen workers; one leaf or no broker, as a job; through the
// broker, if others are there and this thread is no worker; else as a job that
// gives to the broker when others come.
void hdi_divide_run(struct hdi_flight *launch, bool one_leaf)
{
    struct hdi_launcher *launcher = launch->launcher;
    struct hdi_broker *broker = launcher->broker;
    struct hdi_bid *bid = &launch->bid;
    bool outside = !hd_pool_worker(launcher->pool);

    if (launch->worker_count > 0) {
        hdi_chosen_run(launch);
        return;
    }
    // The broker might divide it.
    if (!broker || hdi_leaf_is_grid(launch->kernel) || (one_leaf && !outside)) {
        hd_pool_run(launcher->pool, run_launch, launch);
        return;
    }
    // Leaves on units of their own threads are collected by a worker.
    outside = outside && !launcher->ports;
    hdi_broker_enter(broker);
    // Alone it is a job like any other, which costs less than the dispatcher.
    if (outside && hdi_broker_is_asked(broker) &&
        hdi_broker_give(broker, bid, &launch->box))
        hdi_broker_wait(broker, bid, NULL);
    else
        hd_pool_run(launcher->pool, run_launch, launch);
    hdi_broker_leave(broker, bid);
}
