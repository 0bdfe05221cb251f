// A unit that is a stream of the driver's: a chunk is launched, and an event
// behind it says when it is done.
//
// Invariant: chunks are launched, end and are told of in the order of their
// numbers. `slots` has those from `done` + 1 to `submitted`, and of earlier
// ones as many as are left.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/ring.h"
#include "backend/cuda/stream.h"
#include "base/clock.h"

enum {
    // What is kept of finished chunks has to outlast those in flight.
    SLOTS = 2 * CUDA_IN_FLIGHT,
    MAX_GRID_YZ = 65535
};

struct slot {
    cuda_event event;
    bool launched; // its event was recorded
    hd_status status;
    cuda_result result;
    const struct hdi_entry *entry;
    uint32_t first[3], count[3];
    uint64_t begin;
};

struct cuda_launcher {
    struct cuda_gpu *gpu;
    cuda_stream stream;
    struct cuda_ring ring;
    struct slot slots[SLOTS];
    uint64_t submitted, done;
};

// Opening ---------------------------------------------------------------------

// With the context.
static void destroy(struct cuda_gpu *gpu, struct cuda_launcher *s)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (s->slots[i].event)
            gpu->driver->EventDestroy(s->slots[i].event);
    if (s->stream)
        gpu->driver->StreamDestroy(s->stream);
    if (s->ring.ring)
        cuda_ring_close(&s->ring, gpu);
}

static hd_status create(struct cuda_gpu *gpu, struct cuda_launcher *s)
{
    cuda_result result =
        gpu->driver->StreamCreate(&s->stream, CUDA_STREAM_NON_BLOCKING);

    for (unsigned i = 0; i < SLOTS && result == 0; i++)
        result = gpu->driver->EventCreate(&s->slots[i].event,
                                          CUDA_EVENT_DISABLE_TIMING);
    if (result != 0)
        return cuda_status(gpu, result);
    return cuda_ring_open(&s->ring, gpu) ? HD_OK : HD_ENOMEM;
}

hd_status cuda_launcher_open(struct cuda_gpu *gpu,
                             struct cuda_launcher **launcher)
{
    struct cuda_launcher *s = calloc(1, sizeof(*s));

    if (!s)
        return HD_ENOMEM;
    s->gpu = gpu;
    hd_status status = create(gpu, s);
    if (status != HD_OK) {
        destroy(gpu, s);
        free(s);
        return status;
    }
    *launcher = s;
    return HD_OK;
}

void cuda_launcher_close(struct cuda_launcher *s)
{
    if (s->done < s->submitted)
        s->gpu->driver->StreamSynchronize(s->stream);
    cuda_ring_read(&s->ring);
    destroy(s->gpu, s);
    free(s);
}

// Launching -------------------------------------------------------------------

// One axis of a chunk: work-groups of full size, and one that is smaller.
struct axis {
    uint32_t first[2], count[2], size[2];
};

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
static void describe(const struct cuda_launcher *s,
                     const struct hdi_chunk *chunk, unsigned char *parameter)
{
    const struct hdi_frame *f = &chunk->frame;
    struct hdi_device_launch launch = {.dims = f->dims,
                                       .print = s->ring.address};

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

// A box of equal work-groups, in pieces that a grid may have.
static cuda_result launch_box(struct cuda_gpu *gpu, struct cuda_launcher *s,
                              const struct hdi_chunk *chunk,
                              unsigned char *parameter, const uint32_t first[3],
                              const uint32_t count[3], const uint32_t size[3])
{
    struct hdi_device_launch *launch =
        (struct hdi_device_launch *)(void *)parameter;
    void *parameters[] = {parameter};
    cuda_result result = 0;

    memcpy(launch->size, size, sizeof(launch->size));
    launch->items = size[0] * size[1] * size[2];
    for (uint32_t z = 0; z < count[2] && result == 0; z += MAX_GRID_YZ)
        for (uint32_t y = 0; y < count[1] && result == 0; y += MAX_GRID_YZ) {
            uint32_t rows = count[1] - y, planes = count[2] - z;
            launch->first[0] = first[0];
            launch->first[1] = first[1] + y;
            launch->first[2] = first[2] + z;
            result = gpu->driver->LaunchKernel(
                chunk->entry->function, count[0],
                rows < MAX_GRID_YZ ? rows : MAX_GRID_YZ,
                planes < MAX_GRID_YZ ? planes : MAX_GRID_YZ, size[0], size[1],
                size[2], (unsigned)chunk->local_bytes, s->stream, parameters,
                NULL);
        }
    return result;
}

static cuda_result launch(struct cuda_gpu *gpu, struct cuda_launcher *s,
                          const struct hdi_chunk *chunk)
{
    _Alignas(16) unsigned char parameter[HDI_DEVICE_MOST];
    struct axis axes[3];
    cuda_result result = 0;

    describe(s, chunk, parameter);
    for (int d = 0; d < 3; d++)
        axes[d] = cut(&chunk->frame, d);
    for (unsigned kind = 0; kind < 8 && result == 0; kind++) {
        uint32_t first[3], count[3], size[3];
        for (int d = 0; d < 3; d++) {
            unsigned edge = kind >> d & 1;
            first[d] = axes[d].first[edge];
            count[d] = axes[d].count[edge];
            size[d] = axes[d].size[edge];
        }
        if (count[0] > 0 && count[1] > 0 && count[2] > 0)
            result = launch_box(gpu, s, chunk, parameter, first, count, size);
    }
    return result;
}

// After a call failed: what was launched before it may not outlast its chunk,
// whose memory and code go.
static void settle(struct cuda_gpu *gpu, struct cuda_launcher *s)
{
    cuda_result result = gpu->driver->StreamSynchronize(s->stream);
    if (result != 0)
        cuda_lose(gpu, result);
}

static hd_status check(const struct cuda_gpu *gpu,
                       const struct hdi_chunk *chunk)
{
    const struct hdi_frame *f = &chunk->frame;
    uint64_t items =
        (uint64_t)f->local_size[0] * f->local_size[1] * f->local_size[2];

    if (atomic_load(&gpu->lost))
        return HD_ENODEV;
    if (items > chunk->entry->most_items)
        return HD_ELIMIT;
    return chunk->local_bytes > gpu->device.can.local_bytes ? HD_ENOMEM : HD_OK;
}

bool cuda_launcher_submit(struct cuda_launcher *s,
                          const struct hdi_chunk *chunk)
{
    struct cuda_gpu *gpu = s->gpu;

    if (s->submitted - cuda_launcher_done(s) >= CUDA_IN_FLIGHT)
        return false;
    struct slot *slot = &s->slots[++s->submitted % SLOTS];
    slot->entry = chunk->entry;
    memcpy(slot->first, chunk->frame.first, sizeof(slot->first));
    memcpy(slot->count, chunk->frame.count, sizeof(slot->count));
    slot->begin = hdi_now();
    slot->launched = false;
    slot->result = 0;
    slot->status = check(gpu, chunk);
    if (slot->status != HD_OK)
        return true;
    if (!cuda_enter(gpu)) {
        slot->status = HD_ENODEV;
        return true;
    }
    slot->result = launch(gpu, s, chunk);
    if (slot->result == 0)
        slot->result = gpu->driver->EventRecord(slot->event, s->stream);
    if (slot->result != 0)
        settle(gpu, s);
    cuda_leave(gpu);
    slot->launched = slot->result == 0;
    slot->status = cuda_status(gpu, slot->result);
    return true;
}

// Ending ----------------------------------------------------------------------

uint64_t cuda_launcher_submitted(const struct cuda_launcher *s)
{
    return s->submitted;
}

// A chunk that takes too long: nothing can end it but the end of the context.
static bool has_hung(struct cuda_gpu *gpu, const struct slot *slot)
{
    if (gpu->timeout == 0 || hdi_now() - slot->begin < gpu->timeout)
        return false;
    cuda_lose(gpu, CUDA_LAUNCH_TIMEOUT);
    return true;
}

// Whether the chunk has ended; then its slot says how.
static bool has_ended(struct cuda_gpu *gpu, struct cuda_launcher *s,
                      struct slot *slot)
{
    if (!slot->launched)
        return true;
    slot->result = gpu->driver->EventQuery(slot->event);
    if (slot->result == CUDA_NOT_READY) {
        if (!has_hung(gpu, slot))
            return false;
        slot->result = CUDA_LAUNCH_TIMEOUT;
        slot->status = HD_ETIMEOUT;
        return true;
    }
    slot->status = cuda_status(gpu, slot->result);
    if (slot->result != 0)
        settle(gpu, s);
    return true;
}

uint64_t cuda_launcher_done(struct cuda_launcher *s)
{
    struct cuda_gpu *gpu = s->gpu;
    uint64_t before = s->done;

    if (s->done == s->submitted || !cuda_enter(gpu))
        return s->done;
    while (s->done < s->submitted &&
           has_ended(gpu, s, &s->slots[(s->done + 1) % SLOTS]))
        s->done++;
    cuda_leave(gpu);
    if (s->done > before)
        cuda_ring_read(&s->ring);
    return s->done;
}

hd_status cuda_launcher_status(const struct cuda_launcher *s, uint64_t chunk)
{
    return s->slots[chunk % SLOTS].status;
}

void cuda_launcher_explain(const struct cuda_launcher *s, uint64_t chunk,
                           char *text, size_t size)
{
    const struct slot *slot = &s->slots[chunk % SLOTS];
    const struct cuda_gpu *gpu = s->gpu;
    char reason[256];

    if (size == 0)
        return;
    *text = '\0';
    if (slot->status == HD_ELIMIT) {
        snprintf(text, size,
                 "on this GPU a work-group of it has %u work-items "
                 "at most",
                 slot->entry->most_items);
    } else if (slot->result != 0 || atomic_load(&gpu->lost)) {
        cuda_describe(gpu->driver,
                      slot->result ? slot->result : atomic_load(&gpu->lost),
                      reason, sizeof(reason));
        snprintf(text, size, "%s%s", reason,
                 atomic_load(&gpu->lost)
                     ? "; the GPU cannot be used any more by this program"
                     : "");
    }
}

bool cuda_launcher_fault(const struct cuda_launcher *s, uint64_t chunk,
                         struct hdi_fault *fault)
{
    const struct slot *slot = &s->slots[chunk % SLOTS];

    if (slot->result != CUDA_ILLEGAL_ADDRESS &&
        slot->result != CUDA_MISALIGNED_ADDRESS)
        return false;
    *fault = (struct hdi_fault){.kind = HDI_FAULT_ACCESS};
    memcpy(fault->first, slot->first, sizeof(fault->first));
    memcpy(fault->count, slot->count, sizeof(fault->count));
    return true;
}
