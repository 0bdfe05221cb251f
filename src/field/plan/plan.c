#include "field/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

// Turn an index mapping into one of ordinals: what is start + step * index for
// indices, for source and target that have offsets and strides of their own.
// Checks the first and the last index on each axis only: what is between them
// is a sequence with one step. Of one index there is no step, however far a
// view has strided.
static hd_status to_ordinals(const struct hd_map *source,
                             const struct hd_map *target,
                             const struct hdi_affine *indices,
                             struct hdi_affine *ordinals,
                             struct hd_error *error)
{
    *ordinals = *indices;
    for (unsigned k = 0; k < source->grid.rank; k++) {
        unsigned axis = indices->axis[k];
        int64_t stride = source->stride[k], start = indices->start[k];
        int64_t step = stride, last = 0;

        if (axis != HDI_NO_AXIS) {
            start += indices->step[k] * target->grid.offset[axis];
            last = target->box.extent[axis] - 1;
        }
        if (last > 0)
            step = indices->step[k] * target->stride[axis];
        start -= source->grid.offset[k];
        if (start % stride != 0 || step % stride != 0)
            return hdi_fail(error, HD_EINVAL,
                            "axis %u of the source has every %lld-th index "
                            "only, not all that are asked for",
                            k, (long long)stride);
        start /= stride;
        step /= stride;
        ordinals->start[k] = start;
        ordinals->step[k] = step;
        if (start < 0 || start >= source->box.extent[k] ||
            start + step * last < 0 ||
            start + step * last >= source->box.extent[k])
            return hdi_fail(error, HD_EINVAL,
                            "indices are asked for that the source does not "
                            "have on its axis %u",
                            k);
    }
    return HD_OK;
}

// Every axis of the target must come from one of the source, or its elements
// would have no value; an axis of the source may be fixed instead.
static hd_status relate(struct hdi_move_plan *plan, struct hd_error *error)
{
    unsigned named = 0;

    if (!hdi_side_build(plan->source, &plan->from) ||
        !hdi_side_build(plan->target, &plan->to))
        return hdi_fail(error, HD_ENOMEM, "no memory for a plan");
    for (unsigned k = 0; k < plan->source->grid.rank; k++) {
        unsigned axis = plan->affine.axis[k];

        if (axis == HDI_NO_AXIS)
            continue;
        if (axis >= plan->target->grid.rank || (named & 1u << axis))
            return hdi_fail(error, HD_EINVAL,
                            "axis %u of the target is none, or named twice",
                            axis);
        named |= 1u << axis;
        plan->source_axis[axis] = k;
        if (!hdi_relation_build(hdi_side_axis(&plan->from, k),
                                hdi_side_axis(&plan->to, axis),
                                plan->affine.start[k], plan->affine.step[k],
                                &plan->relation[axis]))
            return hdi_fail(error, HD_ENOMEM, "no memory for a plan");
    }
    if (named != (1u << plan->target->grid.rank) - 1)
        return hdi_fail(error, HD_EINVAL,
                        "an axis of the target is none of the source's");
    return HD_OK;
}

// Holds both maps, since relations are by their classes and callers may destroy
// theirs meanwhile.
hd_status hdi_plan_create(const struct hd_map *source,
                          const struct hd_map *target,
                          const struct hdi_affine *affine,
                          struct hdi_move_plan **plan, struct hd_error *error)
{
    struct hdi_move_plan *p = calloc(1, sizeof(*p));
    if (!p)
        return hdi_fail(error, HD_ENOMEM, "no memory for a plan");

    p->source = hdi_map_hold(source);
    p->target = hdi_map_hold(target);
    p->indices = *affine;
    hd_status status = to_ordinals(source, target, affine, &p->affine, error);
    if (status == HD_OK)
        status = relate(p, error);
    if (status != HD_OK) {
        hdi_plan_destroy(p);
        return status;
    }
    *plan = p;
    return HD_OK;
}

void hdi_plan_destroy(struct hdi_move_plan *plan)
{
    if (!plan)
        return;
    for (unsigned i = 0; i < HD_MAX_RANK; i++)
        hdi_relation_free(&plan->relation[i]);
    hdi_side_free(&plan->from);
    hdi_side_free(&plan->to);
    hd_map_destroy(plan->source);
    hd_map_destroy(plan->target);
    free(plan);
}

// Enumerating ---------------------------------------------------------------

// One list that is being made: `pushing` from the node's side as the source.
struct listing {
    const struct hdi_move_plan *plan;
    struct hdi_moves *moves;
    struct hdi_move move; // being put together
    bool pushing;
};

// Class tuples that nobody owns (sparse maps, shapes) move nothing.
static bool append(struct listing *l)
{
    struct hdi_moves *m = l->moves;
    struct hdi_move *move = &l->move;

    // The other side's owner is known now that all classes are.
    uint32_t other = l->pushing
                         ? hdi_side_owner(&l->plan->to, move->target_class)
                         : hdi_side_owner(&l->plan->from, move->source_class);
    if (other == HD_NO_NODE)
        return true;
    *(l->pushing ? &move->to : &move->from) = other;
    move->size = 1;
    for (unsigned i = 0; i < l->plan->target->grid.rank; i++)
        move->size *= move->extent[i];
    if (m->count == m->room) {
        size_t room = m->room ? 2 * m->room : 16;
        struct hdi_move *list = realloc(m->list, room * sizeof(*list));

        if (!list)
            return false;
        m->list = list;
        m->room = room;
    }
    m->list[m->count++] = *move;
    return true;
}

// Choose a class of the other side on each axis of the target from `axis` on.
// One level of recursion for each axis: the product of the classes that share
// elements on each, and no other.
static bool choose(struct listing *l, unsigned axis)
{
    const struct hdi_move_plan *plan = l->plan;
    struct hdi_move *move = &l->move;

    if (axis == plan->target->grid.rank)
        return append(l);

    unsigned k = plan->source_axis[axis];
    const struct hdi_relation *r = &plan->relation[axis];
    int64_t *mine =
        l->pushing ? &move->source_class[k] : &move->target_class[axis];
    int64_t *other =
        l->pushing ? &move->target_class[axis] : &move->source_class[k];
    struct hdi_relatives relatives = l->pushing
                                         ? hdi_relation_of_source(r, *mine)
                                         : hdi_relation_of_target(r, *mine);

    for (size_t i = 0; i < relatives.count; i++) {
        const struct hdi_relative *relative = &relatives.list[i];

        *other = relative->class;
        move->spans[axis] = r->spans + relative->first;
        move->count[axis] = relative->count;
        move->extent[axis] = relative->total;
        if (!choose(l, axis + 1))
            return false;
    }
    return true;
}

// The class that a source axis without one of the target's has, at its start.
static int64_t fixed_class(const struct hdi_move_plan *plan, unsigned k)
{
    const struct hdi_axis *axis = hdi_side_axis(&plan->from, k);

    return hdi_axis_class(axis, hdi_axis_find(axis, plan->affine.start[k]));
}

// An axis that is fixed below has one class, which its start is in.
static bool list_target(void *data, const int64_t *class)
{
    struct listing *l = data;
    const struct hdi_move_plan *plan = l->plan;

    memcpy(l->move.target_class, class, sizeof(l->move.target_class));
    for (unsigned k = 0; k < plan->source->grid.rank; k++)
        if (plan->affine.axis[k] == HDI_NO_AXIS)
            l->move.source_class[k] = fixed_class(plan, k);
    return choose(l, 0);
}

// A node that does not have the fixed index gives nothing.
static bool list_source(void *data, const int64_t *class)
{
    struct listing *l = data;
    const struct hdi_move_plan *plan = l->plan;

    memcpy(l->move.source_class, class, sizeof(l->move.source_class));
    for (unsigned k = 0; k < plan->source->grid.rank; k++)
        if (plan->affine.axis[k] == HDI_NO_AXIS &&
            class[k] != fixed_class(plan, k))
            return true;
    return choose(l, 0);
}

static int compare(const int64_t *a, const int64_t *b)
{
    for (unsigned i = 0; i < HD_MAX_RANK; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

// The order is by nodes, then classes, and no two moves are equal: sender and
// receiver cut the same list into the same messages without telling each other.
static int in_order(const void *a, const void *b)
{
    const struct hdi_move *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;

    int order = compare(x->target_class, y->target_class);

    return order ? order : compare(x->source_class, y->source_class);
}

// Sorted only what was added: lists of several nodes may be appended to one.
static bool list(const struct hdi_move_plan *plan, uint32_t node, bool pushing,
                 struct hdi_moves *moves)
{
    struct listing l = {plan, moves, {0}, pushing};
    size_t first = moves->count;

    *(pushing ? &l.move.from : &l.move.to) = node;
    if (!hdi_side_each(pushing ? &plan->from : &plan->to, node,
                       pushing ? list_source : list_target, &l))
        return false;
    if (moves->count > first)
        qsort(moves->list + first, moves->count - first, sizeof(*moves->list),
              in_order);
    return true;
}

bool hdi_plan_to(const struct hdi_move_plan *plan, uint32_t node,
                 struct hdi_moves *moves)
{
    return list(plan, node, false, moves);
}

bool hdi_plan_from(const struct hdi_move_plan *plan, uint32_t node,
                   struct hdi_moves *moves)
{
    return list(plan, node, true, moves);
}

// The begin also holds the place along fixed axes, which are none of the
// target's.
struct hdi_array hdi_move_source(const struct hdi_move_plan *plan,
                                 const struct hdi_move *move,
                                 const struct hdi_store *store)
{
    struct hdi_array own =
        hdi_side_array(&plan->from, store, move->source_class);
    struct hdi_array array = {.begin = own.begin};

    for (unsigned k = 0; k < plan->source->grid.rank; k++) {
        const struct hdi_axis *axis = hdi_side_axis(&plan->from, k);
        unsigned target = plan->affine.axis[k];
        int64_t at = plan->affine.start[k];

        if (target != HDI_NO_AXIS) {
            array.step[target] = own.step[k];
            continue;
        }
        int64_t tile = hdi_axis_find(axis, at);
        array.begin +=
            (hdi_axis_place(axis, tile) + at - hdi_axis_begin(axis, tile)) *
            own.step[k];
    }
    return array;
}

struct hdi_array hdi_move_target(const struct hdi_move_plan *plan,
                                 const struct hdi_move *move,
                                 const struct hdi_store *store)
{
    return hdi_side_array(&plan->to, store, move->target_class);
}
