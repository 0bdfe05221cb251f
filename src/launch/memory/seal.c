// Invariant: under the lock of a buffer, it is sealed if and only if it has
// readers and no writers.
#include "launch/memory/seal.h"

#include "launch/memory/buffer.h"
#include "launch/memory/image.h"
#include "launch/memory/plan.h"

static void change(struct hd_buffer *buffer, int readers, int writers)
{
    buffer = hdi_buffer_root(buffer);
    const struct hdi_device *device = buffer->launcher->device;

    if (buffer->borrowed)
        return; // its pages may hold other things
    pthread_mutex_lock(&buffer->lock);
    bool was = buffer->readers > 0 && buffer->writers == 0;
    buffer->readers += (uint32_t)readers;
    buffer->writers += (uint32_t)writers;
    bool is = buffer->readers > 0 && buffer->writers == 0;
    if (is != was)
        device->backend->seal(buffer->launcher->device, buffer->address,
                              buffer->size, is);
    pthread_mutex_unlock(&buffer->lock);
}

static void count(const struct hdi_launcher *launcher,
                  const struct hd_kernel *kernel, const struct hd_arg *args,
                  int by)
{
    for (unsigned i = 0; launcher->seals && i < kernel->info.arg_count; i++) {
        const struct hd_kernel_arg *wanted = &kernel->args[i].shown;
        struct hd_buffer *buffer =
            args[i].is == HD_IS_BUFFER  ? (struct hd_buffer *)args[i].buffer
            : args[i].is == HD_IS_IMAGE ? args[i].image->params.buffer
                                        : NULL;
        if (buffer && hdi_kernel_may_write(wanted))
            change(buffer, 0, by);
        else if (buffer && wanted->kind == HD_ARG_CONSTANT &&
                 hdi_plan_address(kernel, i, buffer) == buffer->address)
            change(buffer, by, 0);
    }
}

void hdi_seal_begin(const struct hdi_launcher *launcher,
                    const struct hd_kernel *kernel, const struct hd_arg *args)
{
    count(launcher, kernel, args, 1);
}

void hdi_seal_end(const struct hdi_launcher *launcher,
                  const struct hd_kernel *kernel, const struct hd_arg *args)
{
    count(launcher, kernel, args, -1);
}

void hdi_seal_lift(struct hd_buffer *buffer)
{
    if (buffer->launcher->seals)
        change(buffer, 0, 1);
}

void hdi_seal_restore(struct hd_buffer *buffer)
{
    if (buffer->launcher->seals)
        change(buffer, 0, -1);
}
