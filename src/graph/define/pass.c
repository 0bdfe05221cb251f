// The builder: passes, and the versions that program order gives them. As in
// build.c, a failed call leaves no trace.
#include "graph/model/layout.h"
#include "graph/model/model.h"

#include <stdlib.h>
#include <string.h>

#include "backend/list.h"
#include "base/error.h"
#include "base/memory.h"
#include "graph/model/agile.h"
#include "graph/model/compact.h"

// Passes ----------------------------------------------------------------------

// What a pass will add, found out before anything changes.
//
// Lives during one call of hdi_graph_add_pass(). `args` and `values` are what
// commands will add; values in [bytes], each rounded up to 16. `work_items` of
// all dispatches that are not appended; UINT64_MAX: more than can be counted.
//
// A call goes through these steps:
//
//     plan_accesses   accesses, behind the end of graph->accesses
//     plan_commands   checked; arguments and values are counted
//     make_room       all memory that is still needed
//     ------------------------------------------------ nothing fails any more
//     add_command     commands, arguments and values are put in
//     add_versions    resources have a new writer, and one more user
//
// Accesses are the exception: they are written in the first step, but count
// only from the last on, so a failed call leaves them behind the end.
struct plan {
    const struct hd_pass_params *params;
    const char *name, *where; // for messages; never NULL
    uint32_t access_count;    // put behind graph->accesses
    uint64_t args, values;
    uint64_t work_items;
    unsigned appends; // commands that append others
};

// One access for each resource, however often the pass names it: `stamp` of a
// resource says that this pass has one already, and `access` where. So a pass
// of many resources is planned without searching. Stamps of failed calls are
// never met again, as each try takes a new one.
static hd_status plan_access(struct hd_graph *graph, struct plan *plan,
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
static hd_status plan_accesses(struct hd_graph *graph, struct plan *plan,
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

// The access of a resource that the pass being planned has, or NULL.
static const struct hdi_access *planned(struct hd_graph *graph,
                                        hd_resource resource)
{
    const struct hdi_resource *r = hdi_graph_find(graph, resource);
    if (!r || r->stamp != graph->stamp)
        return NULL;
    return &graph->accesses.at[r->access];
}

static const char *name_of(struct hd_graph *graph, hd_resource resource)
{
    const struct hdi_resource *r = hdi_graph_find(graph, resource);
    return r ? r->name : "(none)";
}

// What the elements of a resource are as texels.
//
// `*format` is the channel order in the upper half and the channel type in the
// lower one, as struct hdi_argument keeps it. What the argument does not say
// follows from the element: as many channels as components, normalised integers
// for 8 and 16 bits. The tables are 0 where nothing fits, which has no texel
// size.
static bool find_format(const struct hdi_type *type,
                        const struct hd_pass_arg *arg, uint64_t *format)
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

static hd_status plan_image(struct hd_graph *graph, const struct plan *plan,
                            unsigned index, const struct hd_pass_arg *arg,
                            struct hd_error *error)
{
    uint64_t format;
    const struct hdi_resource *r = hdi_graph_find(graph, arg->resource);

    if (find_format(r->type, arg, &format))
        return HD_OK;
    return hdi_fail(error, HD_EINVAL,
                    HDI_PASS "argument %u: elements of type '%s' of resource "
                             "'%s' are no texels of that format",
                    HDI_PASS_OF(plan->where, plan->name), index + 1,
                    r->type->name, r->name);
}

// Whether the kernel wants such an argument is not known yet: it is built by
// preparing, which checks it (prepare.c).
static hd_status plan_arg(struct hd_graph *graph, struct plan *plan,
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
        if (!planned(graph, arg->resource))
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u is resource '%s', which the "
                                     "pass neither reads nor writes; name it "
                                     "in one of the two",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            name_of(graph, arg->resource));
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

static hd_status plan_dispatch(struct hd_graph *graph, struct plan *plan,
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
static bool takes_appends(const struct hd_command *c)
{
    for (unsigned i = 0; c->is == HD_DISPATCH && i < c->arg_count; i++)
        if (c->args[i].is == HD_PASS_APPENDS)
            return true;
    return false;
}

// The range of an appended dispatch is the largest that may be asked for:
// requests name work-groups of it, so the size of these has to be stated.
static hd_status plan_appended(const struct plan *plan, unsigned index,
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
static hd_status plan_appends(struct plan *plan, struct hd_error *error)
{
    const struct hd_pass_params *p = plan->params;
    unsigned appended = 0, begin = 0;

    for (unsigned i = 0; i < p->command_count; i++) {
        bool appends = takes_appends(&p->commands[i]);
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

static const char *transfer_word(enum hd_command_is is)
{
    switch (is) {
    case HD_COPY:
        return "copies to";
    case HD_CLEAR:
        return "clears";
    case HD_FILL:
        return "fills";
    case HD_PREFETCH:
        return "prefetches";
    case HD_LAYOUT:
        return "lays out";
    default:
        return "flushes";
    }
}

// The region in one of the resources of a transfer.
//
// A count of 0 along a later axis is 1. The comparison is made by subtraction,
// as the sum could overflow.
static hd_status check_region(const struct plan *plan,
                              const struct hd_command *c,
                              const struct hdi_resource *r,
                              const uint64_t at[3], struct hd_error *error)
{
    for (int i = 0; i < 3; i++) {
        uint64_t extent = (unsigned)i < r->shape.axes ? r->shape.extent[i] : 1;
        uint64_t count = c->region.count[i] ? c->region.count[i] : 1;
        if (at[i] > extent || count > extent - at[i])
            return hdi_fail(error, HD_EGRAPH,
                            HDI_PASS "it %s %llu elements from %llu on of "
                                     "axis %d of '%s', which has %llu",
                            HDI_PASS_OF(plan->where, plan->name),
                            c->is == HD_COPY ? "copies" : transfer_word(c->is),
                            (unsigned long long)count,
                            (unsigned long long)at[i], i + 1, r->name,
                            (unsigned long long)extent);
    }
    return HD_OK;
}

// It is converted here only to see that it can be; add_command() does it again,
// into the values of the graph, when nothing can fail any more. Room is made
// for the largest type, which needs no second look at it.
static hd_status plan_pattern(struct hd_graph *graph, struct plan *plan,
                              const struct hd_command *c,
                              struct hd_error *error)
{
    char problem[160];
    unsigned char value[HDI_VALUE_SIZE];
    const struct hdi_resource *r = hdi_graph_find(graph, c->to);

    if (!c->pattern || c->pattern_count < 1 || c->pattern_count > 16)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it fills '%s' with %u numbers; give 1, or as "
                                 "many as an element has components",
                        HDI_PASS_OF(plan->where, plan->name), r->name,
                        c->pattern_count);
    if (hdi_type_convert(r->type, c->pattern, c->pattern_count, value,
                         problem) != HD_OK)
        return hdi_fail(error, HD_EGRAPH, HDI_PASS "it fills '%s': %s",
                        HDI_PASS_OF(plan->where, plan->name), r->name, problem);
    plan->values += HDI_VALUE_SIZE;
    return HD_OK;
}

// Without a region all bytes are copied, whatever the types are; with one,
// elements are, which must be of one size. The region of the target is checked
// by plan_transfer().
static hd_status plan_copy(struct hd_graph *graph, const struct plan *plan,
                           const struct hd_command *c, struct hd_error *error)
{
    if (!planned(graph, c->from))
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it copies resource '%s', which it neither "
                                 "reads nor writes",
                        HDI_PASS_OF(plan->where, plan->name),
                        name_of(graph, c->from));
    const struct hdi_resource *a = hdi_graph_find(graph, c->from);
    const struct hdi_resource *b = hdi_graph_find(graph, c->to);
    if (a == b)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it copies resource '%s' to itself",
                        HDI_PASS_OF(plan->where, plan->name), a->name);
    if (c->region.count[0] == 0 && a->size != b->size)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it copies '%s' (%llu bytes) to '%s' (%llu "
                                 "bytes); they must be of the same size",
                        HDI_PASS_OF(plan->where, plan->name), a->name,
                        (unsigned long long)a->size, b->name,
                        (unsigned long long)b->size);
    if (c->region.count[0] == 0)
        return HD_OK;
    if (a->type->size != b->type->size)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it copies elements of type '%s' of '%s' to "
                                 "elements of type '%s' of '%s'",
                        HDI_PASS_OF(plan->where, plan->name), a->type->name,
                        a->name, b->type->name, b->name);
    return check_region(plan, c, a, c->region.from, error);
}

static hd_status plan_layout(struct hd_graph *graph, const struct plan *plan,
                             const struct hd_command *c, struct hd_error *error)
{
    if (!planned(graph, c->from) || c->from == c->to)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it lays out resource '%s', which it neither "
                                 "reads nor writes, or which is the same",
                        HDI_PASS_OF(plan->where, plan->name),
                        name_of(graph, c->from));
    const struct hdi_resource *a = hdi_graph_find(graph, c->from);
    const struct hdi_resource *b = hdi_graph_find(graph, c->to);
    if (a->map || b->map)
        return hdi_fail(
            error, HD_ENOTSUP, HDI_PASS "it lays out '%s', which is a field",
            HDI_PASS_OF(plan->where, plan->name), a->map ? a->name : b->name);
    if (!hdi_layout_vectors(a, b))
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it lays out '%s' (%s) as '%s' (%s); one has "
                                 "vectors, and the other, with one more axis, "
                                 "a plane for each of their components",
                        HDI_PASS_OF(plan->where, plan->name), a->name,
                        a->type->name, b->name, b->type->name);
    return HD_OK;
}

// The accesses were planned before, so this sees what the pass says it reads
// and writes. Prefetches and flushes change nothing: any access will do, and
// their regions are not looked at.
static hd_status plan_transfer(struct hd_graph *graph, struct plan *plan,
                               const struct hd_command *c,
                               struct hd_error *error)
{
    if (c->is == HD_SYNC)
        return HD_OK;

    bool writes = c->is != HD_PREFETCH && c->is != HD_FLUSH;
    const struct hdi_access *to = planned(graph, c->to);
    if (!to || (writes && !to->writes))
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it %s resource '%s', which it does not %s",
                        HDI_PASS_OF(plan->where, plan->name),
                        transfer_word(c->is), name_of(graph, c->to),
                        writes ? "write" : "use");
    if (c->is == HD_COPY)
        HDI_TRY(plan_copy(graph, plan, c, error));
    if (c->is == HD_LAYOUT)
        return plan_layout(graph, plan, c, error);
    if (c->is == HD_FILL)
        HDI_TRY(plan_pattern(graph, plan, c, error));
    return c->region.count[0] && writes
               ? check_region(plan, c, hdi_graph_find(graph, c->to),
                              c->region.to, error)
               : HD_OK;
}

// Scratch is checked last, though arguments name it: what they name is an
// index, not a size.
static hd_status plan_commands(struct hd_graph *graph, struct plan *plan,
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
            HDI_TRY(plan_transfer(graph, plan, c, error));
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

// The place of the copy [bytes]. The next value begins at a multiple of 16, so
// that it may be loaded as a vector.
static uint32_t keep_value(struct hd_graph *graph, const void *value,
                           uint64_t size)
{
    uint32_t index = graph->values.count;
    memcpy(graph->values.at + index, value, size);
    graph->values.count += (uint32_t)hdi_round_up(size, 16);
    return index;
}

// There is room, and everything was checked. `appends` is the scratch, by its
// number in the pass, that requests of this command go to.
static void add_arg(struct hd_graph *graph, const struct hd_pass_arg *arg,
                    uint32_t appends)
{
    struct hdi_argument a = {.is = (uint8_t)arg->is};

    switch (arg->is) {
    case HD_PASS_NUMBERS:
        a.numbers = (uint8_t)arg->number_count;
        a.index =
            keep_value(graph, arg->numbers, arg->number_count * sizeof(double));
        break;
    case HD_PASS_BYTES:
        a.size = arg->size;
        a.index = keep_value(graph, arg->bytes, arg->size);
        break;
    case HD_PASS_RESOURCE:
        a.index = arg->resource - 1;
        break;
    case HD_PASS_LOCAL:
        a.size = arg->size;
        break;
    case HD_PASS_SCRATCH:
        a.index = arg->scratch;
        break;
    case HD_PASS_IMAGE:
        a.index = arg->resource - 1;
        find_format(graph->resources.at[a.index].type, arg, &a.size);
        break;
    case HD_PASS_SAMPLER:
        a.index = arg->sampler;
        break;
    case HD_PASS_APPENDS:
        a.index = appends;
        break;
    }
    graph->args.at[graph->args.count++] = a;
}

// `appends` is the scratch of the pass that takes the command's requests.
//
// Handles become indices here. A region becomes explicit: all of the resource
// where none is given, and 1 along axes of which nothing is said, so that who
// runs it need not know the defaults. `from` and `to` are HDI_NONE where a
// command other than a dispatch has none.
static void add_command(struct hd_graph *graph, const struct hd_command *c,
                        uint32_t kernel, uint32_t appends)
{
    struct hdi_command *command = &graph->commands.at[graph->commands.count++];
    *command = (struct hdi_command){.is = (uint8_t)c->is,
                                    .appended = c->appended,
                                    .kernel = kernel,
                                    .args = graph->args.count};

    if (c->is == HD_DISPATCH) {
        command->arg_count = c->arg_count;
        command->range = c->range;
        for (unsigned i = 0; i < c->arg_count; i++)
            add_arg(graph, &c->args[i], appends);
        return;
    }
    command->from =
        c->is == HD_COPY || c->is == HD_LAYOUT ? c->from - 1 : HDI_NONE;
    command->to = HDI_NONE;
    if (c->is == HD_SYNC)
        return;
    if (c->is == HD_CALL) {
        command->call.function = c->call;
        command->call.data = c->data;
        return;
    }
    command->to = c->to - 1;
    command->region = c->region;
    const struct hdi_resource *r = &graph->resources.at[command->to];
    bool all = c->region.count[0] == 0 || c->is == HD_LAYOUT;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t extent = i < r->shape.axes ? r->shape.extent[i] : 1;
        if (all)
            command->region.count[i] = extent;
        else if (command->region.count[i] == 0)
            command->region.count[i] = 1;
    }
    if (all && c->is == HD_COPY) {
        command->region = (struct hd_region){.count = {r->size, 1, 1}};
        command->bytewise = true;
    }
    if (c->is == HD_FILL) {
        char problem[160];
        command->pattern = graph->values.count;
        command->pattern_size = r->type->size;
        hdi_type_convert(r->type, c->pattern, c->pattern_count,
                         graph->values.at + graph->values.count, problem);
        graph->values.count += HDI_VALUE_SIZE;
    }
}

// The region lies in the resource, so as many bytes as it has are all of them.
static bool is_all(const struct hd_graph *graph, const struct hdi_command *c)
{
    const struct hdi_resource *r = &graph->resources.at[c->to];
    uint64_t bytes = c->bytewise ? 1 : r->type->size;

    for (int i = 0; i < 3; i++)
        bytes *= c->region.count[i];
    return bytes == r->size;
}

// First commands that set all of a resource leave nothing of what was there,
// unless one before has copied it.
static void mark_whole(struct hd_graph *graph, const struct hdi_pass *pass)
{
    for (uint32_t i = 0; i < pass->command_count; i++) {
        const struct hdi_command *c = &graph->commands.at[pass->commands + i];
        bool copies = c->is == HD_COPY || c->is == HD_LAYOUT;
        struct hdi_access *to;

        if (c->is == HD_DISPATCH || c->is == HD_CALL)
            break;
        if (copies)
            graph->accesses.at[graph->resources.at[c->from].access].copied =
                true;
        if (!copies && c->is != HD_CLEAR && c->is != HD_FILL)
            continue;
        to = &graph->accesses.at[graph->resources.at[c->to].access];
        if (is_all(graph, c) && !to->copied)
            to->whole = true;
    }
}

static void add_versions(struct hd_graph *graph, const struct hdi_pass *pass,
                         uint32_t index)
{
    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_access *a = &graph->accesses.at[pass->accesses + i];
        struct hdi_resource *r = &graph->resources.at[a->resource];
        r->users++;
        if (a->writes) {
            r->writer = index;
            r->versions++;
        }
    }
}

// The last thing that may fail for lack of memory, but for the kernels. In an
// open run arrays may not move, and it fails when they are full.
static bool make_room(struct hd_graph *graph, const struct plan *plan)
{
    return HDI_ROOM(graph->passes, 1) && HDI_ROOM(graph->args, plan->args) &&
           HDI_ROOM(graph->values, plan->values) &&
           HDI_ROOM(graph->scratch,
                    (uint64_t)plan->params->scratch_count + plan->appends) &&
           HDI_ROOM(graph->commands, plan->params->command_count);
}

// Those of a kind; where there are none of it, any will do.
//
// Bits of devices, by their place among the peers of the launcher; 0: any. Of
// devices that are not chosen automatically none is meant.
static hd_status find_devices(const struct hd_graph *graph,
                              const struct plan *plan, uint64_t *devices,
                              struct hd_error *error)
{
    const struct hdi_launcher *l = graph->context.launcher;
    const char *name = plan->params->device;
    bool gpu = name && strcmp(name, "gpu") == 0;

    *devices = 0;
    if (!name)
        return HD_OK;
    if (!gpu && strcmp(name, "cpu") != 0)
        return hdi_fail(error, HD_EINVAL,
                        "%s%spass '%s': \"%s\" is no device; it is \"cpu\" or "
                        "\"gpu\"",
                        HDI_PASS_OF(plan->where, plan->name), name);
    for (unsigned i = 0; l->all && i < l->peers; i++)
        if (l->all[i]->device->can.host_memory != gpu &&
            (l->automatic >> i & 1))
            *devices |= UINT64_C(1) << i;
    return HD_OK;
}

// Lists that are not empty have an address. The only check that the compact
// path shares, see hd_graph_pass().
static bool is_good(const struct hd_pass_params *p)
{
    return p && !(p->read_count && !p->reads) &&
           !(p->write_count && !p->writes) &&
           !(p->overwrite_count && !p->overwrites) &&
           !(p->command_count && !p->commands) &&
           !(p->scratch_count && !p->scratch_sizes);
}

static bool has_arguments(const struct hd_pass_params *p)
{
    for (unsigned i = 0; i < p->command_count; i++)
        if (p->commands[i].is == HD_DISPATCH && p->commands[i].arg_count &&
            !p->commands[i].args)
            return false;
    return true;
}

// Scratch of the pass comes first, then a buffer of requests for each command
// that appends, with room for as many requests as the pass may append in a run.
// Kernels are found before anything changes, as that may need memory; the same
// call finds them again below.
hd_status hdi_graph_add_pass(struct hd_graph *graph,
                             const struct hd_pass_params *params,
                             struct hd_error *error)
{
    if (!is_good(params) || !has_arguments(params))
        return hdi_fail(error, HD_EINVAL,
                        "a pass takes parameters whose lists are there");

    struct plan plan = {.params = params,
                        .name = params->name ? params->name : "",
                        .where = params->where ? params->where : ""};
    if ((unsigned)params->priority > HD_PRIORITY_LOW)
        return hdi_fail(error, HD_EINVAL,
                        "%s%spass '%s': %d is no priority; see enum "
                        "hd_priority",
                        HDI_PASS_OF(plan.where, plan.name),
                        (int)params->priority);
    uint64_t devices;
    uint16_t class_index;
    HDI_TRY(find_devices(graph, &plan, &devices, error));
    HDI_TRY(
        hdi_graph_find_class(graph, params->pass_class, &class_index, error));
    HDI_TRY(plan_accesses(graph, &plan, error));
    HDI_TRY(plan_commands(graph, &plan, error));
    bool agile;
    HDI_TRY(hdi_agile_check(graph, params, &agile, error));
    if (agile && plan.appends > 0)
        return hdi_fail(error, HD_ENOTSUP,
                        HDI_PASS "it uses fields, and appends nothing then",
                        HDI_PASS_OF(plan.where, plan.name));

    struct hdi_pass p = {
        .name = hdi_graph_string(graph, params->name),
        .where = hdi_graph_string(graph, params->where),
        .accesses = graph->accesses.count,
        .access_count = plan.access_count,
        .commands = graph->commands.count,
        .command_count = params->command_count,
        .scratch = graph->scratch.count,
        .scratch_count = params->scratch_count + plan.appends,
        .append_most = params->append_most,
        .work_items = plan.work_items,
        .priority = (uint8_t)params->priority,
        .keeps = params->keep,
        .devices = devices,
        .agile = agile,
        .turn = HDI_NONE,
        .gone = HDI_NONE,
        .class_index = class_index,
    };
    if (graph->open.is && graph->passes.count >= graph->open.limit)
        return hdi_graph_full(graph, error);
    if (!p.name || !p.where || !make_room(graph, &plan))
        return hdi_graph_no_room(graph, error);
    // A kernel that only a failed call names is never built.
    for (unsigned i = 0; i < params->command_count; i++)
        if (params->commands[i].is == HD_DISPATCH &&
            hdi_graph_find_kernel(graph, &params->commands[i].kernel) ==
                HDI_NONE)
            return hdi_graph_no_room(graph, error);

    hdi_graph_unprepare(graph);
    uint32_t index = graph->passes.count++;
    graph->passes.at[index] = p;
    graph->accesses.count += plan.access_count;
    for (unsigned i = 0; i < params->scratch_count; i++)
        graph->scratch.at[graph->scratch.count++] =
            (struct hdi_scratch){.size = params->scratch_sizes[i]};
    for (unsigned i = 0; i < plan.appends; i++)
        graph->scratch.at[graph->scratch.count++] = (struct hdi_scratch){
            .size = sizeof(struct hdi_appends) +
                    params->append_most * sizeof(struct hdi_append),
            .appends = true};
    uint32_t appends = params->scratch_count;
    for (unsigned i = 0; i < params->command_count; i++) {
        const struct hd_command *c = &params->commands[i];
        if (c->is == HD_SYNC)
            graph->passes.at[index].syncs = true;
        add_command(graph, c,
                    c->is == HD_DISPATCH
                        ? hdi_graph_find_kernel(graph, &c->kernel)
                        : HDI_NONE,
                    appends);
        appends += takes_appends(c);
    }
    mark_whole(graph, &graph->passes.at[index]);
    add_versions(graph, &graph->passes.at[index], index);
    return HD_OK;
}

// A handle is the number of the pass, from 1 on, until a pass is inserted
// between others; from then on `pass_of` has the place of each. Room in it is
// made before the pass is added.
hd_status hd_graph_pass(struct hd_graph *graph,
                        const struct hd_pass_params *params, hd_pass *pass,
                        struct hd_error *error)
{
    if (!graph || !pass || !is_good(params))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_pass() takes a graph, parameters whose lists "
                        "are there, and a place for the handle");
    if (hdi_compact_pass(graph, params, pass))
        return HD_OK;
    HDI_TRY(hdi_graph_expand(graph, error));
    if (graph->pass_of.at && !HDI_ROOM(graph->pass_of, 1))
        return hdi_graph_no_room(graph, error);
    HDI_TRY(hdi_graph_add_pass(graph, params, error));
    *pass = graph->passes.count;
    if (graph->pass_of.at) {
        graph->pass_of.at[graph->pass_of.count++] = graph->passes.count - 1;
        *pass = graph->pass_of.count;
    }
    return HD_OK;
}
