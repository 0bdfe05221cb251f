// A box of work-groups and how it is divided.
#ifndef HDI_LAUNCH_BOX_H
#define HDI_LAUNCH_BOX_H

#include <stdint.h>

// The unit of division: from the whole launch down to a leaf. Invariant: a box
// that is passed on has a group at least on each axis; a count of 0 says that
// nothing is left.
struct hdi_box {
    uint32_t first[3], count[3]; // [work-groups]
    uint8_t fast; // axis along which work-items that follow each other touch
                  // what lies side by side: x, unless the kernel says otherwise
};

static inline uint64_t hdi_box_groups(const struct hdi_box *box)
{
    return (uint64_t)box->count[0] * box->count[1] * box->count[2];
}

// The slowest axis that can be divided, so that pieces are whole rows for as
// long as possible: z, y and then x, where x and the fast axis change places.
static inline unsigned hdi_box_slowest(const struct hdi_box *box)
{
    for (unsigned d = 2; d > 0; d--) {
        unsigned axis = d == box->fast ? 0 : d;
        if (box->count[axis] > 1)
            return axis;
    }
    return box->fast;
}

// Cut the first of `parts` equal parts off a box of more than one group, across
// its slowest axis. Something is left always.
static inline struct hdi_box hdi_box_cut(struct hdi_box *box, uint32_t parts)
{
    unsigned axis = hdi_box_slowest(box);
    struct hdi_box part = *box;

    part.count[axis] = box->count[axis] < parts ? 1 : box->count[axis] / parts;
    box->first[axis] += part.count[axis];
    box->count[axis] -= part.count[axis];
    return part;
}

static inline struct hdi_box hdi_box_halve(struct hdi_box *box)
{
    return hdi_box_cut(box, 2);
}

#endif
