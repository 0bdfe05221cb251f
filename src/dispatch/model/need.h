// What one work-group needs.
#ifndef HDI_DISPATCH_MODEL_NEED_H
#define HDI_DISPATCH_MODEL_NEED_H

#include "dispatch/maps/lanes.h"
#include "dispatch/model/shape.h"

// What the submitter says; by value.
struct hdi_need {
    uint16_t waves;
    uint8_t priority; // 1 is the highest in the base order
    bool independent; // its waves may be dispatched one by one
    // By resource [blocks]: of one wave, or of the group when shared.
    uint16_t amount[HDI_MAX_RESOURCES];
};

// Whether an empty module could take it; otherwise HD_ELIMIT, naming the
// resource. HD_EINVAL for no waves or an unknown priority.
hd_status hdi_need_check(const struct hdi_need *need,
                         const struct hdi_shape *shape, unsigned priorities,
                         struct hd_error *error);

// The largest share of a module's blocks of one resource that it takes, in
// 1/65536.
uint32_t hdi_need_share(const struct hdi_need *need,
                        const struct hdi_shape *shape);

// What can be said of a need without knowing the module.
struct hdi_outline {
    uint32_t resources; // those it needs at all, as bits
    uint32_t rest;      // waves beyond an even split
    struct hdi_run_bounds bounds;
};

// What every line must at least have when place 0 of the split is unit `first`;
// `split` is waves by place. `runs`, by run line, is how many separate runs of
// that length are taken. Both have line_pad numbers.
void hdi_need_lines(const struct hdi_need *need, const struct hdi_shape *shape,
                    const uint16_t *split, uint32_t first, uint16_t *lines,
                    uint16_t *runs);

// `lines` and `runs` as hdi_need_lines() made them, for any first unit.
struct hdi_outline hdi_need_outline(const struct hdi_need *need,
                                    const struct hdi_shape *shape,
                                    const uint16_t *lines,
                                    const uint16_t *runs);

#endif
