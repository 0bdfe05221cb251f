// How the classes of two axes share elements: the plan of one axis.
//
// Both axes are walked once, tile by tile, side by side. Where a tile of the
// one meets a tile of the other is a span: elements that lie one behind the
// other in both pieces' arrays. Spans are kept by pair of classes, in the order
// of the target's elements, and pairs are found from either side. So planning
// costs as much as there are tiles on the axes, and never looks at pairs of
// blocks.
//
//     target tiles    |  0  |  1  |  0  |  1  |     two classes in turn
//     source tiles    |    a    |      b      |     two classes
//     spans           |     |   | |     |     |     cut at the ends of both
//
// The pair (target 1, source b) has two of them.
#ifndef HDI_FIELD_PLAN_RELATION_H
#define HDI_FIELD_PLAN_RELATION_H

#include "field/map/axis.h"

// Elements `from`, `from` + step, ... of the source become `to`, `to` + 1, ...
// of the target; the step is the relation's.
struct hdi_span {
    int64_t from, to; // place of the first element along the axis, in the
                      // source's and the target's piece
    int64_t length;   // [elements]
};

struct hdi_relative { // one class of the other side
    int64_t class;
    int64_t total;       // elements that both have
    size_t first, count; // of the spans
};

struct hdi_relatives {
    const struct hdi_relative *list;
    size_t count;
};

// Invariant: the spans of one pair lie side by side, and ascend by `to`; `to`
// and `from` have the same pairs, each list in its own order, and share the
// spans.
struct hdi_relation {
    // Element t of the target is element start + step * t of the source.
    int64_t start, step;
    struct hdi_span *spans;
    struct hdi_relative *to, *from; // by class of the target, of the source
    size_t *first_to, *first_from;  // of each class, and the end
};

// False when memory is short. Every element of the target must be one of the
// source.
bool hdi_relation_build(const struct hdi_axis *source,
                        const struct hdi_axis *target, int64_t start,
                        int64_t step, struct hdi_relation *relation);
void hdi_relation_free(struct hdi_relation *relation);

// The source's classes that share elements with a class of the target, in
// ascending order; and the other way round.
static inline struct hdi_relatives hdi_relation_of_target(
    const struct hdi_relation *r, int64_t class)
{
    return (struct hdi_relatives){r->to + r->first_to[class],
                                  r->first_to[class + 1] - r->first_to[class]};
}

static inline struct hdi_relatives hdi_relation_of_source(
    const struct hdi_relation *r, int64_t class)
{
    return (struct hdi_relatives){r->from + r->first_from[class],
                                  r->first_from[class + 1] -
                                      r->first_from[class]};
}

#endif
