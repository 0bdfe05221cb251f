// The builder: passes, and the edges that program order gives them. As in
// build.c, a failed call leaves no trace.
#include "graph/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

enum {
    FIRST_SLOTS = 64 // of the table of kernels
};

static hd_status no_memory(struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM, "no memory for the graph");
}

// Kernels ---------------------------------------------------------------------

static bool same_kernel(const struct hdi_kernel_use *use,
                        const struct hd_kernel_ref *ref)
{
    if (ref->kernel || !use->path)
        return use->kernel == ref->kernel && !use->path == !!ref->kernel;
    return strcmp(use->name, ref->name) == 0 &&
           strcmp(use->path, ref->path) == 0 &&
           strcmp(use->options, ref->options ? ref->options : "") == 0 &&
           strcmp(use->with, ref->with ? ref->with : "") == 0;
}

static uint64_t hash_kernel(const struct hd_kernel_ref *ref)
{
    if (ref->kernel) {
        uint64_t address = (uint64_t)(uintptr_t)ref->kernel;
        return address * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    }
    uint64_t h = hdi_graph_hash(HDI_HASH, ref->name);
    h = hdi_graph_hash(h, ref->path);
    h = ref->with ? hdi_graph_hash(h, ref->with) : h;
    return ref->options ? hdi_graph_hash(h, ref->options) : h;
}

static uint64_t hash_use(const struct hdi_kernel_use *use)
{
    return hash_kernel(
        &(struct hd_kernel_ref){.kernel = use->path ? NULL : use->kernel,
                                .path = use->path,
                                .name = use->name,
                                .options = use->options,
                                .with = use->with});
}

static bool grow_slots(struct hd_graph *graph)
{
    uint32_t count =
        graph->kernel_slots.count ? graph->kernel_slots.count * 2 : FIRST_SLOTS;
    uint32_t *slots = malloc(count * sizeof(*slots));
    if (!slots)
        return false;

    memset(slots, 0xff, count * sizeof(*slots));
    for (uint32_t i = 0; i < graph->kernels.count; i++) {
        uint64_t slot = hash_use(&graph->kernels.at[i]);
        while (slots[slot % count] != HDI_NONE)
            slot++;
        slots[slot % count] = i;
    }
    free(graph->kernel_slots.at);
    graph->kernel_slots.at = slots;
    graph->kernel_slots.count = count;
    return true;
}

// Index of the one hdi_kernel_use of this kernel, or HDI_NONE: no memory.
static uint32_t find_kernel(struct hd_graph *graph,
                            const struct hd_kernel_ref *ref)
{
    if (graph->kernels.count * 2 >= graph->kernel_slots.count &&
        !grow_slots(graph))
        return HDI_NONE;

    uint32_t count = graph->kernel_slots.count;
    uint64_t slot = hash_kernel(ref);
    for (;; slot++) {
        uint32_t index = graph->kernel_slots.at[slot % count];
        if (index == HDI_NONE)
            break;
        if (same_kernel(&graph->kernels.at[index], ref))
            return index;
    }

    struct hdi_kernel_use use = {.kernel = ref->kernel};
    if (!ref->kernel) {
        use.path = hdi_graph_string(graph, ref->path);
        use.name = hdi_graph_string(graph, ref->name);
        use.options = hdi_graph_string(graph, ref->options);
        use.with = hdi_graph_string(graph, ref->with);
        if (!use.path || !use.name || !use.options || !use.with)
            return HDI_NONE;
    }
    if (!HDI_ROOM(graph->kernels, 1))
        return HDI_NONE;
    graph->kernel_slots.at[slot % count] = graph->kernels.count;
    graph->kernels.at[graph->kernels.count] = use;
    return graph->kernels.count++;
}

// Passes ----------------------------------------------------------------------

// What a pass will add, found out before anything changes.
struct plan {
    const struct hd_pass_params *params;
    const char *name, *where; // for messages; never NULL
    uint32_t access_count;    // put behind graph->accesses
    uint64_t edges, readers, args, values;
    uint64_t work_items;
};

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
        plan->edges += 1 + r->reader_count;
        plan->readers++;
    }
    struct hdi_access *access = &graph->accesses.at[r->access];
    if (writes) {
        access->writes = true;
        access->creates = r->versions == 0;
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

static hd_status plan_accesses(struct hd_graph *graph, struct plan *plan,
                               struct hd_error *error)
{
    const struct hd_pass_params *p = plan->params;

    if (!HDI_ROOM(graph->accesses, (uint64_t)p->read_count + p->write_count))
        return no_memory(error);
    graph->stamp++;
    for (unsigned i = 0; i < p->read_count; i++)
        HDI_TRY(plan_access(graph, plan, p->reads[i], false, error));
    for (unsigned i = 0; i < p->write_count; i++)
        HDI_TRY(plan_access(graph, plan, p->writes[i], true, error));
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
    case HD_PASS_RESOURCE:
        if (!planned(graph, arg->resource))
            return hdi_fail(error, HD_EINVAL,
                            HDI_PASS "argument %u is resource '%s', which the "
                                     "pass neither reads nor writes; name it "
                                     "in one of the two",
                            HDI_PASS_OF(plan->where, plan->name), index + 1,
                            name_of(graph, arg->resource));
        break;
    case HD_PASS_LOCAL:
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

    uint64_t items = work_items(&c->range);
    if (__builtin_add_overflow(plan->work_items, items, &plan->work_items))
        plan->work_items = UINT64_MAX;
    return HD_OK;
}

static hd_status plan_transfer(struct hd_graph *graph, struct plan *plan,
                               const struct hd_command *c,
                               struct hd_error *error)
{
    const char *what = c->is == HD_COPY ? "copies to" : "clears";
    const struct hdi_access *to = planned(graph, c->to);
    if (!to || !to->writes)
        return hdi_fail(error, HD_EINVAL,
                        HDI_PASS "it %s resource '%s', which it does not write",
                        HDI_PASS_OF(plan->where, plan->name), what,
                        name_of(graph, c->to));
    if (c->is == HD_CLEAR)
        return HD_OK;

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
    if (a->size != b->size)
        return hdi_fail(error, HD_EGRAPH,
                        HDI_PASS "it copies '%s' (%llu bytes) to '%s' (%llu "
                                 "bytes); they must be of the same size",
                        HDI_PASS_OF(plan->where, plan->name), a->name,
                        (unsigned long long)a->size, b->name,
                        (unsigned long long)b->size);
    return HD_OK;
}

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
            HDI_TRY(plan_transfer(graph, plan, c, error));
            break;
        default:
            return hdi_fail(error, HD_EINVAL, HDI_PASS "unknown command",
                            HDI_PASS_OF(plan->where, plan->name));
        }
    }
    for (unsigned i = 0; i < p->scratch_count; i++)
        if (p->scratch_sizes[i] == 0 || p->scratch_sizes[i] > HDI_SIZE_LIMIT)
            return hdi_fail(error, p->scratch_sizes[i] ? HD_ELIMIT : HD_EINVAL,
                            HDI_PASS "scratch %u has %llu bytes; give 1 to "
                                     "2^48",
                            HDI_PASS_OF(plan->where, plan->name), i,
                            (unsigned long long)p->scratch_sizes[i]);
    return HD_OK;
}

static uint32_t keep_value(struct hd_graph *graph, const void *value,
                           uint64_t size)
{
    uint32_t index = graph->values.count;
    memcpy(graph->values.at + index, value, size);
    graph->values.count += (uint32_t)hdi_round_up(size, 16);
    return index;
}

static void add_arg(struct hd_graph *graph, const struct hd_pass_arg *arg)
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
    }
    graph->args.at[graph->args.count++] = a;
}

static void add_command(struct hd_graph *graph, const struct hd_command *c,
                        uint32_t kernel)
{
    struct hdi_command *command = &graph->commands.at[graph->commands.count++];
    *command = (struct hdi_command){
        .is = (uint8_t)c->is, .kernel = kernel, .args = graph->args.count};

    if (c->is == HD_DISPATCH) {
        command->arg_count = c->arg_count;
        command->range = c->range;
        for (unsigned i = 0; i < c->arg_count; i++)
            add_arg(graph, &c->args[i]);
        return;
    }
    command->from = c->is == HD_COPY ? c->from - 1 : HDI_NONE;
    command->to = c->to - 1;
}

static void add_edge(struct hd_graph *graph, uint32_t from, uint32_t to,
                     enum hdi_edge_kind kind)
{
    if (from == HDI_NONE || graph->passes.at[from].stamp == to + 1)
        return;
    graph->passes.at[from].stamp = to + 1;
    graph->edges.at[graph->edges.count++] =
        (struct hdi_edge){.from = from, .to = to, .kind = kind};
}

// Edges first for what is read: of two reasons for one edge, the stronger one
// is shown.
static void add_edges(struct hd_graph *graph, const struct hdi_pass *pass,
                      uint32_t index)
{
    if (pass->access_count == 0)
        return;

    const struct hdi_access *accesses = &graph->accesses.at[pass->accesses];

    for (uint32_t i = 0; i < pass->access_count; i++)
        if (accesses[i].reads)
            add_edge(graph, graph->resources.at[accesses[i].resource].writer,
                     index, HDI_EDGE_READ);
    for (uint32_t i = 0; i < pass->access_count; i++) {
        struct hdi_resource *r = &graph->resources.at[accesses[i].resource];
        r->users++;
        if (!accesses[i].writes) {
            graph->readers.at[graph->readers.count] =
                (struct hdi_reader){.pass = index, .next = r->readers};
            r->readers = graph->readers.count++;
            r->reader_count++;
            continue;
        }
        for (uint32_t n = r->readers; n != HDI_NONE;
             n = graph->readers.at[n].next)
            add_edge(graph, graph->readers.at[n].pass, index,
                     HDI_EDGE_OVERWRITE);
        add_edge(graph, r->writer, index, HDI_EDGE_WRITE);
        r->readers = HDI_NONE;
        r->reader_count = 0;
        r->writer = index;
        r->versions++;
    }
}

static bool make_room(struct hd_graph *graph, const struct plan *plan)
{
    return HDI_ROOM(graph->passes, 1) && HDI_ROOM(graph->args, plan->args) &&
           HDI_ROOM(graph->values, plan->values) &&
           HDI_ROOM(graph->edges, plan->edges) &&
           HDI_ROOM(graph->readers, plan->readers) &&
           HDI_ROOM(graph->scratch, plan->params->scratch_count) &&
           HDI_ROOM(graph->commands, plan->params->command_count);
}

hd_status hd_graph_pass(struct hd_graph *graph,
                        const struct hd_pass_params *params, hd_pass *pass,
                        struct hd_error *error)
{
    if (!graph || !params || !pass || (params->read_count && !params->reads) ||
        (params->write_count && !params->writes) ||
        (params->command_count && !params->commands) ||
        (params->scratch_count && !params->scratch_sizes))
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_pass() takes a graph, parameters whose lists "
                        "are there, and a place for the handle");

    struct plan plan = {.params = params,
                        .name = params->name ? params->name : "",
                        .where = params->where ? params->where : ""};
    if ((unsigned)params->priority > HD_PRIORITY_LOW)
        return hdi_fail(error, HD_EINVAL,
                        "%s%spass '%s': %d is no priority; see enum "
                        "hd_priority",
                        HDI_PASS_OF(plan.where, plan.name),
                        (int)params->priority);
    HDI_TRY(plan_accesses(graph, &plan, error));
    HDI_TRY(plan_commands(graph, &plan, error));

    struct hdi_pass p = {
        .name = hdi_graph_string(graph, params->name),
        .where = hdi_graph_string(graph, params->where),
        .accesses = graph->accesses.count,
        .access_count = plan.access_count,
        .commands = graph->commands.count,
        .command_count = params->command_count,
        .scratch = graph->scratch.count,
        .scratch_count = params->scratch_count,
        .work_items = plan.work_items,
        .priority = params->priority,
    };
    if (!p.name || !p.where || !make_room(graph, &plan))
        return no_memory(error);
    // A kernel that only a failed call names is never built.
    for (unsigned i = 0; i < params->command_count; i++)
        if (params->commands[i].is == HD_DISPATCH &&
            find_kernel(graph, &params->commands[i].kernel) == HDI_NONE)
            return no_memory(error);

    hdi_graph_unprepare(graph);
    uint32_t index = graph->passes.count++;
    graph->passes.at[index] = p;
    graph->accesses.count += plan.access_count;
    for (unsigned i = 0; i < params->scratch_count; i++)
        graph->scratch.at[graph->scratch.count++] =
            (struct hdi_scratch){.size = params->scratch_sizes[i]};
    for (unsigned i = 0; i < params->command_count; i++) {
        const struct hd_command *c = &params->commands[i];
        add_command(graph, c,
                    c->is == HD_DISPATCH ? find_kernel(graph, &c->kernel)
                                         : HDI_NONE);
    }
    add_edges(graph, &graph->passes.at[index], index);
    *pass = index + 1;
    return HD_OK;
}
