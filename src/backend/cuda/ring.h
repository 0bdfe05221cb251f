// What kernels on a GPU print (struct hdi_print_ring): the host's end.
#ifndef HDI_BACKEND_CUDA_RING_H
#define HDI_BACKEND_CUDA_RING_H

#include "backend/cuda/cuda.h"
#include "backend/print.h"

// One per stream, executor or graph; read by one thread at a time.
struct cuda_ring {
    struct hdi_print_ring *ring; // mapped memory
    cuda_address address;        // the same, for the GPU
    struct hdi_printer printer;
    uint64_t lost; // as last said
};

// With the context. False: no memory.
bool cuda_ring_open(struct cuda_ring *ring, struct cuda_gpu *gpu);
void cuda_ring_close(struct cuda_ring *ring, struct cuda_gpu *gpu);

// Pass on what is there.
void cuda_ring_read(struct cuda_ring *ring);

#endif
