// Buffers: memory of one device, counted, and parts of it.
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/memory/buffer.h"
#include "launch/memory/seal.h"
#include "launch/memory/spread.h"

enum {
    // At a time. Each takes three of the mappings that Linux gives a process,
    // 65,530 by default, and buffers have to find some.
    MAX_VIEWS = 4096
};

// The peak only rises: whoever sees a larger one leaves it.
void hdi_buffer_count(struct hdi_launcher *launcher, uint64_t size)
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

// Without memory yet; one holder, the caller.
static struct hd_buffer *make(struct hdi_launcher *launcher, void *address,
                              uint64_t size)
{
    struct hd_buffer *b = malloc(sizeof(*b));

    if (b)
        *b = (struct hd_buffer){.self = b,
                                .launcher = launcher,
                                .address = address,
                                .size = size,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .holders = 1};
    return b;
}

static hd_status starve(const struct hdi_launcher *launcher, uint64_t size,
                        struct hd_error *error)
{
    return hdi_fail(error, HD_ENOMEM,
                    "no memory for a buffer of %" PRIu64 " bytes on %s", size,
                    launcher->device->can.description);
}

// What a buffer of `size` bytes takes of its device, and where that begins.
static uint64_t with_margins(const struct hdi_launcher *launcher, uint64_t size)
{
    return size + 2 * launcher->margin;
}

static void *before_margin(const struct hdi_launcher *launcher, void *address)
{
    return (char *)address - launcher->margin;
}

hd_status hdi_buffer_create(struct hdi_launcher *launcher, uint64_t size,
                            struct hd_buffer **buffer, struct hd_error *error)
{
    if (size == 0)
        return hdi_fail(error, HD_EINVAL, "a buffer of 0 bytes");

    struct hd_buffer *b = make(launcher, NULL, size);
    if (!b)
        return starve(launcher, size, error);
    if (size > UINT64_MAX - 2 * launcher->margin ||
        launcher->device->backend->alloc(launcher->device,
                                         with_margins(launcher, size),
                                         &b->address) != HD_OK) {
        free(b);
        return starve(launcher, size, error);
    }
    b->address = (char *)b->address + launcher->margin;
    hdi_buffer_count(launcher, size);
    *buffer = b;
    return HD_OK;
}

hd_status hdi_buffer_at(struct hdi_launcher *launcher, void *address,
                        uint64_t size, struct hd_buffer **buffer,
                        struct hd_error *error)
{
    struct hd_buffer *b = make(launcher, address, size);

    if (!b)
        return starve(launcher, size, error);
    b->borrowed = true;
    *buffer = b;
    return HD_OK;
}

hd_status hdi_buffer_wrap(struct hdi_launcher *launcher, void *memory,
                          uint64_t size, struct hd_buffer **buffer,
                          struct hd_error *error)
{
    if (size == 0 || !memory)
        return hdi_fail(error, HD_EINVAL, "a buffer in no memory");
    if (!launcher->device->can.host_memory)
        return hdi_fail(error, HD_ENOTSUP,
                        "%s cannot reach memory of the host; make a buffer and "
                        "write to it",
                        launcher->device->can.description);
    return hdi_buffer_at(launcher, memory, size, buffer, error);
}

// A part of a part holds the root, not the part: chains do not grow.
hd_status hd_buffer_sub(struct hd_buffer *parent, uint64_t offset,
                        uint64_t size, struct hd_buffer **buffer,
                        struct hd_error *error)
{
    if (size == 0)
        return hdi_fail(error, HD_EINVAL, "a part of 0 bytes of a buffer");
    HDI_TRY(hdi_buffer_check(parent, offset, size, error));
    struct hd_buffer *b =
        make(parent->launcher, (char *)parent->address + offset, size);
    if (!b)
        return starve(parent->launcher, size, error);
    b->root = hdi_buffer_root(parent);
    hdi_buffer_hold(b->root);
    *buffer = b;
    return HD_OK;
}

void hdi_buffer_hold(struct hd_buffer *buffer)
{
    atomic_fetch_add_explicit(&buffer->holders, 1, memory_order_relaxed);
}

static void free_memory(struct hd_buffer *b)
{
    struct hdi_launcher *launcher = b->launcher;
    const struct hdi_backend *backend = launcher->device->backend;
    void *view = atomic_load_explicit(&b->view, memory_order_relaxed);

    if (view && view != b->address) {
        backend->end_view(launcher->device, before_margin(launcher, view),
                          with_margins(launcher, b->size));
        atomic_fetch_sub_explicit(&launcher->views, 1, memory_order_relaxed);
    }
    backend->free(launcher->device, before_margin(launcher, b->address),
                  with_margins(launcher, b->size));
    atomic_fetch_sub_explicit(&launcher->memory, b->size, memory_order_relaxed);
}

// The last holder frees: copies on other devices first, then the memory itself.
void hd_buffer_destroy(struct hd_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->holders, 1,
                                             memory_order_acq_rel) > 1)
        return;

    hdi_spread_destroy(buffer);
    if (buffer->root)
        hd_buffer_destroy(buffer->root);
    else if (!buffer->borrowed)
        free_memory(buffer);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

// NULL: there is none, or are too many.
static void *map_view(const struct hd_buffer *b)
{
    struct hdi_launcher *launcher = b->launcher;
    struct hdi_device *device = launcher->device;
    char *view = NULL;

    if (atomic_fetch_add_explicit(&launcher->views, 1, memory_order_relaxed) <
        MAX_VIEWS)
        view =
            device->backend->view(device, before_margin(launcher, b->address),
                                  with_margins(launcher, b->size));
    if (view)
        return view + launcher->margin;
    atomic_fetch_sub_explicit(&launcher->views, 1, memory_order_relaxed);
    return NULL;
}

// Where there is none the view is the address itself, so that it is asked for
// once. Release, paired with the acquire of hdi_buffer_view(): the mapping is
// there.
static void *make_view(struct hd_buffer *b)
{
    pthread_mutex_lock(&b->lock);
    void *view = atomic_load_explicit(&b->view, memory_order_relaxed);
    if (!view && !b->borrowed)
        view = map_view(b);
    if (!view)
        view = b->address;
    atomic_store_explicit(&b->view, view, memory_order_release);
    pthread_mutex_unlock(&b->lock);
    return view;
}

void *hdi_buffer_view(struct hd_buffer *buffer)
{
    struct hd_buffer *root = hdi_buffer_root(buffer);
    char *view = atomic_load_explicit(&root->view, memory_order_acquire);

    if (!view)
        view = make_view(root);
    return view + ((char *)buffer->address - (char *)root->address);
}

uint64_t hd_buffer_size(const struct hd_buffer *buffer)
{
    return buffer->size;
}

hd_status hdi_buffer_check(const struct hd_buffer *buffer, uint64_t offset,
                           uint64_t size, struct hd_error *error)
{
    if (offset > buffer->size || size > buffer->size - offset)
        return hdi_fail(error, HD_EINVAL,
                        "%" PRIu64 " bytes from byte %" PRIu64
                        " on are outside a buffer of %" PRIu64 " bytes",
                        size, offset, buffer->size);
    return HD_OK;
}

// First valid at home, then writable (the seal), then written.
hd_status hd_buffer_write(struct hd_buffer *buffer, uint64_t offset,
                          const void *from, uint64_t size,
                          struct hd_error *error)
{
    struct hdi_device *device = buffer->launcher->device;

    HDI_TRY(hdi_buffer_check(buffer, offset, size, error));
    HDI_TRY(
        hdi_spread_use_home(buffer, offset, size, HDI_USE_OVERWRITE, error));
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

    HDI_TRY(hdi_buffer_check(buffer, offset, size, error));
    HDI_TRY(hdi_spread_use_home(buffer, offset, size, HDI_USE_READ, error));
    hd_status status = device->backend->copy(
        device, to, (const char *)buffer->address + offset, size);
    if (status != HD_OK)
        return hdi_fail(error, status, "a copy from %s failed",
                        device->can.description);
    return HD_OK;
}

void *hd_buffer_host(struct hd_buffer *buffer)
{
    // Who has the address may write it.
    if (!buffer->launcher->device->can.host_memory ||
        hdi_spread_use_home(buffer, 0, buffer->size, HDI_USE_WRITE, NULL) !=
            HD_OK)
        return NULL;
    return buffer->address;
}
