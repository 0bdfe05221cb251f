#include "graph/define/plan.h"

#include "backend/list.h"
#include "base/error.h"
#include "base/memory.h"

// One access for each resource, however often the pass names it: `stamp` of a
// resource says that this pass has one already, and `access` where. So a pass
// of many resources is planned without searching. Stamps of failed calls are
// never met again, as each try takes a new one.
static hd_status plan_access(struct hd_graph *graph, struct hdi_pass_plan *plan,
                             hd_resource resource, bool writes,
                             struct hd_error *error)
{
    struct hdi_resource *r = hdi_graph_find(graph, resource);
    if (!r)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "%u is no resource of this graph",
                        HDI_PASS_OF(plan->where, plan->name), resource);
    if (r->stamp != graph->stamp) {
        r->stamp = graph->stamp;
        r->access = graph->accesses.count + plan->access_count++;
        graph->accesses.at[r->access] = (struct hdi_access){
            .resource = resource - 1, .version = r->versions};
    }
    struct hdi_access *access = &graph->accesses.at[r->access];
    if (writes) {
        access->writes = true;
        return HD_OK;
    }
    access->reads = true;
    if (r->versions == 0 && !r->is_input)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it reads resource '%s'%s%s%s, but no pass "
                                 "before it writes it and it is no input",
                        HDI_PASS_OF(plan->where, plan->name), r->name,
                        r->where[0] ? " (" : "", r->where,
                        r->where[0] ? ")" : "");
    return HD_OK;
}

// Reads come first, so a resource that is read must have been written by a pass
// before this one, even if this one writes it as well.
hd_status hdi_plan_accesses(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            struct hd_error *error)
{
    const struct hd_pass_params *p = plan->params;

    if (!HDI_ROOM(graph->accesses, (uint64_t)p->read_count + p->write_count +
                                       p->overwrite_count))
        return hdi_graph_no_room(graph, error);
    graph->stamp++;
    for (unsigned i = 0; i < p->read_count; i++)
        HDI_TRY(plan_access(graph, plan, p->reads[i], false, error));
    for (unsigned i = 0; i < p->write_count; i++)
        HDI_TRY(plan_access(graph, plan, p->writes[i], true, error));
    for (unsigned i = 0; i < p->overwrite_count; i++) {
        HDI_TRY(plan_access(graph, plan, p->overwrites[i], true, error));
        graph->accesses.at[graph->resources.at[p->overwrites[i] - 1].access]
            .whole = true;
    }
    return HD_OK;
}

const struct hdi_access *hdi_planned(struct hd_graph *graph,
                                     hd_resource resource)
{
    const struct hdi_resource *r = hdi_graph_find(graph, resource);
    if (!r || r->stamp != graph->stamp)
        return NULL;
    return &graph->accesses.at[r->access];
}

const char *hdi_plan_name(struct hd_graph *graph, hd_resource resource)
{
    const struct hdi_resource *r = hdi_graph_find(graph, resource);
    return r ? r->name : "(none)";
}

// `*format` is the channel order in the upper half and the channel type in the
// lower one, as struct hdi_argument keeps it. What the argument does not say
// follows from the element: as many channels as components, normalised integers
// for 8 and 16 bits. The tables are 0 where nothing fits, which has no texel
// size.
bool hdi_plan_format(const struct hdi_type *type, const struct hd_pass_arg *arg,
                     uint64_t *format)
{
    static const enum hd_channel_order orders[] = {
        [1] = HD_R, [2] = HD_RG, [4] = HD_RGBA};
    static const enum hd_channel_type types[][5] = {
        [HDI_SIGNED] =
            {[1] = HD_SNORM_INT8, [2] = HD_SNORM_INT16, [4] = HD_SIGNED_INT32},
        [HDI_UNSIGNED] = {[1] = HD_UNORM_INT8,
                          [2] = HD_UNORM_INT16,
                          [4] = HD_UNSIGNED_INT32},
        [HDI_FLOAT] = {[4] = HD_FLOAT},
        [HDI_HALF] = {[2] = HD_HALF_FLOAT}};
    uint32_t order = arg->order, is = arg->type;

    if (!order && type->width <= 4)
        order = orders[type->width];
    if (!is && type->scalar_size <= 4)
        is = types[type->scalar][type->scalar_size];
    *format = (uint64_t)order << 32 | is;
    return hd_texel_size((enum hd_channel_order)order,
                         (enum hd_channel_type)is) == type->size;
}

static hd_status plan_image(struct hd_graph *graph,
                            const struct hdi_pass_plan *plan, unsigned index,
                            const struct hd_pass_arg *arg,
                            struct hd_error *error)
{
    uint64_t format;
    const struct hdi_resource *r = hdi_graph_find(graph, arg->resource);

    if (hdi_plan_format(r->type, arg, &format))
        return HD_OK;
    return hdi_fail(error, HD_EINVAL,
                    HDI_PASS "argument %u: elements of type '%s' of resource "
                             "'%s' are no texels of that format",
                    HDI_PASS_OF(plan->where, plan->name), index + 1,
                    r->type->name, r->name);
}

// Whether the kernel wants such an argument is not known yet: it is built by
// preparing, which checks it (prepare.c).
static hd_status plan_arg(struct hd_graph *graph, struct hdi_pass_plan *plan,
                          unsigned index, const struct hd_pass_arg *arg,
                          struct hd_error *error)
{
    uint64_t size = 0;

    switch (arg->is) {
    case HD_PASS_NUMBERS:
        if (arg->number_count < 1 || arg->number_count > 16 || !arg->numbers)
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u: %u numbers; give 1 to 16",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            arg->number_count);
        size = arg->number_count * sizeof(double);
        break;
    case HD_PASS_BYTES:
        if (!arg->bytes || arg->size == 0 || arg->size > 65536)
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u: %llu bytes; give 1 to 65536",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            (unsigned long long)arg->size);
        size = arg->size;
        break;
    case HD_PASS_SAMPLER:
        break;
    case HD_PASS_RESOURCE:
    case HD_PASS_IMAGE:
        if (!hdi_planned(graph, arg->resource))
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u is resource '%s', which the "
                                     "pass neither reads nor writes; name it "
                                     "in one of the two",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            hdi_plan_name(graph, arg->resource));
        if (arg->is == HD_PASS_IMAGE)
            HDI_TRY(plan_image(graph, plan, index, arg, error));
        break;
    case HD_PASS_LOCAL:
    case HD_PASS_APPENDS:
        break;
    case HD_PASS_SCRATCH:
        if (arg->scratch >= plan->params->scratch_count)
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u: there is no scratch %u; the "
                                     "pass has %u",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            arg->scratch, plan->params->scratch_count);
        break;
    default:
        return hdi_fail(error, HD_EINVAL, HDI_PASS "argument %u: unknown kind",
                        HDI_PASS_OF(plan->where, plan->name), index + 1);
    }
    plan->args++;
    plan->values += hdi_round_up(size, 16);
    return HD_OK;
}

// UINT64_MAX when the product does not fit.
static uint64_t work_items(const struct hd_range *range)
{
    uint64_t items = 1;

    for (unsigned i = 0; i < range->dims; i++)
        if (!hdi_multiply(items, range->global[i], &items))
            return UINT64_MAX;
    return items;
}

static hd_status plan_dispatch(struct hd_graph *graph,
                               struct hdi_pass_plan *plan,
                               const struct hd_command *c,
                               struct hd_error *error)
{
    if (!c->kernel.kernel && !(c->kernel.path && c->kernel.path[0] &&
                               c->kernel.name && c->kernel.name[0]))
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "a dispatch takes a kernel, or a file and the "
                                 "name of a kernel in it",
                        HDI_PASS_OF(plan->where, plan->name));
    if (c->range.dims < 1 || c->range.dims > 3)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "a range has 1, 2 or 3 dimensions, not %u",
                        HDI_PASS_OF(plan->where, plan->name), c->range.dims);
    for (unsigned i = 0; i < c->arg_count; i++)
        HDI_TRY(plan_arg(graph, plan, i, &c->args[i], error));

    uint64_t items = c->appended ? 0 : work_items(&c->range);
    if (__builtin_add_overflow(plan->work_items, items, &plan->work_items))
        plan->work_items = UINT64_MAX;
    return HD_OK;
}

// Only the first such argument counts: each command that appends has one buffer
// of requests.
bool hdi_takes_appends(const struct hd_command *c)
{
    for (unsigned i = 0; c->is == HD_DISPATCH && i < c->arg_count; i++)
        if (c->args[i].is == HD_PASS_APPENDS)
            return true;
    return false;
}

// The range of an appended dispatch is the largest that may be asked for:
// requests name work-groups of it, so the size of these has to be stated.
static hd_status plan_appended(const struct hdi_pass_plan *plan, unsigned index,
                               const struct hd_command *c,
                               struct hd_error *error)
{
    if (c->is != HD_DISPATCH)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "command %u is appended, but is no dispatch",
                        HDI_PASS_OF(plan->where, plan->name), index + 1);
    for (unsigned i = 0; i < c->range.dims && i < 3; i++)
        if (c->range.global[i] == 0 || c->range.local[i] == 0)
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "command %u is appended by work-groups: "
                                     "its range takes their size, and "
                                     "work-items, in each dimension",
                            HDI_PASS_OF(plan->where, plan->name), index + 1);
    return HD_OK;
}

// What appends and what is appended need each other, and a bound.
//
// `begin` counts commands that append and run from the beginning: without one
// of these nothing would ever be appended.
static hd_status plan_appends(struct hdi_pass_plan *plan,
                              struct hd_error *error)
{
    const struct hd_pass_params *p = plan->params;
    unsigned appended = 0, begin = 0;

    for (unsigned i = 0; i < p->command_count; i++) {
        bool appends = hdi_takes_appends(&p->commands[i]);
        plan->appends += appends;
        begin += appends && !p->commands[i].appended;
        if (!p->commands[i].appended)
            continue;
        appended++;
        HDI_TRY(plan_appended(plan, i, &p->commands[i], error));
    }
    if (p->append_most > HDI_LIST_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        HDI_PASS "at most %d dispatches are appended in a run, "
                                 "not %u",
                        HDI_PASS_OF(plan->where, plan->name), HDI_LIST_MAX,
                        p->append_most);
    if ((appended > 0) == (begin > 0) && (begin > 0) == (p->append_most > 0))
        return HD_OK;
    return hdi_fail(
        error, HD_EINVAL,
        HDI_PASS "%u of its commands are appended, %u of the others "
                 "append, and append_most is %u: it takes all "
                 "three or none",
        HDI_PASS_OF(plan->where, plan->name), appended, begin, p->append_most);
}

// Scratch is checked last, though arguments name it: what they name is an
// index, not a size.
hd_status hdi_plan_commands(struct hd_graph *graph, struct hdi_pass_plan *plan,
                            struct hd_error *error)
{
    const struct hd_pass_params *p = plan->params;

    for (unsigned i = 0; i < p->command_count; i++) {
        const struct hd_command *c = &p->commands[i];
        switch (c->is) {
        case HD_DISPATCH:
            HDI_TRY(plan_dispatch(graph, plan, c, error));
            break;
        case HD_COPY:
        case HD_CLEAR:
        case HD_FILL:
        case HD_PREFETCH:
        case HD_FLUSH:
        case HD_SYNC:
        case HD_LAYOUT:
            HDI_TRY(hdi_plan_transfer(graph, plan, c, error));
            break;
        case HD_CALL:
            if (c->call)
                break;
            return hdi_fail(error, HD_EINVAL, HDI_PASS "it calls no function",
                            HDI_PASS_OF(plan->where, plan->name));
        default:
            return hdi_fail(error, HD_EINVAL, HDI_PASS "unknown command",
                            HDI_PASS_OF(plan->where, plan->name));
        }
    }
    HDI_TRY(plan_appends(plan, error));
    for (unsigned i = 0; i < p->scratch_count; i++)
        if (p->scratch_sizes[i] == 0 || p->scratch_sizes[i] > HDI_SIZE_LIMIT)
            return hdi_fail(error, p->scratch_sizes[i] ? HD_ELIMIT : HD_EINVAL,
                            HDI_PASS "scratch %u has %llu bytes; give 1 to "
                                     "2^48",
                            HDI_PASS_OF(plan->where, plan->name), i,
                            (unsigned long long)p->scratch_sizes[i]);
    return HD_OK;
}
