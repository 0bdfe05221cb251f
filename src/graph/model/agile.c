// Passes over fields: the graph's side of field/. All processes build the same
// graph and begin these passes in program order (define/link.c), so each call
// below that is collective meets its counterparts.
#include "graph/model/agile.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "field/cluster/cluster.h"
#include "field/forall/kernel.h"
#include "field/forall/runner.h"
#include "field/map/map.h"
#include "graph/model/compact.h"
#include "launch/memory/spread.h"

// Building --------------------------------------------------------------------

// The cluster is the caller's and outlives the graph.
hd_status hd_graph_cluster(struct hd_graph *graph, struct hd_cluster *cluster,
                           struct hd_error *error)
{
    if (!graph || !cluster)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_cluster() takes a graph and a cluster");
    if (graph->cluster && graph->cluster != cluster)
        return hdi_fail(error, HD_EINVAL,
                        "the graph has a cluster already: make another graph");
    HDI_TRY(hdi_graph_expand(graph, error));
    graph->cluster = cluster;
    return HD_OK;
}

// Axes of a shape go from the fastest on, those of a map from the slowest. Each
// element has to have an owner: the kernel would leave it unwritten.
static hd_status check_map(const struct hd_graph *graph, const char *name,
                           const struct hd_shape *shape,
                           const struct hd_map *map, struct hd_error *error)
{
    const struct hd_grid *grid = hd_map_grid(map);
    int64_t owned = 0;

    if (grid->rank != shape->axes)
        return hdi_fail(
            error, HD_EINVAL, "field '%s' has %u ax%s, its map has %u", name,
            shape->axes, shape->axes == 1 ? "is" : "es", grid->rank);
    for (unsigned i = 0; i < grid->rank; i++)
        if (grid->offset[i] != 0 || map->stride[i] != 1 ||
            (uint64_t)grid->extent[i] != shape->extent[grid->rank - 1 - i])
            return hdi_fail(
                error, HD_EINVAL,
                "field '%s': axis %u of the map has %lld indices "
                "from %lld on, not %llu from 0 on (the axes of a "
                "map go backwards: rows, columns)",
                name, i, (long long)(grid->extent[i] / map->stride[i]),
                (long long)grid->offset[i],
                (unsigned long long)shape->extent[grid->rank - 1 - i]);
    if (hd_map_nodes(map) > hd_cluster_nodes(graph->cluster))
        return hdi_fail(error, HD_EINVAL,
                        "field '%s': its map is for %u nodes, and there %s %u",
                        name, hd_map_nodes(map),
                        hd_cluster_nodes(graph->cluster) == 1 ? "is" : "are",
                        hd_cluster_nodes(graph->cluster));
    for (uint32_t n = 0; n < hd_map_nodes(map); n++)
        owned += hd_map_size(map, n);
    if (owned != hd_grid_size(grid))
        return hdi_fail(error, HD_EINVAL,
                        "field '%s': nobody owns some of its elements", name);
    return HD_OK;
}

// The resource first: if that fails no hold of the map is left behind.
hd_status hd_graph_field(struct hd_graph *graph, const char *name,
                         const struct hd_shape *shape, const struct hd_map *map,
                         const char *where, hd_resource *resource,
                         struct hd_error *error)
{
    if (!graph || !name || !shape || !map || !resource)
        return hdi_fail(error, HD_EINVAL,
                        "hd_graph_field() takes a graph, a name, a shape, a "
                        "map and a place for the handle");
    if (!graph->cluster)
        return hdi_fail(error, HD_EINVAL,
                        "field '%s': there are no nodes to lay it on; see "
                        "hd_graph_cluster()",
                        name);
    HDI_TRY(check_map(graph, name, shape, map, error));
    HDI_TRY(hd_graph_resource(graph, name, shape, where, resource, error));
    hdi_graph_find(graph, *resource)->map = hdi_map_hold(map);
    return HD_OK;
}

// Checking --------------------------------------------------------------------

// While the pass is being planned, when the access of each of its resources is
// known (pass.c).
static bool writes(const struct hd_graph *graph, const struct hdi_resource *r)
{
    return graph->accesses.at[r->access].writes;
}

// `*output` is the one field that the kernel writes, as soon as it is found:
// work-items run where their element of it lies.
static hd_status check_arg(struct hd_graph *graph, unsigned index,
                           const struct hd_pass_arg *arg,
                           const struct hdi_resource **output,
                           struct hd_error *error)
{
    const struct hdi_resource *r = NULL;

    if (arg->is == HD_PASS_RESOURCE)
        r = hdi_graph_find(graph, arg->resource);
    if (arg->is == HD_PASS_IMAGE)
        return hdi_fail(error, HD_EINVAL,
                        "argument %u: a kernel over fields has no images",
                        index + 1);
    if (arg->is == HD_PASS_SCRATCH)
        return hdi_fail(error, HD_EINVAL,
                        "argument %u: scratch memory cannot be shared by "
                        "nodes; a kernel over fields has none",
                        index + 1);
    if (!r || !writes(graph, r))
        return HD_OK;
    if (!r->map)
        return hdi_fail(error, HD_EINVAL,
                        "argument %u: a kernel over fields writes a field, and "
                        "'%s' is none",
                        index + 1, r->name);
    if (*output)
        return hdi_fail(error, HD_EINVAL,
                        "argument %u: a kernel over fields writes one of them, "
                        "once: it writes '%s' already",
                        index + 1, (*output)->name);
    *output = r;
    return HD_OK;
}

// A dispatch of the pass that has no field is an ordinary one.
static hd_status check_dispatch(struct hd_graph *graph,
                                const struct hd_command *c,
                                struct hd_error *error)
{
    const struct hdi_resource *output = NULL;
    bool any = false;

    for (unsigned i = 0; i < c->arg_count; i++) {
        const struct hd_pass_arg *arg = &c->args[i];
        const struct hdi_resource *r = hdi_graph_find(graph, arg->resource);

        if (arg->is == HD_PASS_IMAGE && r->map)
            return hdi_fail(error, HD_EINVAL,
                            "argument %u: field '%s' cannot be an image", i + 1,
                            r->name);
        any = any || (arg->is == HD_PASS_RESOURCE && r->map);
    }
    if (!any)
        return HD_OK;
    for (unsigned i = 0; i < c->arg_count; i++)
        HDI_TRY(check_arg(graph, i, &c->args[i], &output, error));
    if (!output)
        return hdi_fail(error, HD_EINVAL,
                        "a kernel over fields writes one of them");
    return hdi_forall_check_range(output->map, &c->range, output->name, error);
}

// As a whole only: a part would be a redistribution of its own.
static hd_status check_transfer(struct hd_graph *graph,
                                const struct hd_command *c,
                                struct hd_error *error)
{
    const struct hdi_resource *to = hdi_graph_find(graph, c->to);
    const struct hdi_resource *from =
        c->is == HD_COPY ? hdi_graph_find(graph, c->from) : to;

    if (!to->map && !from->map)
        return HD_OK;
    if (c->region.count[0])
        return hdi_fail(error, HD_EINVAL,
                        "field '%s' is copied, cleared and filled as a whole",
                        to->map ? to->name : from->name);
    if (to->shape.axes != from->shape.axes ||
        memcmp(to->shape.extent, from->shape.extent,
               sizeof(to->shape.extent)) != 0 ||
        to->type->size != from->type->size)
        return hdi_fail(error, HD_EINVAL,
                        "'%s' and '%s' have different extents or elements",
                        from->name, to->name);
    return HD_OK;
}

// Without a cluster there are no fields. After an error the pass is named in
// front of it.
hd_status hdi_agile_check(struct hd_graph *graph,
                          const struct hd_pass_params *params, bool *agile,
                          struct hd_error *error)
{
    const char *where = params->where ? params->where : "";
    hd_status status = HD_OK;

    *agile = false;
    if (!graph->cluster)
        return HD_OK;
    for (unsigned i = 0; i < params->read_count; i++)
        *agile = *agile || hdi_graph_find(graph, params->reads[i])->map;
    for (unsigned i = 0; i < params->write_count; i++)
        *agile = *agile || hdi_graph_find(graph, params->writes[i])->map;
    for (unsigned i = 0; i < params->overwrite_count; i++)
        *agile = *agile || hdi_graph_find(graph, params->overwrites[i])->map;
    for (unsigned i = 0; *agile && status == HD_OK && i < params->command_count;
         i++) {
        const struct hd_command *c = &params->commands[i];

        if (c->is == HD_DISPATCH)
            status = check_dispatch(graph, c, error);
        else if (c->is != HD_SYNC && c->is != HD_CALL)
            status = check_transfer(graph, c, error);
    }
    if (status != HD_OK)
        hdi_prefix_error(error, "%s%spass '%s'",
                         HDI_PASS_OF(where, params->name ? params->name : ""));
    return status;
}

// Running ---------------------------------------------------------------------

bool hdi_agile_is_over(const struct hd_graph *graph,
                       const struct hdi_command *command)
{
    if (command->is != HD_DISPATCH)
        return graph->resources.at[command->to].map ||
               (command->is == HD_COPY &&
                graph->resources.at[command->from].map);
    for (uint32_t i = 0; i < command->arg_count; i++) {
        const struct hdi_argument *a = &graph->args.at[command->args + i];

        if (a->is == HD_PASS_RESOURCE && graph->resources.at[a->index].map)
            return true;
    }
    return false;
}

hd_status hdi_agile_agree(struct hd_graph *graph, uint32_t pass,
                          hd_status status, struct hd_error *error)
{
    status = hdi_cluster_agree(graph->cluster, "a pass over fields", pass,
                               status, error);
    graph->parted = status != HD_OK;
    return status;
}

// What became of a collective call of a pass, in its turn. Where calls of
// processes differ, others may have no further pass over fields in which they
// would hear of it: nobody waits for them any more. Not of what was started,
// which processes hear of at different passes: the next agreement tells it.
static hd_status outcome(struct hd_graph *graph, hd_status status)
{
    if (status != HD_OK && graph->cluster->differ)
        graph->parted = true;
    return status;
}

// It lasts until hdi_agile_end() or the next run.
hd_status hdi_agile_take(struct hd_graph *graph, uint32_t resource,
                         struct hd_error *error)
{
    struct hdi_resource *r = &graph->resources.at[resource];

    if (r->field)
        return HD_OK;
    hd_status status =
        outcome(graph, hd_field_create(graph->cluster, r->type->size, r->map,
                                       &r->field, error));
    if (status != HD_OK)
        hdi_prefix_error(error, "field '%s'", r->name);
    return status;
}

static const struct hdi_access *access_of(const struct hd_graph *graph,
                                          const struct hdi_pass *pass,
                                          uint32_t resource)
{
    const struct hdi_access *a = graph->accesses.at + pass->accesses;

    while (a->resource != resource)
        a++;
    return a;
}

// The place of a field among the inputs, which it joins if it is new there.
static unsigned input_of(struct hd_input *inputs, unsigned *count,
                         struct hd_field *field)
{
    unsigned i = 0;

    while (i < *count && inputs[i].view.field_ != field)
        i++;
    if (i == *count)
        inputs[(*count)++] =
            (struct hd_input){.view = hd_view_field(field), .footprint = true};
    return i;
}

// `busy` is the time by the clock: helpers on other nodes are not known here.
// `update`: elements keep what is not written.
static hd_status launch(struct hd_graph *graph, struct hdi_pass *pass,
                        const struct hdi_command *command,
                        struct hdi_lane *lane, struct hd_error *error)
{
    uint32_t count = command->arg_count;
    struct hd_input *inputs = calloc(count, sizeof(*inputs));
    struct hd_field_arg *args = calloc(count, sizeof(*args));
    struct hd_forall forall = {.inputs = inputs};
    uint64_t begin = hdi_now();

    if (!inputs || !args) {
        free(inputs);
        free(args);
        hdi_fail(error, HD_ENOMEM, "no memory for arguments");
        if (!lane)
            graph->cluster->latest = 0;
        // The other processes wait in this call.
        return hdi_lane_agree(lane ? lane : &graph->cluster->lanes[0],
                              "hd_forall_kernel()", 0, HD_ENOMEM, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct hdi_argument *a = &graph->args.at[command->args + i];
        bool is_field =
            a->is == HD_PASS_RESOURCE && graph->resources.at[a->index].map;

        args[i] = (struct hd_field_arg){
            .is = HD_FIELD_ARG, .arg = graph->packed[command->args + i]};
        if (!is_field)
            continue;
        const struct hdi_access *access = access_of(graph, pass, a->index);
        struct hd_field *field = graph->resources.at[a->index].field;
        if (access->writes) {
            args[i].is = HD_FIELD_OUTPUT;
            forall.output = field;
            forall.update = access->reads || !access->whole;
        } else {
            args[i].is = HD_FIELD_INPUT;
            args[i].input = input_of(inputs, &forall.input_count, field);
        }
    }
    hd_status status =
        hdi_forall_kernel(graph->context.launcher, lane, &forall,
                          graph->kernels.at[command->kernel].kernel,
                          &command->range, args, count, error);
    atomic_fetch_add_explicit(&pass->busy, hdi_now() - begin,
                              memory_order_relaxed);
    free(inputs);
    free(args);
    return status;
}

hd_status hdi_agile_launch(struct hd_graph *graph, struct hdi_pass *pass,
                           const struct hdi_command *command,
                           struct hd_error *error)
{
    return outcome(graph, launch(graph, pass, command, NULL, error));
}

// An element that is the same everywhere.
struct constant {
    const void *value; // NULL: zeros
    uint32_t size;
};

static void give_constant(void *data, const int64_t *index, void *value)
{
    const struct constant *c = data;

    (void)index;
    if (c->value)
        memcpy(value, c->value, c->size);
    else
        memset(value, 0, c->size);
}

// The memory of a resource that is none of a field, brought home.
static void *address_of(const struct hd_graph *graph,
                        const struct hdi_pass *pass, uint32_t resource)
{
    struct hd_buffer *memory =
        graph->slots.at[access_of(graph, pass, resource)->slot].memory;

    hdi_spread_use_home(memory, 0, memory->size, HDI_USE_WRITE, NULL);
    return memory->address;
}

// Three kinds: from a field to the memory of every process, from such memory to
// a field, or a field made of another or of a constant. Each process writes the
// elements that it owns.
hd_status hdi_agile_transfer(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             const struct hdi_command *command,
                             struct hd_error *error)
{
    const struct hdi_resource *to = &graph->resources.at[command->to];
    struct constant constant = {NULL, to->type->size};
    struct hd_view view;

    if (command->is == HD_PREFETCH)
        return HD_OK;
    if (!graph->context.launcher->device->can.host_memory)
        return hdi_fail(error, HD_ENOTSUP,
                        "fields lie in the memory of processors, and this "
                        "graph runs on %s",
                        graph->context.launcher->device->can.description);
    if (command->is == HD_COPY) {
        const struct hdi_resource *from = &graph->resources.at[command->from];

        if (!to->map)
            return outcome(graph,
                           hd_field_read(from->field,
                                         address_of(graph, pass, command->to),
                                         true, error));
        if (from->map)
            view = hd_view_field(from->field);
        else
            HDI_TRY(hd_view_memory(hd_map_grid(to->map), from->type->size,
                                   address_of(graph, pass, command->from),
                                   false, &view, error));
    } else {
        if (command->is == HD_FILL)
            constant.value = graph->values.at + command->pattern;
        HDI_TRY(hd_view_function(hd_map_grid(to->map), constant.size,
                                 give_constant, &constant, &view, error));
    }
    return outcome(graph, hd_field_assign(to->field, &view, error));
}

// Only where the transport may be called by another thread meanwhile.
static bool may_start(const struct hd_graph *graph,
                      const struct hdi_command *command)
{
    const struct hdi_resource *r = graph->resources.at;

    if (!graph->context.launcher->device->can.host_memory)
        return false;
    return command->is == HD_DISPATCH
               ? hdi_agile_is_over(graph, command) &&
                     hdi_cluster_has_lanes(graph->cluster)
               : command->is == HD_COPY && r[command->to].map &&
                     r[command->from].map && graph->cluster->transport->threads;
}

// A kernel that nothing may overlap is faster on the worker that is there.
bool hdi_agile_starts(const struct hd_graph *graph, const struct hdi_pass *pass,
                      const struct hdi_command *command)
{
    return may_start(graph, command) &&
           (command->is != HD_DISPATCH || pass->turn != HDI_NONE);
}

// Memory that is no field would be used after the turn was given.
bool hdi_agile_only_starts(const struct hd_graph *graph,
                           const struct hdi_pass *pass)
{
    bool only = graph->context.launcher && !pass->syncs;

    for (uint32_t i = 0; only && i < pass->access_count; i++)
        only =
            graph->resources.at[graph->accesses.at[pass->accesses + i].resource]
                .map;
    for (uint32_t i = 0; only && i < pass->command_count; i++)
        only = may_start(graph, &graph->commands.at[pass->commands + i]);
    return only && pass->command_count > 0;
}

// By the runner. The task stays at the command until its event has ended.
static hd_status compute(void *data, struct hdi_lane *lane, hd_status before,
                         struct hd_error *error)
{
    const struct hdi_task *task = data;
    struct hd_graph *graph = task->graph;
    struct hdi_pass *pass = &graph->passes.at[task->pass];

    (void)before; // it comes after nothing
    return launch(graph, pass,
                  &graph->commands.at[pass->commands + task->ended], lane,
                  error);
}

hd_status hdi_agile_start(struct hdi_task *task,
                          const struct hdi_command *command,
                          struct hd_error *error)
{
    struct hd_graph *graph = task->graph;
    struct hd_pool *pool = graph->context.launcher->pool;

    if (command->is == HD_DISPATCH) {
        const struct hdi_forall_job job = {
            .call = "hd_forall_kernel()", .function = compute, .data = task};

        return outcome(graph, hdi_forall_start(graph->cluster, pool, NULL, &job,
                                               HD_OK, &task->event, error));
    }

    const struct hdi_pass *pass = &graph->passes.at[task->pass];
    struct hd_view view =
        hd_view_field(graph->resources.at[command->from].field);
    const struct hd_start start = {.priority = (enum hd_priority)pass->priority,
                                   .group = &graph->group};
    return hd_field_assign_start(pool, &start,
                                 graph->resources.at[command->to].field, &view,
                                 &task->event, error);
}

// In the same order on all processes, as destroying is collective: whether the
// pass has ended well here or not, if only it began, which all have agreed on.
// A pass writes `parted` in its turn, and one that fields go with keeps that
// until it has ended: nobody writes it now. Nothing goes where later runs may
// go on.
void hdi_agile_end(struct hd_graph *graph, const struct hdi_pass *pass)
{
    struct hdi_resource *r;

    if (pass->gone == HDI_NONE || graph->keeps_all || graph->parted)
        return;
    for (uint32_t i = pass->gone; i != HDI_NONE; i = r->next_gone) {
        r = &graph->resources.at[i];
        hd_field_destroy(r->field);
        r->field = NULL;
    }
}

// In the order of resources, for the same reason.
void hdi_agile_release(struct hd_graph *graph)
{
    for (uint32_t i = 0; graph->cluster && i < graph->resources.count; i++) {
        hd_field_destroy(graph->resources.at[i].field);
        graph->resources.at[i].field = NULL;
    }
}

void hdi_agile_forget(struct hd_graph *graph)
{
    for (uint32_t i = 0; i < graph->resources.count; i++)
        hd_map_destroy(graph->resources.at[i].map);
}
