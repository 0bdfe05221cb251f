#include "tests/cuda/figures/bare.h"

#include "backend/cuda/launch/boxes.h"
#include "tests/check.h"

void bare_open(struct bare *b, struct machine *m)
{
    b->gpu = cuda_gpu_of(m->device);
    CHECK(cuda_enter(b->gpu));
    for (int i = 0; i < BARE_STREAMS; i++)
        CHECK(b->gpu->driver->StreamCreate(&b->streams[i],
                                           CUDA_STREAM_NON_BLOCKING) == 0);
    CHECK(b->gpu->driver->EventCreate(&b->event, CUDA_EVENT_DISABLE_TIMING) ==
          0);
}

void bare_close(struct bare *b)
{
    for (int i = 0; i < BARE_STREAMS; i++)
        b->gpu->driver->StreamDestroy(b->streams[i]);
    b->gpu->driver->EventDestroy(b->event);
    cuda_leave(b->gpu);
}

static cuda_result launch_box(void *data, const struct cuda_box *box)
{
    struct bare *b = data;
    void *parameters[] = {box->parameter};

    return b->gpu->driver->LaunchKernel(
        box->entry->function, box->grid[0], box->grid[1], box->grid[2],
        box->block[0], box->block[1], box->block[2], box->shared, b->stream,
        parameters, NULL);
}

void bare_launch(struct bare *b, int stream, const struct hdi_chunk *chunk)
{
    b->stream = b->streams[stream];
    CHECK(cuda_each_box(chunk, 0, launch_box, b) == 0);
}

void bare_wait(struct bare *b, int stream)
{
    CHECK(b->gpu->driver->EventRecord(b->event, b->streams[stream]) == 0);
    while (b->gpu->driver->EventQuery(b->event) == CUDA_NOT_READY)
        ;
}
