// forall with OpenCL C kernels.
//
// A kernel indexes whole arrays. Where the memory at hand has the distances of
// a whole array (segments of whole rows, a tile that was put together from
// these), the kernel gets an address from which its indices lead there; else a
// node keeps address space of the size of the array, of which the system
// provides what is touched, and what the task needs is copied there. A kernel
// that is built for checking always writes to such a space, and what it writes
// there beside the task's own elements is told.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "field/forall/kernel.h"
#include "field/forall/run.h"
#include "field/memory/mirror.h"
#include "launch/start/start.h"

// Larger groups cut more blocks at places that are no multiple of them.
enum {
    MAX_LOCAL = 64, // work-items of a group along an axis
    MAX_ARGS = 64,
    UNWRITTEN = 0xa5 // beside a task's elements, while it is checked
};

// Address space for one field on one node.
// Made on first use, kept until the forall ends. Pages that nothing touches
// cost nothing.
struct space {
    void *memory;
    uint64_t size;
};

// On the stack of hdi_forall_kernel(); the nodes share it, each with its own
// spaces.
struct kernel_run {
    struct hdi_launcher *launcher;
    const struct hd_forall *forall;
    const struct hd_kernel *kernel;
    const struct hd_field_arg *args;
    unsigned arg_count;
    bool checks; // the kernel is built for that
    struct hd_range range;
    struct space *spaces; // per node here: of the output, and of each input
};

// A tile of a view as a window of the whole array of its field: the box that it
// is, from the first index on, with steps along the field's axes.
static void tile_of_field(const struct hd_view *view,
                          const struct hd_tile *tile,
                          const struct hd_grid *grid, struct hdi_window *window)
{
    int64_t below[HD_MAX_RANK];

    window->box.rank = grid->rank;
    window->data = tile->data;
    hdi_view_below(view, tile->grid.offset, below);
    for (unsigned k = 0; k < grid->rank; k++) {
        unsigned axis = view->axis_[k];
        int64_t extent = tile->grid.extent[axis];

        window->step[k] = tile->step[axis] * view->step_[k];
        window->box.offset[k] = below[k] - grid->offset[k];
        window->box.extent[k] = extent;
        if (view->step_[k] < 0) {
            window->box.offset[k] -= extent - 1;
            window->data -=
                (extent - 1) * window->step[k] * (int64_t)view->element;
        }
    }
}

// The address of the whole array of which a window is a part: in place, or in
// the node's space, where its elements are copied if `fill`; always there with
// `apart`.
//
//     array        |.......[ window ].........|   an address in front of the
//     in place   ^ array = window - its place     window, never dereferenced
static hd_status place_window(struct space *space, const struct hd_grid *grid,
                              uint64_t element, bool fill, bool apart,
                              const struct hdi_window *window,
                              struct hdi_window *whole, char **array,
                              struct hd_error *error)
{
    int64_t size = hdi_grid_steps(grid, whole->step), place = 0;
    bool same = !apart;

    whole->box = *grid;
    for (unsigned i = 0; i < grid->rank; i++) {
        whole->box.offset[i] = 0;
        place += window->box.offset[i] * whole->step[i];
        same = same && (window->step[i] == whole->step[i] ||
                        window->box.extent[i] == 1);
    }
    if (same) {
        *array = window->data - place * (int64_t)element;
        return HD_OK;
    }
    if (!space->memory) {
        space->size = (uint64_t)size * element;
        space->memory =
            mmap(NULL, space->size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (space->memory == MAP_FAILED) {
            space->memory = NULL;
            return hdi_fail(error, HD_ENOMEM,
                            "no address space for a field of %llu bytes",
                            (unsigned long long)space->size);
        }
    }
    whole->data = *array = space->memory;
    if (fill)
        hdi_window_copy(whole, window, &window->box, element);
    return HD_OK;
}

// The largest power of 2 that divides all places where blocks begin.
// Groups that begin where blocks do are never cut: then kernels may write in
// place.
static uint32_t local_size(const struct hd_map *map, unsigned axis)
{
    int64_t places =
        map->grid.extent[axis] > map->task[axis] ? map->task[axis] : 0;
    uint32_t size = MAX_LOCAL;

    for (uint64_t s = 0; s < map->count && size > 1; s++) {
        struct hd_grid box;

        hdi_map_segment_box(map, s, &box);
        places |= box.offset[axis];
    }
    while (size > 1 && places % size != 0)
        size /= 2;
    return size;
}

// The work-groups that compute a block, of which there may be none where the
// range ends before, and the elements that these could write: others, too,
// where the block begins or ends inside a group. Returns whether that is so.
// Ordinals are indices here: kernels want grids without stride and offset.
static bool find_piece(const struct kernel_run *k, const struct hd_grid *block,
                       struct hd_piece *piece, struct hd_grid *written)
{
    const struct hd_grid *grid = &k->forall->output->map->grid;
    bool more = false;

    *piece = (struct hd_piece){.first = {0}, .count = {1, 1, 1}};
    *written = *block;
    for (unsigned d = 0; d < k->range.dims; d++) {
        unsigned axis = block->rank - 1 - d;
        int64_t local = k->range.local[d];
        int64_t groups = ((int64_t)k->range.global[d] - 1) / local + 1;
        int64_t first = block->offset[axis] / local;
        int64_t last = block->offset[axis] + block->extent[axis];
        int64_t end = (last - 1) / local + 1;

        end = end < groups ? end : groups;
        first = first < end ? first : end;
        piece->first[d] = (uint64_t)first;
        piece->count[d] = (uint64_t)(end - first);
        end =
            end * local < grid->extent[axis] ? end * local : grid->extent[axis];
        written->offset[axis] = first * local;
        written->extent[axis] = end - first * local;
        more = more || first * local < block->offset[axis] || end > last;
    }
    return more;
}

// The device that a node is; NULL: it is none.
static struct hdi_launcher *device_of(const struct kernel_run *k, uint32_t node)
{
    const struct hd_cluster *cluster = k->forall->output->cluster;

    return hdi_cluster_is_device(cluster, node)
               ? cluster->domains.domain[node - hdi_cluster_first(cluster)]
                     .launcher
               : NULL;
}

// Run the work-groups of a box: on the node's device, on the workers that are
// its alone, or on all.
static hd_status run_box(struct kernel_run *k, uint32_t node,
                         const struct hdi_request *request,
                         const struct hd_box *box, struct hd_error *error)
{
    const struct hd_cluster *cluster = k->forall->output->cluster;
    struct hd_pool *pool = k->launcher->pool;
    struct hd_start start = {.box = box};
    hd_event event;

    if (cluster->domains.domain) {
        const struct hdi_domain *domain =
            &cluster->domains.domain[node - hdi_cluster_first(cluster)];
        struct hdi_box groups = {0};
        struct hdi_terms terms = {.priority = HD_PRIORITY_NORMAL,
                                  .part = &groups};

        memcpy(groups.first, box->first, sizeof(groups.first));
        memcpy(groups.count, box->count, sizeof(groups.count));
        if (!domain->launcher && domain->workers < hd_pool_workers(pool)) {
            terms.workers = domain->worker;
            terms.worker_count = domain->workers;
        }
        return hdi_launch_with(domain->launcher ? domain->launcher
                                                : k->launcher,
                               request, &terms, error);
    }
    HDI_TRY(hdi_launch_start(k->launcher, &start, request, &event, error));
    hd_status status = hd_event_wait(pool, &event, 1, HD_FOREVER, error);
    hd_event_release(pool, event);
    return status;
}

// `arrays` is the output, then the inputs. Buffers are made for one launch, and
// only wrap addresses.
static hd_status launch(struct kernel_run *k, uint32_t node,
                        const struct hd_grid *block, char **arrays,
                        struct hd_error *error)
{
    const struct hd_field *output = k->forall->output;
    struct hdi_launcher *device = device_of(k, node);
    const struct hd_kernel *kernel =
        device ? hdi_kernel_on(k->kernel, device->device) : k->kernel;
    struct hd_buffer *buffers[MAX_ARGS] = {NULL};
    struct hd_arg args[MAX_ARGS];
    struct hd_box box = {{0}, {1, 1, 1}};
    struct hd_piece piece;
    struct hd_grid written;
    hd_status status = HD_OK;

    find_piece(k, block, &piece, &written);
    for (unsigned d = 0; d < 3; d++) {
        box.first[d] = (uint32_t)piece.first[d];
        box.count[d] = (uint32_t)piece.count[d];
    }
    for (unsigned a = 0; status == HD_OK && a < k->arg_count; a++) {
        const struct hd_field_arg *arg = &k->args[a];
        const struct hd_field *field =
            arg->is == HD_FIELD_OUTPUT
                ? output
                : k->forall->inputs[arg->input].view.field_;

        if (arg->is == HD_FIELD_ARG) {
            args[a] = arg->arg;
            continue;
        }
        char *array = arrays[arg->is == HD_FIELD_OUTPUT ? 0 : arg->input + 1];
        uint64_t size =
            (uint64_t)hd_grid_size(&field->map->grid) * field->element;
        status = device ? hdi_buffer_at(device, array, size, &buffers[a], error)
                        : hdi_buffer_wrap(k->launcher, array, size, &buffers[a],
                                          error);
        args[a] = (struct hd_arg)HD_BUFFER(buffers[a]);
    }
    if (status == HD_OK)
        status = run_box(
            k, node,
            &(struct hdi_request){kernel, &k->range, args, k->arg_count}, &box,
            error);
    for (unsigned a = 0; a < k->arg_count; a++)
        hd_buffer_destroy(buffers[a]);
    return status;
}

// What the space holds while nothing is written. A kernel that updates its
// output reads 0 beside its task.
static int unwritten(const struct kernel_run *k)
{
    return k->forall->update ? 0 : UNWRITTEN;
}

// Whether a row of the whole array, beside the box, is as it was. `*at` becomes
// the first element that is not.
static bool row_is_unwritten(const struct kernel_run *k, const char *row,
                             int64_t *index, const struct hd_grid *box)
{
    const struct hd_field *field = k->forall->output;
    unsigned last = box->rank - 1;
    bool inside = true;

    for (unsigned i = 0; i < last; i++)
        inside = inside && index[i] >= box->offset[i] &&
                 index[i] - box->offset[i] < box->extent[i];
    for (int64_t x = 0; x < field->map->grid.extent[last]; x++) {
        if (inside && x == box->offset[last]) {
            x += box->extent[last] - 1;
            continue;
        }
        for (uint64_t b = 0; b < field->element; b++)
            if ((unsigned char)row[x * (int64_t)field->element + (int64_t)b] !=
                unwritten(k)) {
                index[last] = x;
                return false;
            }
    }
    return true;
}

// HD_ECHECK when a task has written elements beside its own.
// Looks at the whole array, once for each task: for checking only.
static hd_status find_strays(const struct kernel_run *k, const char *memory,
                             const struct hd_grid *box, struct hd_error *error)
{
    const struct hd_field *field = k->forall->output;
    const struct hd_grid *grid = &field->map->grid;
    int64_t index[HD_MAX_RANK] = {0}, step[HD_MAX_RANK];
    int64_t size = hdi_grid_steps(grid, step);
    unsigned last = grid->rank - 1;
    char at[100], from[100];
    int used = 0, begun = 0;

    for (int64_t place = 0; place < size; place += grid->extent[last]) {
        int64_t rest = place;

        for (unsigned i = 0; i < grid->rank; i++) {
            index[i] = rest / step[i];
            rest %= step[i];
        }
        if (row_is_unwritten(k, memory + place * (int64_t)field->element, index,
                             box))
            continue;
        for (unsigned i = 0; i < grid->rank; i++) {
            const char *comma = i ? ", " : "";

            used += snprintf(at + used, sizeof(at) - (size_t)used, "%s%" PRId64,
                             comma, index[i]);
            begun += snprintf(from + begun, sizeof(from) - (size_t)begun,
                              "%s%" PRId64, comma, box->offset[i]);
        }
        return hdi_fail(error, HD_ECHECK,
                        "kernel '%s' writes element (%s) of its output, which "
                        "node %" PRIu32 " owns, in the task that begins at "
                        "(%s): a work-item writes only what its global id is "
                        "the index of",
                        hd_kernel_info(k->kernel)->name, at,
                        hd_map_node(field->map, index), from);
    }
    return HD_OK;
}

// Groups that reach beyond the block write elsewhere (`more`), so the output is
// then a space, of which only the block is taken.
static hd_status run_block(struct hd_task *task, const struct hd_tile *output,
                           const struct hd_tile *inputs, void *data,
                           struct hd_error *error)
{
    struct kernel_run *k = data;
    const struct hd_forall *forall = k->forall;
    struct hd_field *field = forall->output;
    const struct hd_grid *grid = &field->map->grid;
    struct hd_view identity = hd_view_field(field);
    uint32_t here = task->node - hdi_cluster_first(field->cluster);
    struct space *spaces = &k->spaces[here * (forall->input_count + 1)];
    struct hdi_window window, whole = {0}, other;
    struct hd_piece piece;
    struct hd_grid written;
    char *arrays[MAX_ARGS + 1];

    tile_of_field(&identity, output, grid, &window);
    bool more = find_piece(k, &window.box, &piece, &written);
    if (piece.count[0] == 0 || piece.count[1] == 0 || piece.count[2] == 0)
        return HD_OK;
    HDI_TRY(place_window(&spaces[0], grid, field->element, false,
                         k->checks || more, &window, &whole, &arrays[0],
                         error));
    bool apart = arrays[0] == spaces[0].memory;
    if (k->checks)
        memset(spaces[0].memory, unwritten(k), spaces[0].size);
    if (apart && forall->update)
        hdi_window_copy(&whole, &window, &window.box, field->element);
    for (unsigned i = 0; i < forall->input_count; i++) {
        const struct hd_view *view = &forall->inputs[i].view;
        struct hdi_window of_input;

        tile_of_field(view, &inputs[i], &view->field_->map->grid, &of_input);
        HDI_TRY(place_window(&spaces[i + 1], &view->field_->map->grid,
                             view->element, true, false, &of_input, &other,
                             &arrays[i + 1], error));
    }
    HDI_TRY(launch(k, task->node, &window.box, arrays, error));
    if (k->checks)
        HDI_TRY(find_strays(k, spaces[0].memory, &written, error));
    if (apart)
        hdi_window_copy(&window, &whole, &window.box, field->element);
    return HD_OK;
}

// The same on a device, whose mirrors are whole arrays by themselves.
static hd_status run_on_device(struct hd_task *task, const struct hd_grid *box,
                               void *data, struct hd_error *error)
{
    struct kernel_run *k = data;
    const struct hd_forall *forall = k->forall;
    struct hd_field *output = forall->output;
    struct hd_piece piece;
    struct hd_grid written;
    char *arrays[MAX_ARGS + 1];

    bool more = find_piece(k, box, &piece, &written);
    if (piece.count[0] == 0 || piece.count[1] == 0 || piece.count[2] == 0)
        return HD_OK;
    arrays[0] = hdi_mirror_array(output, task->node);
    for (unsigned i = 0; i < forall->input_count; i++)
        arrays[i + 1] =
            hdi_mirror_array(forall->inputs[i].view.field_, task->node);
    if (more)
        HDI_TRY(hdi_mirror_part(output, task->node, box, &written,
                                forall->update, &arrays[0], error));
    HDI_TRY(launch(k, task->node, box, arrays, error));
    return more ? hdi_mirror_join(output, task->node, box, error) : HD_OK;
}

// Footprints ------------------------------------------------------------------

// Whether a view is its field, index for index.
static bool is_whole(const struct hd_view *view)
{
    const struct hd_grid *grid = &view->field_->map->grid;
    bool whole = view->rank_ == view->grid.rank;

    for (unsigned i = 0; whole && i < grid->rank; i++)
        whole = view->axis_[i] == i && view->start_[i] == 0 &&
                view->step_[i] == 1 &&
                view->grid.offset[i] == grid->offset[i] &&
                view->grid.extent[i] == grid->extent[i];
    return whole;
}

// The box of an array that holds what is touched of it: along an axis, all of
// it where rows of bytes are not parts of rows of the array.
//
//     touched: `bytes` at begin + i * stride[0] + j * stride[1]
//
// Too large a box costs what is brought in vain; too small a one would be an
// error, so what is not certain is taken as all of an axis.
static void box_touched(const struct hd_touched *touched,
                        const struct hd_grid *grid, uint64_t element,
                        struct hd_grid *box)
{
    int64_t step[HD_MAX_RANK], size = hdi_grid_steps(grid, step);
    int64_t last = touched->begin - 1 + (int64_t)touched->bytes;
    int64_t low = touched->begin, end = size * (int64_t)element;

    for (unsigned i = 0; i < 2; i++)
        last += (int64_t)((touched->count[i] - 1) * touched->stride[i]);
    bool apart = low >= 0 && last < end;
    low = low < 0 ? 0 : low / (int64_t)element;
    last = (last < end ? last : end - 1) / (int64_t)element;
    if (last < low)
        last = low < size ? low : (low = size - 1);
    for (unsigned i = 0; i < grid->rank; i++) {
        int64_t first = low / step[i], final = last / step[i];

        box->offset[i] = first;
        box->extent[i] = final - first + 1;
        low -= first * step[i];
        last -= final * step[i];
        if (box->extent[i] == 1)
            continue;
        // Of each slab across this axis the same is touched.
        int64_t slab = step[i] * (int64_t)element;
        int64_t span = (int64_t)touched->bytes;
        for (unsigned k = 0; k < 2; k++)
            if (touched->stride[k] % (uint64_t)slab != 0)
                span += (int64_t)((touched->count[k] - 1) * touched->stride[k]);
        bool rows = apart && touched->begin % slab + span <= slab;
        for (unsigned k = i + 1; !rows && k < grid->rank; k++) {
            box->offset[k] = 0;
            box->extent[k] = grid->extent[k];
        }
        if (!rows)
            return;
    }
}

// The smallest box that holds both.
static void add_box(struct hd_grid *to, const struct hd_grid *box)
{
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t end = to->offset[i] + to->extent[i];
        int64_t other = box->offset[i] + box->extent[i];

        if (box->offset[i] < to->offset[i])
            to->offset[i] = box->offset[i];
        to->extent[i] = (end > other ? end : other) - to->offset[i];
    }
}

// Several arguments may be the same input: what they touch is joined. A box is
// not empty, so an input that is not touched gets one element.
static hd_status reach(void *data, const struct hd_grid *block,
                       struct hd_grid *boxes, struct hd_error *error)
{
    struct kernel_run *k = data;
    struct hd_footprint footprints[MAX_ARGS];
    struct hd_arg args[MAX_ARGS];
    struct hd_piece piece;
    struct hd_grid written;

    find_piece(k, block, &piece, &written);
    for (unsigned a = 0; a < k->arg_count; a++)
        args[a] = k->args[a].is == HD_FIELD_ARG
                      ? k->args[a].arg
                      : (struct hd_arg){.is = HD_IS_BUFFER};
    HDI_TRY(hd_kernel_footprint(k->kernel, &k->range, args, k->arg_count,
                                &piece, footprints, error));
    for (unsigned a = 0; a < k->arg_count; a++) {
        if (k->args[a].is != HD_FIELD_INPUT)
            continue;
        const struct hd_field *field =
            k->forall->inputs[k->args[a].input].view.field_;
        const struct hd_touched *read = &footprints[a].read;
        struct hd_grid *to = &boxes[k->args[a].input], box = field->map->grid;

        memset(box.offset, 0, sizeof(box.offset));
        if (read->kind == HD_TOUCHES_NOTHING && to->rank > 0)
            continue;
        if (read->kind == HD_TOUCHES_NOTHING)
            for (unsigned i = 0; i < box.rank; i++)
                box.extent[i] = 1;
        else if (read->kind == HD_TOUCHES_ROWS)
            box_touched(read, &field->map->grid, field->element, &box);
        if (to->rank == 0)
            *to = box;
        else
            add_box(to, &box);
    }
    return HD_OK;
}

// Every device that is a node here has the kernel.
static hd_status check_devices(const struct kernel_run *k,
                               struct hd_error *error)
{
    const struct hdi_domains *domains = &k->forall->output->cluster->domains;

    for (uint32_t n = 0; n < domains->count; n++) {
        const struct hdi_launcher *device = domains->domain[n].launcher;

        if (device && !hdi_kernel_on(k->kernel, device->device))
            return hdi_fail(error, HD_ENODEV,
                            "kernel '%s' was not built for %s, which is a node",
                            hd_kernel_info(k->kernel)->name,
                            device->device->can.description);
    }
    return HD_OK;
}

static hd_status check_kernel(const struct kernel_run *k,
                              struct hd_error *error)
{
    const struct hd_forall *forall = k->forall;
    const struct hd_grid *grid = &forall->output->map->grid;

    if (grid->rank > 3 || k->arg_count > MAX_ARGS ||
        forall->input_count > MAX_ARGS)
        return hdi_fail(error, HD_EINVAL,
                        "a kernel computes fields of 1 to 3 axes, with %d "
                        "arguments and inputs at most",
                        MAX_ARGS);
    for (unsigned i = 0; i < grid->rank; i++)
        if (grid->offset[i] != 0)
            return hdi_fail(error, HD_EINVAL,
                            "axis %u of the output begins at %lld; global ids "
                            "begin at 0",
                            i, (long long)grid->offset[i]);
    for (unsigned i = 0; i < forall->input_count; i++) {
        const struct hd_view *view = &forall->inputs[i].view;

        if (forall->inputs[i].footprint && !is_whole(view))
            return hdi_fail(error, HD_EINVAL,
                            "input %u is known by its footprint, so it is a "
                            "whole field",
                            i);
        for (unsigned n = 0; n < view->rank_; n++)
            if (view->axis_[n] == HDI_NO_AXIS ||
                (view->step_[n] != 1 && view->step_[n] != -1) ||
                forall->inputs[i].touched)
                return hdi_fail(error, HD_EINVAL,
                                "input %u of a kernel is a field, transposed "
                                "or shifted, and not touched",
                                i);
    }
    for (unsigned a = 0; a < k->arg_count; a++)
        if (k->args[a].is == HD_FIELD_INPUT &&
            k->args[a].input >= forall->input_count)
            return hdi_fail(error, HD_EINVAL,
                            "argument %u is input %u, of %u inputs", a,
                            k->args[a].input, forall->input_count);
    return HD_OK;
}

hd_status hdi_forall_check_range(const struct hd_map *map,
                                 const struct hd_range *range, const char *name,
                                 struct hd_error *error)
{
    const struct hd_grid *grid = &map->grid;
    bool same = range->dims <= grid->rank;

    for (unsigned d = 0; same && d < range->dims; d++) {
        uint64_t extent = (uint64_t)grid->extent[grid->rank - 1 - d];
        uint64_t local = range->local[d] ? range->local[d] : 1;

        same = range->offset[d] == 0 && range->global[d] > 0 &&
               range->global[d] <= (extent + local - 1) / local * local;
    }
    if (!same)
        return hdi_fail(error, HD_EINVAL,
                        "a kernel over fields runs over elements of the one "
                        "that it writes, '%s', from the first on, rounded up "
                        "to whole work-groups",
                        name);
    for (unsigned axis = 0; axis + range->dims < grid->rank; axis++) {
        bool cut = map->task[axis] > 0 && map->task[axis] < grid->extent[axis];

        for (uint64_t s = 0; !cut && s < map->count; s++) {
            struct hd_grid box;

            hdi_map_segment_box(map, s, &box);
            cut = box.extent[axis] < grid->extent[axis];
        }
        if (cut)
            return hdi_fail(error, HD_EINVAL,
                            "a work-item of %u axes writes all of axis %u of "
                            "'%s', which its layout cuts: give tiles and tasks "
                            "all of that axis",
                            range->dims, axis, name);
    }
    return HD_OK;
}

// What a launch would say, before any process begins.
// With one buffer of a byte for all fields: sizes are not looked at.
static hd_status check_launch(const struct kernel_run *k,
                              struct hd_error *error)
{
    struct hd_arg args[MAX_ARGS];
    struct hd_buffer *any = NULL;
    char byte;

    HDI_TRY(hdi_buffer_wrap(k->launcher, &byte, 1, &any, error));
    for (unsigned a = 0; a < k->arg_count; a++)
        args[a] = k->args[a].is == HD_FIELD_ARG ? k->args[a].arg
                                                : (struct hd_arg)HD_BUFFER(any);
    hd_status status = hdi_launch_check(
        k->launcher,
        &(struct hdi_request){k->kernel, &k->range, args, k->arg_count}, error);
    hd_buffer_destroy(any);
    return status;
}

hd_status hdi_forall_kernel(struct hdi_launcher *launcher,
                            struct hdi_lane *lane,
                            const struct hd_forall *forall,
                            const struct hd_kernel *kernel,
                            const struct hd_range *range,
                            const struct hd_field_arg *args, unsigned arg_count,
                            struct hd_error *error)
{
    struct kernel_run k = {.launcher = launcher,
                           .forall = forall,
                           .kernel = kernel,
                           .args = args,
                           .arg_count = arg_count};
    const struct hd_map *map = forall->output->map;
    struct hd_cluster *cluster = forall->output->cluster;
    struct hd_forall inner = *forall;
    size_t spaces = (size_t)cluster->here * (forall->input_count + 1);
    hd_status status = check_kernel(&k, error);

    if (!lane)
        lane = &cluster->lanes[0];
    k.spaces = calloc(spaces, sizeof(*k.spaces));
    if (status == HD_OK && !k.spaces)
        status = hdi_fail(error, HD_ENOMEM, "no memory for a forall");
    k.range.dims = map->grid.rank;
    for (unsigned d = 0; status == HD_OK && d < map->grid.rank; d++)
        k.range.global[d] = (uint64_t)map->grid.extent[map->grid.rank - 1 - d];
    if (range)
        k.range = *range;
    if (status == HD_OK)
        status = hdi_forall_check_range(map, &k.range, "output", error);
    bool chosen = range && range->local[0] > 0;
    for (unsigned d = 0; status == HD_OK && !chosen && d < k.range.dims; d++)
        k.range.local[d] = d < 2 ? local_size(map, map->grid.rank - 1 - d) : 1;
    if (!chosen && k.range.dims > 1 && k.range.local[0] > 16 &&
        k.range.local[1] > 4)
        k.range.local[1] = 4; // a group of 256 at most
    if (status == HD_OK)
        status = check_launch(&k, error);
    if (status == HD_OK)
        status = check_devices(&k, error);
    k.checks =
        status == HD_OK && hd_kernel_info(kernel)->form == HD_FORM_CHECKED;
    inner.function = run_block;
    inner.data = &k;
    // A worker does the tasks of all nodes in turn: it helps with a launch that
    // it waits for, while threads of the nodes would wait for workers.
    const struct hdi_forall_way way = {
        .call = "hd_forall_kernel()",
        .digest = arg_count,
        .reach = reach,
        .on_device = cluster->domains.devices ? run_on_device : NULL,
        .crew = hd_pool_worker(launcher->pool) ? HDI_BY_CALLER : HDI_BY_THREAD};
    status = hdi_forall(&inner, lane, &way, status, error);
    for (size_t i = 0; k.spaces && i < spaces; i++)
        if (k.spaces[i].memory)
            munmap(k.spaces[i].memory, k.spaces[i].size);
    free(k.spaces);
    return status;
}
