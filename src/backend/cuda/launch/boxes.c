#include "backend/cuda/launch/boxes.h"

#include <string.h>

// The driver's limits of a grid.
static const uint32_t max_grid[3] = {INT32_MAX, 65535, 65535};

// One axis of a chunk: work-groups of full size, and one that is smaller.
struct axis {
    uint32_t first[2], count[2], size[2];
};

// Index 0: work-groups of full size, 1: the one at the edge, if the chunk has
// it.
//
//     x     | full | full | full | edge |      two axes cut: four boxes,
//     y     | full | full | edge |             three: eight
static struct axis cut(const struct hdi_frame *f, int d)
{
    uint32_t local = f->local_size[d];
    uint32_t rest = (uint32_t)(f->global[d] % local);
    bool edge = rest != 0 && f->first[d] + f->count[d] == f->group_count[d];
    uint32_t full = f->count[d] - edge;

    return (struct axis){.first = {f->first[d], f->first[d] + full},
                         .count = {full, edge},
                         .size = {local, rest}};
}

// Everything but the work-groups.
static void describe(const struct hdi_chunk *chunk, cuda_address print,
                     unsigned char *parameter)
{
    const struct hdi_frame *f = &chunk->frame;
    struct hdi_device_launch launch = {.dims = f->dims, .print = print};

    for (int d = 0; d < 3; d++) {
        launch.global[d] = f->global[d];
        launch.offset[d] = f->offset[d];
        launch.local_size[d] = f->local_size[d];
        launch.group_count[d] = f->group_count[d];
    }
    memcpy(parameter, &launch, sizeof(launch));
    if (chunk->entry->args_bytes > 0)
        memcpy(parameter + HDI_DEVICE_ARGS, f->args, chunk->entry->args_bytes);
}

// Equal work-groups, in pieces that a grid may have.
// One of the eight boxes. `launch->first` says where the grid begins, since
// each grid counts its blocks from 0.
struct pieces {
    cuda_result (*visit)(void *data, const struct cuda_box *box);
    void *data;
    struct cuda_box box;
    uint32_t first[3], count[3];
};

// The grid along one axis, from work-group `done` of the box on.
static void take_piece(struct pieces *p, int axis, uint32_t done)
{
    struct hdi_device_launch *launch = p->box.parameter;
    uint32_t left = p->count[axis] - done;

    launch->first[axis] = p->first[axis] + done;
    p->box.grid[axis] = left < max_grid[axis] ? left : max_grid[axis];
}

static cuda_result visit_pieces(struct pieces *p)
{
    struct hdi_device_launch *launch = p->box.parameter;
    cuda_result result = 0;

    memcpy(launch->size, p->box.block, sizeof(launch->size));
    launch->items = p->box.block[0] * p->box.block[1] * p->box.block[2];
    // 64 bits, as the last step may lead beyond 2^32.
    for (uint64_t z = 0; z < p->count[2] && result == 0; z += max_grid[2])
        for (uint64_t y = 0; y < p->count[1] && result == 0; y += max_grid[1])
            for (uint64_t x = 0; x < p->count[0] && result == 0;
                 x += max_grid[0]) {
                take_piece(p, 0, (uint32_t)x);
                take_piece(p, 1, (uint32_t)y);
                take_piece(p, 2, (uint32_t)z);
                result = p->visit(p->data, &p->box);
            }
    return result;
}

// The parameter is one buffer on this stack, changed from box to box: a visit
// that keeps it copies it. Bit d of `kind`: the edge along d.
cuda_result cuda_each_box(const struct hdi_chunk *chunk, cuda_address print,
                          cuda_result (*visit)(void *data,
                                               const struct cuda_box *box),
                          void *data)
{
    _Alignas(16) unsigned char parameter[HDI_DEVICE_MAX];
    struct pieces p = {.visit = visit,
                       .data = data,
                       .box = {.entry = chunk->entry,
                               .shared = (unsigned)chunk->local_bytes,
                               .parameter = parameter}};
    struct axis axes[3];
    cuda_result result = 0;

    describe(chunk, print, parameter);
    for (int d = 0; d < 3; d++)
        axes[d] = cut(&chunk->frame, d);
    for (unsigned kind = 0; kind < 8 && result == 0; kind++) {
        for (int d = 0; d < 3; d++) {
            unsigned edge = kind >> d & 1;
            p.first[d] = axes[d].first[edge];
            p.count[d] = axes[d].count[edge];
            p.box.block[d] = axes[d].size[edge];
        }
        if (p.count[0] > 0 && p.count[1] > 0 && p.count[2] > 0)
            result = visit_pieces(&p);
    }
    return result;
}
