// NVIDIA GPUs through the CUDA driver, which is opened when a GPU is asked for
// (driver.h). Kernels come as PTX. A unit is a stream: a chunk is one launch,
// or one for each kind of edge that the NDRange has.
#include "backend/cuda/cuda.h"
#include "backend/cuda/executor/executor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

extern const struct hdi_backend hdi_backend_cuda;

// Four warps.
enum {
    USUAL_THREADS = 128, // of a tile, if nobody says
    MAX_THREADS = 1024
};

// Architectures that the compiler makes code for, in order: a GPU runs code for
// its own and for earlier ones.
static const struct {
    int capability;
    const char *name;
} architectures[] = {{70, "sm_70"}, {72, "sm_72"}, {75, "sm_75"},
                     {80, "sm_80"}, {86, "sm_86"}, {87, "sm_87"},
                     {89, "sm_89"}, {90, "sm_90"}};

// GPUs that were given up, by number: bits.
// Past 64 GPUs two share a bit, and one may be refused for the other.
static _Atomic uint64_t given_up;

static uint64_t bit_of(const struct cuda_gpu *gpu)
{
    return UINT64_C(1) << gpu->number % 64;
}

void cuda_give_up(struct cuda_gpu *gpu)
{
    atomic_fetch_or(&given_up, bit_of(gpu));
    atomic_store(&gpu->hangs, true);
    cuda_lose(gpu, CUDA_LAUNCH_TIMEOUT);
}

// A program that resets the device takes the context away, for good: who waits
// for what runs in it would wait for ever.
bool cuda_enter(struct cuda_gpu *gpu)
{
    if (atomic_load(&gpu->hangs))
        return false;
    // Once more, since what is to be closed has no other way.
    cuda_result result = gpu->driver->CtxPushCurrent(gpu->context);
    if (result != 0)
        result = gpu->driver->CtxPushCurrent(gpu->context);
    if (result != 0)
        cuda_lose(gpu, result);
    return result == 0;
}

void cuda_leave(struct cuda_gpu *gpu)
{
    gpu->driver->CtxPopCurrent(NULL);
}

// Numbers from 700 to 719, but for 701, are errors that the driver calls
// sticky: each later call gives them again.
static bool ends_context(cuda_result result)
{
    return result == CUDA_ILLEGAL_ADDRESS || result == CUDA_LAUNCH_FAILED ||
           result == CUDA_MISALIGNED_ADDRESS || result == CUDA_LAUNCH_TIMEOUT ||
           (result > CUDA_ILLEGAL_ADDRESS && result < 720 &&
            result != CUDA_LAUNCH_OUT_OF_RESOURCES);
}

hd_status cuda_status(struct cuda_gpu *gpu, cuda_result result)
{
    if (ends_context(result))
        cuda_lose(gpu, result);
    switch (result) {
    case 0:
        return HD_OK;
    case CUDA_OUT_OF_MEMORY:
    case CUDA_LAUNCH_OUT_OF_RESOURCES:
        return HD_ENOMEM;
    default:
        return ends_context(result) ? HD_EFAULT : HD_ENODEV;
    }
}

// Opening ---------------------------------------------------------------------

static hd_status fail(const struct cuda_gpu *gpu, const char *what,
                      cuda_result result, struct hd_error *error)
{
    char text[256];

    cuda_describe(gpu->driver, result, text, sizeof(text));
    return hdi_fail(error, HD_ENODEV, "%s: %s: %s",
                    *gpu->name ? gpu->name : "GPU", what, text);
}

static hd_status read_attribute(const struct cuda_gpu *gpu, int attribute,
                                int *value, struct hd_error *error)
{
    cuda_result result =
        gpu->driver->DeviceGetAttribute(value, attribute, gpu->number);
    return result == 0
               ? HD_OK
               : fail(gpu, "its properties cannot be read", result, error);
}

// What the compiler needs to know.
// `features` are all that code may be for; `cpu` is the newest of them.
static hd_status read_architecture(struct cuda_gpu *gpu, struct hd_error *error)
{
    int major, minor;
    size_t used = 0;

    HDI_TRY(read_attribute(gpu, CUDA_CAPABILITY_MAJOR, &major, error));
    HDI_TRY(read_attribute(gpu, CUDA_CAPABILITY_MINOR, &minor, error));
    gpu->capability = 10 * major + minor;
    for (size_t i = 0; i < sizeof(architectures) / sizeof(architectures[0]);
         i++) {
        if (architectures[i].capability > gpu->capability)
            break;
        used +=
            (size_t)snprintf(gpu->features + used, sizeof(gpu->features) - used,
                             "%s%s", used ? " " : "", architectures[i].name);
        snprintf(gpu->cpu, sizeof(gpu->cpu), "%s", architectures[i].name);
    }
    if (used == 0)
        return hdi_fail(error, HD_ENODEV,
                        "%s: compute capability %d.%d; 7.0 or newer is needed",
                        gpu->name, major, minor);
    return HD_OK;
}

static hd_status read_properties(struct cuda_gpu *gpu, struct hd_error *error)
{
    struct hdi_capabilities *can = &gpu->device.can;
    int items, unified, mapped, clock, cache, corrects, registers;
    size_t memory;
    char name[128];

    cuda_result result =
        gpu->driver->DeviceGetName(name, sizeof(name), gpu->number);
    if (result != 0)
        return fail(gpu, "it has no name", result, error);
    snprintf(gpu->name, sizeof(gpu->name), "%s", name);
    HDI_TRY(read_architecture(gpu, error));
    HDI_TRY(read_attribute(gpu, CUDA_MAX_THREADS_PER_BLOCK, &items, error));
    HDI_TRY(read_attribute(gpu, CUDA_MULTIPROCESSORS, &gpu->multiprocessors,
                           error));
    HDI_TRY(read_attribute(gpu, CUDA_UNIFIED_ADDRESSING, &unified, error));
    HDI_TRY(read_attribute(gpu, CUDA_CAN_MAP_HOST_MEMORY, &mapped, error));
    HDI_TRY(read_attribute(gpu, CUDA_SHARED_PER_BLOCK_OPTIN, &gpu->shared_optin,
                           error));
    HDI_TRY(read_attribute(gpu, CUDA_CLOCK_RATE, &clock, error));
    HDI_TRY(read_attribute(gpu, CUDA_L2_CACHE, &cache, error));
    HDI_TRY(read_attribute(gpu, CUDA_CORRECTS_ERRORS, &corrects, error));
    HDI_TRY(
        read_attribute(gpu, CUDA_CAN_REGISTER_HOST_MEMORY, &registers, error));
    gpu->registers = registers != 0;
    result = gpu->driver->DeviceTotalMem(&memory, gpu->number);
    if (result != 0)
        return fail(gpu, "the size of its memory cannot be read", result,
                    error);
    if (!unified || !mapped)
        return hdi_fail(error, HD_ENODEV,
                        "%s: it does not share addresses with the host",
                        gpu->name);
    snprintf(gpu->name, sizeof(gpu->name), "%s, %d multiprocessors, CUDA %d.%d",
             name, gpu->multiprocessors, gpu->driver->version / 1000,
             gpu->driver->version % 1000 / 10);
    *can = (struct hdi_capabilities){
        .description = gpu->name,
        .target = "nvptx64-nvidia-cuda",
        .cpu = gpu->cpu,
        .features = gpu->features,
        .units = CUDA_STREAMS,
        .in_flight = CUDA_IN_FLIGHT,
        .group_items = (uint32_t)items,
        .local_bytes = (uint64_t)gpu->shared_optin,
        .cores = (uint32_t)gpu->multiprocessors,
        .sub_group = 32,
        .clock = (uint32_t)clock / 1000,
        .memory_bytes = memory,
        .cache_bytes = (uint64_t)cache,
        .corrects = corrects != 0,
    };
    return HD_OK;
}

static hd_status begin(struct cuda_gpu *gpu, struct hd_error *error)
{
    cuda_result result =
        gpu->driver->DevicePrimaryCtxRetain(&gpu->context, gpu->number);

    if (result != 0)
        return fail(gpu, "it cannot be used", result, error);
    if (!cuda_enter(gpu)) {
        gpu->driver->DevicePrimaryCtxRelease(gpu->number);
        return hdi_fail(error, HD_ENODEV, "%s: its context cannot be used",
                        gpu->name);
    }
    result = gpu->driver->StreamCreate(&gpu->copies, CUDA_STREAM_NON_BLOCKING);
    if (result == 0 && !cuda_staging_open(gpu)) {
        gpu->driver->StreamDestroy(gpu->copies);
        result = CUDA_OUT_OF_MEMORY;
    }
    cuda_leave(gpu);
    if (result != 0) {
        gpu->driver->DevicePrimaryCtxRelease(gpu->number);
        return fail(gpu, "it gives no stream", result, error);
    }
    return HD_OK;
}

// In reverse: tiles, what is kept, chunks, the stream, the context. The primary
// context is shared with the program's own use of CUDA, so it is released, not
// destroyed.
static void cuda_close(struct hdi_device *device)
{
    struct cuda_gpu *gpu = cuda_gpu_of(device);

    cuda_executor_close(gpu->executor);
    gpu->executor = NULL;
    cuda_memory_clear(gpu);
    if (cuda_enter(gpu)) {
        cuda_staging_close(gpu);
        gpu->driver->StreamDestroy(gpu->copies);
        cuda_leave(gpu);
    }
    if (!atomic_load(&gpu->hangs))
        gpu->driver->DevicePrimaryCtxRelease(gpu->number);
    pthread_mutex_destroy(&gpu->staging.lock);
    pthread_mutex_destroy(&gpu->lock);
    free(gpu);
}

// When it does not fit, the message says how many units would.
static hd_status lay_out(const struct cuda_gpu *gpu,
                         const struct hdi_device_params *params,
                         struct cuda_layout *layout, struct hd_error *error)
{
    unsigned threads = params->unit_cores ? params->unit_cores : USUAL_THREADS;
    unsigned tiles = params->units;
    int registers, shared;

    if (threads > MAX_THREADS)
        return hdi_fail(error, HD_ELIMIT,
                        "units of %u threads; on a GPU they have at most %d",
                        threads, MAX_THREADS);
    HDI_TRY(read_attribute(gpu, CUDA_REGISTERS_PER_MULTIPROCESSOR, &registers,
                           error));
    HDI_TRY(
        read_attribute(gpu, CUDA_SHARED_PER_MULTIPROCESSOR, &shared, error));
    const struct cuda_room room = {
        .multiprocessors = (unsigned)gpu->multiprocessors,
        .registers = (unsigned)registers,
        .shared = (unsigned)shared,
        .shared_of_block = (unsigned)gpu->shared_optin};
    threads = (threads + 31) / 32 * 32;
    if (cuda_layout_make(layout, &room, tiles, threads))
        return HD_OK;
    tiles = tiles < CUDA_MAX_UNITS ? tiles : CUDA_MAX_UNITS + 1;
    while (--tiles > 0 && !cuda_layout_make(layout, &room, tiles, threads))
        ;
    return hdi_fail(error, HD_ELIMIT,
                    "%s has room for %u units of %u threads, not for %u",
                    gpu->name, tiles, threads, params->units);
}

// Units of their own threads are tiles of the persistent executor.
// On failure cuda_close() takes back what there is.
static hd_status add_tiles(struct cuda_gpu *gpu,
                           const struct hdi_device_params *params,
                           struct hd_error *error)
{
    struct hdi_capabilities *can = &gpu->device.can;
    struct cuda_layout layout;

    HDI_TRY(lay_out(gpu, params, &layout, error));
    if (!cuda_enter(gpu))
        return hdi_fail(error, HD_ENODEV, "%s cannot be used", gpu->name);
    hd_status status = cuda_executor_open(gpu, &layout, params->doorbell,
                                          &gpu->executor, error);
    cuda_leave(gpu);
    if (status != HD_OK)
        return status;
    can->units = params->units;
    can->modules = cuda_executor_layout(gpu->executor)->module_of;
    can->classes = cuda_executor_layout(gpu->executor)->class_of;
    can->module_bytes = layout.module_bytes;
    if (params->doorbell)
        can->in_flight = 1;
    return HD_OK;
}

static hd_status cuda_open(const struct hdi_topology *topology, unsigned index,
                           const struct hdi_device_params *params,
                           struct hdi_device **device, struct hd_error *error)
{
    const struct cuda_driver *driver;

    (void)topology;
    HDI_TRY(cuda_driver_open(&driver, error));
    if (index >= (unsigned)driver->devices)
        return hdi_fail(error, HD_ENODEV, "there are %d GPUs, no number %u",
                        driver->devices, index);
    struct cuda_gpu *gpu = calloc(1, sizeof(*gpu));
    if (!gpu)
        return hdi_fail(error, HD_ENOMEM, "no memory for a GPU");
    gpu->driver = driver;
    pthread_mutex_init(&gpu->lock, NULL);
    pthread_mutex_init(&gpu->staging.lock, NULL);
    if (params) {
        gpu->print = params->print;
        gpu->archive = params->archive;
        gpu->timeout = params->unit_timeout;
    }
    cuda_result result = driver->DeviceGet(&gpu->number, (int)index);
    hd_status status = result == 0
                           ? read_properties(gpu, error)
                           : fail(gpu, "it cannot be found", result, error);
    gpu->device.backend = &hdi_backend_cuda;
    if (status == HD_OK && atomic_load(&given_up) & bit_of(gpu))
        status =
            hdi_fail(error, HD_ENODEV,
                     "%s: a kernel of this process hangs on it", gpu->name);
    if (status == HD_OK)
        status = begin(gpu, error);
    if (status != HD_OK) {
        free(gpu);
        return status;
    }
    if (params && params->units > 0)
        status = add_tiles(gpu, params, error);
    if (status != HD_OK) {
        cuda_close(&gpu->device);
        return status;
    }
    *device = &gpu->device;
    return HD_OK;
}

// What a GPU does not have ----------------------------------------------------

static void *cuda_view(struct hdi_device *device, void *memory, uint64_t size)
{
    (void)device, (void)memory, (void)size;
    return NULL;
}

static void cuda_end_view(struct hdi_device *device, void *view, uint64_t size)
{
    (void)device, (void)view, (void)size;
}

static void cuda_seal(struct hdi_device *device, void *memory, uint64_t size,
                      bool sealed)
{
    (void)device, (void)memory, (void)size, (void)sealed;
}

static void cuda_prepare(struct hdi_device *device)
{
    (void)device;
}

const struct hdi_backend hdi_backend_cuda = {
    .name = "cuda",
    .kind = "gpu",
    .in_all = true,
    .title = "GPU",
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_memory_alloc,
    .free = cuda_memory_free,
    .copy = cuda_memory_copy,
    .move = cuda_memory_move,
    .pin = cuda_memory_pin,
    .unpin = cuda_memory_unpin,
    .view = cuda_view,
    .end_view = cuda_end_view,
    .seal = cuda_seal,
    .load = cuda_code_load,
    .unload = cuda_code_unload,
    .find = cuda_code_find,
    .unit_open = cuda_unit_open,
    .unit_close = cuda_unit_close,
    .submit = cuda_unit_submit,
    .submitted = cuda_unit_submitted,
    .done = cuda_unit_done,
    .status = cuda_unit_status,
    .explain = cuda_unit_explain,
    .fault = cuda_unit_fault,
    .classes = cuda_unit_classes,
    .lists = &cuda_lists,
    .interrupt = cuda_unit_interrupt,
    .prepare = cuda_prepare,
};
