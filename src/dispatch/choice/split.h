// How a group's waves are spread over a module's units.
//
// The table gives every number of waves its even split; the pointer, one per
// module, rotates it so that no unit is always first. An even split leaves the
// pointer where it is.
#ifndef HDI_DISPATCH_CHOICE_SPLIT_H
#define HDI_DISPATCH_CHOICE_SPLIT_H

#include <stdint.h>

// Two conventions of hardware; both give the same decisions but for which unit
// is first.
enum hdi_pointer {
    HDI_POINTER_HEAD, // the next unit to use; starts at 0
    HDI_POINTER_TAIL  // the last unit used; starts at 0
};

// table[w * units + place] for w = 0 .. units * waves.
void hdi_split_table(uint16_t *table, uint32_t units, uint32_t waves);

// Below twice `units`, turned around; groups split at random, so no branch.
static inline uint32_t hdi_pointer_within(uint32_t unit, uint32_t units)
{
    return unit - (units & -(uint32_t)(unit >= units));
}

// The unit at place 0 of the rotated split.
static inline uint32_t hdi_pointer_first(enum hdi_pointer kind,
                                         uint32_t pointer, uint32_t units)
{
    uint32_t first = kind == HDI_POINTER_TAIL ? pointer + 1 : pointer;

    return hdi_pointer_within(first, units);
}

// `rest`: waves beyond an even split, fewer than units.
static inline uint32_t hdi_pointer_moved(uint32_t pointer, uint32_t rest,
                                         uint32_t units)
{
    uint32_t moved = pointer + rest;

    return hdi_pointer_within(moved, units);
}

#endif
