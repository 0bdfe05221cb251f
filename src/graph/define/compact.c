#include "graph/model/compact.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// A run of calls pays for graphs of many short passes only. With fewer passes
// than EACH for each worker the general run is as quick and does more
// (priorities, splits, times of passes). Passes that take longer than MAX_TIME
// gain from an order that is learned, and a run that loses a core from passes
// that others can take one by one: what the general run takes for each, 0.15 to
// 0.3 us, is then a tenth of the passes at most. (Measured in processor time, 2
// workers, random graphs and stencils of 1,500 passes: 1.6 times the run of
// calls at 0.2 us a pass, 1.2 times at 0.6, 1.1 times at 1.5 and 3.) 2500 ns is
// also where the general run stops being flat (order/order.c).
enum {
    EACH = 64,      // passes for each worker, of a run of calls
    MAX_TIME = 2500 // of a pass of one, on the average [ns]
};

// Adding ----------------------------------------------------------------------

// Texts are short here: a call of strcmp() would take longer.
static inline bool same_text(const char *a, const char *b)
{
    b = b ? b : "";
    for (; *a == *b; a++, b++)
        if (!*a)
            return true;
    return false;
}

// Extents are compared last: of resources that a program makes in a loop the
// names differ first, if anything does.
static bool is_kind(const struct hdi_calls_kind *kind, const char *name,
                    const struct hd_shape *shape, const char *where)
{
    if (!kind || kind->shape.axes != shape->axes || !shape->type ||
        !same_text(kind->name, name) || !same_text(kind->where, where) ||
        !same_text(kind->shape.type, shape->type))
        return false;
    for (unsigned i = 0; i < shape->axes; i++)
        if (kind->shape.extent[i] != shape->extent[i])
            return false;
    return true;
}

bool hdi_compact_resource(struct hd_graph *graph,
                          const struct hdi_resource *resource)
{
    const struct hdi_calls_kind kind = {resource->name, resource->where,
                                        resource->shape};

    return graph->calls && hdi_calls_add_resource(graph->calls, &kind);
}

// The shape need not be checked: the newest resource has the same, and was
// checked.
bool hdi_compact_same(struct hd_graph *graph, const char *name,
                      const struct hd_shape *shape, const char *where)
{
    return graph->calls &&
           is_kind(hdi_calls_newest(graph->calls), name, shape, where) &&
           hdi_calls_add_resource(graph->calls, NULL);
}

static bool has_text(const char *text)
{
    return text && text[0];
}

// Labels are kept for those passes only that have a name or a place, as most
// have none.
static bool add(struct hd_graph *graph, const struct hd_call_params *params,
                hd_pass *pass)
{
    struct hdi_calls *calls = graph->calls;
    struct hdi_calls_label label;
    bool labelled = has_text(params->name) || has_text(params->where);

    if (labelled) {
        label.name = hdi_graph_string(graph, params->name);
        label.where = hdi_graph_string(graph, params->where);
        if (!label.name || !label.where)
            return false;
    }
    if (!hdi_calls_add(calls, params, labelled ? &label : NULL))
        return false;
    graph->prepared = false;
    *pass = calls->passes.count;
    return true;
}

// A pass of any other kind, and one that says what a run of calls does not know
// (a priority, a class, a device, that it is never dropped), makes the caller
// expand the graph.
bool hdi_compact_pass(struct hd_graph *graph, const struct hd_pass_params *p,
                      hd_pass *pass)
{
    if (!graph->calls || p->command_count != 1 ||
        p->commands[0].is != HD_CALL || !p->commands[0].call ||
        p->scratch_count > 0 || p->append_most > 0 || p->commands[0].appended ||
        p->priority != HD_PRIORITY_NORMAL || p->keep || p->device ||
        p->pass_class)
        return false;
    const struct hd_call_params params = {.call = p->commands[0].call,
                                          .data = p->commands[0].data,
                                          .reads = p->reads,
                                          .writes = p->writes,
                                          .overwrites = p->overwrites,
                                          .read_count = p->read_count,
                                          .write_count = p->write_count,
                                          .overwrite_count = p->overwrite_count,
                                          .name = p->name,
                                          .where = p->where};
    return add(graph, &params, pass);
}

// Handles count from 1: 0 becomes the largest index and is none. An order
// against program order is possible in a graph of any passes only; so is the
// message about one that is wrong.
bool hdi_compact_order(struct hd_graph *graph, hd_pass before, hd_pass after,
                       const char *where)
{
    struct hdi_calls *calls = graph->calls;

    if (!calls || before - 1 >= calls->passes.count ||
        after - 1 >= calls->passes.count || before >= after)
        return false;
    const char *copy = hdi_graph_string(graph, where);
    if (!copy || !hdi_calls_order(calls, before - 1, after - 1, copy))
        return false;
    graph->prepared = false;
    return true;
}

static hd_status check_after(const struct hd_graph *graph,
                             const struct hd_call_params *params,
                             struct hd_error *error)
{
    const char *where = params->where ? params->where : "";

    for (unsigned i = 0; i < params->after_count; i++)
        if (hdi_graph_find_pass(graph, params->after[i]) == HDI_NONE)
            return hdi_fail(
                error, HD_EINVAL,
                HDI_PASS "it comes after %u, which is no pass of "
                         "this graph yet",
                HDI_PASS_OF(where, params->name ? params->name : ""),
                params->after[i]);
    return HD_OK;
}

// In a graph that is not compact this is a pass with one command, and an order
// for each pass that it comes after. All that the orders need is got before the
// pass is added, as a failed call leaves no trace.
//
// Not inlined, so that the short way does not set up its stack.
__attribute__((noinline)) static hd_status add_expanded(
    struct hd_graph *graph, const struct hd_call_params *params, hd_pass *pass,
    struct hd_error *error)
{
    HDI_TRY(hdi_graph_expand(graph, error));

    const struct hd_command command = {
        .is = HD_CALL, .call = params->call, .data = params->data};
    const struct hd_pass_params p = {.name = params->name,
                                     .where = params->where,
                                     .reads = params->reads,
                                     .read_count = params->read_count,
                                     .writes = params->writes,
                                     .write_count = params->write_count,
                                     .overwrites = params->overwrites,
                                     .overwrite_count = params->overwrite_count,
                                     .commands = &command,
                                     .command_count = 1};
    HDI_TRY(check_after(graph, params, error));
    // Afterwards stating the order needs no memory.
    if (!hdi_graph_string(graph, params->where) ||
        !HDI_ROOM(graph->orders, params->after_count))
        return hdi_fail(error, HD_ENOMEM, "no memory for the graph");
    HDI_TRY(hd_graph_pass(graph, &p, pass, error));
    for (unsigned i = 0; i < params->after_count; i++)
        HDI_TRY(hd_graph_order(graph, params->after[i], *pass, params->where,
                               error));
    return HD_OK;
}

hd_status hd_graph_call(struct hd_graph *graph,
                        const struct hd_call_params *params, hd_pass *pass,
                        struct hd_error *error)
{
    if (!graph || !params || !pass || (params->after_count && !params->after) ||
        (params->read_count && !params->reads) ||
        (params->write_count && !params->writes) ||
        (params->overwrite_count && !params->overwrites))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_call() takes a graph, parameters whose lists "
                        "are there, and a place for the handle");
    if (graph->calls && params->call && add(graph, params, pass))
        return HD_OK;
    return add_expanded(graph, params, pass, error);
}

// Expanding -------------------------------------------------------------------

// Lists of what one pass uses, one behind the other.
//
// As the parameters of a pass want them: what is read, what is written, what is
// overwritten, passes that it comes after; handles, from 1 on. hdi_calls_add()
// put them in this order, so copying keeps them apart. `at` is used again for
// each pass.
struct uses {
    uint32_t *at, room;
    unsigned count[4]; // by enum hdi_calls_how
};

static bool find_uses(const struct hdi_calls *calls, uint32_t pass,
                      struct uses *uses)
{
    uint32_t begin = hdi_calls_pass(calls, pass)->uses;
    uint32_t end = hdi_calls_uses_end(calls, pass);

    if (!hdi_graph_room((void **)&uses->at, &uses->room,
                        end - begin + UINT64_C(1), sizeof(*uses->at)))
        return false;
    memset(uses->count, 0, sizeof(uses->count));
    for (uint32_t i = begin; i < end; i++) {
        uint32_t use = hdi_calls_use(calls, i);
        uses->count[use & 3]++;
        uses->at[i - begin] = (use >> 2) + 1;
    }
    return true;
}

static hd_status expand_pass(struct hd_graph *graph,
                             const struct hdi_calls *calls, uint32_t index,
                             struct uses *uses, struct hd_error *error)
{
    const struct hdi_calls_pass *pass = hdi_calls_pass(calls, index);
    struct hdi_calls_label label = hdi_calls_label(calls, index);
    const struct hd_command command = {.is = HD_CALL,
                                       .call = calls->functions[pass->function],
                                       .data = pass->data};

    if (!find_uses(calls, index, uses))
        return hdi_fail(error, HD_ENOMEM, "no memory for the graph");
    const uint32_t *writes = uses->at + uses->count[HDI_CALLS_READS];
    const uint32_t *overwrites = writes + uses->count[HDI_CALLS_WRITES];
    const uint32_t *after = overwrites + uses->count[HDI_CALLS_OVERWRITES];
    const struct hd_pass_params params = {
        .name = label.name,
        .where = label.where,
        .reads = uses->at,
        .read_count = uses->count[HDI_CALLS_READS],
        .writes = writes,
        .write_count = uses->count[HDI_CALLS_WRITES],
        .overwrites = overwrites,
        .overwrite_count = uses->count[HDI_CALLS_OVERWRITES],
        .commands = &command,
        .command_count = 1};
    hd_pass handle;
    HDI_TRY(hd_graph_pass(graph, &params, &handle, error));
    for (unsigned i = 0; i < uses->count[HDI_CALLS_AFTER]; i++)
        HDI_TRY(hd_graph_order(graph, after[i], handle, NULL, error));
    return HD_OK;
}

// In the order in which they were added, so that handles stay the same. The
// graph is not compact any more here, so that the public functions add to its
// arrays.
static hd_status expand(struct hd_graph *graph, const struct hdi_calls *calls,
                        struct uses *uses, struct hd_error *error)
{
    hd_resource resource;

    for (uint32_t i = 0; i < calls->resources.count; i++) {
        const struct hdi_calls_kind *kind = hdi_calls_kind(calls, i);
        HDI_TRY(hd_graph_resource(graph, kind->name, &kind->shape, kind->where,
                                  &resource, error));
    }
    for (uint32_t i = 0; i < calls->passes.count; i++)
        HDI_TRY(expand_pass(graph, calls, i, uses, error));
    for (uint32_t i = 0; i < calls->order_count; i++) {
        const struct hdi_calls_order *o = &calls->orders[i];
        HDI_TRY(hd_graph_order(graph, o->from + 1, o->to + 1, o->where, error));
    }
    return HD_OK;
}

// The calls are freed only when all is in the arrays. After an error the arrays
// are emptied again (what only passes name, such as arguments, was never
// filled) and the graph is compact, but has to be prepared again.
hd_status hdi_graph_expand(struct hd_graph *graph, struct hd_error *error)
{
    struct hdi_calls *calls = graph->calls;
    struct uses uses = {0};

    if (!calls)
        return HD_OK;
    graph->calls = NULL;
    graph->prepared = false;
    hd_status status = expand(graph, calls, &uses, error);
    free(uses.at);
    if (status == HD_OK) {
        hdi_calls_free(calls);
        return HD_OK;
    }
    graph->resources.count = graph->passes.count = graph->accesses.count = 0;
    graph->commands.count = graph->orders.count = 0;
    graph->calls = calls;
    return status;
}

// Preparing -------------------------------------------------------------------

// No trace, since records of passes are written by the general run; no classes,
// units or devices come into it, as calls run on workers. `pace` is known after
// one run: a graph whose passes turn out long is expanded before the next.
hd_status hdi_compact_prepare(struct hd_graph *graph, struct hd_error *error)
{
    const struct hdi_launcher *launcher = graph->context.launcher;
    struct hdi_calls *calls = graph->calls;
    unsigned workers = launcher->pool ? hd_pool_workers(launcher->pool) : 0;

    if (workers == 0 || launcher->trace || calls->pace >= MAX_TIME ||
        calls->passes.count / EACH < workers)
        return hdi_graph_expand(graph, error);
    return hdi_calls_prepare(calls, workers)
               ? HD_OK
               : hdi_fail(error, HD_ENOMEM, "no memory to prepare the graph");
}

// Running ---------------------------------------------------------------------

// Called on any worker, by several at a time; hdi_graph_fail_run() keeps the
// first.
static void fail_call(void *data, uint32_t pass, hd_status status,
                      const struct hd_error *error)
{
    struct hd_graph *graph = data;
    struct hdi_calls_label label = hdi_calls_label(graph->calls, pass);

    hdi_graph_fail_run(graph, label.name, label.where, status, error);
}

static void end_calls(void *data, uint32_t not_run)
{
    hdi_graph_end_calls(data, not_run);
}

// The run may have ended, and the graph be destroyed, when this returns.
void hdi_compact_start(struct hd_graph *graph, bool here)
{
    const struct hdi_calls_host host = {.pool = graph->context.launcher->pool,
                                        .cancel = &graph->cancel,
                                        .group = &graph->group,
                                        .fail = fail_call,
                                        .end = end_calls,
                                        .data = graph};

    hdi_calls_start(graph->calls, &host, here);
}
