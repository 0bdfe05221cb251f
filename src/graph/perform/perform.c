// What a pass does on its worker: take the memory that it is the first to use,
// run its commands one after another, give back what nobody uses any more.
//
// Invariant: all accesses to a slot are ordered by the graph's edges. A pass
// counts its successors down with release and acquire, so plain fields of a
// slot need no other protection.
#include "graph/perform/perform.h"

#include <string.h>

#include "base/error.h"
#include "graph/model/agile.h"
#include "graph/perform/append.h"
#include "graph/perform/keep.h"
#include "launch/memory/image.h"
#include "launch/memory/spread.h"
#include "launch/start/joint.h"

#include "graph/perform/transfer.h"
#include "launch/start/start.h"
#include "steal/event.h"

// Memory ----------------------------------------------------------------------

// Three kinds of memory: ours from the allocator, which goes back there; a part
// of the arena, which stays in the block and only counts less; the caller's,
// which is let go of.
void hdi_graph_slot_release(struct hd_graph *graph, struct hdi_graph_slot *slot)
{
    if (slot->owned)
        hdi_memory_give(&graph->memory, slot->memory);
    else if (slot->memory && slot->part != HDI_NONE)
        hdi_memory_return(&graph->memory, slot->memory->size);
    slot->memory = NULL;
    slot->owned = false;
}

// Of the arena, if it has a part there.
//
// `*used`: it holds what something else left. A part always may.
static hd_status take_part(struct hd_graph *graph, uint32_t part, uint64_t size,
                           struct hd_buffer **memory, bool *used,
                           struct hd_error *error)
{
    if (part == HDI_NONE)
        return hdi_memory_take(&graph->memory, graph->context.launcher, size,
                               memory, used, error);
    *memory = graph->arena.made[part];
    *used = true;
    hdi_memory_borrow(&graph->memory, size);
    return HD_OK;
}

// The memory that the first pass to use a slot needs. An input is copied, so
// that the caller's buffer stays as it is and the next run starts from it.
//
// Plain fields of the slot are set: whoever uses it comes after this pass. What
// an earlier user left is not cleared: a resource has no contents before its
// first write.
static hd_status take_slot(struct hd_graph *graph, struct hdi_graph_slot *slot,
                           struct hd_error *error)
{
    const struct hdi_resource *r = &graph->resources.at[slot->resource];
    bool used;

    hd_status status =
        take_part(graph, slot->part, r->size, &slot->memory, &used, error);

    if (status != HD_OK) {
        hdi_prefix_error(error, "memory for resource '%s' (%llu bytes)",
                         r->name, (unsigned long long)r->size);
        return status;
    }
    slot->owned = slot->part == HDI_NONE;
    if (slot->copies)
        HDI_TRY(hdi_spread_use_home(r->input, 0, r->size, HDI_USE_READ, error));
    if (slot->copies)
        return hdi_transfer_bytes(graph, slot->memory, 0, r->input->address,
                                  r->size, error);
    return HD_OK;
}

// On failure what was taken stays: scratch goes when the pass ends, slots with
// the run. Scratch that was used before is cleared, as programs are promised
// zeros.
static hd_status take_memory(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             struct hd_error *error)
{
    uint32_t index = (uint32_t)(pass - graph->passes.at);

    for (uint32_t i = 0; i < pass->access_count; i++) {
        struct hdi_graph_slot *slot =
            &graph->slots.at[graph->accesses.at[pass->accesses + i].slot];
        if (slot->first == index && !graph->resources.at[slot->resource].map)
            HDI_TRY(take_slot(graph, slot, error));
    }
    for (uint32_t i = 0; i < pass->scratch_count; i++) {
        struct hdi_scratch *s = &graph->scratch.at[pass->scratch + i];
        bool used;
        hd_status status =
            take_part(graph, s->part, s->size, &s->memory, &used, error);
        if (status != HD_OK) {
            hdi_prefix_error(error, "scratch memory (%llu bytes)",
                             (unsigned long long)s->size);
            return status;
        }
        if (used)
            HDI_TRY(
                hdi_transfer_bytes(graph, s->memory, 0, NULL, s->size, error));
    }
    return hdi_append_begin(graph, pass, error);
}

static void give_scratch(struct hd_graph *graph, const struct hdi_pass *pass)
{
    for (uint32_t i = 0; i < pass->scratch_count; i++) {
        struct hdi_scratch *s = &graph->scratch.at[pass->scratch + i];
        if (s->part == HDI_NONE)
            hdi_memory_give(&graph->memory, s->memory);
        else if (s->memory)
            hdi_memory_return(&graph->memory, s->size);
        s->memory = NULL;
    }
}

// Acquire and release: whoever comes last frees what the others used.
void hdi_pass_release(struct hd_graph *graph, const struct hdi_pass *pass)
{
    for (uint32_t i = 0; i < pass->access_count; i++) {
        struct hdi_graph_slot *slot =
            &graph->slots.at[graph->accesses.at[pass->accesses + i].slot];
        if (atomic_fetch_sub_explicit(&slot->left, 1, memory_order_acq_rel) ==
            1)
            hdi_graph_slot_release(graph, slot);
    }
}

// Commands --------------------------------------------------------------------

// The builder has checked that the pass uses the resource.
static struct hd_buffer *memory_of(const struct hd_graph *graph,
                                   const struct hdi_pass *pass,
                                   uint32_t resource)
{
    const struct hdi_access *a = graph->accesses.at + pass->accesses;

    while (a->resource != resource)
        a++;
    return graph->slots.at[a->slot].memory;
}

// A resource as an image, for one dispatch.
//
// Extents of axes that the resource does not have are 1 (build.c). An image of
// the same memory, not a copy.
static hd_status make_image(struct hd_graph *graph, const struct hdi_pass *pass,
                            const struct hdi_argument *a,
                            struct hd_image **image, struct hd_error *error)
{
    static const enum hd_image_kind kinds[] = {HD_IMAGE_1D, HD_IMAGE_2D,
                                               HD_IMAGE_3D};
    const struct hdi_resource *r = &graph->resources.at[a->index];
    struct hd_image_params params = {
        .kind = kinds[r->shape.axes - 1],
        .order = (enum hd_channel_order)(a->size >> 32),
        .type = (enum hd_channel_type)(a->size & UINT32_MAX),
        .width = (uint32_t)r->shape.extent[0],
        .height = (uint32_t)r->shape.extent[1],
        .depth = (uint32_t)r->shape.extent[2],
        .buffer = memory_of(graph, pass, a->index)};

    for (unsigned i = 0; i < r->shape.axes; i++)
        if (r->shape.extent[i] > HD_IMAGE_MAX_EXTENT)
            return hdi_fail(error, HD_ELIMIT,
                            "resource '%s' is too large for an image", r->name);
    return hdi_image_create(graph->context.launcher, &params, image, error);
}

// The buffer that an image has is held by it: it is no other one.
static hd_status fill_image(struct hd_graph *graph, const struct hdi_pass *pass,
                            const struct hdi_argument *a,
                            struct hd_image **kept, struct hd_arg *packed,
                            struct hd_error *error)
{
    struct hd_image *image = kept ? *kept : NULL;

    if (image && image->params.buffer != memory_of(graph, pass, a->index)) {
        hd_image_destroy(image);
        *kept = image = NULL;
    }
    if (!image)
        HDI_TRY(make_image(graph, pass, a, &image, error));
    if (kept)
        *kept = image;
    packed->image = image;
    return HD_OK;
}

static hd_status fill_arg(struct hd_graph *graph, const struct hdi_pass *pass,
                          const struct hdi_argument *a, struct hd_image **kept,
                          struct hd_arg *packed, struct hd_error *error)
{
    switch (a->is) {
    case HD_PASS_RESOURCE:
        packed->buffer = memory_of(graph, pass, a->index);
        return HD_OK;
    case HD_PASS_SCRATCH:
    case HD_PASS_APPENDS:
        packed->buffer = graph->scratch.at[pass->scratch + a->index].memory;
        return HD_OK;
    case HD_PASS_IMAGE:
        return fill_image(graph, pass, a, kept, packed, error);
    default:
        return HD_OK;
    }
}

// Workers alone run the launch, so this one begins it at once, and there is
// nothing to wait for but other workers' ends of it. Else it is for units or
// other devices too, and goes on without a worker.
//
// With neither units (`ports`) nor other devices (`peers`).
static bool runs_here(const struct hd_graph *graph)
{
    const struct hdi_launcher *launcher = graph->context.launcher;

    return !launcher->ports && launcher->peers <= 1;
}

// What a task launches: all work-groups, or a box of them.
struct launch {
    struct hdi_pass *pass;
    const struct hd_kernel *kernel;
    const struct hd_range *range;
    const struct hd_arg *args;
    unsigned arg_count;
    const struct hdi_box *part; // NULL: all
};

// `moved` as hdi_event.bytes.
static void add_cost(struct hdi_pass *pass, uint64_t busy, uint64_t moved)
{
    atomic_fetch_add_explicit(&pass->busy, busy, memory_order_relaxed);
    if (moved & HDI_COUNTED)
        atomic_fetch_add_explicit(&pass->moved, moved & ~HDI_COUNTED,
                                  memory_order_relaxed);
    else
        atomic_store_explicit(&pass->uncounted, true, memory_order_relaxed);
}

// Returns when all work-groups have ended; meanwhile this worker runs some, and
// others steal. `in_row` lets the launch use what the one before has set up.
static hd_status launch_here(struct hd_graph *graph, const struct launch *l,
                             struct hd_error *error)
{
    struct hdi_cost cost = {0};
    _Atomic uint64_t moved = 0;
    const struct hdi_terms terms = {.cancel = &graph->cancel,
                                    .group = &graph->group,
                                    .priority =
                                        (enum hd_priority)l->pass->priority,
                                    .part = l->part,
                                    .in_row = true,
                                    .cost = &cost,
                                    .moved = &moved};
    hd_status status = hdi_launch_with(
        graph->context.launcher,
        &(struct hdi_request){l->kernel, l->range, l->args, l->arg_count},
        &terms, error);

    add_cost(l->pass, atomic_load_explicit(&cost.busy, memory_order_relaxed),
             atomic_load_explicit(&moved, memory_order_relaxed));
    return status;
}

// `*event` is held by the caller; the launch is counted in the group of the
// run, which cancels it too.
static hd_status start_launch(struct hd_graph *graph, const struct launch *l,
                              hd_event *event, struct hd_error *error)
{
    struct hd_box box;
    const struct hd_start start = {.priority =
                                       (enum hd_priority)l->pass->priority,
                                   .group = &graph->group,
                                   .devices = l->pass->devices,
                                   .box = l->part ? &box : NULL};

    if (l->part) {
        memcpy(box.first, l->part->first, sizeof(box.first));
        memcpy(box.count, l->part->count, sizeof(box.count));
    }
    struct hdi_launcher *launcher = graph->context.launcher;
    return launcher->all
               ? hdi_joint_start(launcher, &start,
                                 &(struct hdi_request){l->kernel, l->range,
                                                       l->args, l->arg_count},
                                 event, error)
               : hdi_launch_start(launcher, &start,
                                  &(struct hdi_request){l->kernel, l->range,
                                                        l->args, l->arg_count},
                                  event, error);
}

// Packed arguments are those of the graph, not copies: a pass runs once at a
// time. After a failure `*filled` of them are filled.
hd_status hdi_pass_fill_args(struct hd_graph *graph,
                             const struct hdi_pass *pass,
                             const struct hdi_command *command,
                             struct hd_image **images, uint32_t *filled,
                             struct hd_error *error)
{
    struct hd_arg *packed = graph->packed + command->args;

    for (*filled = 0; *filled < command->arg_count; ++*filled) {
        uint32_t index = command->args + *filled;
        HDI_TRY(fill_arg(graph, pass, &graph->args.at[index],
                         images ? &images[index] : NULL, &packed[*filled],
                         error));
    }
    return HD_OK;
}

void hdi_pass_empty_args(struct hd_graph *graph,
                         const struct hdi_command *command, uint32_t filled)
{
    struct hd_arg *packed = graph->packed + command->args;

    while (filled-- > 0)
        if (graph->args.at[command->args + filled].is == HD_PASS_IMAGE) {
            hd_image_destroy(
                (struct hd_image *)(uintptr_t)packed[filled].image);
            packed[filled].image = NULL;
        }
}

// `part`: of an appended dispatch, the work-groups that were asked for.
//
// Arguments of a split pass are filled once, by hdi_split_begin(), as all parts
// share them. Images go as soon as the launch has been started: it holds what
// it needs.
static hd_status run_dispatch(struct hd_graph *graph, struct hdi_task *task,
                              const struct hdi_command *command,
                              const struct hdi_box *part, bool *later,
                              struct hd_error *error)
{
    const struct hdi_split *split = hdi_task_split(graph, task);
    struct launch l = {.pass = &graph->passes.at[task->pass],
                       .kernel = graph->kernels.at[command->kernel].kernel,
                       .range = split ? &split->range : &command->range,
                       .args = graph->packed + command->args,
                       .arg_count = command->arg_count,
                       .part = part};
    hd_status status = HD_OK;
    uint32_t filled = 0;

    if (split)
        l.part = &graph->flow.box[task - graph->tasks];
    else
        status =
            hdi_pass_fill_args(graph, l.pass, command, NULL, &filled, error);
    bool agile = l.pass->agile && hdi_agile_is_over(graph, command);
    *later =
        agile ? hdi_agile_starts(graph, l.pass, command) : !runs_here(graph);
    if (status == HD_OK && agile)
        status = *later ? hdi_agile_start(task, command, error)
                        : hdi_agile_launch(graph, l.pass, command, error);
    else if (status == HD_OK)
        status = *later ? start_launch(graph, &l, &task->event, error)
                        : launch_here(graph, &l, error);
    hdi_pass_empty_args(graph, command, filled);
    return status;
}

// A redistribution needs no worker while it is under way.
static hd_status run_transfer(struct hd_graph *graph, struct hdi_task *task,
                              const struct hdi_command *command, bool *later,
                              struct hd_error *error)
{
    const struct hdi_pass *pass = &graph->passes.at[task->pass];

    *later = pass->agile && hdi_agile_starts(graph, pass, command);
    return *later ? hdi_agile_start(task, command, error)
                  : hdi_transfer(graph, pass, command, error);
}

// What the command before, which was started, has come to.
//
// Its event was kept in the task, and is released here, once.
static hd_status look_back(struct hd_graph *graph, struct hdi_task *task,
                           struct hd_error *error)
{
    struct hd_pool *pool = graph->context.launcher->pool;
    hd_event event = task->event;
    struct hd_event_info info;

    if (event == 0)
        return HD_OK;
    task->event = 0;
    if (hd_event_info(pool, event, &info))
        add_cost(&graph->passes.at[task->pass], info.busy,
                 info.bytes | (info.counted ? HDI_COUNTED : 0));
    hd_status status = hd_event_status(pool, event, error);
    hd_event_release(pool, event);
    return status;
}

hd_status hdi_pass_begin(struct hd_graph *graph, struct hdi_pass *pass,
                         struct hd_error *error)
{
    return take_memory(graph, pass, error);
}

hd_status hdi_pass_take_fields(struct hd_graph *graph,
                               const struct hdi_pass *pass,
                               struct hd_error *error)
{
    for (uint32_t i = 0; i < pass->access_count; i++) {
        const struct hdi_graph_slot *slot =
            &graph->slots.at[graph->accesses.at[pass->accesses + i].slot];
        if (slot->first == (uint32_t)(pass - graph->passes.at) &&
            graph->resources.at[slot->resource].map)
            HDI_TRY(hdi_agile_take(graph, slot->resource, error));
    }
    return HD_OK;
}

// The first part takes the memory, under a lock that the others wait for. If it
// fails they fail as well, and say so; the first error is told.
hd_status hdi_split_begin(struct hd_graph *graph, struct hdi_split *split,
                          uint64_t now, struct hd_error *error)
{
    const struct hdi_pass *pass = &graph->passes.at[split->pass];
    hd_status status = HD_OK;
    uint32_t filled;

    pthread_mutex_lock(&graph->split_lock);
    if (split->state == HDI_SPLIT_CLOSED) {
        status = take_memory(graph, pass, error);
        if (status == HD_OK)
            status = hdi_pass_fill_args(graph, pass,
                                        &graph->commands.at[pass->commands],
                                        NULL, &filled, error);
        split->state = status == HD_OK ? HDI_SPLIT_OPEN : HDI_SPLIT_FAILED;
        split->begin = now;
    } else if (split->state == HDI_SPLIT_FAILED) {
        status = hdi_fail(error, HD_ECANCELED, "another part has failed");
    }
    pthread_mutex_unlock(&graph->split_lock);
    return status;
}

// What runs next: what was appended, or else the next of the others. False:
// nothing is left.
//
// Appended dispatches go before the next command of the pass: a command has
// ended only when what it appended has. Commands that are appended are not run
// in their place.
static bool find_next(struct hd_graph *graph, struct hdi_task *task,
                      struct hdi_box *box, const struct hdi_box **part)
{
    struct hdi_pass *pass = &graph->passes.at[task->pass];

    *part = NULL;
    if (hdi_append_next(pass, &task->ended, box)) {
        atomic_fetch_add_explicit(&graph->appended, 1, memory_order_relaxed);
        *part = box;
        return true;
    }
    while (task->command < pass->command_count &&
           graph->commands.at[pass->commands + task->command].appended)
        task->command++;
    task->ended = task->command;
    return task->command < pass->command_count && ++task->command;
}

// May be called on another worker each time; all that it needs to know is in
// the task. task->ended is the command whose requests are to be taken, once it
// has ended.
//
//     look_back -> take requests -> find_next -> run -> (later: return) -+
//                       ^                                                |
//                       +------------------------------------------------+
hd_status hdi_pass_go_on(struct hd_graph *graph, struct hdi_task *task,
                         bool *later, struct hd_error *error)
{
    struct hdi_pass *pass = &graph->passes.at[task->pass];
    const struct hdi_box *part;
    struct hdi_box box;

    *later = false;
    if (pass->agile && hdi_keep_skips(graph, pass))
        return hdi_keep_restore(graph, pass, error);
    HDI_TRY(look_back(graph, task, error));
    for (;;) {
        if (pass->append_most && task->ended != HDI_NONE)
            HDI_TRY(hdi_append_take(graph, pass, task->ended, error));
        if (!find_next(graph, task, &box, &part))
            break;
        const struct hdi_command *c =
            &graph->commands.at[pass->commands + task->ended];
        HDI_TRY(c->is == HD_DISPATCH
                    ? run_dispatch(graph, task, c, part, later, error)
                    : run_transfer(graph, task, c, later, error));
        if (*later)
            return HD_OK;
    }
    return pass->agile ? hdi_keep_after(graph, pass, error) : HD_OK;
}

// Slots stay: hdi_pass_release() counts these down, after success.
void hdi_pass_end(struct hd_graph *graph, struct hdi_pass *pass)
{
    hdi_append_end(pass);
    give_scratch(graph, pass);
    if (pass->agile)
        hdi_agile_end(graph, pass);
}
