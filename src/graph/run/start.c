// Runs as users see them: waited for, or started with an event.
#include <string.h>

#include "base/error.h"
#include "graph/model/compact.h"
#include "graph/run/run.h"
#include "steal/event.h"
#include "steal/group.h"

static hd_status begin(struct hd_graph *graph,
                       const struct hd_graph_run_params *params,
                       struct hd_error *error)
{
    struct hd_error why = {.status = HD_OK};

    why.status = hdi_graph_begin_run(graph, params, &why);
    if (why.status == HD_OK)
        return HD_OK;
    hdi_graph_miss(graph, params && params->open, &why);
    return hdi_fail_text(error, why.status, why.text, strlen(why.text));
}

// Here and with an event a run goes the same way:
//
//     begin_run --> start_first --> ... --> end_run --> leave_run
//     prepare,      ready passes            results     the graph may be
//     reset         are submitted                       changed, or gone
static hd_status run(struct hd_graph *graph,
                     const struct hd_graph_run_params *params,
                     struct hd_error *error)
{
    HDI_TRY(begin(graph, params, error));
    hdi_graph_start_first(graph, params && params->here);
    hd_group_wait(graph->context.launcher->pool, &graph->group);
    if (graph->failed == HD_OK)
        return HD_OK;
    return hdi_fail_text(error, graph->failed, graph->failure.text,
                         strlen(graph->failure.text));
}

// The next run is of the whole graph, and only outputs stay, unless it grows.
//
// Whether resources that no pass uses any more are kept changes slots and
// parts, so it is prepared again where that changes.
static void run_all(struct hd_graph *graph,
                    const struct hd_graph_run_params *params)
{
    bool grows = params && (params->grow || params->open);

    if (graph->keeps_all != grows || (params && params->open))
        hdi_graph_unprepare(graph);
    graph->keeps_all = grows;
}

// Before anything of the graph changes.
static hd_status check(const struct hd_graph *graph,
                       const struct hd_graph_run_params *params,
                       struct hd_error *error)
{
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    if (params && params->open && params->grow)
        return hdi_fail(error, HD_EINVAL,
                        "a run is open or has a function that lets it grow, "
                        "not both");
    return HD_OK;
}

hd_status hd_graph_run(struct hd_graph *graph,
                       const struct hd_graph_run_params *params,
                       struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_run() takes a graph");
    HDI_TRY(check(graph, params, error));
    run_all(graph, params);
    return run(graph, params, error);
}

hd_status hd_graph_advance(struct hd_graph *graph,
                           const struct hd_graph_run_params *params,
                           struct hd_error *error)
{
    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_advance() takes a graph");
    HDI_TRY(check(graph, params, error));
    if (params && params->open)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_run() and hd_graph_start() open runs, "
                        "hd_graph_advance() does not");
    HDI_TRY(hdi_graph_expand(graph, error));
    if (graph->done > 0 && graph->done == graph->passes.count)
        return HD_OK;
    if (!graph->keeps_all)
        hdi_graph_unprepare(graph);
    graph->keeps_all = true;
    return run(graph, params, error);
}

// Runs with an event --------------------------------------------------------

// Room of the event's record.
struct started {
    struct hd_graph *graph;
    bool began;
};

static bool run_started(struct hd_worker *worker, struct hdi_event *event,
                        struct hd_error *error)
{
    struct started *s = event->room;

    (void)worker, (void)error;
    s->began = true;
    hdi_graph_start_first(s->graph, false);
    return false;
}

// A run that was made ready is left without having begun.
static void never_begin(struct hd_graph *graph)
{
    struct hd_error never = {.status = HD_OK};

    hdi_graph_release(graph);
    hdi_fail(&never, HD_ECANCELED, "the run never began");
    hdi_graph_miss(graph, graph->open.is, &never);
    graph->done = 0;
    atomic_store(&graph->cancel, false);
    hdi_graph_leave_run(graph);
}

// Called once, when the event ends, run or not. The graph is left last: who
// waits for its group may destroy it.
static void drop_started(struct hdi_event *event)
{
    struct started *s = event->room;

    if (!s->began && s->graph->open.is) {
        // Who adds to it goes on until it sees that; its closing ends the run.
        hd_group_within(&s->graph->group, NULL);
        s->graph->event = NULL;
        hdi_open_give_up(s->graph);
        return;
    }
    if (s->began)
        hdi_graph_leave_run(s->graph);
    else // cancelled before, or what it comes after has failed
        never_begin(s->graph);
}

static const struct hdi_event_kind runs = {.run = run_started,
                                           .drop = drop_started};

// The event is taken after all that may fail for reasons of the graph. From
// hdi_event_start() on the event owns the run; before, a failure leaves it
// here.
hd_status hd_graph_start(struct hd_graph *graph, const struct hd_start *start,
                         const struct hd_graph_run_params *params,
                         hd_event *event, struct hd_error *error)
{
    struct hdi_event *e = NULL;

    if (!graph)
        return hdi_fail(error, HD_EINVAL, "hd_graph_start() takes a graph");
    struct hd_pool *pool = graph->context.launcher->pool;
    HDI_TRY(hdi_pool_check(pool, error));
    if (start)
        HDI_TRY(hdi_event_check(pool, start, error));
    HDI_TRY(check(graph, params, error));
    run_all(graph, params);
    HDI_TRY(begin(graph, params, error));
    hd_status status = hdi_event_take(pool, &runs, &e, error);
    struct started *room =
        status == HD_OK ? hdi_event_room(e, sizeof(*room)) : NULL;
    if (!room) {
        if (status == HD_OK) {
            hdi_event_give_back(e);
            status = hdi_fail(error, HD_ENOMEM, "no memory to start a graph");
        }
        never_begin(graph);
        return status;
    }
    *room = (struct started){.graph = graph};
    graph->event = e;
    hd_group_within(&graph->group, &e->group);
    // After an error it is dropped, and so the run is left, or to be closed.
    status = hdi_event_start(e, start, event, error);
    struct hd_error why;
    if (status != HD_OK && graph->open.is)
        hd_graph_close(graph, &why);
    return status;
}

// The bit of the group is for launches that have been started, the flag for a
// run to come.
void hd_graph_cancel(struct hd_graph *graph)
{
    if (!graph)
        return;
    atomic_store(&graph->cancel, true);
    __atomic_fetch_or(&graph->group.state_.word[1], HDI_GROUP_CANCELLED,
                      __ATOMIC_SEQ_CST);
    hdi_stop_poke(graph->context.launcher);
}
