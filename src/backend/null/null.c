// The null backend: finishes every chunk at once and runs nothing. It is the
// shortest correct backend; start a new one from it. `heddle run --device null`
// checks a graph and measures everything but the kernels.
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

extern const struct hdi_backend hdi_backend_null;

struct null_unit {
    struct hdi_unit unit;
    uint64_t done; // [chunks]
};

// Any image will do, and any kernel is found in it.
static const struct hdi_entry {
    char nothing;
} entry;

static hd_status null_open(const struct hdi_topology *topology, unsigned index,
                           const struct hdi_device_params *params,
                           struct hdi_device **device, struct hd_error *error)
{
    (void)topology, (void)params;
    if (index > 0)
        return hdi_fail(error, HD_ENODEV, "there is one null device, not %u",
                        index + 1);

    struct hdi_device *d = calloc(1, sizeof(*d));
    if (!d)
        return hdi_fail(error, HD_ENOMEM, "no memory for the null device");

    *d = (struct hdi_device){
        .backend = &hdi_backend_null,
        .can =
            {
                .description = "no hardware: runs nothing",
                .target = "",
                .cpu = "",
                .units = 1,
                .in_flight = 1,
                .group_items = UINT32_MAX,
                .local_bytes = UINT64_MAX,
                .on_caller = true,
                .host_memory = true,
                .discards = true,
            },
    };
    *device = d;
    return HD_OK;
}

static void null_close(struct hdi_device *device)
{
    free(device);
}

static hd_status null_alloc(struct hdi_device *device, uint64_t size,
                            void **memory)
{
    (void)device;
    *memory = hdi_map(size);
    return *memory ? HD_OK : HD_ENOMEM;
}

static void null_free(struct hdi_device *device, void *memory, uint64_t size)
{
    (void)device;
    hdi_unmap(memory, size);
}

static hd_status null_copy(struct hdi_device *device, void *to,
                           const void *from, uint64_t size)
{
    (void)device;
    memcpy(to, from, size);
    return HD_OK;
}

static void *null_view(struct hdi_device *device, void *memory, uint64_t size)
{
    (void)device, (void)memory, (void)size;
    return NULL;
}

static void null_seal(struct hdi_device *device, void *memory, uint64_t size,
                      bool sealed)
{
    (void)device, (void)memory, (void)size, (void)sealed;
}

static hd_status null_load(struct hdi_device *device, const void *image,
                           size_t size, struct hdi_code **code,
                           struct hd_error *error)
{
    (void)image, (void)size;
    struct hdi_code *c = malloc(sizeof(*c));
    if (!c)
        return hdi_fail(error, HD_ENOMEM, "no memory for the code");

    c->device = device;
    *code = c;
    return HD_OK;
}

static void null_unload(struct hdi_code *code)
{
    free(code);
}

static const struct hdi_entry *null_find(struct hdi_code *code,
                                         const char *kernel)
{
    (void)code, (void)kernel;
    return &entry;
}

static hd_status null_unit_open(struct hdi_device *device, unsigned index,
                                struct hdi_unit **unit)
{
    (void)index;
    struct null_unit *u = calloc(1, sizeof(*u));
    if (!u)
        return HD_ENOMEM;

    u->unit.device = device;
    *unit = &u->unit;
    return HD_OK;
}

static void null_unit_close(struct hdi_unit *unit)
{
    free(unit);
}

static bool null_submit(struct hdi_unit *unit, const struct hdi_chunk *chunk)
{
    (void)chunk;
    ((struct null_unit *)unit)->done++;
    return true;
}

static uint64_t null_done(struct hdi_unit *unit)
{
    return ((struct null_unit *)unit)->done;
}

static uint64_t null_submitted(const struct hdi_unit *unit)
{
    return ((const struct null_unit *)unit)->done;
}

static hd_status null_status(const struct hdi_unit *unit, uint64_t chunk)
{
    (void)unit, (void)chunk;
    return HD_OK;
}

static void null_explain(const struct hdi_unit *unit, uint64_t chunk,
                         char *text, size_t size)
{
    (void)unit, (void)chunk;
    if (size > 0)
        *text = '\0';
}

static bool null_fault(const struct hdi_unit *unit, uint64_t chunk,
                       struct hdi_fault *fault)
{
    (void)unit, (void)chunk, (void)fault;
    return false;
}

static void null_interrupt(struct hdi_unit *unit)
{
    (void)unit;
}

static void null_prepare(struct hdi_device *device)
{
    (void)device;
}

const struct hdi_backend hdi_backend_null = {
    .name = "null",
    .kind = "null",
    .open = null_open,
    .close = null_close,
    .alloc = null_alloc,
    .free = null_free,
    .copy = null_copy,
    .view = null_view,
    .end_view = null_free,
    .seal = null_seal,
    .load = null_load,
    .unload = null_unload,
    .find = null_find,
    .unit_open = null_unit_open,
    .unit_close = null_unit_close,
    .submit = null_submit,
    .submitted = null_submitted,
    .done = null_done,
    .status = null_status,
    .explain = null_explain,
    .fault = null_fault,
    .interrupt = null_interrupt,
    .prepare = null_prepare,
};
