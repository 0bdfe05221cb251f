#include "graph/model/layout.h"

#include "base/error.h"

// A piece of each plane, so that the vectors stay in a cache while their
// components are gone through one after another.
enum {
    STEP = 1 << 16 // vectors between two looks at `cancel`
};

// `count` numbers, each so far from the next [numbers].
struct numbers {
    void *to;
    const void *from;
    uint64_t count, to_pitch, from_pitch;
};

#define MOVE(type)                                         \
    static void move_##type(const struct numbers *n)       \
    {                                                      \
        type *to = n->to;                                  \
        const type *from = n->from;                        \
                                                           \
        for (uint64_t i = 0; i < n->count; i++)            \
            to[i * n->to_pitch] = from[i * n->from_pitch]; \
    }

MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

static void move(const struct numbers *n, uint32_t size)
{
    switch (size) {
    case 1:
        move_uint8_t(n);
        return;
    case 2:
        move_uint16_t(n);
        return;
    case 4:
        move_uint32_t(n);
        return;
    default:
        move_uint64_t(n);
    }
}

// Components of the same scalar; planes have one axis more, the last, as long
// as vectors are wide.
static bool is_layout(const struct hdi_resource *vectors,
                      const struct hdi_resource *planes)
{
    const struct hdi_type *v = vectors->type, *p = planes->type;
    unsigned axes = vectors->shape.axes;

    if (v->width < 2 || p->width != 1 || v->scalar != p->scalar ||
        v->scalar_size != p->scalar_size || planes->shape.axes != axes + 1 ||
        planes->shape.extent[axes] != v->width)
        return false;
    for (unsigned i = 0; i < axes; i++)
        if (vectors->shape.extent[i] != planes->shape.extent[i])
            return false;
    return true;
}

// Never both: the one with planes has one axis more.
const struct hdi_resource *hdi_layout_vectors(const struct hdi_resource *a,
                                              const struct hdi_resource *b)
{
    return is_layout(a, b) ? a : is_layout(b, a) ? b : NULL;
}

//     vectors   x0 y0 z0 .  x1 y1 z1 .        pitch 4, with the padding
//     planes    x0 x1 ...   y0 y1 ...   z0 z1 ...
//
// Padding of three components is not written. Errors: HD_ECANCELED.
hd_status hdi_layout_change(struct hd_graph *graph,
                            const struct hdi_resource *from, const void *source,
                            const struct hdi_resource *to, void *target,
                            struct hd_error *error)
{
    bool splits = hdi_layout_vectors(from, to) == from;
    const struct hdi_resource *vectors = splits ? from : to;
    uint32_t size = vectors->type->scalar_size, width = vectors->type->width;
    uint64_t pitch = vectors->type->size / size; // with padding
    uint64_t count = vectors->size / vectors->type->size;

    for (uint64_t first = 0; first < count; first += STEP) {
        if (atomic_load_explicit(&graph->cancel, memory_order_relaxed))
            return hdi_fail(error, HD_ECANCELED, "cancelled");
        for (uint32_t c = 0; c < width; c++) {
            uint64_t in_vectors = (first * pitch + c) * size;
            uint64_t in_planes = (c * count + first) * size;
            move(&(struct numbers){.to = (char *)target +
                                         (splits ? in_planes : in_vectors),
                                   .from = (const char *)source +
                                           (splits ? in_vectors : in_planes),
                                   .count = count - first < STEP ? count - first
                                                                 : STEP,
                                   .to_pitch = splits ? 1 : pitch,
                                   .from_pitch = splits ? pitch : 1},
                 size);
        }
    }
    return HD_OK;
}
