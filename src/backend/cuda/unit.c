// A unit: a tile of the persistent executor where there is one, else a stream.
// A chunk that a tile cannot run, such as one with smaller work-groups at an
// edge, goes to the unit's stream.
//
// Invariant: chunks end in the order of their numbers, so that the unit changes
// between tile and stream only while it has none.
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/executor/executor.h"
#include "backend/cuda/launch/stream.h"

enum {
    KEPT = 2 * CUDA_IN_FLIGHT // finished chunks
};

// A chunk that has ended: how, and where it was.
struct past {
    hd_status status;
    bool on_tile;
    uint64_t number; // there
};

// `base` makes the numbers of both places one sequence: chunk n of the unit is
// n - base of the place where it is, and changes only while none is there.
struct unit {
    struct hdi_unit unit;
    unsigned index;
    struct cuda_launcher *stream;
    bool on_tile;  // where its chunks are
    uint64_t base; // a chunk's number less that it has there
    uint64_t submitted, done;
    struct past past[KEPT];
};

uint32_t cuda_unit_classes(const struct hdi_device *device,
                           const struct hdi_chunk *chunk)
{
    struct cuda_executor *executor = cuda_gpu_of(device)->executor;

    if (!executor)
        return 0;
    if (chunk->list)
        return cuda_list_classes(chunk->list);
    return cuda_executor_status(executor, NULL, 0) == HD_ENOTSUP
               ? 0
               : cuda_executor_classes(executor, chunk);
}

static struct unit *unit_of(const struct hdi_unit *unit)
{
    return (struct unit *)(uintptr_t)unit;
}

// Sequentially consistent; a bit is set by one thread alone.
static bool claim(struct cuda_gpu *gpu, unsigned index)
{
    uint64_t bit = UINT64_C(1) << index % 64;
    return index < gpu->device.can.units &&
           !(atomic_fetch_or(&gpu->open[index / 64], bit) & bit);
}

static void give_back(struct cuda_gpu *gpu, unsigned index)
{
    atomic_fetch_and(&gpu->open[index / 64], ~(UINT64_C(1) << index % 64));
}

// HD_ELIMIT: it is open already. Each unit has a stream, also one that is a
// tile: some chunks need it.
hd_status cuda_unit_open(struct hdi_device *device, unsigned index,
                         struct hdi_unit **unit)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);
    struct unit *u = calloc(1, sizeof(*u));
    hd_status status = HD_ENODEV;

    if (!u)
        return HD_ENOMEM;
    if (!claim(gpu, index)) {
        free(u);
        return HD_ELIMIT;
    }
    u->unit.device = device;
    u->index = index;
    if (cuda_enter_alone(gpu)) {
        status = cuda_launcher_open(gpu, &u->stream);
        cuda_leave_alone(gpu);
    }
    if (status != HD_OK) {
        give_back(gpu, index);
        free(u);
        return status;
    }
    if (gpu->executor) {
        u->on_tile = true;
        u->base = 0 - cuda_executor_submitted(gpu->executor, index);
    }
    *unit = &u->unit;
    return HD_OK;
}

void cuda_unit_close(struct hdi_unit *unit)
{
    struct unit *u = unit_of(unit);
    struct cuda_gpu *gpu = cuda_gpu_of(unit->device);

    while (u->on_tile && cuda_unit_done(unit) < u->submitted)
        sched_yield();
    cuda_launcher_close(u->stream);
    give_back(gpu, u->index);
    free(u);
}

// Only while no chunk of the unit is in flight.
static void change(struct unit *u, struct cuda_gpu *gpu, bool on_tile)
{
    u->on_tile = on_tile;
    u->base = u->submitted -
              (on_tile ? cuda_executor_submitted(gpu->executor, u->index)
                       : cuda_launcher_submitted(u->stream));
}

// One of a list is, whichever tile it is.
static bool is_for_tile(const struct unit *u,
                        const struct cuda_executor *executor,
                        const struct hdi_chunk *chunk)
{
    unsigned class = cuda_executor_layout(executor)->class_of[u->index];
    uint32_t classes = cuda_unit_classes(u->unit.device, chunk);

    if (chunk->list)
        return classes != 0;
    return classes >> class & 1 &&
           (chunk->local_bytes == 0 || chunk->region != HDI_NO_REGION);
}

// False also while the unit has to change its place and is not empty, or a tile
// to wait for a copy: the caller comes again.
bool cuda_unit_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    struct unit *u = unit_of(unit);
    struct cuda_gpu *gpu = cuda_gpu_of(unit->device);
    bool on_tile = gpu->executor && is_for_tile(u, gpu->executor, chunk);

    if (u->submitted - cuda_unit_done(unit) >= gpu->device.can.in_flight)
        return false;
    if (on_tile != u->on_tile) {
        if (u->done < u->submitted)
            return false;
        change(u, gpu, on_tile);
    }
    // A stream is told to wait for copies, a tile cannot be.
    if (on_tile && !cuda_staging_is_settled(gpu))
        return false;
    bool taken = on_tile ? cuda_executor_submit(gpu->executor, u->index, chunk)
                         : cuda_launcher_submit(u->stream, chunk);
    u->submitted += taken;
    return taken;
}

uint64_t cuda_unit_submitted(const struct hdi_unit *unit)
{
    return unit_of(unit)->submitted;
}

// How a chunk has ended is taken over when that is seen: the unit may change
// its place afterwards.
uint64_t cuda_unit_done(struct hdi_unit *unit)
{
    struct unit *u = unit_of(unit);
    struct cuda_gpu *gpu = cuda_gpu_of(unit->device);

    if (u->done == u->submitted)
        return u->done;
    uint64_t done =
        u->base + (u->on_tile ? cuda_executor_done(gpu->executor, u->index)
                              : cuda_launcher_done(u->stream));
    while (u->done < done) {
        struct past *p = &u->past[++u->done % KEPT];
        p->on_tile = u->on_tile;
        p->number = u->done - u->base;
        p->status = u->on_tile ? cuda_executor_status(gpu->executor, NULL, 0)
                               : cuda_launcher_status(u->stream, p->number);
    }
    return u->done;
}

hd_status cuda_unit_status(const struct hdi_unit *unit, uint64_t chunk)
{
    return unit_of(unit)->past[chunk % KEPT].status;
}

void cuda_unit_explain(const struct hdi_unit *unit, uint64_t chunk, char *text,
                       size_t size)
{
    const struct unit *u = unit_of(unit);
    const struct past *p = &u->past[chunk % KEPT];

    if (p->on_tile)
        cuda_executor_status(cuda_gpu_of(unit->device)->executor, text, size);
    else
        cuda_launcher_explain(u->stream, p->number, text, size);
}

bool cuda_unit_fault(const struct hdi_unit *unit, uint64_t chunk,
                     struct hdi_fault *fault)
{
    const struct unit *u = unit_of(unit);
    const struct past *p = &u->past[chunk % KEPT];

    return !p->on_tile && cuda_launcher_fault(u->stream, p->number, fault);
}

void cuda_unit_interrupt(struct hdi_unit *unit)
{
    struct unit *u = unit_of(unit);

    // A launch on a stream ends by itself, or never.
    if (u->on_tile)
        cuda_executor_stop(cuda_gpu_of(unit->device)->executor, u->index);
}
