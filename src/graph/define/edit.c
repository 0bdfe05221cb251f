// Changing the structure of a kept graph. What a pass is known to be good for,
// its packed arguments and its weight stay with it, so that preparing the graph
// again looks at those passes only that are new: edges and versions, which one
// sweep makes for all, cost little beside.
//
// Invariant: passes lie in program order, so a pass that comes between others
// moves those behind it; handles stay what they are by pass_of.
#include "graph/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/model/compact.h"

// Tidying copies all arrays and forgets all that is packed, so it waits until
// there is this much, and until at least half as much is waste as there are
// commands and arguments. Then its cost is spread over the passes that were
// replaced.
enum {
    WASTE = 4096 // commands and arguments that are left behind at most
};

// The index of a pass that may be changed. An earlier run of a graph that grows
// may have run it already (`done`): its effects are in memory, and stay.
static hd_status find(struct hd_graph *graph, hd_pass pass,
                      const char *function, uint32_t *index,
                      struct hd_error *error)
{
    if (graph)
        HDI_TRY(hdi_graph_expand(graph, error));
    *index = graph ? hdi_graph_find_pass(graph, pass) : HDI_NONE;
    if (*index == HDI_NONE)
        return hdi_fail(error, HD_EINVAL,
                        "%s() takes a graph and one of its passes", function);
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    if (*index < graph->done)
        return hdi_fail(error, HD_EINVAL, HDI_PASS "it has run already",
                        HDI_PASS_OF(graph->passes.at[*index].where,
                                    graph->passes.at[*index].name));
    return HD_OK;
}

// The graph is another than a program made.
//
// Edges, slots and memory follow from all passes, so they are derived anew by
// the next preparing. A shelf may not keep the graph: its recipe makes another
// one.
static void note_change(struct hd_graph *graph)
{
    hdi_graph_unprepare(graph);
    graph->recipe = (struct hdi_feedback_key){{0, 0}};
}

// How much there was of what a pass adds.
//
// Going back to a mark undoes adding, as arrays only grow at their ends.
struct mark {
    uint32_t passes, accesses, commands, args, scratch, values;
};

static struct mark mark(const struct hd_graph *graph)
{
    return (struct mark){graph->passes.count,   graph->accesses.count,
                         graph->commands.count, graph->args.count,
                         graph->scratch.count,  graph->values.count};
}

static void go_back(struct hd_graph *graph, const struct mark *mark)
{
    graph->passes.count = mark->passes;
    graph->accesses.count = mark->accesses;
    graph->commands.count = mark->commands;
    graph->args.count = mark->args;
    graph->scratch.count = mark->scratch;
    graph->values.count = mark->values;
}

// Leaving room ----------------------------------------------------------------

static uint32_t args_of(const struct hd_graph *graph,
                        const struct hdi_pass *pass)
{
    uint32_t args = 0;

    for (uint32_t i = 0; i < pass->command_count; i++)
        if (graph->commands.at[pass->commands + i].is == HD_DISPATCH)
            args += graph->commands.at[pass->commands + i].arg_count;
    return args;
}

// Values start at multiples of 16, as pass.c puts them there: kernels may load
// a vector from them. There is room, since every value was as large before.
static uint32_t move_value(struct hd_graph *graph, char *values, uint32_t *used,
                           uint32_t from, uint64_t size)
{
    uint32_t to = *used;

    memcpy(values + to, graph->values.at + from, size);
    *used += (uint32_t)((size + 15) / 16 * 16);
    return to;
}

static void move_arg(struct hd_graph *graph, struct hdi_argument *a,
                     char *values, uint32_t *used)
{
    if (a->is == HD_PASS_NUMBERS)
        a->index = move_value(graph, values, used, a->index,
                              a->numbers * sizeof(double));
    else if (a->is == HD_PASS_BYTES)
        a->index = move_value(graph, values, used, a->index, a->size);
}

// Of what passes were, nothing stays in the arrays. Without memory they stay as
// they are.
//
// Everything is copied to new arrays, pass by pass, and then back over the old
// ones, whose capacity stays:
//
//     before   | A | B, replaced |  C  | B |        at: what is copied so far
//     after    | A | B |  C  |
//
// The passes name the new places before anything is copied back: no way leads
// back from there, and none is needed, since all memory was got before. Indices
// of arguments are those of what is packed, so all passes are packed again.
static void tidy(struct hd_graph *graph)
{
    struct hdi_access *accesses =
        malloc((graph->accesses.count + (size_t)1) * sizeof(*accesses));
    struct hdi_command *commands =
        malloc((graph->commands.count + (size_t)1) * sizeof(*commands));
    struct hdi_argument *args =
        malloc((graph->args.count + (size_t)1) * sizeof(*args));
    struct hdi_scratch *scratch =
        malloc((graph->scratch.count + (size_t)1) * sizeof(*scratch));
    char *values = malloc(graph->values.count + (size_t)1);
    struct mark at = {0};

    if (!accesses || !commands || !args || !scratch || !values)
        goto end;
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        struct hdi_pass *p = &graph->passes.at[i];
        for (uint32_t k = 0; k < p->access_count; k++)
            accesses[at.accesses + k] = graph->accesses.at[p->accesses + k];
        for (uint32_t k = 0; k < p->scratch_count; k++)
            scratch[at.scratch + k] = graph->scratch.at[p->scratch + k];
        p->accesses = at.accesses;
        p->scratch = at.scratch;
        at.accesses += p->access_count;
        at.scratch += p->scratch_count;
        for (uint32_t c = 0; c < p->command_count; c++) {
            struct hdi_command *to = &commands[at.commands + c];
            *to = graph->commands.at[p->commands + c];
            if (to->is == HD_FILL)
                to->pattern = move_value(graph, values, &at.values, to->pattern,
                                         to->pattern_size);
            if (to->is != HD_DISPATCH)
                continue;
            for (uint32_t k = 0; k < to->arg_count; k++) {
                args[at.args + k] = graph->args.at[to->args + k];
                move_arg(graph, &args[at.args + k], values, &at.values);
            }
            to->args = at.args;
            at.args += to->arg_count;
        }
        p->commands = at.commands;
        at.commands += p->command_count;
    }
#define PUT_BACK(array) \
    if (at.array > 0)   \
        memcpy(graph->array.at, array, at.array * sizeof(*array));
    PUT_BACK(accesses)
    PUT_BACK(commands)
    PUT_BACK(args)
    PUT_BACK(scratch)
    PUT_BACK(values)
#undef PUT_BACK
    at.passes = graph->passes.count;
    go_back(graph, &at);
    graph->waste = 0;
    hdi_graph_forget_packed(graph);
end:
    free(values);
    free(scratch);
    free(args);
    free(commands);
    free(accesses);
}

// Count what a replaced pass leaves in the arrays, and tidy them when it is
// much. Values are not counted: where there are many of them there are many
// arguments.
static void leave_behind(struct hd_graph *graph, const struct hdi_pass *pass)
{
    graph->waste += pass->access_count + pass->command_count +
                    pass->scratch_count + args_of(graph, pass);
    if (graph->waste > WASTE &&
        graph->waste > (graph->commands.count + graph->args.count) / 2)
        tidy(graph);
}

// Changes ---------------------------------------------------------------------

// The new pass is added at the end, as any other, which checks it; then its
// record moves to the place of the old one, and keeps its handle, its place in
// program order, and whether it is left out. What it uses lies at the ends of
// the other arrays, where order does not matter.
hd_status hd_graph_replace(struct hd_graph *graph, hd_pass pass,
                           const struct hd_pass_params *params,
                           struct hd_error *error)
{
    struct hd_error ignored;
    uint32_t index;

    HDI_TRY(find(graph, pass, "hd_graph_replace", &index, error));
    const struct mark before = mark(graph);
    HDI_TRY(hdi_graph_add_pass(graph, params, error));
    const struct hdi_pass old = graph->passes.at[index];
    graph->passes.at[index] = graph->passes.at[--graph->passes.count];
    graph->passes.at[index].out = old.out;
    hd_status status = hdi_graph_number_versions(graph, error);
    if (status != HD_OK) {
        graph->passes.at[index] = old;
        go_back(graph, &before);
        hdi_graph_number_versions(graph, &ignored);
        return status;
    }
    leave_behind(graph, &old);
    note_change(graph);
    return HD_OK;
}

// A pass that is left out counts neither as writer nor as user, so others may
// miss what it wrote: then the call fails, and it is in again.
hd_status hd_graph_leave_out(struct hd_graph *graph, hd_pass pass, bool out,
                             struct hd_error *error)
{
    struct hd_error ignored;
    uint32_t index;

    HDI_TRY(find(graph, pass, "hd_graph_leave_out", &index, error));
    struct hdi_pass *p = &graph->passes.at[index];
    if (p->out == out)
        return HD_OK;
    p->out = out;
    hd_status status = hdi_graph_number_versions(graph, error);
    if (status != HD_OK) {
        p->out = !out;
        hdi_graph_number_versions(graph, &ignored);
        return status;
    }
    note_change(graph);
    return HD_OK;
}

// Every handle so far, and one more.
//
// As long as no pass was inserted, handle h is pass h - 1 and there is no
// table.
static bool make_handles(struct hd_graph *graph)
{
    if (graph->pass_of.at)
        return HDI_ROOM(graph->pass_of, 1);
    if (!HDI_ROOM(graph->pass_of, graph->passes.count + UINT64_C(1)))
        return false;
    for (uint32_t i = 0; i < graph->passes.count; i++)
        graph->pass_of.at[i] = i;
    graph->pass_of.count = graph->passes.count;
    return true;
}

static void shift(uint32_t *index, uint32_t from)
{
    *index += *index >= from;
}

// Passes from one on have the next number each, the last is that one now.
//
//     passes   | 0 | 1 | 2 | new |      index 1      | 0 | new | 1 | 2 |
//
// Weights and keys go with their passes: these stay weighed. The new one has
// not been weighed, so what lies in its place means nothing.
static void rotate(struct hd_graph *graph, uint32_t index)
{
    struct hdi_pass *passes = graph->passes.at;
    uint32_t last = graph->passes.count - 1;
    const struct hdi_pass pass = passes[last];

    memmove(&passes[index + 1], &passes[index],
            (last - index) * sizeof(*passes));
    passes[index] = pass;
    if (graph->weights)
        memmove(&graph->weights[index + 1], &graph->weights[index],
                (last - index) * sizeof(*graph->weights));
    if (graph->keys)
        memmove(&graph->keys[index + 1], &graph->keys[index],
                (last - index) * sizeof(*graph->keys));
    for (uint32_t i = 0; i < graph->pass_of.count; i++)
        shift(&graph->pass_of.at[i], index);
    for (uint32_t i = 0; i < graph->orders.count; i++) {
        shift(&graph->orders.at[i].from, index);
        shift(&graph->orders.at[i].to, index);
    }
}

// The other way round: it was nothing.
//
// Only after number_versions() has failed: the arrays still hold what rotate()
// moved. Its handle was not made yet.
static void rotate_back(struct hd_graph *graph, uint32_t index)
{
    struct hdi_pass *passes = graph->passes.at;
    uint32_t last = graph->passes.count - 1;

    memmove(&passes[index], &passes[index + 1],
            (last - index) * sizeof(*passes));
    if (graph->weights)
        memmove(&graph->weights[index], &graph->weights[index + 1],
                (last - index) * sizeof(*graph->weights));
    if (graph->keys)
        memmove(&graph->keys[index], &graph->keys[index + 1],
                (last - index) * sizeof(*graph->keys));
    for (uint32_t i = 0; i < graph->pass_of.count; i++)
        graph->pass_of.at[i] -= graph->pass_of.at[i] > index;
    for (uint32_t i = 0; i < graph->orders.count; i++) {
        graph->orders.at[i].from -= graph->orders.at[i].from > index;
        graph->orders.at[i].to -= graph->orders.at[i].to > index;
    }
}

// All memory is got first, so that after rotate() only versions can fail. One
// more pass than there will be has room in weights and keys, as everywhere.
hd_status hd_graph_insert(struct hd_graph *graph, hd_pass before,
                          const struct hd_pass_params *params, hd_pass *pass,
                          struct hd_error *error)
{
    struct hd_error ignored;
    uint32_t index;

    if (!pass)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_insert() takes a place for the handle");
    HDI_TRY(find(graph, before, "hd_graph_insert", &index, error));
    uint64_t more = graph->passes.count + UINT64_C(2);
    if (!make_handles(graph) ||
        (graph->weights && !HDI_KEEP(graph, weights, more)) ||
        (graph->keys && !HDI_KEEP(graph, keys, more)))
        return hdi_fail(error, HD_ENOMEM, "no memory for the graph");
    const struct mark was = mark(graph);
    HDI_TRY(hdi_graph_add_pass(graph, params, error));
    rotate(graph, index);
    hd_status status = hdi_graph_number_versions(graph, error);
    if (status != HD_OK) {
        rotate_back(graph, index);
        go_back(graph, &was);
        hdi_graph_number_versions(graph, &ignored);
        return status;
    }
    graph->pass_of.at[graph->pass_of.count++] = index;
    *pass = graph->pass_of.count;
    note_change(graph);
    return HD_OK;
}
