// The persistent executor: a kernel that stays on the GPU, whose tiles get
// their tasks through mailboxes in memory of the host instead of by launches.
//
// It is linked by the driver (link.h) once for each class of tiles, and started
// when a tile gets its first task. What
// would wait for it for ever, such as loading, freeing and allocating, makes it
// leave first (cuda_enter_alone); the next task starts it again, with
// whatever kernels there are then.
//
// Invariant: tasks of a tile are numbered from 1 and end in that order, over
// all times it was started.
#ifndef HDI_BACKEND_CUDA_EXECUTOR_H
#define HDI_BACKEND_CUDA_EXECUTOR_H

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/layout.h"

struct cuda_executor;

// With the context.
hd_status cuda_executor_open(struct cuda_gpu *gpu,
                             const struct cuda_layout *layout, bool doorbell,
                             struct cuda_executor **executor,
                             struct hd_error *error);
const struct cuda_layout *cuda_executor_layout(
    const struct cuda_executor *executor);
// NULL is allowed.
void cuda_executor_close(struct cuda_executor *executor);

// A program comes, before or after it is loaded, or goes. With the context.
void cuda_executor_change(struct cuda_executor *executor,
                          struct cuda_code *code, bool comes);

// As cuda_enter(), and let what is running on tiles end, and the executor leave
// the GPU; it may not come back before cuda_leave_alone(). False, too, when a
// tile hangs.
bool cuda_enter_alone(struct cuda_gpu *gpu);
void cuda_leave_alone(struct cuda_gpu *gpu);

// The classes of tiles that can run the chunk, as bits: work-groups of whole
// warps that fit a tile, local memory that fits a module, few enough registers.
uint32_t cuda_executor_classes(const struct cuda_executor *executor,
                               const struct hdi_chunk *chunk);

// As those of units. Any thread, one at a time for each tile.
bool cuda_executor_submit(struct cuda_executor *executor, unsigned tile,
                          const struct hdi_chunk *chunk);
uint64_t cuda_executor_submitted(struct cuda_executor *executor, unsigned tile);
uint64_t cuda_executor_done(struct cuda_executor *executor, unsigned tile);

// Tasks that were submitted to it are not wanted any more.
void cuda_executor_stop(struct cuda_executor *executor, unsigned tile);

// What went wrong with the executor itself: HD_OK, HD_EFAULT, HD_ETIMEOUT.
hd_status cuda_executor_status(struct cuda_executor *executor, char *text,
                               size_t size);

#endif
