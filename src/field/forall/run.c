#include "field/forall/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "field/memory/bring.h"
#include "field/memory/mirror.h"

// What moves in a nanosecond between nodes, for the decision who computes.
// Rough figures: they only have to tell tasks that are worth moving from those
// that are not.
enum {
    MEMORY = 2,  // from memory to memory [bytes]
    MESSAGES = 1 // between machines [bytes]
};

// A device's tasks of another process cannot be taken by hand: its memory is
// reached by its own process only.
struct hdi_node_slot *hdi_lane_slot(const struct hdi_lane *lane, uint32_t node)
{
    const struct hd_cluster *cluster = lane->cluster;
    uint32_t process = hdi_cluster_process_of(cluster, node);
    bool apart = cluster->messages || hdi_cluster_is_device(cluster, node);
    struct hdi_node_slot *slots =
        apart && process != cluster->net->node
            ? NULL
            : cluster->transport->reach(cluster->slots, process);

    return slots ? &slots[lane->number * cluster->here + node % cluster->here]
                 : NULL;
}

// Built by the first who asks, under the lock; afterwards it is only read.
const struct hdi_queue *hdi_run_queue(struct hdi_run *run, uint32_t node)
{
    struct hdi_queue *queue = &run->queue[node];

    pthread_mutex_lock(&run->lock);
    if (!queue->map && !hdi_queue_build(run->output->map, node, queue))
        queue = NULL;
    pthread_mutex_unlock(&run->lock);
    return queue;
}

// By the first task, as if all were alike: one block of the output, and one of
// each input.
uint64_t hdi_run_moving_time(struct hdi_run *run, uint32_t owner, bool messages)
{
    const struct hdi_queue *queue = hdi_run_queue(run, owner);
    struct hd_grid box;

    if (!queue || hdi_queue_count(queue) == 0)
        return 0;
    hdi_queue_task(queue, 0, &box);
    return (uint64_t)hd_grid_size(&box) * run->output->element *
           (run->forall->input_count + 1) / (messages ? MESSAGES : MEMORY);
}

// Relaxed: it only keeps others from beginning more. Other machines get a
// message (hdi_agent_tell_failure()).
void hdi_run_stop(struct hdi_run *run)
{
    for (uint32_t n = 0; n < run->output->map->nodes; n++) {
        struct hdi_node_slot *slot = hdi_run_slot(run, n);

        if (slot)
            atomic_store_explicit(&slot->failed, 1, memory_order_relaxed);
    }
}

void hdi_run_fail(struct hdi_run *run, hd_status status, const char *text)
{
    pthread_mutex_lock(&run->lock);
    if (run->status == HD_OK) {
        run->status = status;
        hdi_fail(run->error, status, "%s", text);
    }
    pthread_mutex_unlock(&run->lock);
    hdi_run_stop(run);
}

// What a task reads of an input: a box of the view's indices, and the box of
// the field's ordinals that holds them.
// The margin is cut off at the ends of the view; a negative step turns the box
// around.
static void input_boxes(const struct hd_input *input,
                        const struct hd_grid *block, struct hd_grid *seen,
                        struct hd_grid *below)
{
    const struct hd_view *view = &input->view;
    const struct hd_grid *grid = &view->field_->map->grid;

    seen->rank = block->rank;
    for (unsigned i = 0; i < block->rank; i++) {
        int64_t low = block->offset[i] - input->before[i];
        int64_t high = block->offset[i] + block->extent[i] + input->after[i];
        int64_t begin = view->grid.offset[i];

        low = low > begin ? low : begin;
        begin += view->grid.extent[i];
        high = high < begin ? high : begin;
        seen->offset[i] = low;
        seen->extent[i] = high - low;
    }
    below->rank = view->rank_;
    for (unsigned k = 0; k < view->rank_; k++) {
        unsigned axis = view->axis_[k];
        int64_t low = view->start_[k], high = low;

        if (axis != HDI_NO_AXIS) {
            low += view->step_[k] * seen->offset[axis];
            high = low + view->step_[k] * (seen->extent[axis] - 1);
        }
        if (low > high) {
            int64_t kept = low;

            low = high;
            high = kept;
        }
        below->offset[k] = low - grid->offset[k];
        below->extent[k] = high - low + 1;
    }
}

// Fixed axes only add to the place; an axis of the view may be several below.
void hdi_run_tile(const struct hd_view *view, const struct hdi_window *window,
                  const struct hd_grid *seen, struct hd_tile *tile)
{
    const struct hd_grid *grid = &view->field_->map->grid;
    int64_t below[HD_MAX_RANK], place = 0;

    *tile = (struct hd_tile){.grid = *seen};
    hdi_view_below(view, seen->offset, below);
    for (unsigned k = 0; k < view->rank_; k++) {
        place += (below[k] - grid->offset[k] - window->box.offset[k]) *
                 window->step[k];
        if (view->axis_[k] != HDI_NO_AXIS)
            tile->step[view->axis_[k]] += view->step_[k] * window->step[k];
    }
    tile->data = window->data + place * (int64_t)view->element;
}

// What a task reads of input i: `seen` of the view, `below` of the field.
// `reached` is what hdi_run.reach says.
static void find_input(const struct hdi_run *run, unsigned i,
                       const struct hd_grid *block,
                       const struct hd_grid *reached, struct hd_grid *seen,
                       struct hd_grid *below)
{
    const struct hd_input *input = &run->forall->inputs[i];

    *seen = *below = (struct hd_grid){0};
    if (input->footprint) {
        *below = reached[i];
        *seen = hdi_map_indices(input->view.field_->map, below);
    } else {
        input_boxes(input, block, seen, below);
    }
}

// What an access touches by index is brought when it is touched: nobody knows
// what it will be.
static hd_status ask_inputs(struct hdi_run *run, uint32_t node,
                            const struct hd_grid *block,
                            const struct hd_grid *reached,
                            struct hd_error *error)
{
    struct hdi_traffic *traffic =
        &run->traffic[node - hdi_cluster_first(run->cluster)];
    struct hd_grid seen, below;

    for (unsigned i = 0; i < run->forall->input_count; i++) {
        const struct hd_input *input = &run->forall->inputs[i];

        if (input->touched)
            continue;
        find_input(run, i, block, reached, &seen, &below);
        HDI_TRY(hdi_window_ask(input->view.field_, node, &below, &run->fetch,
                               traffic, error));
    }
    return HD_OK;
}

// Ask for what the next tasks of a node read. `reached` is room.
static hd_status ask_ahead(struct hdi_run *run, uint32_t node,
                           const struct hdi_ahead *ahead,
                           struct hd_grid *reached, struct hd_error *error)
{
    const struct hdi_queue *queue = hdi_run_queue(run, ahead->owner);
    struct hd_grid box = {0}, block;

    if (!queue)
        return hdi_fail(error, HD_ENOMEM, "no memory for a queue");
    for (uint64_t k = ahead->first; k < ahead->end; k++) {
        hdi_queue_task(queue, k, &box);
        block = hdi_map_indices(run->output->map, &box);
        if (run->reach)
            HDI_TRY(run->reach(run->forall->data, &block, reached, error));
        HDI_TRY(ask_inputs(run, node, &block, reached, error));
    }
    return HD_OK;
}

// scratch[i] is the caller's to free, on failure too.
static hd_status bring_inputs(struct hdi_run *run, struct hd_task *task,
                              const struct hd_grid *block,
                              const struct hd_grid *reached,
                              struct hd_tile *tiles, void **scratch,
                              struct hd_error *error)
{
    for (unsigned i = 0; i < run->forall->input_count; i++) {
        const struct hd_input *input = &run->forall->inputs[i];
        struct hdi_window window;
        struct hd_grid seen, below;

        if (input->touched)
            continue;
        find_input(run, i, block, reached, &seen, &below);
        HDI_TRY(hdi_window_bring(input->view.field_, task->node, &below,
                                 &run->fetch, task->traffic, &window,
                                 &scratch[i], error));
        hdi_run_tile(&input->view, &window, &seen, &tiles[i]);
    }
    return HD_OK;
}

// Make the rows of tiles arrays where they are not, see hd_input.rows. The
// copy takes the place of what the tile was put together in.
static hd_status lay_rows(const struct hdi_run *run, struct hd_tile *tiles,
                          void **scratch, struct hd_error *error)
{
    for (unsigned i = 0; i < run->forall->input_count; i++) {
        const struct hd_input *input = &run->forall->inputs[i];
        struct hd_tile *tile = &tiles[i];
        struct hdi_window from = {.box = tile->grid, .data = tile->data}, to;
        unsigned rank = tile->grid.rank;
        uint64_t element = input->view.element;

        if (!input->rows || input->touched || tile->step[rank - 1] == 1)
            continue;
        memcpy(from.step, tile->step, sizeof(from.step));
        void *rows = hdi_window_dense(&tile->grid, element, &to);
        if (!rows)
            return hdi_fail(error, HD_ENOMEM, "no memory for a tile's rows");
        hdi_window_copy(&to, &from, &tile->grid, element);
        free(scratch[i]);
        scratch[i] = tile->data = rows;
        memcpy(tile->step, to.step, sizeof(tile->step));
    }
    return HD_OK;
}

static bool is_on_device(const struct hdi_run *run, uint32_t node)
{
    return run->on_device && hdi_mirror_of(run->output, node);
}

// Have on a device what a task reads, and room for what it writes. `own` is
// what open_output() has made for a task of another node.
// A stolen task writes into the mirror at its own place of the whole array,
// beside what the node owns, and is copied out from there.
static hd_status load_device(struct hdi_run *run, struct hd_task *task,
                             const struct hd_grid *box,
                             const struct hd_grid *block,
                             const struct hd_grid *reached,
                             const struct hdi_window *own,
                             struct hd_error *error)
{
    struct hd_field *output = run->output;
    struct hd_grid seen, below;

    for (unsigned i = 0; i < run->forall->input_count; i++) {
        find_input(run, i, block, reached, &seen, &below);
        HDI_TRY(hdi_mirror_bring(run->forall->inputs[i].view.field_, task->node,
                                 &below, &run->fetch, task->traffic, error));
    }
    if (task->node == task->owner)
        return hdi_mirror_open(output, task->node, box, !run->forall->update,
                               error);
    HDI_TRY(hdi_mirror_room(output, task->node, box, error));
    return run->forall->update
               ? hdi_mirror_load(output, task->node, box, own, error)
               : HD_OK;
}

// Run it there. A result for another node comes back to `own`.
static hd_status run_device(struct hdi_run *run, struct hd_task *task,
                            const struct hd_grid *box,
                            const struct hdi_window *own,
                            struct hd_error *error)
{
    HDI_TRY(run->on_device(task, box, run->forall->data, error));
    if (task->node != task->owner)
        return hdi_mirror_get(run->output, task->node, box, own, error);
    hdi_mirror_wrote(run->output, task->node, box);
    return HD_OK;
}

// Whether a task that computes for its own node writes to memory of its own.
// Results that are put past the caches at the end, in whole lines, leave these
// to the inputs.
static bool writes_apart(const struct hdi_run *run)
{
    return run->forall->past_caches && !run->forall->update && !run->on_device;
}

// Where a task writes: the owner's memory, or memory of its own that is given
// back.
// A thief never writes to the owner's memory before its task has succeeded.
// With `update` the old values come along.
static hd_status open_output(struct hdi_run *run, const struct hd_task *task,
                             const struct hd_grid *box,
                             struct hdi_window *window,
                             struct hdi_window *owners, void **own,
                             struct hd_error *error)
{
    struct hd_field *field = run->output;
    bool reached = hdi_window_of_segment(field, box->offset, owners);

    if (!reached && hdi_field_shares(field, task->owner))
        return hdi_fail(error, HD_ENOMEM, "no memory for a task");
    if (task->node == task->owner && !writes_apart(run)) {
        *window = *owners;
        return HD_OK;
    }
    *own = hdi_window_dense(box, field->element, window);
    if (!*own)
        return hdi_fail(error, HD_ENOMEM, "no memory for a task");
    if (!run->forall->update)
        return HD_OK;
    if (!reached) {
        struct hdi_transfer *transfer;

        HDI_TRY(run->fetch.begin(run->fetch.data, task->node, field,
                                 task->owner, box, *own, &transfer, error));
        return run->fetch.wait(run->fetch.data, task->owner, transfer, error);
    }
    if (hdi_mirror_of(field, task->owner))
        HDI_TRY(hdi_mirror_home(field, task->owner, box, error));
    hdi_window_copy(window, owners, box, field->element);
    return HD_OK;
}

// Give a result back and count the task as done.
// Release, paired with the acquire of await_results(): who counts all tasks as
// done sees what they wrote.
static hd_status close_output(struct hdi_run *run, const struct hd_task *task,
                              const struct hd_grid *box,
                              const struct hdi_window *window,
                              const struct hdi_window *owners,
                              struct hd_error *error)
{
    struct hdi_node_slot *slot = hdi_run_slot(run, task->owner);

    if (task->node != task->owner && !slot) {
        pthread_mutex_lock(hdi_run_moving(run, task->node));
        hd_status status = run->give(run->fetch.data, task->node, task->owner,
                                     box, window->data, error);
        pthread_mutex_unlock(hdi_run_moving(run, task->node));
        return status;
    }
    if (task->node != task->owner && hdi_mirror_of(run->output, task->owner))
        HDI_TRY(hdi_mirror_put(run->output, task->owner, box, window, error));
    else if (window->data != owners->data)
        hdi_window_put(owners, window, box, run->output->element,
                       writes_apart(run));
    atomic_fetch_add_explicit(&slot->done, 1, memory_order_release);
    return HD_OK;
}

// Goes on after a failure, see hdi_window_settle().
hd_status hdi_run_settle(struct hdi_run *run, uint32_t node,
                         struct hd_error *error)
{
    hd_status first = HD_OK;

    pthread_mutex_lock(hdi_run_moving(run, node));
    for (unsigned i = 0; i < run->forall->input_count; i++) {
        hd_status status =
            hdi_window_settle(run->forall->inputs[i].view.field_, node,
                              &run->fetch, first == HD_OK ? error : NULL);
        first = first == HD_OK ? status : first;
    }
    pthread_mutex_unlock(hdi_run_moving(run, node));
    return first;
}

// A moving mean over some eight tasks. Several workers of a node may write it
// at a time, and one value is lost: it is an estimate.
static void time_task(struct hdi_run *run, uint32_t node, uint64_t time)
{
    struct hdi_node_slot *slot = hdi_run_slot(run, node);
    uint64_t mean = atomic_load_explicit(&slot->mean, memory_order_relaxed);

    mean = mean ? (7 * mean + time) / 8 : time;
    atomic_store_explicit(&slot->mean, mean, memory_order_relaxed);
}

// The node's lock is held while things are brought, so that replicas need none
// of their own, and not while the task computes: other workers of the node
// bring theirs meanwhile. Results go out without it, but for messages, which
// must stay in order.
hd_status hdi_run_task(struct hdi_run *run, uint32_t node, uint32_t owner,
                       uint64_t k, const struct hdi_ahead *ahead,
                       struct hd_error *error)
{
    const struct hd_forall *forall = run->forall;
    unsigned count = forall->input_count;
    const struct hdi_queue *queue = hdi_run_queue(run, owner);
    struct hd_tile *tiles = calloc(count + 1, sizeof(*tiles));
    void **scratch = calloc(count + 1, sizeof(*scratch));
    // Of this task's inputs, and room for those of the next.
    struct hd_grid *reached = calloc(2 * (count + 1), sizeof(*reached));
    struct hdi_window window = {0}, owners = {0};
    struct hd_grid box = {0}, block;
    uint64_t begin = hdi_now();
    struct hd_task task = {
        run,   node,
        owner, &run->traffic[node - hdi_cluster_first(run->cluster)],
        NULL,  NULL};

    if (!queue || !tiles || !scratch || !reached) {
        free(tiles);
        free(reached);
        free(scratch);
        return hdi_fail(error, HD_ENOMEM, "no memory for a task");
    }
    hdi_queue_task(queue, k, &box);
    block = hdi_map_indices(run->output->map, &box);
    task.index = block.offset;
    pthread_mutex_lock(hdi_run_moving(run, node));
    task.traffic->steals += node != owner;
    hd_status status =
        open_output(run, &task, &box, &window, &owners, &scratch[count], error);
    if (status == HD_OK && run->reach)
        status = run->reach(forall->data, &block, reached, error);
    // All are under way before the first is waited for.
    if (status == HD_OK && run->agent)
        status = ask_inputs(run, node, &block, reached, error);
    if (status == HD_OK)
        status = ask_ahead(run, node, ahead, &reached[count + 1], error);
    bool on_device = is_on_device(run, node);
    if (status == HD_OK)
        status = on_device ? load_device(run, &task, &box, &block, reached,
                                         &window, error)
                           : bring_inputs(run, &task, &block, reached, tiles,
                                          scratch, error);
    pthread_mutex_unlock(hdi_run_moving(run, node));
    if (status == HD_OK && on_device) {
        status = run_device(run, &task, &box, &window, error);
    } else if (status == HD_OK) {
        struct hd_view view = hd_view_field(run->output);

        hdi_run_tile(&view, &window, &block, &tiles[count]);
        status = lay_rows(run, tiles, scratch, error);
        if (status == HD_OK)
            status = forall->function(&task, &tiles[count], tiles, forall->data,
                                      error);
    }
    if (status == HD_OK)
        status = close_output(run, &task, &box, &window, &owners, error);
    if (status == HD_EPEER)
        scratch[count] = NULL; // a message with it may be under way
    for (unsigned i = 0; i <= count; i++)
        free(scratch[i]);
    free(scratch);
    free(tiles);
    free(reached);
    hdi_access_end(&task);
    time_task(run, node, hdi_now() - begin);
    return status;
}

uint32_t hd_task_node(const struct hd_task *task)
{
    return task->node;
}

uint32_t hd_task_owner(const struct hd_task *task)
{
    return task->owner;
}
