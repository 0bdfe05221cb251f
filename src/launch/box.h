// A box of work-groups and how it is divided.
#ifndef HDI_LAUNCH_BOX_H
#define HDI_LAUNCH_BOX_H

#include <stdint.h>

struct hdi_box {
    uint32_t first[3], count[3]; // [work-groups]
};

static inline uint64_t hdi_box_groups(const struct hdi_box *box)
{
    return (uint64_t)box->count[0] * box->count[1] * box->count[2];
}

// Halve the box across its slowest axis that can be halved, so that pieces are
// whole rows for as long as possible; returns the first half.
static inline struct hdi_box hdi_box_halve(struct hdi_box *box)
{
    int axis = box->count[2] > 1 ? 2 : box->count[1] > 1 ? 1 : 0;
    struct hdi_box half = *box;

    half.count[axis] = box->count[axis] / 2;
    box->first[axis] += half.count[axis];
    box->count[axis] -= half.count[axis];
    return half;
}

#endif
