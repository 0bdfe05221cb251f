// Changing what a kept graph computes with, without building it anew.
#include "graph/model.h"

#include <string.h>

#include "base/error.h"

#define ARG "%s%spass '%s', command %u, argument %u: "
#define ARG_OF(pass, command, index) \
    HDI_PASS_OF((pass)->where, (pass)->name), (command) + 1, (index) + 1

// What is packed for a dispatch of the next run; NULL: nothing.
static struct hd_arg *packed_of(struct hd_graph *graph,
                                const struct hdi_pass *pass, uint32_t at)
{
    bool there = graph->prepared && !pass->dropped &&
                 pass >= graph->passes.at + graph->first;

    return there ? &graph->packed[at] : NULL;
}

static hd_status set_numbers(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             const struct hdi_command *c, uint32_t index,
                             const struct hd_pass_arg *arg, const char *place,
                             struct hd_error *error)
{
    struct hdi_argument *old = &graph->args.at[c->args + index];
    struct hd_arg *packed = packed_of(graph, pass, c->args + index);
    const struct hd_kernel *kernel = graph->kernels.at[c->kernel].kernel;
    unsigned char value[HDI_VALUE_SIZE];
    char problem[160];

    if (!arg->numbers || arg->number_count != old->numbers)
        return hdi_fail(error, HD_EINVAL, "%sit takes %u numbers, not %u",
                        place, old->numbers,
                        arg->numbers ? arg->number_count : 0);
    if (packed) {
        const struct hdi_type *type =
            hdi_type_of_argument(kernel->args[index].shown.type);
        if (hdi_type_convert(type, arg->numbers, arg->number_count, value,
                             problem) != HD_OK)
            return hdi_fail(error, HD_EGRAPH, "%s%s", place, problem);
        memcpy((void *)(uintptr_t)packed->value, value, packed->size);
    }
    memcpy(graph->values.at + old->index, arg->numbers,
           arg->number_count * sizeof(double));
    return HD_OK;
}

static hd_status set_bytes(struct hd_graph *graph, struct hdi_argument *old,
                           const struct hd_pass_arg *arg, const char *place,
                           struct hd_error *error)
{
    if (!arg->bytes || arg->size != old->size)
        return hdi_fail(error, HD_EINVAL, "%sit takes %llu bytes, not %llu",
                        place, (unsigned long long)old->size,
                        (unsigned long long)(arg->bytes ? arg->size : 0));
    memcpy(graph->values.at + old->index, arg->bytes, arg->size);
    return HD_OK;
}

static hd_status find(struct hd_graph *graph, hd_pass pass, unsigned command,
                      unsigned argument, const struct hd_pass_arg *arg,
                      struct hdi_pass **found, struct hd_error *error)
{
    if (!graph || pass == 0 || pass > graph->passes.count || !arg)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_set_argument() takes a graph, one of its "
                        "passes and an argument");
    *found = &graph->passes.at[pass - 1];
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    if (command >= (*found)->command_count ||
        graph->commands.at[(*found)->commands + command].is != HD_DISPATCH)
        return hdi_fail(
            error, HD_EINVAL, HDI_PASS "command %u is no dispatch of it",
            HDI_PASS_OF((*found)->where, (*found)->name), command + 1);
    const struct hdi_command *c =
        &graph->commands.at[(*found)->commands + command];
    if (argument >= c->arg_count)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "command %u has %u arguments, no %u",
                        HDI_PASS_OF((*found)->where, (*found)->name),
                        command + 1, c->arg_count, argument + 1);
    return HD_OK;
}

hd_status hd_graph_set_argument(struct hd_graph *graph, hd_pass pass,
                                unsigned command, unsigned argument,
                                const struct hd_pass_arg *arg,
                                struct hd_error *error)
{
    struct hdi_pass *p = NULL;
    char place[512];

    HDI_TRY(find(graph, pass, command, argument, arg, &p, error));
    const struct hdi_command *c = &graph->commands.at[p->commands + command];
    struct hdi_argument *old = &graph->args.at[c->args + argument];
    snprintf(place, sizeof(place), ARG, ARG_OF(p, command, argument));
    if (arg->is != (enum hd_pass_arg_is)old->is ||
        (arg->is != HD_PASS_NUMBERS && arg->is != HD_PASS_BYTES))
        return hdi_fail(error, HD_EINVAL,
                        "%sonly numbers become other numbers, and bytes other "
                        "bytes; hd_graph_input() changes what a resource holds",
                        place);
    HDI_TRY(arg->is == HD_PASS_NUMBERS
                ? set_numbers(graph, p, c, argument, arg, place, error)
                : set_bytes(graph, old, arg, place, error));
    // What a part touches may follow from the value.
    if (graph->prepared && p->split != HDI_NONE)
        graph->reweigh = true;
    graph->recipe = (struct hdi_feedback_key){{0, 0}};
    return HD_OK;
}
