// Batches of tiny passes: to hand over a pass takes a microsecond or two, and
// where passes take no more, one worker runs several in a row. Each is a pass
// still, with times of its own; only its turn comes with that of its batch.
#include "graph/order/batch.h"

#include <stdlib.h>
#include <string.h>

#include "graph/order/handover.h"
#include "graph/order/split.h"
#include "graph/plan/batch.h"
#include "steal/worker.h"

// A batch is given as many handovers' time as make these cheap; a longer one
// keeps those waiting that need only its first pass, and cannot be shared out.
// A shorter one than a handover gains nothing. With SHARES batches for each
// worker the last ones end at about the same time.
enum {
    USUAL = 4000, // handover, until it was measured [ns]
    TINY = 10,    // quarters of a handover: a pass in a batch, at most
    LONGEST = 5,  // handovers: batch; others wait for its end
    SHARES = 4,   // of a worker's part of the work: batches, at least
    LEAST = 8     // tiny passes of a graph
};

// What was never measured may be long: it gets a task of its own.
bool hdi_weight_is_tiny(const struct hd_graph *graph,
                        const struct hdi_weight *weight)
{
    uint64_t handover = graph->handover ? graph->handover : USUAL;

    return weight->measured && weight->time <= handover * TINY / 4;
}

// Dropped passes do nothing, so any batch will do. Parts, classes, priorities,
// fields and synchronising need a turn of their own.
static bool is_tiny(const struct hd_graph *graph, uint32_t task)
{
    uint32_t index = graph->flow.pass ? graph->flow.pass[task] : task;
    const struct hdi_pass *pass = &graph->passes.at[index];

    if (pass->dropped)
        return true;
    return pass->split == HDI_NONE && !pass->agile && !pass->class_index &&
           !pass->syncs && pass->priority == HD_PRIORITY_NORMAL &&
           hdi_weight_is_tiny(graph, &graph->weights[index]);
}

// A launch that is not for workers alone goes on without one, and what is
// scheduled by memory pass by pass stays so.
//
// In a batch each pass ends before the next begins; one that would go on
// without a worker would hold up those behind it for no reason. An open run
// numbers its tasks as passes.
static bool may_batch(const struct hd_graph *graph)
{
    const struct hdi_launcher *launcher = graph->context.launcher;

    return launcher->pool && !graph->policy.single &&
           graph->policy.working_set == 0 && graph->open.room == 0 &&
           !graph->keeps_all && graph->first == 0 && !launcher->ports &&
           launcher->peers <= 1;
}

// What batches are made of, and the flow of batches.
//
//     tasks     0 -> 1 -> 2    3 -> 4 -> 5     batch: 0 0 0 1 1 1
//                         \_______^
//     batches   [0 1 2] -----> [3 4 5]         member: 0 1 2 3 4 5
//
// `flow` is what becomes the graph's; everything else is freed at the end.
// `waits` is room for sorting, later for stamps.
struct joining {
    struct hd_graph *graph;
    uint32_t *batch; // of each task
    uint32_t *order, *waits;
    uint64_t *cost, *rank;
    bool *tiny;
    struct hdi_task_graph flow;
};

static bool make_room(struct joining *j, uint32_t count)
{
    size_t n = count + (size_t)1;

    j->batch = malloc(n * sizeof(*j->batch));
    j->order = malloc(n * sizeof(*j->order));
    j->waits = malloc(n * sizeof(*j->waits));
    j->cost = malloc(n * sizeof(*j->cost));
    j->tiny = malloc(n * sizeof(*j->tiny));
    return j->batch && j->order && j->waits && j->cost && j->tiny;
}

// How long a batch may be follows from the work: with one worker there is
// nobody to share with, and the longest serves. In program order, if it is one
// to run in, a batch is of passes that stand together.
static bool find_batches(struct joining *j)
{
    struct hd_graph *graph = j->graph;
    const struct hdi_task_graph *flow = &graph->flow;
    unsigned workers = hd_pool_workers(graph->context.launcher->pool);
    uint64_t work = 0;

    for (uint32_t i = 0; i < flow->count; i++) {
        j->cost[i] = flow->weights[i].time;
        j->tiny[i] = is_tiny(graph, i);
        work += flow->weights[i].work;
    }
    uint64_t share = work / workers / SHARES, shortest = graph->handover;
    uint64_t longest = shortest * LONGEST;
    const struct hdi_batch_params params = {
        .tasks = {flow->count, j->cost, flow->first, flow->successors},
        .order = j->order,
        .tiny = j->tiny,
        .workers = workers,
        .handover = graph->handover,
        .longest = workers == 1 || share > longest ? longest
                   : share < shortest              ? shortest
                                                   : share};
    if (!hdi_tasks_sort(&params.tasks, j->order, j->waits))
        return false;
    if (hdi_graph_leads_forward(graph)) // program order keeps data near
        for (uint32_t i = 0; i < flow->count; i++)
            j->order[i] = i;
    j->flow.count = hdi_batch_tasks(&params, j->batch);
    return j->flow.count > 0;
}

// As many edges as there were will do, since joining only takes some away.
static bool make_flow(struct joining *j, uint32_t edges)
{
    struct hdi_task_graph *to = &j->flow;
    size_t n = to->count + (size_t)2;
    bool parts = j->graph->flow.box != NULL;

    to->first_member = calloc(n, sizeof(*to->first_member));
    to->member =
        malloc((j->graph->flow.count + (size_t)1) * sizeof(*to->member));
    to->successors = malloc((edges + (size_t)1) * sizeof(*to->successors));
    to->first = calloc(n, sizeof(*to->first));
    to->waits = calloc(n, sizeof(*to->waits));
    to->weights = calloc(n, sizeof(*to->weights));
    to->pass = malloc(n * sizeof(*to->pass));
    to->box = parts ? calloc(n, sizeof(*to->box)) : NULL;
    j->rank = calloc(n, sizeof(*j->rank));
    return to->first_member && to->member && to->successors && to->first &&
           to->waits && to->weights && to->pass && (!parts || to->box) &&
           j->rank;
}

// The tasks of each batch in the order in which they run. sum_up() makes passes
// of them.
static void list_members(struct joining *j)
{
    struct hdi_task_graph *to = &j->flow;
    uint32_t count = j->graph->flow.count;

    for (uint32_t i = 0; i < count; i++)
        to->first_member[j->batch[i] + 2]++;
    for (uint32_t b = 2; b < to->count + 2; b++)
        to->first_member[b] += to->first_member[b - 1];
    for (uint32_t i = 0; i < count; i++)
        to->member[to->first_member[j->batch[j->order[i]] + 1]++] = j->order[i];
}

// What follows a batch, each once. `waits` of tasks is room for the last batch
// that led to each.
static void list_successors(struct joining *j)
{
    const struct hdi_task_graph *from = &j->graph->flow;
    struct hdi_task_graph *to = &j->flow;
    uint32_t *stamp = j->waits, edges = 0;

    memset(stamp, 0, to->count * sizeof(*stamp));
    for (uint32_t b = 0; b < to->count; b++) {
        to->first[b] = edges;
        for (uint32_t m = to->first_member[b]; m < to->first_member[b + 1];
             m++) {
            uint32_t task = to->member[m];
            for (uint32_t i = from->first[task]; i < from->first[task + 1];
                 i++) {
                uint32_t next = j->batch[from->successors[i]];
                if (next == b || stamp[next] == b + 1)
                    continue;
                stamp[next] = b + 1;
                to->successors[edges++] = next;
                to->waits[next]++;
            }
        }
    }
    to->first[to->count] = edges;
}

// A batch is as urgent as the most urgent of its passes.
//
// What it takes is the sum of its tasks. Members become numbers of passes here,
// after their weights were read by task.
static void sum_up(struct joining *j)
{
    const struct hd_graph *graph = j->graph;
    const struct hdi_task_graph *from = &graph->flow;
    struct hdi_task_graph *to = &j->flow;

    for (uint32_t b = 0; b < to->count; b++) {
        uint32_t first = to->member[to->first_member[b]];
        to->pass[b] = from->pass ? from->pass[first] : first;
        if (to->box)
            to->box[b] = from->box[first];
        for (uint32_t m = to->first_member[b]; m < to->first_member[b + 1];
             m++) {
            uint32_t task = to->member[m];
            to->weights[b].time += from->weights[task].time;
            to->weights[b].work += from->weights[task].work;
            if (graph->rank[task] > j->rank[b])
                j->rank[b] = graph->rank[task];
            to->member[m] = from->pass ? from->pass[task] : task;
        }
    }
}

// Frees the flow of tasks, or lets go of the arrays of the passes, which stay.
static void install(struct joining *j)
{
    struct hd_graph *graph = j->graph;

    hdi_graph_free_flow(graph);
    graph->flow = j->flow;
    memcpy(graph->rank, j->rank, graph->flow.count * sizeof(*graph->rank));
    j->flow = (struct hdi_task_graph){0};
}

static void free_joining(struct joining *j)
{
    hdi_task_graph_free(&j->flow);
    free(j->batch);
    free(j->order);
    free(j->waits);
    free(j->cost);
    free(j->rank);
    free(j->tiny);
}

// Worth it only where at least one task in LEAST goes away. Nothing of the
// graph is changed before install().
static bool join(struct joining *j)
{
    const struct hdi_task_graph *from = &j->graph->flow;

    if (!make_room(j, from->count) || !find_batches(j))
        return false;
    if (j->flow.count > from->count - from->count / LEAST)
        return true;
    if (!make_flow(j, from->first[from->count]))
        return false;
    list_members(j);
    list_successors(j);
    sum_up(j);
    install(j);
    return true;
}

bool hdi_graph_batch(struct hd_graph *graph)
{
    uint32_t tiny = 0;

    if (!may_batch(graph))
        return true;
    for (uint32_t i = 0; i < graph->flow.count && tiny < LEAST; i++)
        tiny += is_tiny(graph, i);
    if (tiny < LEAST)
        return true;
    if (graph->handover == 0)
        graph->handover = hdi_handover(graph);
    struct joining j = {.graph = graph};
    bool good = join(&j);
    free_joining(&j);
    return good;
}
