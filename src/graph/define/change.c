// Changing what a kept graph computes with, without building it anew.
#include "graph/model/model.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "graph/model/compact.h"
#include "graph/order/fit.h"
#include "graph/order/order.h"

#define ARG "%s%spass '%s', command %u, argument %u: "
#define ARG_OF(pass, command, index) \
    HDI_PASS_OF((pass)->where, (pass)->name), (command) + 1, (index) + 1

// What is packed for a dispatch of the next run; NULL: nothing.
//
// Packed arguments have the indices of graph->args. What passes before `first`
// had packed was used by an earlier run, and of a dropped pass nothing is
// packed.
static struct hd_arg *packed_of(struct hd_graph *graph,
                                const struct hdi_pass *pass, uint32_t at)
{
    bool there = graph->prepared && !pass->dropped &&
                 pass >= graph->passes.at + graph->first;

    return there ? &graph->packed[at] : NULL;
}

// Numbers are kept as the program gave them, and once more as the kernel takes
// them: the latter is changed in place, so that nothing is prepared again. It
// is converted aside first: after an error both are as they were. Before
// preparing only the count is checked; the kernel may not be built yet.
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
        return hdi_fail(error, HD_EINVAL, "%sit takes %u number%s, not %u",
                        place, old->numbers, hdi_plural(old->numbers, "s"),
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

// What is packed for bytes is their address in `values` (prepare.c), so writing
// them there is all.
static hd_status set_bytes(struct hd_graph *graph, struct hdi_argument *old,
                           const struct hd_pass_arg *arg, const char *place,
                           struct hd_error *error)
{
    if (!arg->bytes || arg->size != old->size)
        return hdi_fail(error, HD_EINVAL, "%sit takes %llu byte%s, not %llu",
                        place, (unsigned long long)old->size,
                        hdi_plural(old->size, "s"),
                        (unsigned long long)(arg->bytes ? arg->size : 0));
    memcpy(graph->values.at + old->index, arg->bytes, arg->size);
    return HD_OK;
}

// The pass of a handle, if that argument of it is there and the graph does not
// run: workers read the values of a run without a lock. The acquire pairs with
// the release by which a run ends (run.c).
static hd_status find(struct hd_graph *graph, hd_pass pass, unsigned command,
                      unsigned argument, const struct hd_pass_arg *arg,
                      struct hdi_pass **found, struct hd_error *error)
{
    uint32_t number = graph ? hdi_graph_find_pass(graph, pass) : HDI_NONE;
    if (number == HDI_NONE || !arg)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_set_argument() takes a graph, one of its "
                        "passes and an argument");
    *found = &graph->passes.at[number];
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
        return hdi_fail(
            error, HD_EINVAL, HDI_PASS "command %u has %u argument%s, no %u",
            HDI_PASS_OF((*found)->where, (*found)->name), command + 1,
            c->arg_count, hdi_plural(c->arg_count, "s"), argument + 1);
    return HD_OK;
}

// How often loops go round may follow from the value, if the compiler says so.
static void count_anew(struct hd_graph *graph, struct hdi_pass *pass,
                       const struct hdi_command *changed, unsigned argument)
{
    const struct hd_kernel *kernel = graph->kernels.at[changed->kernel].kernel;
    uint64_t asked = hdi_footprint_asks(kernel->footprint), steps = 0;

    if (pass->steps == 0 || !(asked >> (argument < 63 ? argument : 63) & 1))
        return;
    for (uint32_t i = 0; i < pass->command_count; i++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + i];
        steps += c->is == HD_DISPATCH ? hdi_guess_steps(graph, c) : 0;
    }
    hdi_graph_rescale(graph, pass, steps);
}

// The graph stays prepared, except that parts of a split pass may have to be
// chosen again, as their footprints may follow from the value. The recipe is
// forgotten because the graph is not any more what its program makes.
hd_status hd_graph_set_argument(struct hd_graph *graph, hd_pass pass,
                                unsigned command, unsigned argument,
                                const struct hd_pass_arg *arg,
                                struct hd_error *error)
{
    struct hdi_pass *p = NULL;
    char place[512];

    HDI_TRY(graph ? hdi_graph_expand(graph, error) : HD_OK);
    HDI_TRY(find(graph, pass, command, argument, arg, &p, error));
    const struct hdi_command *c = &graph->commands.at[p->commands + command];
    struct hdi_argument *old = &graph->args.at[c->args + argument];
    snprintf(place, sizeof(place), ARG, ARG_OF(p, command, argument));
    if (arg->is != (enum hd_pass_arg_is)old->is ||
        (arg->is != HD_PASS_NUMBERS && arg->is != HD_PASS_BYTES))
        return hdi_fail(error, HD_EINVAL,
                        "%sonly numbers become other numbers, and bytes other "
                        "bytes; hd_graph_set_resource() changes resources",
                        place);
    HDI_TRY(arg->is == HD_PASS_NUMBERS
                ? set_numbers(graph, p, c, argument, arg, place, error)
                : set_bytes(graph, old, arg, place, error));
    if (!packed_of(graph, p, c->args + argument))
        p->packed = false;
    else
        count_anew(graph, p, c, argument);
    // What a part touches may follow from the value.
    if (graph->prepared && p->split != HDI_NONE)
        graph->reweigh = true;
    graph->recipe = (struct hdi_feedback_key){{0, 0}};
    return HD_OK;
}

// Resources -------------------------------------------------------------------

static bool uses(const struct hd_graph *graph, const struct hdi_pass *pass,
                 uint32_t resource)
{
    for (uint32_t i = 0; i < pass->access_count; i++)
        if (graph->accesses.at[pass->accesses + i].resource == resource)
            return true;
    return false;
}

static bool is_same_shape(const struct hdi_resource *a,
                          const struct hdi_resource *b)
{
    bool same = a->type == b->type && a->shape.axes == b->shape.axes;

    for (unsigned i = 0; same && i < a->shape.axes; i++)
        same = a->shape.extent[i] == b->shape.extent[i];
    return same;
}

// Checks everything that hd_graph_set_resource() needs, but versions, before
// anything is changed. A pass may not use both resources: replacing one by the
// other would join two accesses to one, and could not be undone.
static hd_status find_pass(struct hd_graph *graph, hd_pass pass,
                           hd_resource from, hd_resource to,
                           struct hdi_pass **found, struct hd_error *error)
{
    const struct hdi_resource *a, *b;

    uint32_t number = graph ? hdi_graph_find_pass(graph, pass) : HDI_NONE;
    if (number == HDI_NONE || !(a = hdi_graph_find(graph, from)) ||
        !(b = hdi_graph_find(graph, to)))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_set_resource() takes a graph, one of its "
                        "passes and two of its resources");
    struct hdi_pass *p = *found = &graph->passes.at[number];
    if (atomic_load_explicit(&graph->running, memory_order_acquire))
        return hdi_fail(error, HD_EINVAL,
                        "the graph is running: wait for its event first");
    if (number < graph->done)
        return hdi_fail(error, HD_EINVAL, HDI_PASS "it has run already",
                        HDI_PASS_OF(p->where, p->name));
    if (!uses(graph, p, from - 1) || (from != to && uses(graph, p, to - 1)))
        return hdi_fail(error, HD_EINVAL, HDI_PASS "it %s '%s'",
                        HDI_PASS_OF(p->where, p->name),
                        uses(graph, p, from - 1) ? "uses both resources, also"
                                                 : "does not use resource",
                        uses(graph, p, from - 1) ? b->name : a->name);
    if (a->map || b->map)
        return hdi_fail(error, HD_ENOTSUP,
                        HDI_PASS "'%s' is a field, which stays what it is",
                        HDI_PASS_OF(p->where, p->name),
                        a->map ? a->name : b->name);
    if (!is_same_shape(a, b))
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "resource '%s' has another type or another "
                                 "size than '%s'",
                        HDI_PASS_OF(p->where, p->name), b->name, a->name);
    return HD_OK;
}

static void replace(uint32_t *index, uint32_t from, uint32_t to)
{
    if (*index == from)
        *index = to;
}

// In accesses, in transfers and in arguments; indices, not handles. As the pass
// does not use `to` beforehand, the same call the other way round undoes it.
// Dispatches and calls have no `from` and `to`; those of other commands may be
// HDI_NONE, which is never replaced.
static void replace_all(struct hd_graph *graph, const struct hdi_pass *pass,
                        uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < pass->access_count; i++)
        replace(&graph->accesses.at[pass->accesses + i].resource, from, to);
    for (uint32_t i = 0; i < pass->command_count; i++) {
        struct hdi_command *c = &graph->commands.at[pass->commands + i];
        if (c->is != HD_DISPATCH && c->is != HD_SYNC && c->is != HD_CALL) {
            replace(&c->from, from, to);
            replace(&c->to, from, to);
        }
        for (uint32_t k = 0; c->is == HD_DISPATCH && k < c->arg_count; k++) {
            struct hdi_argument *a = &graph->args.at[c->args + k];
            if (a->is == HD_PASS_RESOURCE || a->is == HD_PASS_IMAGE)
                replace(&a->index, from, to);
        }
    }
}

// After an error, versions up to the pass in question are new and the others
// are not: the caller undoes its change and calls this once more, which then
// succeeds, as it did before.
hd_status hdi_graph_number_versions(struct hd_graph *graph,
                                    struct hd_error *error)
{
    for (uint32_t i = 0; i < graph->resources.count; i++) {
        struct hdi_resource *r = &graph->resources.at[i];
        r->versions = r->users = 0;
        r->writer = HDI_NONE;
    }
    for (uint32_t i = 0; i < graph->passes.count; i++) {
        const struct hdi_pass *p = &graph->passes.at[i];
        for (uint32_t k = 0; k < p->access_count && !p->out; k++) {
            struct hdi_access *a = &graph->accesses.at[p->accesses + k];
            struct hdi_resource *r = &graph->resources.at[a->resource];
            if (a->reads && r->versions == 0 && !r->is_input)
                return hdi_fail(error, HD_EGRAPH,
                                HDI_PASS "it would read resource '%s', but no "
                                         "pass before it would write it and "
                                         "it is no input",
                                HDI_PASS_OF(p->where, p->name), r->name);
            a->version = r->versions;
            r->users++;
            if (a->writes) {
                r->writer = i;
                r->versions++;
            }
        }
    }
    return HD_OK;
}

// Whether the pass still finds all that it reads depends on the passes before
// it, and what later ones find depends on it. So the change is made, all
// versions are counted anew, and the change is undone where that fails.
hd_status hd_graph_set_resource(struct hd_graph *graph, hd_pass pass,
                                hd_resource from, hd_resource to,
                                struct hd_error *error)
{
    struct hdi_pass *p = NULL;
    struct hd_error ignored;

    HDI_TRY(graph ? hdi_graph_expand(graph, error) : HD_OK);
    HDI_TRY(find_pass(graph, pass, from, to, &p, error));
    replace_all(graph, p, from - 1, to - 1);
    hd_status status = hdi_graph_number_versions(graph, error);
    if (status != HD_OK) {
        replace_all(graph, p, to - 1, from - 1);
        hdi_graph_number_versions(graph, &ignored);
        return status;
    }
    p->packed = false;
    hdi_graph_unprepare(graph);
    graph->recipe = (struct hdi_feedback_key){{0, 0}};
    return HD_OK;
}
