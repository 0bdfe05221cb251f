// Memory of the GPU, and of the host for it.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/executor.h"
#include "base/memory.h"

// An eighth wastes little and makes sizes that come again equal. What is kept
// beyond MAX_KEPT would be memory that other programs lack.
enum {
    LEAST = 512,        // blocks are multiples of an eighth of their power
                        // of 2, and of this [bytes]
    MAX_KEPT = 1 << 30, // [bytes]
    MAX_SIZE_SHIFT = 48 // nobody has more [bits of a size]
};

// The size that is asked for, so that blocks fit again.
static uint64_t class_of(uint64_t size)
{
    uint64_t unit = LEAST;

    while (unit * 16 < size)
        unit *= 2;
    return hdi_round_up(size, unit);
}

// Linear: there are few, as each is of a size that somebody used.
static cuda_address take_kept(struct cuda_gpu *gpu, uint64_t size)
{
    cuda_address address = 0;

    pthread_mutex_lock(&gpu->lock);
    for (struct cuda_block **b = &gpu->kept; *b; b = &(*b)->next)
        if ((*b)->size == size) {
            struct cuda_block *found = *b;
            address = found->address;
            *b = found->next;
            gpu->kept_bytes -= size;
            free(found);
            break;
        }
    pthread_mutex_unlock(&gpu->lock);
    return address;
}

// Without the context nothing is freed on the GPU.
static void free_kept(struct cuda_gpu *gpu, bool entered)
{
    pthread_mutex_lock(&gpu->lock);
    while (gpu->kept) {
        struct cuda_block *b = gpu->kept;
        gpu->kept = b->next;
        if (entered)
            gpu->driver->MemFree(b->address);
        free(b);
    }
    gpu->kept_bytes = 0;
    pthread_mutex_unlock(&gpu->lock);
}

void cuda_memory_clear(struct cuda_gpu *gpu)
{
    bool entered = cuda_enter(gpu);

    free_kept(gpu, entered);
    if (entered)
        cuda_leave(gpu);
}

// All that is in `copies` has ended then, other threads' copies too.
cuda_result cuda_memory_finish(struct cuda_gpu *gpu, cuda_result result)
{
    cuda_result last = gpu->driver->StreamSynchronize(gpu->copies);

    if (last != 0) // the caller's memory may not be copied to after this
        gpu->driver->StreamSynchronize(gpu->copies);
    return result ? result : last;
}

static cuda_result clear(struct cuda_gpu *gpu, cuda_address address,
                         uint64_t size)
{
    pthread_mutex_lock(&gpu->lock);
    cuda_result result = cuda_memory_finish(
        gpu, gpu->driver->MemsetD8Async(address, 0, size, gpu->copies));
    pthread_mutex_unlock(&gpu->lock);
    return result;
}

// MemAlloc() waits for all that runs on the GPU, for ever where the executor
// does: so it leaves first.
static cuda_result get(struct cuda_gpu *gpu, uint64_t size,
                       cuda_address *address)
{
    if (!cuda_enter_alone(gpu))
        return CUDA_LAUNCH_TIMEOUT;
    cuda_result result = gpu->driver->MemAlloc(address, size);
    if (result == CUDA_OUT_OF_MEMORY) {
        free_kept(gpu, true);
        result = gpu->driver->MemAlloc(address, size);
    }
    cuda_leave_alone(gpu);
    return result;
}

static void give_back(struct cuda_gpu *gpu, cuda_address address)
{
    if (!cuda_enter_alone(gpu))
        return;
    gpu->driver->MemFree(address);
    cuda_leave_alone(gpu);
}

// Cleared in any case: a kept block has what its last owner left.
hd_status cuda_memory_alloc(struct hdi_device *device, uint64_t size,
                            void **memory)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);

    if (size >> MAX_SIZE_SHIFT)
        return HD_ENOMEM;
    if (!cuda_enter(gpu))
        return HD_ENODEV;
    uint64_t rounded = class_of(size);
    cuda_address address = take_kept(gpu, rounded);
    cuda_result result = 0;
    if (!address)
        result = get(gpu, rounded, &address);
    if (result == 0) {
        result = clear(gpu, address, rounded);
        if (result != 0)
            give_back(gpu, address);
    }
    cuda_leave(gpu);
    if (result != 0)
        return cuda_status(gpu, result) == HD_ENOMEM ? HD_ENOMEM : HD_ENODEV;
    *memory = (void *)(uintptr_t)address;
    return HD_OK;
}

// Kept rather than freed, for the same reason. The caller sees to it that no
// kernel uses it any more.
void cuda_memory_free(struct hdi_device *device, void *memory, uint64_t size)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);
    uint64_t rounded = class_of(size);
    struct cuda_block *b = memory ? malloc(sizeof(*b)) : NULL;

    if (!memory)
        return;
    pthread_mutex_lock(&gpu->lock);
    bool keeps = b && gpu->kept_bytes + rounded <= MAX_KEPT;
    if (keeps) {
        *b = (struct cuda_block){gpu->kept, (cuda_address)(uintptr_t)memory,
                                 rounded};
        gpu->kept = b;
        gpu->kept_bytes += rounded;
    }
    pthread_mutex_unlock(&gpu->lock);
    if (keeps)
        return;
    free(b);
    give_back(gpu, (cuda_address)(uintptr_t)memory);
}

hd_status cuda_memory_copy(struct hdi_device *device, void *to,
                           const void *from, uint64_t size)
{
    struct hdi_device_copy move = {
        .to = to, .from = from, .size = size, .waits = true};

    while (!cuda_memory_move(device, &move))
        sched_yield();
    return move.status;
}

// NULL also when the GPU does not see it. The host's address and the GPU's may
// differ.
void *cuda_host_alloc(struct cuda_gpu *gpu, uint64_t size,
                      cuda_address *address)
{
    void *memory;

    if (gpu->driver->MemHostAlloc(&memory, size,
                                  CUDA_HOST_MAPPED | CUDA_HOST_PORTABLE) != 0)
        return NULL;
    if (gpu->driver->MemHostGetDevicePointer(address, memory, 0) != 0) {
        gpu->driver->MemFreeHost(memory);
        return NULL;
    }
    memset(memory, 0, size);
    return memory;
}

void cuda_host_free(struct cuda_gpu *gpu, void *memory)
{
    if (memory)
        gpu->driver->MemFreeHost(memory);
}
