// What must move where, to lay the elements of one map over the nodes of
// another.
//
// A plan belongs to a pair of maps and to how the axes of the one are those of
// the other. It holds one relation per axis, and the moves of the nodes that
// were asked for. A move is what one piece of one node gives to one piece of
// another: the product, over the axes, of the spans of a pair of classes.
//
//     hdi_plan_create()             relations of the axes, no nodes yet
//     hdi_plan_to(), _from()        the moves of the nodes that one has
//     hdi_move_source(), _target()  where a move's elements lie, for a copy
//     hdi_plan_destroy()            after all moves, which point into it
//
// Only creation and destruction write to a plan: any threads may list moves.
#ifndef HDI_FIELD_PLAN_PLAN_H
#define HDI_FIELD_PLAN_PLAN_H

#include "field/map/view.h"
#include "field/plan/relation.h"
#include "field/plan/side.h"

// How an index of the target becomes one of the source: on source axis k it is
// start[k] + step[k] * index[axis[k]], or start[k] where there is no axis.
// Every axis of the target is named once.
struct hdi_affine {
    unsigned axis[HD_MAX_RANK];
    int64_t start[HD_MAX_RANK], step[HD_MAX_RANK];
};

// Invariant: the spans are the plan's, so a move lives as long as its plan.
// Sender and receiver make the same move apart from each other, each from the
// maps.
struct hdi_move {
    uint32_t from, to; // nodes
    int64_t size;      // [elements]
    // By axis of the target: spans, and how far neighbours are in both arrays.
    // `extent` is what is moved along the axis; dense buffers count by it.
    const struct hdi_span *spans[HD_MAX_RANK];
    size_t count[HD_MAX_RANK];
    int64_t extent[HD_MAX_RANK]; // the sum of the spans' lengths
    int64_t source_class[HD_MAX_RANK], target_class[HD_MAX_RANK];
};

// The list is the caller's to free.
struct hdi_moves {
    struct hdi_move *list;
    size_t count, room;
};

// `indices` is what plans are compared by, `affine` what is computed with.
struct hdi_move_plan {
    struct hd_map *source, *target; // held
    struct hdi_affine indices;      // as given
    struct hdi_affine affine;       // of ordinals
    struct hdi_plan_side from, to;
    struct hdi_relation relation[HD_MAX_RANK]; // by axis of the target
    unsigned source_axis[HD_MAX_RANK];         // of each axis of the target
};

// HD_EINVAL when an index of the target is not in the source.
hd_status hdi_plan_create(const struct hd_map *source,
                          const struct hd_map *target,
                          const struct hdi_affine *affine,
                          struct hdi_move_plan **plan, struct hd_error *error);
void hdi_plan_destroy(struct hdi_move_plan *plan);

// Append the moves to a node, or from one; false when memory is short. Both
// give those between one pair of nodes in the same order.
bool hdi_plan_to(const struct hdi_move_plan *plan, uint32_t node,
                 struct hdi_moves *moves);
bool hdi_plan_from(const struct hdi_move_plan *plan, uint32_t node,
                   struct hdi_moves *moves);

// The arrays that a move is between. The source's has the steps of the target's
// axes.
struct hdi_array hdi_move_source(const struct hdi_move_plan *plan,
                                 const struct hdi_move *move,
                                 const struct hdi_store *store);
struct hdi_array hdi_move_target(const struct hdi_move_plan *plan,
                                 const struct hdi_move *move,
                                 const struct hdi_store *store);

#endif
