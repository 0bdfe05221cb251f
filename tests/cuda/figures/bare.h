// The driver alone, with nothing of Heddle's between: what figures are beside.
#ifndef HEDDLE_TESTS_CUDA_FIGURES_BARE_H
#define HEDDLE_TESTS_CUDA_FIGURES_BARE_H

#include "backend/cuda/cuda.h"
#include "tests/cuda/figures/figures.h"

enum {
    BARE_STREAMS = 8
};

struct bare {
    struct cuda_gpu *gpu;
    cuda_stream streams[BARE_STREAMS];
    cuda_event event;
    cuda_stream stream; // of the launch at hand
};

// The machine's context is the caller's from here to bare_close().
void bare_open(struct bare *bare, struct machine *machine);
void bare_close(struct bare *bare);

// Launch the chunk's kernel, all of it.
void bare_launch(struct bare *bare, int stream, const struct hdi_chunk *chunk);

// Spinning, until all of a stream has ended.
void bare_wait(struct bare *bare, int stream);

#endif
