// forall: every node does the tasks of its queue, then helps others.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/pause.h"
#include "field/forall/agent.h"
#include "field/forall/givers.h"
#include "field/memory/mirror.h"
#include "launch/launcher.h"

// With one, who answers only between its tasks may be late; each more holds
// memory for blocks that are not used yet.
enum {
    NAP = 20000, // [ns]
    AHEAD = 2    // tasks whose inputs are asked for before their turn
};

// Inputs with a footprint are whole fields, which kernel.c checks.
static hd_status check_input(const struct hd_forall *forall, unsigned which,
                             struct hd_error *error)
{
    const struct hd_input *input = &forall->inputs[which];
    const struct hd_field *field = input->view.field_;
    const struct hd_grid *grid = &forall->output->map->grid;

    if (!field || field->cluster != forall->output->cluster)
        return hdi_fail(error, HD_EINVAL,
                        "input %u is not a view of a field of this cluster",
                        which);
    if (field == forall->output)
        return hdi_fail(error, HD_EINVAL,
                        "input %u looks at the output, which is written",
                        which);
    if (input->footprint)
        return input->touched
                   ? hdi_fail(error, HD_EINVAL,
                              "input %u is touched: it has no footprint", which)
                   : HD_OK;
    if (input->view.grid.rank != grid->rank ||
        (!input->touched && !hd_grid_encloses(&input->view.grid, grid)))
        return hdi_fail(error, HD_EINVAL,
                        "input %u does not have all indices of the output",
                        which);
    for (unsigned k = 0; k < input->view.rank_; k++) {
        if (field->map->stride[k] != 1)
            return hdi_fail(error, HD_EINVAL,
                            "input %u has every %lld-th index of an axis only",
                            which, (long long)field->map->stride[k]);
        if (input->touched && input->view.axis_[k] != HDI_NO_AXIS &&
            input->view.step_[k] != 1 && input->view.step_[k] != -1)
            return hdi_fail(error, HD_EINVAL,
                            "input %u is touched by a view with a stride",
                            which);
    }
    for (unsigned i = 0; i < grid->rank; i++)
        if (input->before[i] < 0 || input->after[i] < 0)
            return hdi_fail(error, HD_EINVAL,
                            "the margin of input %u is negative", which);
    return HD_OK;
}

// What tasks compute of what, which must be equal on all processes, since any
// of them may do any of the tasks. How they do it is each process's own.
static uint64_t digest_of(const struct hd_forall *forall)
{
    uint64_t digest = hdi_mix(forall->output->number, forall->update);

    for (unsigned i = 0; i < forall->input_count; i++) {
        const struct hd_input *input = &forall->inputs[i];

        digest = hdi_mix(digest, hdi_view_digest(&input->view));
        digest = hdi_mix(digest, input->view.field_->number);
        digest = hdi_mix(digest, input->touched);
        for (unsigned k = 0; k < input->view.grid.rank; k++) {
            digest = hdi_mix(digest, (uint64_t)input->before[k]);
            digest = hdi_mix(digest, (uint64_t)input->after[k]);
        }
    }
    return digest;
}

hd_status hdi_forall_check(const struct hd_forall *forall, uint64_t *digest,
                           struct hd_error *error)
{
    for (unsigned i = 0; i < forall->output->map->grid.rank; i++)
        if (forall->output->map->stride[i] != 1)
            return hdi_fail(error, HD_EINVAL,
                            "the output has every %lld-th index of an axis "
                            "only",
                            (long long)forall->output->map->stride[i]);
    for (unsigned i = 0; i < forall->input_count; i++)
        HDI_TRY(check_input(forall, i, error));
    *digest = digest_of(forall);
    return HD_OK;
}

hd_status hdi_forall_check_function(const struct hd_forall *forall,
                                    uint64_t *digest, struct hd_error *error)
{
    for (unsigned i = 0; i < forall->input_count; i++)
        if (forall->inputs[i].footprint)
            return hdi_fail(
                error, HD_EINVAL,
                "input %u: a function has no footprint, say what it reads", i);
    return hdi_forall_check(forall, digest, error);
}

// Stealing --------------------------------------------------------------------

// How far another node's memory is, in levels: near cores, this process,
// this machine.
// Near first: what is stolen has inputs near its owner.
static unsigned distance(const struct hd_cluster *cluster, uint32_t node,
                         uint32_t other)
{
    uint32_t first = hdi_cluster_first(cluster);

    if (!hd_cluster_has(cluster, other))
        return 2;
    return !hdi_domains_near(&cluster->domains, node - first, other - first);
}

// Of the nearest reached nodes the one whose queue takes the longest from now
// on, if it takes longer than to compute one of its tasks here.
// By time, not by number of tasks: many short ones are not worth moving.
static uint32_t find_victim(struct hdi_run *run, uint32_t node)
{
    uint32_t best = HD_NO_NODE;
    uint64_t longest = 0;
    unsigned nearest = UINT_MAX;
    uint64_t mine = atomic_load_explicit(&hdi_run_slot(run, node)->mean,
                                         memory_order_relaxed);

    for (uint32_t i = 1; i < run->output->map->nodes; i++) {
        uint32_t n = (node + i) % run->output->map->nodes;
        struct hdi_node_slot *slot = hdi_run_slot(run, n);
        uint64_t time = slot && n != node ? hdi_node_time_left(slot) : 0;
        unsigned far = time ? distance(run->cluster, node, n) : UINT_MAX;

        if (time == 0 || far > nearest || (far == nearest && time <= longest) ||
            time <= mine + hdi_run_moving_time(run, n, false))
            continue;
        nearest = far;
        longest = time;
        best = n;
    }
    return best;
}

// A node's part in a run. What several workers of it change is theirs while
// they hold run->moving of the node.
// `threaded`: it has a thread of its own, to be joined.
struct node_run {
    struct hdi_run *run;
    uint32_t node;
    struct hdi_givers givers; // made when they are needed
    uint32_t asked;           // of them, who have none left
    uint64_t ahead; // the first own task whose inputs have not been asked for
    pthread_t thread;
    bool threaded;
};

// Ask those whose queues are not reached, until one gives tasks.
// Queues only shrink, so nobody is asked again who had none: `asked` only
// grows.
static hd_status ask(struct node_run *n, uint64_t *loot, struct hd_error *error)
{
    struct hdi_run *run = n->run;

    if (!n->givers.node &&
        !hdi_givers_list(run->output->map, n->node, &n->givers))
        return hdi_fail(error, HD_ENOMEM, "no memory to steal tasks");
    for (; n->asked < n->givers.count; n->asked++) {
        uint32_t victim = n->givers.node[n->asked];

        if (hdi_run_slot(run, victim))
            continue;
        run->traffic[n->node - hdi_cluster_first(run->cluster)].asks++;
        HDI_TRY(hdi_agent_steal(run->agent, n->node, victim, loot, error));
        if (*loot)
            break;
    }
    return HD_OK;
}

// Get tasks that others have; 0 when nobody has any that are worth it.
// Tried again where another thief was faster. Memory that is reached first,
// messages only when nothing is left there.
static hd_status steal(struct node_run *n, uint64_t *loot,
                       struct hd_error *error)
{
    struct hdi_run *run = n->run;

    for (*loot = 0; !*loot;) {
        uint32_t victim = find_victim(run, n->node);

        if (victim == HD_NO_NODE && run->agent) {
            pthread_mutex_lock(hdi_run_moving(run, n->node));
            hd_status status = ask(n, loot, error);
            pthread_mutex_unlock(hdi_run_moving(run, n->node));
            return status;
        }
        if (victim == HD_NO_NODE)
            return HD_OK;
        uint64_t mine = atomic_load_explicit(&hdi_run_slot(run, n->node)->mean,
                                             memory_order_relaxed);
        *loot = hdi_node_steal(
            hdi_run_slot(run, victim), victim,
            mine ? mine + hdi_run_moving_time(run, victim, false) : 0);
    }
    return HD_OK;
}

// Nodes -----------------------------------------------------------------------

static bool has_failed(const struct hdi_run *run, uint32_t node)
{
    return atomic_load_explicit(&hdi_run_slot(run, node)->failed,
                                memory_order_relaxed) != 0;
}

// The own tasks after this one whose inputs are to be asked for now. Who
// answers between two tasks has had time to when it is their turn.
// Under the node's lock: several workers of it take tasks at a time, and each
// input is asked for once.
static struct hdi_ahead own_ahead(struct node_run *n, uint64_t task)
{
    struct hdi_ahead ahead = {.owner = n->node};
    uint64_t last = (uint32_t)atomic_load_explicit(
        &hdi_run_slot(n->run, n->node)->range, memory_order_relaxed);

    pthread_mutex_lock(hdi_run_moving(n->run, n->node));
    ahead.first = n->ahead > task + 1 ? n->ahead : task + 1;
    ahead.end = task + 1 + AHEAD < last ? task + 1 + AHEAD : last;
    if (ahead.end > ahead.first)
        n->ahead = ahead.end;
    pthread_mutex_unlock(hdi_run_moving(n->run, n->node));
    return ahead;
}

// The same of what was stolen. What has been asked for is not asked for again.
static struct hdi_ahead look_ahead(struct node_run *n, uint32_t owner,
                                   uint64_t task)
{
    struct hdi_ahead none = {.owner = owner};
    uint64_t loot;

    if (!n->run->agent)
        return none;
    if (owner == n->node)
        return own_ahead(n, task);
    loot = atomic_load_explicit(&hdi_run_slot(n->run, n->node)->loot,
                                memory_order_relaxed);
    if (!loot || hdi_loot_owner(loot) != owner)
        return none;
    uint32_t count = hdi_loot_count(loot);
    return (struct hdi_ahead){owner, hdi_loot_first(loot),
                              (uint64_t)hdi_loot_first(loot) +
                                  (count < AHEAD ? count : AHEAD)};
}

// The task's result is in the owner's memory, or on its way, when this returns.
static hd_status do_task(struct node_run *n, uint32_t owner, uint64_t task,
                         struct hd_error *error)
{
    struct hdi_ahead ahead = look_ahead(n, owner, task);
    hd_status status =
        hdi_run_task(n->run, n->node, owner, task, &ahead, error);

    // All that have asked meanwhile, or they wait for a task each.
    while (status == HD_OK && hdi_agent_serve(n->run->agent))
        ;
    return status;
}

// Do one task, of this node's queue or another's; false when there is none.
// Those that were stolen with it are kept for later; where another worker of
// the node has just kept some, they are done here.
// A failure stops this process's nodes by the slots, and others by a message.
static bool step(struct node_run *n)
{
    struct hdi_run *run = n->run;
    struct hdi_node_slot *slot = hdi_run_slot(run, n->node);
    struct hd_error error = {0};
    hd_status status = HD_OK;

    if (has_failed(run, n->node))
        return false;
    uint64_t task = hdi_node_take(slot);
    uint64_t loot = task != HDI_NO_TASK ? hdi_loot(n->node, 1, (uint32_t)task)
                                        : hdi_node_take_loot(slot);
    if (!loot && !run->forall->stay)
        status = steal(n, &loot, &error);
    bool any = loot != 0;
    while (status == HD_OK && loot && !has_failed(run, n->node)) {
        uint64_t rest = hdi_loot_rest(loot);

        if (rest && hdi_node_keep(slot, rest))
            rest = 0;
        status = do_task(n, hdi_loot_owner(loot), hdi_loot_first(loot), &error);
        loot = rest;
    }
    if (status == HD_OK)
        return any;
    hdi_run_fail(run, status, error.text);
    if (run->agent)
        hdi_agent_tell_failure(run->agent);
    return false;
}

// What was asked for and then computed elsewhere must come all the same.
static void settle(struct node_run *n)
{
    struct hd_error error = {0};
    hd_status status = hdi_run_settle(n->run, n->node, &error);

    if (status != HD_OK)
        hdi_run_fail(n->run, status, error.text);
}

static void *node_main(void *data)
{
    struct node_run *n = data;

    while (step(n))
        ;
    settle(n);
    return NULL;
}

// A worker of a part of the machine.
struct seat {
    struct hd_work work;
    struct node_run *node;
};

static void sit(struct hd_worker *worker, struct hd_job *job)
{
    const struct seat *seat = (const struct seat *)(const void *)job;

    (void)worker;
    node_main(seat->node);
}

// A seat for each worker that takes part, on that worker: a node's tasks run
// where its memory is.
static void run_domains(struct hdi_run *run, struct node_run *node, bool all)
{
    const struct hdi_domains *domains = &run->cluster->domains;
    struct hd_pool *pool = domains->launcher->pool;
    uint32_t first = hdi_cluster_first(run->cluster);
    struct seat *seats;
    struct hd_group group;
    size_t count = 0, used = 0;

    for (uint32_t n = 0; n < domains->count; n++)
        count += all ? domains->domain[n].workers : 1;
    seats = calloc(count, sizeof(*seats));
    if (!seats) {
        hdi_run_fail(run, HD_ENOMEM, "no memory for nodes");
        return;
    }
    hd_group_init(&group);
    for (uint32_t n = 0; n < domains->count; n++) {
        const struct hdi_domain *domain = &domains->domain[n];

        if (first + n >= run->output->map->nodes)
            break;
        for (unsigned w = 0; w < (all ? domain->workers : 1); w++) {
            struct seat *seat = &seats[used++];

            *seat = (struct seat){.work = {.job = {.run = sit, .group = &group},
                                           .priority = HD_PRIORITY_NORMAL},
                                  .node = &node[n]};
            // The worker is there, so this is not refused.
            hd_submit_at(pool, &seat->work, HD_ON_WORKER, domain->worker[w],
                         NULL);
        }
    }
    hd_group_wait(pool, &group);
    free(seats);
}

// Who does the tasks:
//
//     parts of the machine    workers of the pool, each on its place
//     threads                 one for each node, the last one here
//     else                    this thread, one task of each node in turn
//
// In turn, so that nodes finish together and steal as threads would.
static void run_nodes(struct hdi_run *run, enum hdi_by crew)
{
    uint32_t here = run->cluster->here, first = hdi_cluster_first(run->cluster);
    struct node_run *node = calloc(here, sizeof(*node));
    bool may = run->cluster->transport->threads && !run->cluster->sequential;
    bool threads = may && crew != HDI_BY_CALLER;
    if (!node) {
        hdi_run_fail(run, HD_ENOMEM, "no memory for nodes");
        return;
    }

    for (uint32_t n = 0; n < here; n++)
        node[n] = (struct node_run){.run = run, .node = first + n};
    if (may && run->cluster->domains.domain) {
        run_domains(run, node, crew == HDI_BY_ALL);
        for (uint32_t n = 0; n < here; n++)
            hdi_givers_free(&node[n].givers);
        free(node);
        return;
    }
    // The last one runs here; one without a thread of its own too.
    for (uint32_t n = 0; threads && n + 1 < here; n++)
        node[n].threaded =
            pthread_create(&node[n].thread, NULL, node_main, &node[n]) == 0;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t n = 0; n < here; n++)
            if (!node[n].threaded && first + n < run->output->map->nodes)
                any = step(&node[n]) || any;
    }
    for (uint32_t n = 0; n < here; n++) {
        if (node[n].threaded)
            pthread_join(node[n].thread, NULL);
        else if (first + n < run->output->map->nodes)
            settle(&node[n]);
        hdi_givers_free(&node[n].givers);
    }
    free(node);
}

// Whether a process that this run needs is there, however long its tasks
// take: on this machine the system knows, and others answer, even while
// they compute.
static bool lives(void *data, uint32_t process)
{
    struct hdi_run *run = data;
    const struct hdi_node_slot *slot =
        hdi_run_slot(run, process * run->cluster->here);

    if (!slot)
        return !run->agent || hdi_agent_lives(run->agent, process);
    pid_t number = atomic_load_explicit(&slot->process, memory_order_relaxed);
    return kill(number, 0) == 0 || errno != ESRCH;
}

// Fail when a process is lost: it may have a task of this one, from whomever.
// All processes are asked, since a task that was stolen may have been stolen
// again.
static void look_for_thieves(struct hdi_run *run)
{
    const struct hd_cluster *c = run->cluster;

    for (uint32_t p = 0; p < c->net->count; p++) {
        char text[100];

        if (p == c->net->node || lives(run, p))
            continue;
        snprintf(text, sizeof(text),
                 "process %" PRIu32 " took a task, and does not answer for "
                 "%.3g s: it has ended",
                 p, (double)c->timeout / 1e9);
        hdi_run_fail(run, HD_EPEER, text);
        return;
    }
}

// Wait for the results of what others have stolen.
// Naps after some looks: whoever computes may need this core. Only after the
// cluster's limit does it ask whether the thieves are alive.
static void await_results(struct hdi_run *run)
{
    uint32_t first = hdi_cluster_first(run->cluster);
    uint64_t begin = hdi_now();

    for (uint32_t n = first; n < first + run->cluster->here; n++) {
        struct hdi_node_slot *slot = hdi_run_slot(run, n);
        const struct hdi_queue *queue =
            n < run->output->map->nodes ? hdi_run_queue(run, n) : NULL;
        unsigned looks = 0;

        while (queue && !has_failed(run, n) &&
               atomic_load_explicit(&slot->done, memory_order_acquire) <
                   hdi_queue_count(queue)) {
            if (hdi_agent_serve(run->agent))
                continue;
            if (++looks < 1000)
                sched_yield();
            else
                nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
            if (hdi_now() - begin > run->cluster->timeout) {
                look_for_thieves(run);
                begin = hdi_now();
            }
        }
    }
}

// Begin and end ---------------------------------------------------------------

// Before the meeting: a thief that was there first would find an old queue. A
// range holds 32 bits for each end.
static hd_status fill_slots(struct hdi_run *run, enum hdi_by crew,
                            struct hd_error *error)
{
    const struct hdi_domain *domain = run->cluster->domains.domain;
    uint32_t first = hdi_cluster_first(run->cluster);

    for (uint32_t n = first; n < first + run->cluster->here; n++) {
        struct hdi_node_slot *slot = hdi_run_slot(run, n);
        const struct hdi_queue *queue = NULL;

        if (n < run->output->map->nodes) {
            queue = hdi_run_queue(run, n);
            if (!queue)
                return hdi_fail(error, HD_ENOMEM, "no memory for a queue");
            if (hdi_queue_count(queue) > UINT32_MAX)
                return hdi_fail(error, HD_ELIMIT,
                                "node %" PRIu32 " has more than 2^32 tasks: "
                                "make the task blocks larger",
                                n);
        }
        atomic_store(&slot->range, queue ? hdi_queue_count(queue) : 0);
        atomic_store(&slot->loot, 0);
        atomic_store(&slot->done, 0);
        atomic_store(&slot->mean, 0);
        atomic_store(&slot->failed, 0);
        atomic_store(&slot->width, domain && crew == HDI_BY_ALL
                                       ? domain[n - first].workers
                                       : 1);
    }
    return HD_OK;
}

// Functions run on the host: so do the tasks of devices.
static hd_status bring_home(const struct hd_forall *forall,
                            struct hd_error *error)
{
    for (unsigned i = 0; i < forall->input_count; i++)
        HDI_TRY(hdi_mirrors_home(forall->inputs[i].view.field_, error));
    return hdi_mirrors_home(forall->output, error);
}

// Also with devices: only their own process can tell what their memory holds.
static bool needs_agent(const struct hd_cluster *cluster)
{
    if (cluster->domains.devices && cluster->net->count > 1)
        return true;
    for (uint32_t p = 0; p < cluster->net->count; p++)
        if (!hdi_lane_slot(&cluster->lanes[0], p * cluster->here))
            return true;
    return false;
}

// Whatever fails is handed to the agreement, which all processes take part in.
// The agent is there before it, because others may ask as soon as it is over.
static hd_status begin_run(struct hdi_run *run,
                           const struct hdi_forall_way *way, bool threads,
                           struct hd_error *error)
{
    const struct hd_forall *forall = run->forall;
    uint64_t digest = 0;

    hd_status status = hdi_forall_check(forall, &digest, error);
    digest = hdi_mix(digest, way->digest);
    run->queue = calloc(run->output->map->nodes, sizeof(*run->queue));
    run->traffic = calloc(run->cluster->here, sizeof(*run->traffic));
    if (status == HD_OK && (!run->queue || !run->traffic))
        status = hdi_fail(error, HD_ENOMEM, "no memory for a forall");
    if (status == HD_OK)
        status = fill_slots(run, way->crew, error);
    if (status == HD_OK && !run->on_device)
        status = bring_home(forall, error);
    run->number = run->lane->runs + 1;
    if (status == HD_OK && needs_agent(run->cluster))
        status = hdi_agent_start(run, threads, &run->agent, error);
    HDI_TRY(hdi_lane_agree(run->lane, way->call, digest, status, error));
    run->lane->runs++;
    if (!run->on_device)
        hdi_mirrors_forget(run->output);
    return HD_OK;
}

// Also of a run that did not begin: what was not made is NULL.
static void free_run(struct hdi_run *run)
{
    struct hd_cluster_counters sum = {0};

    for (uint32_t n = 0; run->queue && n < run->output->map->nodes; n++)
        hdi_queue_free(&run->queue[n]);
    for (uint32_t n = 0; run->traffic && n < run->cluster->here; n++) {
        sum.blocks += run->traffic[n].blocks;
        sum.moved += run->traffic[n].moved;
        sum.received += run->traffic[n].received;
        sum.messages += run->traffic[n].messages;
        sum.steals += run->traffic[n].steals;
        sum.asks += run->traffic[n].asks;
    }
    hdi_cluster_count(run->cluster, &sum);
    free(run->queue);
    free(run->traffic);
    pthread_mutex_destroy(&run->lock);
}

static void idle(void *data)
{
    hdi_agent_serve(data);
}

static bool is_to_come(void *data, uint32_t process)
{
    (void)data;
    (void)process;
    return true;
}

hd_status hd_forall(const struct hd_forall *forall, struct hd_error *error)
{
    const struct hdi_forall_way way = {.call = "hd_forall()",
                                       .crew = HDI_BY_ALL};
    uint64_t digest;
    hd_status status = hdi_forall_check_function(forall, &digest, error);

    return hdi_forall(forall, &forall->output->cluster->lanes[0], &way, status,
                      error);
}

// The version counts up before the first task, so that copies of the old values
// are not used in the next run. At the end the agent goes only after all have
// met: nobody asks any more.
hd_status hdi_forall(const struct hd_forall *forall, struct hdi_lane *lane,
                     const struct hdi_forall_way *way, hd_status status,
                     struct hd_error *error)
{
    struct hdi_run run = {.forall = forall,
                          .lane = lane,
                          .reach = way->reach,
                          .on_device = way->on_device,
                          .cluster = lane->cluster,
                          .output = forall->output,
                          .fetch = {.begin = hdi_agent_fetch,
                                    .wait = hdi_agent_await,
                                    .in_place = forall->in_place},
                          .give = hdi_agent_result};
    bool may = run.cluster->transport->threads && !run.cluster->sequential;
    struct hd_error mine = {0};

    // What is started notes its lane when it is: here it is another thread.
    // All have started it, so others may come to it at any time.
    if (lane->number == 0)
        run.cluster->latest = 0;
    else
        lane->lives = is_to_come;
    // Its event may have ended, and its fields be gone: only others are told.
    if (status != HD_OK) {
        status = hdi_lane_agree(lane, way->call, way->digest, status, error);
        lane->lives = NULL;
        return status;
    }
    run.error = &mine;
    pthread_mutex_init(&run.lock, NULL);
    status = begin_run(&run, way, may, error);
    lane->lives = NULL;
    if (status != HD_OK) {
        hdi_agent_stop(run.agent);
        free_run(&run);
        return status;
    }
    run.fetch.data = run.agent;
    lane->idle = run.agent ? idle : NULL;
    lane->idle_data = run.agent;
    lane->lives = lives;
    lane->lives_data = &run;
    run.output->version++;
    run_nodes(&run, way->crew);
    await_results(&run);

    // The agent answers until all processes are here.
    if (error)
        *error = mine;
    status = hdi_lane_agree(lane, "hd_forall(): end", 0, run.status, error);
    lane->idle = NULL;
    lane->lives = NULL;
    hdi_agent_stop(run.agent);
    free_run(&run);
    return status;
}
