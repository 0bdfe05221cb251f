// Invariant: a pass has its steps side by side, in program order; what comes
// after a pass comes after the last of them. Passes that are dropped have none:
// what comes after them comes after what was before.
#include "graph/perform/offload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "graph/perform/append.h"
#include "graph/perform/perform.h"
#include "launch/start/sequence.h"

// Whether it can --------------------------------------------------------------

// `error` says what the host has to do then.
static hd_status check_pass(const struct hd_graph *graph,
                            const struct hdi_pass *pass, struct hd_error *error)
{
    if (pass->dropped)
        return HD_OK;
    if (pass->agile)
        return hdi_fail(error, HD_ENOTSUP, HDI_PASS "it uses fields",
                        HDI_PASS_OF(pass->where, pass->name));
    if (pass->command_count == 0)
        return hdi_fail(error, HD_ENOTSUP, HDI_PASS "it dispatches nothing",
                        HDI_PASS_OF(pass->where, pass->name));
    for (uint32_t i = 0; i < pass->command_count; i++)
        if (graph->commands.at[pass->commands + i].is != HD_DISPATCH)
            return hdi_fail(error, HD_ENOTSUP,
                            HDI_PASS "command %u is no dispatch",
                            HDI_PASS_OF(pass->where, pass->name), i + 1);
    return HD_OK;
}

// A device runs all passes or none: what needs the host in between, or memory
// that passes share by waiting, stays with the host.
static hd_status check(const struct hd_graph *graph, struct hd_error *error)
{
    if (graph->first != 0 || graph->keeps_all)
        return hdi_fail(error, HD_ENOTSUP, "results steer the graph");
    if (graph->arena.planned)
        return hdi_fail(error, HD_ENOTSUP,
                        "its resources share one block of memory");
    if (!hdi_graph_leads_forward(graph))
        return hdi_fail(error, HD_ENOTSUP,
                        "an order leads back in the program");
    for (uint32_t i = 0; i < graph->passes.count; i++)
        HDI_TRY(check_pass(graph, &graph->passes.at[i], error));
    return HD_OK;
}

// The device that all passes may run on, that can work them off.
//
// The first one of these. `devices` are bits, by place among the peers.
static struct hdi_launcher *find_device(const struct hd_graph *graph,
                                        struct hd_error *error)
{
    struct hdi_launcher *home = graph->context.launcher;
    uint64_t devices = UINT64_MAX;

    if (home->peers <= 1) {
        if (hdi_sequence_may(home))
            return home;
        hdi_fail(error, HD_ENOTSUP, "no device here schedules by itself");
        return NULL;
    }
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        if (!pass->dropped)
            devices &= pass->devices ? pass->devices : home->automatic;
    }
    for (unsigned i = 0; i < home->peers; i++)
        if (devices >> i & 1 && hdi_sequence_may(home->all[i]))
            return home->all[i];
    hdi_fail(error, HD_ENOTSUP,
             "no device that schedules by itself may run all passes");
    return NULL;
}

// Steps -----------------------------------------------------------------------

// Lives during one call of make(). `at` has a place for each step, `mark` and
// `stack` for each pass; a mark is the pass, and 1, whose successors are being
// listed.
struct steps {
    struct hdi_sequence_step *at;
    uint32_t *edges, edge_count, edge_room;
    uint32_t *mark, *stack; // of passes, while one's successors are listed
};

static bool add_edge(struct steps *s, uint32_t step)
{
    if (s->edge_count == s->edge_room) {
        uint32_t room = s->edge_room ? 2 * s->edge_room : 64;
        uint32_t *edges = realloc(s->edges, room * sizeof(*edges));
        if (!edges)
            return false;
        s->edges = edges;
        s->edge_room = room;
    }
    s->edges[s->edge_count++] = step;
    return true;
}

// The next step of a pass that runs in its place; HDI_NONE: there is none.
static uint32_t next_in_place(const struct hd_graph *graph,
                              const struct hdi_pass *pass, uint32_t command)
{
    while (++command < pass->command_count)
        if (!graph->commands.at[pass->commands + command].appended)
            return command;
    return HDI_NONE;
}

// The first steps of all passes that wait for this one, through dropped ones.
//
//     pass 0: step 0, 1 ---> pass 1 (dropped) ---> pass 2: step 2, 3
//
//     step 0 -> 1 -> 2 -> 3      `after` of step 1 is step 2
static bool list_after(const struct hd_graph *graph, uint32_t pass,
                       struct steps *s)
{
    uint32_t depth = 0;

    s->stack[depth++] = pass;
    while (depth > 0) {
        uint32_t at = s->stack[--depth];
        for (uint32_t i = graph->first_successor[at];
             i < graph->first_successor[at + 1]; i++) {
            uint32_t to = graph->successors[i];
            if (s->mark[to] == pass + 1)
                continue;
            s->mark[to] = pass + 1;
            if (graph->passes.at[to].dropped)
                s->stack[depth++] = to;
            else if (!add_edge(s,
                               graph->offload.first_step[to] +
                                   next_in_place(graph, &graph->passes.at[to],
                                                 UINT32_MAX)))
                return false;
        }
    }
    return true;
}

static void describe(const struct hd_graph *graph, const struct hdi_command *c,
                     struct hdi_sequence_step *step)
{
    *step = (struct hdi_sequence_step){
        .request = {graph->kernels.at[c->kernel].kernel, &c->range,
                    graph->packed + c->args, c->arg_count},
        .appended = c->appended};
}

// The steps of a pass that appends number each other as its commands are.
//
// Requests name commands of the pass by number, so steps do.
static void add_family(const struct hd_graph *graph,
                       const struct hdi_pass *pass, const struct hdi_command *c,
                       uint32_t first, struct hdi_sequence_step *step)
{
    if (!pass->append_most)
        return;
    step->family = first;
    step->family_count = pass->command_count;
    step->most = pass->append_most;
    step->appends = hdi_append_argument(graph, c) + 1;
}

// Edges are numbers into `edges` until these stay where they are.
//
// Since `edges` moves while it grows, addresses are set at the end.
static bool list_steps(const struct hd_graph *graph, struct steps *s)
{
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *pass = &graph->passes.at[i];
        uint32_t step = graph->offload.first_step[i];
        if (pass->dropped)
            continue;
        for (uint32_t k = 0; k < pass->command_count; k++) {
            uint32_t begin = s->edge_count, next;
            const struct hdi_command *c =
                &graph->commands.at[pass->commands + k];
            describe(graph, c, &s->at[step + k]);
            add_family(graph, pass, c, step, &s->at[step + k]);
            if (c->appended)
                continue;
            next = next_in_place(graph, pass, k);
            if (next != HDI_NONE ? !add_edge(s, step + next)
                                 : !list_after(graph, i, s))
                return false;
            s->at[step + k].after_count = s->edge_count - begin;
        }
    }
    uint32_t first = 0;
    for (uint32_t i = 0; i < graph->offload.steps && s->edges; i++) {
        s->at[i].after = &s->edges[first];
        first += s->at[i].after_count;
    }
    return true;
}

// Made once for both schedulers; hdi_offload_forget() frees it.
static bool count_steps(struct hd_graph *graph)
{
    struct hdi_offload *o = &graph->offload;
    uint32_t count = 0;

    if (o->first_step)
        return true;
    o->first_step =
        calloc(graph->passes.count + UINT64_C(1), sizeof(*o->first_step));
    if (!o->first_step)
        return false;
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        o->first_step[i] = count;
        if (graph->passes.at[i].dropped)
            continue;
        count += graph->passes.at[i].command_count;
        o->more += graph->passes.at[i].append_most;
    }
    o->first_step[graph->passes.count] = o->steps = count;
    o->pass_of = calloc(count + UINT64_C(1), sizeof(*o->pass_of));
    for (uint32_t i = 0; i < graph->passes.count && o->pass_of; i++)
        for (uint32_t k = o->first_step[i]; k < o->first_step[i + 1]; k++)
            o->pass_of[k] = i;
    o->image_count = graph->args.count;
    o->images = calloc(o->image_count + UINT64_C(1), sizeof(struct hd_image *));
    return o->pass_of != NULL && o->images != NULL;
}

// HD_ENOTSUP, with why, where this graph or this device cannot.
static hd_status make(struct hd_graph *graph, enum hd_graph_scheduler by,
                      struct hd_error *error)
{
    struct hdi_launcher *launcher = find_device(graph, error);
    uint64_t passes = graph->passes.count + UINT64_C(1);
    struct steps s = {0};
    hd_status status = HD_OK;

    if (!launcher)
        return HD_ENOTSUP;
    HDI_TRY(check(graph, error));
    if (count_steps(graph)) {
        s.at = calloc(graph->offload.steps + UINT64_C(1), sizeof(*s.at));
        s.mark = calloc(passes, sizeof(*s.mark));
        s.stack = calloc(passes, sizeof(*s.stack));
    }
    if (!s.at || !s.mark || !s.stack || !list_steps(graph, &s))
        status = hdi_fail(error, HD_ENOMEM, "no memory for its steps");
    else if (graph->offload.steps == 0)
        status = hdi_fail(error, HD_ENOTSUP, "it has no passes to run");
    else if (graph->offload.more > HDI_LIST_MAX)
        status =
            hdi_fail(error, HD_ENOTSUP,
                     "its passes append more than %d dispatches", HDI_LIST_MAX);
    else
        status = hdi_sequence_make(
            launcher,
            by == HD_GRAPH_BY_UNITS ? HDI_LIST_BY_UNITS : HDI_LIST_BY_LAUNCHES,
            s.at, graph->offload.steps, (uint32_t)graph->offload.more,
            &graph->offload.sequences[by], error);
    free(s.at);
    free(s.edges);
    free(s.mark);
    free(s.stack);
    return status;
}

// The graph changes, or goes. Times of earlier runs are forgotten, since they
// are of another graph; who ran last is not.
void hdi_offload_forget(struct hd_graph *graph)
{
    struct hdi_offload *o = &graph->offload;

    for (uint32_t i = 0; o->images && i < o->image_count; i++)
        hd_image_destroy(o->images[i]);
    free(o->images);
    for (int by = 0; by <= HD_GRAPH_BY_LAUNCHES; by++)
        hdi_sequence_free(o->sequences[by]);
    free(o->first_step);
    free(o->pass_of);
    *o = (struct hdi_offload){.by = o->by};
}

// Choosing --------------------------------------------------------------------

// Asked before each run: what is made is kept, and that it cannot be is
// remembered in `took`.
static bool is_possible(struct hd_graph *graph, enum hd_graph_scheduler by)
{
    struct hdi_offload *o = &graph->offload;
    struct hd_error error;

    if (o->sequences[by] || o->took[by] == UINT64_MAX)
        return o->sequences[by] != NULL;
    if (make(graph, by, &error) == HD_OK)
        return true;
    o->took[by] = UINT64_MAX;
    snprintf(o->why, sizeof(o->why), "%.*s", (int)sizeof(o->why) - 1,
             error.text);
    hdi_debug("a graph of %u passes is scheduled by the host: %s",
              graph->passes.count, o->why);
    return false;
}

// What the policy names; or what has not been tried, in order, and then the
// fastest. The host comes first: it may run a graph that is not run again.
static enum hd_graph_scheduler choose(struct hd_graph *graph)
{
    struct hdi_offload *o = &graph->offload;
    enum hd_graph_scheduler best = HD_GRAPH_BY_HOST;

    if (graph->policy.by != HD_GRAPH_BY_ANY)
        return graph->policy.by == HD_GRAPH_BY_HOST ||
                       !is_possible(graph, graph->policy.by)
                   ? HD_GRAPH_BY_HOST
                   : graph->policy.by;
    if (o->took[HD_GRAPH_BY_HOST] == 0)
        return HD_GRAPH_BY_HOST;
    for (int by = HD_GRAPH_BY_UNITS; by <= HD_GRAPH_BY_LAUNCHES; by++) {
        if (!is_possible(graph, (enum hd_graph_scheduler)by))
            continue;
        if (o->took[by] == 0)
            return (enum hd_graph_scheduler)by;
        if (o->took[by] < o->took[best])
            best = (enum hd_graph_scheduler)by;
    }
    return best;
}

void hdi_offload_learn(struct hd_graph *graph, uint64_t took)
{
    uint64_t *least = &graph->offload.took[graph->offload.by];

    took = took ? took : 1;
    if (*least == 0 || took < *least)
        *least = took;
}

// Running ---------------------------------------------------------------------

static void give_memory(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (!graph->passes.at[i].dropped)
            hdi_pass_end(graph, &graph->passes.at[i]);
}

// Images are the graph's for all runs; packed arguments must not keep them, as
// a run by the host makes its own.
static hd_status set_args(struct hd_graph *graph, uint32_t index,
                          struct hdi_sequence *sequence, struct hd_error *error)
{
    const struct hdi_pass *pass = &graph->passes.at[index];

    for (uint32_t k = 0; k < pass->command_count; k++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + k];
        uint32_t filled;
        HDI_TRY(hdi_pass_fill_args(graph, pass, c, graph->offload.images,
                                   &filled, error));
        hd_status status =
            hdi_sequence_set(sequence, graph->offload.first_step[index] + k,
                             graph->packed + c->args, error);
        for (uint32_t i = 0; i < c->arg_count; i++)
            graph->packed[c->args + i].image = NULL;
        HDI_TRY(status);
    }
    return HD_OK;
}

// All memory at once, and what lies elsewhere is brought: nothing may be needed
// from the host on the way.
static hd_status provide(struct hd_graph *graph, struct hdi_sequence *sequence,
                         struct hd_error *error)
{
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (!graph->passes.at[i].dropped)
            HDI_TRY(hdi_pass_begin(graph, &graph->passes.at[i], error));
    for (uint32_t i = 0; i < graph->passes.count; i++)
        if (!graph->passes.at[i].dropped)
            HDI_TRY(set_args(graph, i, sequence, error));
    return HD_OK;
}

// What was taken is given back, and inputs are copied again when the host runs
// it.
static void take_back(struct hd_graph *graph)
{
    give_memory(graph);
    for (uint32_t i = 0; i < graph->slots.count; i++)
        if (graph->slots.at[i].first != HDI_NONE)
            hdi_graph_slot_release(graph, &graph->slots.at[i]);
}

// After a failure the graph is as before, and the host runs it: a device that
// is short of memory is no error.
bool hdi_offload_start(struct hd_graph *graph,
                       void (*ended)(struct hd_worker *worker, hd_status status,
                                     void *graph))
{
    struct hdi_offload *o = &graph->offload;
    struct hd_pool *pool = graph->context.launcher->pool;
    const struct hd_start start = {.group = &graph->group};
    enum hd_graph_scheduler by = choose(graph);
    struct hd_error error;

    o->by = HD_GRAPH_BY_HOST;
    if (by == HD_GRAPH_BY_HOST)
        return false;
    o->running = o->sequences[by];
    o->begin = hdi_now();
    hd_status status = provide(graph, o->running, &error);
    if (status == HD_OK)
        status = hdi_sequence_start(o->running, &start, &graph->cancel,
                                    &o->event, &error);
    if (status != HD_OK) {
        take_back(graph);
        snprintf(o->why, sizeof(o->why), "%.*s", (int)sizeof(o->why) - 1,
                 error.text);
        return false;
    }
    o->by = by;
    *o->why = '\0';
    if (hd_event_on_end(pool, o->event, ended, graph, NULL) != HD_OK) {
        // No memory for that: this thread waits.
        hd_event_wait(pool, &o->event, 1, HD_FOREVER, NULL);
        ended(NULL, HD_OK, graph);
    }
    return true;
}

// An appended command: its step does not run by itself, only copies of it do.
static bool is_template(const struct hd_graph *graph, uint32_t step)
{
    const struct hdi_offload *o = &graph->offload;
    const struct hdi_pass *pass = &graph->passes.at[o->pass_of[step]];

    return graph->commands
        .at[pass->commands + step - o->first_step[o->pass_of[step]]]
        .appended;
}

// Of steps, and those appended; what was not asked for did not run.
//
// The device's clock is another one: times are moved so that the first step
// begins when the run did. Without times passes keep begin and end 0.
static void set_times(struct hd_graph *graph)
{
    struct hdi_offload *o = &graph->offload;
    uint64_t first = UINT64_MAX;
    uint32_t count;
    const struct hdi_list_time *times = hdi_sequence_times(o->running, &count);

    for (uint32_t i = 0; i < graph->passes.count && count > 0; i++) {
        graph->passes.at[i].begin = UINT64_MAX;
        graph->passes.at[i].end = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct hdi_pass *pass = &graph->passes.at[o->pass_of[times[i].step]];
        if (i < o->steps && is_template(graph, i))
            continue;
        if (times[i].begin < first)
            first = times[i].begin;
        if (times[i].begin < pass->begin)
            pass->begin = times[i].begin;
        if (times[i].end > pass->end)
            pass->end = times[i].end;
        atomic_fetch_add_explicit(&pass->busy, times[i].end - times[i].begin,
                                  memory_order_relaxed);
    }
    for (uint32_t i = 0; i < graph->passes.count && count > 0; i++) {
        struct hdi_pass *pass = &graph->passes.at[i];
        bool ran = pass->begin != UINT64_MAX;
        uint64_t since = o->begin - graph->start - first;
        pass->begin = ran ? since + pass->begin : 0;
        pass->end = ran ? since + pass->end : 0;
    }
    if (count > o->steps)
        atomic_store_explicit(&graph->appended, count - o->steps,
                              memory_order_relaxed);
}

// As the host tells it, if that was it.
static hd_status explain(const struct hd_graph *graph, hd_status status,
                         struct hd_error *error)
{
    const struct hdi_offload *o = &graph->offload;
    uint32_t step;
    unsigned why = hdi_sequence_refused(o->running, &step);

    if (status == HD_OK || why == 0)
        return status;
    uint32_t index = o->pass_of[step];
    const struct hdi_pass *pass = &graph->passes.at[index];
    status = hdi_append_refused(graph, pass, step - o->first_step[index], why,
                                error);
    hdi_prefix_error(error, "%s%spass '%s'",
                     HDI_PASS_OF(pass->where, pass->name));
    return status;
}

// Called once for each start that returned true.
hd_status hdi_offload_end(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_offload *o = &graph->offload;
    struct hd_pool *pool = graph->context.launcher->pool;

    hd_status status = hd_event_status(pool, o->event, error);
    hd_event_release(pool, o->event);
    give_memory(graph);
    if (status == HD_OK)
        set_times(graph);
    return explain(graph, status, error);
}
