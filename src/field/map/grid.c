#include "heddle/field.h"

#include "base/error.h"
#include "field/map/map.h"

// What all code behind relies on: the number of points, and the end of every
// axis, fit in int64_t. So sums and products of extents need no further check.
hd_status hd_grid_check(const struct hd_grid *grid, struct hd_error *error)
{
    int64_t size = 1, end;

    if (grid->rank < 1 || grid->rank > HD_MAX_RANK)
        return hdi_fail(error, HD_EINVAL,
                        "a grid has 1 to %d axes, this one has %u", HD_MAX_RANK,
                        grid->rank);
    for (unsigned i = 0; i < grid->rank; i++) {
        if (grid->extent[i] < 1)
            return hdi_fail(error, HD_EINVAL,
                            "the extent of axis %u is %lld; it must be 1 at "
                            "least",
                            i, (long long)grid->extent[i]);
        if (__builtin_mul_overflow(size, grid->extent[i], &size) ||
            __builtin_add_overflow(grid->offset[i], grid->extent[i], &end))
            return hdi_fail(error, HD_ELIMIT,
                            "the grid is too large: its points, up to axis "
                            "%u, cannot be counted in 63 bits",
                            i);
    }
    return HD_OK;
}

int64_t hd_grid_size(const struct hd_grid *grid)
{
    int64_t size = 1;

    for (unsigned i = 0; i < grid->rank; i++)
        size *= grid->extent[i];
    return size;
}

bool hd_grid_contains(const struct hd_grid *grid, const int64_t *index)
{
    for (unsigned i = 0; i < grid->rank; i++)
        if (index[i] < grid->offset[i] ||
            index[i] >= grid->offset[i] + grid->extent[i])
            return false;
    return true;
}

// Written with differences, which wrap: the ends of a child that was not
// checked could overflow, and so could how far it is from its parent's corner.
bool hd_grid_encloses(const struct hd_grid *parent, const struct hd_grid *child)
{
    for (unsigned i = 0; i < parent->rank; i++)
        if (child->offset[i] < parent->offset[i] ||
            child->extent[i] > parent->extent[i] ||
            (uint64_t)child->offset[i] - (uint64_t)parent->offset[i] >
                (uint64_t)parent->extent[i] - (uint64_t)child->extent[i])
            return false;
    return true;
}

int64_t hdi_grid_steps(const struct hd_grid *grid, int64_t *step)
{
    int64_t size = 1;

    for (unsigned i = grid->rank; i-- > 0;) {
        step[i] = size;
        size *= grid->extent[i];
    }
    return size;
}

// What the part has of the other axes before `axis`, and all of those behind.
bool hdi_grid_rest(const struct hd_grid *box, const struct hd_grid *part,
                   unsigned axis, struct hd_grid *rest)
{
    *rest = *box;
    for (unsigned k = 0; k < axis; k++)
        rest->extent[k] = part->extent[k];
    rest->offset[axis] += part->extent[axis];
    rest->extent[axis] -= part->extent[axis];
    return rest->extent[axis] > 0;
}
