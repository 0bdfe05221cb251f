// The builder: passes, and the versions that program order gives them. As in
// build.c, a failed call leaves no trace.
#include <string.h>

#include "backend/list.h"
#include "base/error.h"
#include "base/memory.h"
#include "graph/define/plan.h"
#include "graph/model/agile.h"
#include "graph/model/compact.h"

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
        hdi_plan_format(graph->resources.at[a.index].type, arg, &a.size);
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
static bool make_room(struct hd_graph *graph, const struct hdi_pass_plan *plan)
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
                              const struct hdi_pass_plan *plan,
                              uint64_t *devices, struct hd_error *error)
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

    struct hdi_pass_plan plan = {.params = params,
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
    HDI_TRY(hdi_plan_accesses(graph, &plan, error));
    HDI_TRY(hdi_plan_commands(graph, &plan, error));
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
        appends += hdi_takes_appends(c);
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
