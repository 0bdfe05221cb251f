// Access by index: the tile that was touched last, a few before it, and rows
// and boxes of elements that lie in several.
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "field/forall/run.h"
#include "field/map/map.h"

enum {
    KEPT = sizeof(((struct hd_access *)NULL)->kept_) / sizeof(struct hd_tile)
};

// Memory of a task.
// In a list of the task, because rows that were given out stay valid until the
// task ends.
struct hdi_access_room {
    struct hdi_access_room *next;
    _Alignas(16) char bytes[];
};

void hd_access_begin(struct hd_access *access, struct hd_task *task,
                     unsigned input)
{
    *access = (struct hd_access){
        .task_ = task,
        .input_ = input,
        .element_ = task->run->forall->inputs[input].view.element};
}

void hdi_access_end(struct hd_task *task)
{
    for (struct hdi_access_room *room = task->rooms, *next; room; room = next) {
        next = room->next;
        free(room);
    }
    task->rooms = NULL;
}

static const struct hd_view *view_of(const struct hd_access *access)
{
    return &access->task_->run->forall->inputs[access->input_].view;
}

// Keep the first failure, which ends the forall.
static const void *fail(struct hd_access *access, hd_status status,
                        const char *text)
{
    access->status = status;
    hdi_run_fail(access->task_->run, status, text);
    return NULL;
}

// What is in the view of a window's box; steps are 1 or -1.
// The inverse of the view: from what lies below to the view's own indices, cut
// off at its ends.
static void seen_through(const struct hd_view *view,
                         const struct hdi_window *window, struct hd_grid *seen)
{
    const struct hd_grid *grid = &view->field_->map->grid;

    *seen = view->grid;
    for (unsigned k = 0; k < view->rank_; k++) {
        unsigned axis = view->axis_[k];
        int64_t low = window->box.offset[k] + grid->offset[k];
        int64_t high = low + window->box.extent[k] - 1;

        if (axis == HDI_NO_AXIS)
            continue;
        int64_t a = (low - view->start_[k]) * view->step_[k];
        int64_t b = (high - view->start_[k]) * view->step_[k];
        int64_t end = view->grid.offset[axis] + view->grid.extent[axis] - 1;

        low = a < b ? a : b;
        high = a < b ? b : a;
        if (low < view->grid.offset[axis])
            low = view->grid.offset[axis];
        seen->offset[axis] = low;
        seen->extent[axis] = (high < end ? high : end) - low + 1;
    }
}

// Find the tile of an index in the node's memory, bringing its block if need
// be.
// Under the node's lock, which is not held while the function computes.
static bool bring(struct hd_access *access, const int64_t *index,
                  struct hd_tile *tile)
{
    struct hd_task *task = access->task_;
    const struct hd_view *view = view_of(access);
    int64_t below[HD_MAX_RANK];
    struct hdi_window window;
    struct hd_grid seen;
    struct hd_error error = {0};

    hdi_view_below(view, index, below);
    for (unsigned k = 0; k < view->rank_; k++)
        below[k] -= view->field_->map->grid.offset[k];
    pthread_mutex_lock(hdi_run_moving(task->run, task->node));
    hd_status status =
        hdi_window_of_block(view->field_, task->node, below, &task->run->fetch,
                            task->traffic, &window, &error);
    pthread_mutex_unlock(hdi_run_moving(task->run, task->node));
    if (status != HD_OK) {
        fail(access, status, error.text);
        return false;
    }
    seen_through(view, &window, &seen);
    hdi_run_tile(view, &window, &seen, tile);
    return true;
}

// Make a tile the current one, and keep the one that was.
// The places for those that are kept go round: the oldest is overwritten.
static void enter(struct hd_access *access, const struct hd_tile *tile)
{
    if (access->tile.grid.rank) {
        access->kept_[access->kept_next_] = access->tile;
        access->kept_next_ = (access->kept_next_ + 1) % KEPT;
        access->kept_count_ += access->kept_count_ < KEPT;
    }
    access->tile = *tile;
}

// Make the tile of an index the current one.
// Four cases, the cheapest first: the current tile, one of those kept (they
// change places), an index that is none, a block that must be brought.
static bool go(struct hd_access *access, const int64_t *index)
{
    struct hd_tile tile;

    if (access->tile.grid.rank && hd_grid_contains(&access->tile.grid, index))
        return true;
    access->row_count_ = 0;
    for (unsigned k = 0; k < access->kept_count_; k++)
        if (hd_grid_contains(&access->kept_[k].grid, index)) {
            tile = access->kept_[k];
            access->kept_[k] = access->tile;
            access->tile = tile;
            return true;
        }
    if (!hd_grid_contains(&view_of(access)->grid, index)) {
        fail(access, HD_EINVAL,
             "an index is touched that the view does not have");
        return false;
    }
    if (!bring(access, index, &tile))
        return false;
    enter(access, &tile);
    return true;
}

static char *address_of(const struct hd_access *access, const int64_t *index)
{
    return hd_tile_at(&access->tile, index, access->element_);
}

const void *hd_access_move(struct hd_access *access, const int64_t *index)
{
    return access->status == HD_OK && go(access, index)
               ? address_of(access, index)
               : NULL;
}

// Also notes the row, so that the inline hd_access_at_2() needs no call for its
// next elements.
const void *hd_access_move_2(struct hd_access *access, int64_t i, int64_t j)
{
    const struct hd_tile *tile = &access->tile;
    const int64_t index[] = {i, j};

    if (access->status != HD_OK)
        return NULL;
    if (view_of(access)->grid.rank != 2)
        return fail(access, HD_EINVAL,
                    "two indices are touched of a view that has not two axes");
    if (!go(access, index))
        return NULL;
    access->row_ = i;
    access->row_first_ = tile->grid.offset[1];
    access->row_count_ = (uint64_t)tile->grid.extent[1];
    access->row_step_ = tile->step[1];
    access->row_start_ =
        address_of(access, (int64_t[]){i, tile->grid.offset[1]});
    return address_of(access, index);
}

struct hd_cursor hd_cursor_move_2(struct hd_access *access, int64_t i,
                                  int64_t j)
{
    struct hd_cursor cursor = hd_cursor_of(access);

    if (!hd_access_move_2(access, i, j))
        return cursor;
    cursor.start_ = access->row_start_;
    cursor.row_ = access->row_;
    cursor.first_ = access->row_first_;
    cursor.step_ = access->row_step_ * (int64_t)access->element_;
    cursor.count_ = access->row_count_;
    return cursor;
}

// Rows ------------------------------------------------------------------------

// Have room for a row; the one before may go when the task ends.
// At least doubled, so that rows that grow make few rooms.
static bool make_room(struct hd_access *access, uint64_t size)
{
    if (size <= access->room_size_)
        return true;
    if (size < 2 * access->room_size_)
        size = 2 * access->room_size_;

    struct hdi_access_room *room = malloc(sizeof(*room) + size);
    if (!room) {
        fail(access, HD_ENOMEM, "no memory for a row");
        return false;
    }
    room->next = access->task_->rooms;
    access->task_->rooms = room;
    access->room_ = room->bytes;
    access->room_size_ = size;
    return true;
}

// How many of a row's elements are in the tile of the first one.
static int64_t count_here(const struct hd_access *access, const int64_t *index,
                          int64_t count)
{
    const struct hd_grid *grid = &access->tile.grid;
    unsigned last = grid->rank - 1;
    int64_t here = grid->offset[last] + grid->extent[last] - index[last];

    return here < count ? here : count;
}

static void copy_row(char *to, const char *from, int64_t count, int64_t step,
                     size_t element)
{
    if (step == 1) {
        memcpy(to, from, (size_t)count * element);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * (int64_t)element, from + i * step * (int64_t)element,
               element);
}

// In place where the row lies in one tile, with a step of 1; else it is put
// together, tile by tile.
const void *hd_access_move_row(struct hd_access *access, const int64_t *index,
                               int64_t count)
{
    const struct hd_view *view = view_of(access);
    unsigned last = view->grid.rank - 1;
    int64_t at[HD_MAX_RANK];
    const char *from = hd_access_move(access, index);

    if (!from)
        return NULL;
    if (count < 1 ||
        count > view->grid.offset[last] + view->grid.extent[last] - index[last])
        return fail(access, HD_EINVAL,
                    "a row is touched that the view does not have");
    if (access->tile.step[last] == 1 &&
        count_here(access, index, count) == count)
        return from;
    if (!make_room(access, (uint64_t)count * view->element))
        return NULL;
    memcpy(at, index, view->grid.rank * sizeof(*at));
    for (int64_t done = 0; done < count;) {
        if (!(from = hd_access_move(access, at)))
            return NULL;
        int64_t here = count_here(access, at, count - done);

        copy_row((char *)access->room_ + done * (int64_t)view->element, from,
                 here, access->tile.step[last], view->element);
        done += here;
        at[last] += here;
    }
    return access->room_;
}

// Boxes -----------------------------------------------------------------------

// Copy a box, from as many tiles as it is in, to where it is put together: the
// part in the tile of its corner, then what is left along each axis.
static bool put_together(struct hd_access *access, const struct hdi_window *to,
                         const struct hd_grid *box)
{
    const struct hd_tile *tile = &access->tile;
    struct hd_grid part = *box, rest;

    if (!hd_access_move(access, box->offset))
        return false;

    struct hdi_window from = {.box = tile->grid, .data = tile->data};

    memcpy(from.step, tile->step, sizeof(from.step));
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t end = tile->grid.offset[i] + tile->grid.extent[i];

        if (end - box->offset[i] < part.extent[i])
            part.extent[i] = end - box->offset[i];
    }
    hdi_window_copy(to, &from, &part, access->element_);
    for (unsigned i = 0; i < box->rank; i++)
        if (hdi_grid_rest(box, &part, i, &rest) &&
            !put_together(access, to, &rest))
            return false;
    return true;
}

static bool view_has(const struct hd_view *view, const struct hd_grid *box)
{
    bool has =
        box->rank == view->grid.rank && hd_grid_encloses(&view->grid, box);

    for (unsigned i = 0; has && i < box->rank; i++)
        has = box->extent[i] > 0;
    return has;
}

// Room is for all of it, so each part is copied once.
bool hd_access_box(struct hd_access *access, const struct hd_grid *box,
                   struct hd_tile *tile)
{
    struct hdi_window whole;

    *tile = (struct hd_tile){0};
    if (access->status != HD_OK)
        return false;
    if (!view_has(view_of(access), box)) {
        fail(access, HD_EINVAL, "a box is touched that the view does not have");
        return false;
    }
    if (!hd_access_move(access, box->offset))
        return false;
    if (access->tile.step[box->rank - 1] == 1 &&
        hd_grid_encloses(&access->tile.grid, box)) {
        *tile = access->tile;
        tile->data = address_of(access, box->offset);
        tile->grid = *box;
        return true;
    }
    if (!make_room(access, (uint64_t)hd_grid_size(box) * access->element_))
        return false;
    hdi_window_lay(box, access->room_, &whole);
    if (!put_together(access, &whole, box))
        return false;
    *tile = (struct hd_tile){.grid = *box, .data = access->room_};
    memcpy(tile->step, whole.step, sizeof(tile->step));
    return true;
}
