// The driver's linker: tiles are made of tile.c, the kernels of all programs
// that are loaded, and a switch between them. What it makes is kept on disk
// (struct hdi_archive), as linking compiles all of it.
#ifndef HDI_BACKEND_CUDA_LINK_H
#define HDI_BACKEND_CUDA_LINK_H

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/layout.h"

// Find out which classes of tiles can run each kernel of `code`: the driver
// links them, each under an entry of its own, and says how many registers these
// need. On failure none can.
void cuda_link_classify(struct cuda_gpu *gpu, struct cuda_code *code,
                        const struct cuda_layout *layout);

// Link hdx_serve for tiles of one class, of so many registers, with the kernels
// of all `codes`, linked through `next_code`, that it can run. Kernels are
// numbered, the same in every class. `messages` is for people.
cuda_result cuda_link_tiles(struct cuda_gpu *gpu, struct cuda_code *codes,
                            unsigned class, int registers, cuda_module *module,
                            cuda_function *serve, char *messages, size_t size);

#endif
