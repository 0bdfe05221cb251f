#include "field/memory/bring.h"

#include "base/error.h"
#include "field/memory/mirror.h"

// What the recursion shares.
struct bringing {
    struct hd_field *field;
    uint32_t node;
    const struct hdi_fetch *fetch;
    struct hdi_traffic *traffic;
    struct hd_error *error;
};

// A part of another node's memory block.
static hd_status bring_other(const struct bringing *b,
                             const struct hd_grid *part)
{
    struct hdi_window window;
    bool there;

    HDI_TRY(hdi_mirror_expect(b->field, b->node, part, &there, b->error));
    if (there)
        return HD_OK;
    HDI_TRY(hdi_window_of_block(b->field, b->node, part->offset, b->fetch,
                                b->traffic, &window, b->error));
    return hdi_mirror_fill(b->field, b->node, part, &window, b->error);
}

// The part of the box in the block of its corner, then what is left along each
// axis.
//
//     | part | rest along axis 1 |
//     |------+-------------------|
//     |    rest along axis 0     |
static hd_status bring(const struct bringing *b, const struct hd_grid *box)
{
    struct hd_grid block, part = *box, rest;
    uint32_t owner;

    if (!hdi_mirror_block(b->field, box->offset, &block, &owner))
        return hdi_fail(b->error, HD_EINVAL,
                        "an element is read that no node owns");
    for (unsigned i = 0; i < box->rank; i++) {
        int64_t end = block.offset[i] + block.extent[i];

        if (end - box->offset[i] < part.extent[i])
            part.extent[i] = end - box->offset[i];
    }
    hd_status status = owner == b->node
                           ? hdi_mirror_own(b->field, b->node, &block, b->error)
                           : bring_other(b, &part);
    for (unsigned i = 0; status == HD_OK && i < box->rank; i++) {
        if (part.extent[i] == box->extent[i])
            continue;
        rest = *box;
        for (unsigned k = 0; k < i; k++)
            rest.extent[k] = part.extent[k];
        rest.offset[i] += part.extent[i];
        rest.extent[i] -= part.extent[i];
        status = bring(b, &rest);
    }
    return status;
}

hd_status hdi_mirror_bring(struct hd_field *field, uint32_t node,
                           const struct hd_grid *box,
                           const struct hdi_fetch *fetch,
                           struct hdi_traffic *traffic, struct hd_error *error)
{
    const struct bringing b = {field, node, fetch, traffic, error};

    return bring(&b, box);
}
