// Invariant: under the lock of a buffer, it is sealed if and only if it has
// readers and no writers.
#include "launch/memory/seal.h"

#include "launch/memory/buffer.h"

// Negative numbers are added as unsigned ones, which wrap around to the
// difference.
void hdi_seal_count(struct hd_buffer *buffer, int readers, int writers)
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

void hdi_seal_lift(struct hd_buffer *buffer)
{
    if (buffer->launcher->seals)
        hdi_seal_count(buffer, 0, 1);
}

void hdi_seal_restore(struct hd_buffer *buffer)
{
    if (buffer->launcher->seals)
        hdi_seal_count(buffer, 0, -1);
}
