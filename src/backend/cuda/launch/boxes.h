// A chunk as launches of the driver's: an NDRange whose edges are smaller
// work-groups becomes up to eight boxes of equal ones, and these the pieces
// that a grid may have.
#ifndef HDI_BACKEND_CUDA_BOXES_H
#define HDI_BACKEND_CUDA_BOXES_H

#include "backend/cuda/cuda.h"

// One launch. `parameter` is a struct hdi_device_launch and the packed
// arguments, HDI_DEVICE_ARGS + `args_bytes` of its entry, until the visit ends.
struct cuda_box {
    const struct hdi_entry *entry;
    unsigned grid[3], block[3], shared;
    void *parameter;
};

// In order, until a visit fails. `print` is the address of a ring for printf().
cuda_result cuda_each_box(const struct hdi_chunk *chunk, cuda_address print,
                          cuda_result (*visit)(void *data,
                                               const struct cuda_box *box),
                          void *data);

#endif
