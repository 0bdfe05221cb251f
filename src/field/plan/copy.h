// Copying a product of spans from one array to another.
//
// Lines that are contiguous on both sides are copied as they are. Where the two
// sides are contiguous along different axes, planes go through small square
// tiles, in registers for elements of 4 and 8 bytes, so that both sides are
// touched by whole cache lines.
#ifndef HDI_FIELD_PLAN_COPY_H
#define HDI_FIELD_PLAN_COPY_H

#include "field/plan/plan.h"

// `place` and `from` differ where the relation has a step: spans say where they
// begin in places, and their elements are step places apart.
struct hdi_copy_axis {
    const struct hdi_span *spans;
    size_t count;
    int64_t place;    // from: the distance of a place [elements]
    int64_t from, to; // the distances of neighbours [elements]
};

// Axes are the target's, the last one fastest there. Both arrays stay the
// caller's; they must not overlap.
struct hdi_copy {
    unsigned rank;
    size_t element;   // [bytes]
    bool nontemporal; // past the caches, where lines are long
    const char *from;
    char *to;
    struct hdi_copy_axis axis[HD_MAX_RANK];
};

void hdi_copy_run(const struct hdi_copy *copy);

// A part of a move in dense numbering: element `begin` to `end` - 1 of its
// extent on each axis.
struct hdi_part_of_move {
    int64_t begin[HD_MAX_RANK], end[HD_MAX_RANK];
};

// Step to the next part of `most` elements at most, in an order that is the
// same on both sides; begin with all zero. False at the end.
// Sender and receiver call it with the same `most`, so that the n-th message of
// one is the n-th part of the other.
bool hdi_move_next(const struct hdi_move *move, unsigned rank, int64_t most,
                   struct hdi_part_of_move *part);
int64_t hdi_part_size(const struct hdi_part_of_move *part, unsigned rank);

// Copy a part of a move between the source's array and a dense buffer, or the
// buffer and the target's array. False when memory is short.
bool hdi_move_pack(const struct hdi_move_plan *plan,
                   const struct hdi_move *move,
                   const struct hdi_part_of_move *part, size_t element,
                   const struct hdi_store *store, const void *memory,
                   void *buffer);
bool hdi_move_unpack(const struct hdi_move_plan *plan,
                     const struct hdi_move *move,
                     const struct hdi_part_of_move *part, size_t element,
                     const struct hdi_store *store, const void *buffer,
                     void *memory);

// Copy a whole move from memory to memory.
void hdi_move_copy(const struct hdi_move_plan *plan,
                   const struct hdi_move *move, size_t element,
                   const struct hdi_store *from, const void *from_memory,
                   const struct hdi_store *to, void *to_memory);

#endif
