// Buffers: memory of one device, counted.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/launch.h"
#include "launch/seal.h"

enum {
    // At a time. Each takes three of the mappings that Linux gives a process,
    // 65,530 by default, and buffers have to find some.
    MOST_VIEWS = 4096
};

static void count_memory(struct hdi_launcher *launcher, uint64_t size)
{
    uint64_t held = atomic_fetch_add_explicit(&launcher->memory, size,
                                              memory_order_relaxed) +
                    size;
    uint64_t peak = atomic_load_explicit(&launcher->peak, memory_order_relaxed);

    while (held > peak && !atomic_compare_exchange_weak_explicit(
                              &launcher->peak, &peak, held,
                              memory_order_relaxed, memory_order_relaxed))
        ;
}

hd_status hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                            struct hd_buffer **buffer, struct hd_error *error)
{
    if (size == 0)
        return hdi_fail(error, HD_EINVAL, "a buffer of 0 bytes");

    struct hd_buffer *b = malloc(sizeof(*b));
    if (!b)
        goto err;

    *b = (struct hd_buffer){
        .launcher = launcher, .size = size, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (launcher->device->backend->alloc(launcher->device, size, &b->address) !=
        HD_OK)
        goto err_free;

    count_memory(launcher, size);
    *buffer = b;
    return HD_OK;

err_free:
    free(b);
err:
    return hdi_fail(error, HD_ENOMEM,
                    "no memory for a buffer of %" PRIu64 " bytes on %s", size,
                    launcher->device->can.description);
}

void hd_buffer_destroy(struct hd_buffer *buffer)
{
    if (!buffer)
        return;

    struct hdi_launcher *launcher = buffer->launcher;
    const struct hdi_backend *backend = launcher->device->backend;
    void *view = atomic_load_explicit(&buffer->view, memory_order_relaxed);
    if (view && view != buffer->address) {
        backend->end_view(launcher->device, view, buffer->size);
        atomic_fetch_sub_explicit(&launcher->views, 1, memory_order_relaxed);
    }
    backend->free(launcher->device, buffer->address, buffer->size);
    atomic_fetch_sub_explicit(&launcher->memory, buffer->size,
                              memory_order_relaxed);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

// NULL: there is none, or are too many.
static void *map_view(const struct hd_buffer *b)
{
    struct hdi_launcher *launcher = b->launcher;
    struct hdi_device *device = launcher->device;
    void *view = NULL;

    if (atomic_fetch_add_explicit(&launcher->views, 1, memory_order_relaxed) <
        MOST_VIEWS)
        view = device->backend->view(device, b->address, b->size);
    if (!view)
        atomic_fetch_sub_explicit(&launcher->views, 1, memory_order_relaxed);
    return view;
}

static void *make_view(struct hd_buffer *b)
{
    pthread_mutex_lock(&b->lock);
    void *view = atomic_load_explicit(&b->view, memory_order_relaxed);
    if (!view)
        view = map_view(b);
    if (!view)
        view = b->address;
    atomic_store_explicit(&b->view, view, memory_order_release);
    pthread_mutex_unlock(&b->lock);
    return view;
}

void *hdi_buffer_view(struct hd_buffer *buffer)
{
    void *view = atomic_load_explicit(&buffer->view, memory_order_acquire);

    return view ? view : make_view(buffer);
}

uint64_t hd_buffer_size(const struct hd_buffer *buffer)
{
    return buffer->size;
}

static hd_status check_part(const struct hd_buffer *buffer, uint64_t offset,
                            uint64_t size, struct hd_error *error)
{
    if (offset > buffer->size || size > buffer->size - offset)
        return hdi_fail(error, HD_EINVAL,
                        "%" PRIu64 " bytes from byte %" PRIu64
                        " on are outside a buffer of %" PRIu64 " bytes",
                        size, offset, buffer->size);
    return HD_OK;
}

hd_status hd_buffer_write(struct hd_buffer *buffer, uint64_t offset,
                          const void *from, uint64_t size,
                          struct hd_error *error)
{
    struct hdi_device *device = buffer->launcher->device;

    HDI_TRY(check_part(buffer, offset, size, error));
    hdi_seal_lift(buffer);
    hd_status status = device->backend->copy(
        device, (char *)buffer->address + offset, from, size);
    hdi_seal_restore(buffer);
    if (status != HD_OK)
        return hdi_fail(error, status, "a copy to %s failed",
                        device->can.description);
    return HD_OK;
}

hd_status hd_buffer_read(const struct hd_buffer *buffer, uint64_t offset,
                         void *to, uint64_t size, struct hd_error *error)
{
    struct hdi_device *device = buffer->launcher->device;

    HDI_TRY(check_part(buffer, offset, size, error));
    hd_status status = device->backend->copy(
        device, to, (const char *)buffer->address + offset, size);
    if (status != HD_OK)
        return hdi_fail(error, status, "a copy from %s failed",
                        device->can.description);
    return HD_OK;
}

void *hd_buffer_host(struct hd_buffer *buffer)
{
    return buffer->launcher->device->can.host_memory ? buffer->address : NULL;
}
