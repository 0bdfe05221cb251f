// A unit that is a stream of the driver's: a chunk is launched, and an event
// behind it says when it is done.
//
// Invariant: chunks are launched, end and are told of in the order of their
// numbers. `slots` has those from `done` + 1 to `submitted`, and of earlier
// ones as many as are left.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/executor.h"
#include "backend/cuda/launch/boxes.h"
#include "backend/cuda/launch/graph.h"
#include "backend/cuda/launch/stream.h"
#include "backend/cuda/ring.h"
#include "base/clock.h"

enum {
    // What is kept of finished chunks has to outlast those in flight.
    SLOTS = 2 * CUDA_IN_FLIGHT
};

// One chunk. What of it is needed after it was launched: to say how it ended
// and, when it did not end well, where it was.
struct slot {
    cuda_event event;
    bool launched; // its event was recorded
    hd_status status;
    cuda_result result;
    const struct hdi_entry *entry;
    struct hdi_device_list *list; // instead of a kernel
    uint32_t first[3], count[3];
    uint64_t begin;
};

// Belongs to one unit: one thread at a time.
//
//     slots   | old | old | old | done | in flight ... | submitted | free |
struct cuda_launcher {
    struct cuda_gpu *gpu;
    cuda_stream stream;
    struct cuda_ring ring;
    struct slot slots[SLOTS];
    uint64_t submitted, done;
};

// Opening ---------------------------------------------------------------------

// With the context.
// What is there; also after create() has failed.
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
    if (cuda_enter_alone(s->gpu)) {
        if (s->done < s->submitted)
            s->gpu->driver->StreamSynchronize(s->stream);
        cuda_ring_read(&s->ring);
        destroy(s->gpu, s);
        cuda_leave_alone(s->gpu);
    }
    free(s);
}

// Launching -------------------------------------------------------------------

static cuda_result launch_box(void *data, const struct cuda_box *box)
{
    struct cuda_launcher *s = data;
    void *parameters[] = {box->parameter};

    return s->gpu->driver->LaunchKernel(
        box->entry->function, box->grid[0], box->grid[1], box->grid[2],
        box->block[0], box->block[1], box->block[2], box->shared, s->stream,
        parameters, NULL);
}

static cuda_result launch(struct cuda_launcher *s,
                          const struct hdi_chunk *chunk)
{
    if (chunk->list)
        return cuda_graph_launch(chunk->list, s->stream);
    return cuda_each_box(chunk, s->ring.address, launch_box, s);
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
    if (chunk->list) // looked at when it was made
        return HD_OK;
    if (items > chunk->entry->most_items)
        return HD_ELIMIT;
    return chunk->local_bytes > gpu->device.can.local_bytes ? HD_ENOMEM : HD_OK;
}

// A chunk that cannot be launched is taken all the same, and ends with that
// status: so errors come the same way as from the GPU.
bool cuda_launcher_submit(struct cuda_launcher *s,
                          const struct hdi_chunk *chunk)
{
    struct cuda_gpu *gpu = s->gpu;

    if (s->submitted - cuda_launcher_done(s) >= CUDA_IN_FLIGHT)
        return false;
    struct slot *slot = &s->slots[++s->submitted % SLOTS];
    slot->entry = chunk->entry;
    slot->list = chunk->list;
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
    slot->result = cuda_staging_precede(gpu, s->stream);
    if (slot->result == 0)
        slot->result = launch(s, chunk);
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
    cuda_give_up(gpu);
    return true;
}

// Nobody tells any more how what was launched ends: the driver cannot be asked,
// or is not to be, after a hang.
static void forsake(struct cuda_launcher *s)
{
    while (s->done < s->submitted) {
        struct slot *slot = &s->slots[++s->done % SLOTS];
        if (slot->launched)
            slot->status = HD_ENODEV;
    }
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

// In order: the first that has not ended ends the look.
uint64_t cuda_launcher_done(struct cuda_launcher *s)
{
    struct cuda_gpu *gpu = s->gpu;
    uint64_t before = s->done;

    if (s->done == s->submitted)
        return s->done;
    if (!cuda_enter(gpu)) {
        forsake(s);
        return s->done;
    }
    while (s->done < s->submitted &&
           has_ended(gpu, s, &s->slots[(s->done + 1) % SLOTS])) {
        struct slot *slot = &s->slots[++s->done % SLOTS];
        if (slot->list)
            cuda_graph_ended(slot->list);
    }
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
    struct cuda_names names = {.count = 0};
    char reason[256], at[CUDA_NAMES];

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
        if (slot->list)
            cuda_list_name(slot->list, 0, 0, &names);
        cuda_names_print(&names, at, sizeof(at));
        snprintf(text, size, "%s%s%s%s", at, *at ? ": " : "", reason,
                 atomic_load(&gpu->lost)
                     ? "; the GPU cannot be used any more by this program"
                     : "");
    }
}

// The driver tells neither address nor work-item: the groups of the chunk are
// all that is known.
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
