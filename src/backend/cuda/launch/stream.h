// Launches on a stream of the driver's: a chunk is launched, and an event
// behind it says when it is done. The functions are those of units.
#ifndef HDI_BACKEND_CUDA_STREAM_H
#define HDI_BACKEND_CUDA_STREAM_H

#include "backend/cuda/cuda.h"

struct cuda_launcher;

// With the context, and the executor away.
hd_status cuda_launcher_open(struct cuda_gpu *gpu,
                             struct cuda_launcher **launcher);

void cuda_launcher_close(struct cuda_launcher *launcher);

bool cuda_launcher_submit(struct cuda_launcher *launcher,
                          const struct hdi_chunk *chunk);
uint64_t cuda_launcher_submitted(const struct cuda_launcher *launcher);
uint64_t cuda_launcher_done(struct cuda_launcher *launcher);
hd_status cuda_launcher_status(const struct cuda_launcher *launcher,
                               uint64_t chunk);
void cuda_launcher_explain(const struct cuda_launcher *launcher, uint64_t chunk,
                           char *text, size_t size);
bool cuda_launcher_fault(const struct cuda_launcher *launcher, uint64_t chunk,
                         struct hdi_fault *fault);

#endif
