// Views: an affine change of index in front of memory, a field or a function.
#include "field/map/view.h"

#include <string.h>

#include "base/error.h"
#include "field/map/mix.h"

// The identity over a grid that was checked; what lies below is the caller's to
// set.
static hd_status begin_view(const struct hd_grid *grid, uint64_t element,
                            struct hd_view *view, struct hd_error *error)
{
    HDI_TRY(hd_grid_check(grid, error));
    if (element < 1 || element > HDI_MAX_ELEMENT)
        return hdi_fail(error, HD_EINVAL,
                        "an element has 1 to %d bytes, not %llu",
                        HDI_MAX_ELEMENT, (unsigned long long)element);
    *view = (struct hd_view){
        .grid = *grid, .element = element, .rank_ = grid->rank};
    for (unsigned i = 0; i < grid->rank; i++) {
        view->axis_[i] = i;
        view->step_[i] = 1;
    }
    return HD_OK;
}

static hd_status too_far(const char *what, struct hd_error *error)
{
    return hdi_fail(error, HD_ELIMIT,
                    "%s: what the view looks at has indices that do not fit "
                    "63 bits",
                    what);
}

// Invariant of a view: on each axis below, step * index and start + step *
// index fit for each of its indices, so who reads it need not look.
static bool fits(const struct hd_view *view)
{
    for (unsigned k = 0; k < view->rank_; k++) {
        unsigned axis = view->axis_[k];
        int64_t first, last;

        if (axis == HDI_NO_AXIS)
            continue;
        first = view->grid.offset[axis];
        last = first + (view->grid.extent[axis] - 1);
        if (__builtin_mul_overflow(view->step_[k], first, &first) ||
            __builtin_mul_overflow(view->step_[k], last, &last) ||
            __builtin_add_overflow(view->start_[k], first, &first) ||
            __builtin_add_overflow(view->start_[k], last, &last))
            return false;
    }
    return true;
}

// The grid's first point lies at `memory`, so offsets are taken off in
// `start_`. Sizes are checked here once; reading then needs no check.
hd_status hd_view_memory(const struct hd_grid *grid, uint64_t element,
                         const void *memory, bool columns, struct hd_view *view,
                         struct hd_error *error)
{
    int64_t size = 1;
    uint64_t bytes;

    HDI_TRY(begin_view(grid, element, view, error));
    view->memory_ = memory;
    for (unsigned k = 0; k < grid->rank; k++) {
        unsigned i = columns ? k : grid->rank - 1 - k;

        view->multiplier_[i] = size;
        if (__builtin_sub_overflow(0, grid->offset[i], &view->start_[i]))
            return too_far("memory", error);
        size *= grid->extent[i];
    }
    if (__builtin_mul_overflow((uint64_t)size, element, &bytes) ||
        bytes > INT64_MAX)
        return hdi_fail(error, HD_ELIMIT,
                        "a view of memory of %lld elements of %llu bytes is "
                        "larger than 2^63 bytes",
                        (long long)size, (unsigned long long)element);
    return HD_OK;
}

hd_status hd_view_function(const struct hd_grid *grid, uint64_t element,
                           void (*function)(void *data, const int64_t *index,
                                            void *value),
                           void *data, struct hd_view *view,
                           struct hd_error *error)
{
    HDI_TRY(begin_view(grid, element, view, error));
    view->function_ = function;
    view->data_ = data;
    return HD_OK;
}

struct hd_view hd_view_field(struct hd_field *field)
{
    struct hd_view view = {.grid = *hd_map_grid(hd_field_map(field)),
                           .element = hd_field_element(field),
                           .field_ = field};

    view.rank_ = view.grid.rank;
    for (unsigned i = 0; i < view.rank_; i++) {
        view.axis_[i] = i;
        view.step_[i] = 1;
    }
    return view;
}

// `becomes` is the inverse of `order`: axis order[i] of the old view is axis i
// of the new one.
hd_status hd_view_transpose(const struct hd_view *view, const unsigned *order,
                            struct hd_view *result, struct hd_error *error)
{
    struct hd_view v = *view;
    unsigned rank = view->grid.rank, becomes[HD_MAX_RANK], seen = 0;

    for (unsigned i = 0; i < rank; i++) {
        if (order[i] >= rank || (seen & 1u << order[i]))
            return hdi_fail(error, HD_EINVAL,
                            "transpose: axis %u is none, or named twice",
                            order[i]);
        seen |= 1u << order[i];
        becomes[order[i]] = i;
        v.grid.extent[i] = view->grid.extent[order[i]];
        v.grid.offset[i] = view->grid.offset[order[i]];
    }
    for (unsigned k = 0; k < v.rank_; k++)
        if (v.axis_[k] != HDI_NO_AXIS)
            v.axis_[k] = becomes[view->axis_[k]];
    *result = v;
    return HD_OK;
}

hd_status hd_view_section(const struct hd_view *view,
                          const struct hd_grid *part, struct hd_view *result,
                          struct hd_error *error)
{
    HDI_TRY(hd_grid_check(part, error));
    if (part->rank != view->grid.rank || !hd_grid_encloses(&view->grid, part))
        return hdi_fail(error, HD_EINVAL,
                        "section: the part is not inside the view");
    *result = *view;
    result->grid = *part;
    return HD_OK;
}

// Index i of the view's axis was start + step * i. False: that does not fit.
static bool compose(struct hd_view *view, unsigned axis, int64_t start,
                    int64_t step)
{
    int64_t more;

    for (unsigned k = 0; k < view->rank_; k++)
        if (view->axis_[k] == axis &&
            (__builtin_mul_overflow(view->step_[k], start, &more) ||
             __builtin_add_overflow(view->start_[k], more, &view->start_[k]) ||
             __builtin_mul_overflow(view->step_[k], step, &view->step_[k])))
            return false;
    return true;
}

// With a negative step the view begins at the last point and goes down. The new
// view has no offset: index i is the i-th point that is kept.
hd_status hd_view_stride(const struct hd_view *view, const int64_t *step,
                         struct hd_view *result, struct hd_error *error)
{
    struct hd_view v = *view;

    for (unsigned i = 0; i < v.grid.rank; i++) {
        int64_t extent = v.grid.extent[i], first = v.grid.offset[i];

        if (step[i] == 0 || step[i] == INT64_MIN)
            return hdi_fail(error, HD_EINVAL, "stride: 0 on axis %u", i);
        if (step[i] < 0)
            first += extent - 1;
        if (!compose(&v, i, first, step[i]))
            return too_far("stride", error);
        v.grid.extent[i] =
            (extent - 1) / (step[i] < 0 ? -step[i] : step[i]) + 1;
        v.grid.offset[i] = 0;
    }
    if (!fits(&v))
        return too_far("stride", error);
    *result = v;
    return HD_OK;
}

hd_status hd_view_shift(const struct hd_view *view, const int64_t *by,
                        struct hd_view *result, struct hd_error *error)
{
    struct hd_view v = *view;

    for (unsigned i = 0; i < v.grid.rank; i++) {
        if (__builtin_add_overflow(v.grid.offset[i], by[i],
                                   &v.grid.offset[i]) ||
            by[i] == INT64_MIN)
            return hdi_fail(error, HD_ELIMIT, "shift: too far on axis %u", i);
        if (!compose(&v, i, -by[i], 1))
            return too_far("shift", error);
    }
    HDI_TRY(hd_grid_check(&v.grid, error));
    if (!fits(&v))
        return too_far("shift", error);
    *result = v;
    return HD_OK;
}

// The axis goes away, those behind it move up by one; below, its index is fixed
// from now on.
hd_status hd_view_project(const struct hd_view *view, unsigned axis, int64_t at,
                          struct hd_view *result, struct hd_error *error)
{
    struct hd_view v = *view;

    if (v.grid.rank < 2 || axis >= v.grid.rank || at < v.grid.offset[axis] ||
        at >= v.grid.offset[axis] + v.grid.extent[axis])
        return hdi_fail(error, HD_EINVAL,
                        "project: index %lld of axis %u is not in the view, or "
                        "it has one axis only",
                        (long long)at, axis);
    for (unsigned i = axis; i + 1 < v.grid.rank; i++) {
        v.grid.extent[i] = v.grid.extent[i + 1];
        v.grid.offset[i] = v.grid.offset[i + 1];
    }
    v.grid.rank--;
    for (unsigned k = 0; k < v.rank_; k++) {
        if (v.axis_[k] == HDI_NO_AXIS)
            continue;
        if (v.axis_[k] == axis) {
            v.start_[k] += v.step_[k] * at;
            v.step_[k] = 0;
            v.axis_[k] = HDI_NO_AXIS;
        } else if (v.axis_[k] > axis) {
            v.axis_[k]--;
        }
    }
    *result = v;
    return HD_OK;
}

void hdi_view_below(const struct hd_view *view, const int64_t *index,
                    int64_t *below)
{
    for (unsigned k = 0; k < view->rank_; k++)
        below[k] =
            view->start_[k] + (view->axis_[k] == HDI_NO_AXIS
                                   ? 0
                                   : view->step_[k] * index[view->axis_[k]]);
}

uint64_t hdi_view_digest(const struct hd_view *view)
{
    uint64_t digest = hdi_mix(view->element, view->rank_);

    for (unsigned i = 0; i < view->grid.rank; i++) {
        digest = hdi_mix(digest, (uint64_t)view->grid.extent[i]);
        digest = hdi_mix(digest, (uint64_t)view->grid.offset[i]);
    }
    for (unsigned k = 0; k < view->rank_; k++) {
        digest = hdi_mix(digest, view->axis_[k]);
        digest = hdi_mix(digest, (uint64_t)view->start_[k]);
        digest = hdi_mix(digest, (uint64_t)view->step_[k]);
    }
    return digest;
}

// Element by element, with a look-up each: for small things. What is large is
// laid out first (hd_agile()).
hd_status hd_view_read(const struct hd_view *view, const int64_t *index,
                       void *value, struct hd_error *error)
{
    int64_t below[HD_MAX_RANK], place = 0;
    struct hd_tile tile;

    if (!hd_grid_contains(&view->grid, index))
        return hdi_fail(error, HD_EINVAL, "the index is not in the view");
    hdi_view_below(view, index, below);
    if (view->function_) {
        view->function_(view->data_, below, value);
        return HD_OK;
    }
    if (view->field_) {
        if (!hd_field_segment(view->field_, below, &tile))
            return hdi_fail(error, HD_EINVAL,
                            "the element belongs to another process, or to "
                            "no node");
        for (unsigned i = 0; i < view->rank_; i++)
            place += (below[i] - tile.grid.offset[i]) * tile.step[i];
        memcpy(value, (char *)tile.data + place * (int64_t)view->element,
               view->element);
        return HD_OK;
    }
    for (unsigned k = 0; k < view->rank_; k++)
        place += below[k] * view->multiplier_[k];
    memcpy(value, view->memory_ + place * (int64_t)view->element,
           view->element);
    return HD_OK;
}
